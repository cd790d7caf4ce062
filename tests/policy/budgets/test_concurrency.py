"""Exactly the limit passes, and what is refused is free in every window, whoever asks at the same time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.policy.budgets import worker
from tests.policy.budgets.redis_server import RedisServer

LIMIT = 30


def run_processes(storage: str, sessions: Sequence[str], tries: int, limit: int) -> list[int]:
    """Return what each process got, all of which began at one sign."""
    command = [sys.executable, "-m", "tests.policy.budgets.worker", storage]
    processes = [
        subprocess.Popen(
            [*command, session, str(tries), str(limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for session in sessions
    ]
    try:
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        answers = []
        for process in processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            answer, _ = process.communicate(timeout=60)
            assert process.returncode == 0
            answers.append(int(answer))
        return answers
    finally:
        for process in processes:
            process.kill()
            process.communicate()


async def charged(storage: str, sessions: Sequence[str], limit: int) -> dict[str, list[float]]:
    """Return what each session, and with it the server, was charged."""
    counted = worker.budgets(storage, limit)
    rows = {session: await counted.report(session) for session in sessions}
    await counted.close()
    return {session: [row["used"] for row in report] for session, report in rows.items()}


async def check(storage: str, sessions: Sequence[str], passed: Sequence[int], limit: int) -> None:
    assert sum(passed) == limit
    used = await charged(storage, sessions, limit)
    for session, got in zip(sessions, passed, strict=True):
        total, minute, server, day, search, browser, dollars = used[session]
        assert (total, minute, search, browser) == (got, got, 0, 0)
        assert (server, day) == (limit, limit)
        assert dollars == pytest.approx(got / 1000)


SESSIONS = [f"kernel:{number}" for number in range(4)]


async def test_four_processes_on_one_file(tmp_path: Path) -> None:
    storage = str(tmp_path / "webresearch" / "budgets.sqlite")
    passed = await asyncio.to_thread(run_processes, storage, SESSIONS, 40, LIMIT)
    await check(storage, SESSIONS, passed, LIMIT)


async def test_four_processes_on_one_redis(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.flushall()
    passed = await asyncio.to_thread(run_processes, redis_server.url, SESSIONS, 40, LIMIT)
    await check(redis_server.url, SESSIONS, passed, LIMIT)


async def test_sixteen_processes_on_one_file(tmp_path: Path) -> None:
    storage = str(tmp_path / "webresearch" / "budgets.sqlite")
    sessions = [f"kernel:{number}" for number in range(16)]
    passed = await asyncio.to_thread(run_processes, storage, sessions, 10, 50)
    await check(storage, sessions, passed, 50)


@pytest.mark.parametrize("shared", ["memory", "one ledger on a file", "a ledger on the file for each thread"])
async def test_four_threads(shared: str, tmp_path: Path) -> None:
    storage = "memory://" if shared == "memory" else str(tmp_path / "webresearch" / "budgets.sqlite")
    one = worker.budgets(storage, LIMIT)
    every = [worker.budgets(storage, LIMIT) if "each" in shared else one for _ in SESSIONS]
    start, passed = threading.Barrier(len(SESSIONS)), [0] * len(SESSIONS)

    def run(number: int) -> None:
        start.wait()
        passed[number] = asyncio.run(worker.tries(every[number], SESSIONS[number], 40))

    await asyncio.gather(*(asyncio.to_thread(run, number) for number in range(len(SESSIONS))))
    if storage == "memory://":
        assert sum(passed) == LIMIT
        for session, got in zip(SESSIONS, passed, strict=True):
            assert [row["used"] for row in await one.report(session)][:4] == [got, got, LIMIT, LIMIT]
    else:
        await check(storage, SESSIONS, passed, LIMIT)
    for counted in {id(counted): counted for counted in [one, *every]}.values():
        await counted.close()
