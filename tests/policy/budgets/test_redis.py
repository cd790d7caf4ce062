"""Redis: that it hangs, ends, asks for a password, is a cluster, or has its clock set."""

from __future__ import annotations

import asyncio
import logging
import socket
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.budgets.limit import Limit
from jupyter_webresearch.policy.budgets.redis import RedisLedger
from tests.own_time import in_own_time
from tests.policy.budgets.redis_server import RedisServer, free_port
from tests.policy.budgets.rigs import RedisRig

MINUTE = Limit("WebBudgets.server_per_minute", "server:minute", 3, 60.0)
TOTAL = Limit("WebBudgets.kernel_total", "session:a:total", 5, None)
PASSWORD = "wr0ng-pa55word"


@pytest.fixture
async def rig(redis_server: RedisServer) -> AsyncIterator[RedisRig]:
    with redis_server.client() as client:
        client.flushall()
    made = RedisRig(redis_server)
    yield made
    await made.ledger.close()
    made.close()


async def failure(asked: Awaitable[object]) -> Failed:
    with pytest.raises(Failed) as failed:
        await asked
    assert failed.value.code == "budget_unavailable"
    return failed.value


# ---------------------------------------------------------------------- one that does not answer


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accept, read and never answer."""
    while await reader.read(1000):
        pass
    writer.close()


async def silence_after_greeting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Greet as Redis does, and never answer what is asked then."""
    while line := await reader.readline():
        if line.startswith(b"*"):
            command = [await reader.readline() for _ in range(2 * int(line[1:]))][1]
            if command.strip().upper() not in (b"EVAL", b"SCAN"):
                writer.write(b"+OK\r\n")
    writer.close()


async def drops(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close each connection as soon as something is asked."""
    await reader.read(1)
    writer.close()


async def how_long(serve: Serve, ask: Callable[[RedisLedger], Awaitable[object]]) -> float:
    loop = asyncio.get_running_loop()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        ledger = RedisLedger(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
        before = loop.time()
        await failure(ask(ledger))
        await failure(ask(ledger))  # the second one is not quicker because the first one failed, nor slower
        took = loop.time() - before
        await ledger.close()
        await asyncio.sleep(0)
    return took / 2


@in_own_time
async def test_a_hung_one_costs_less_than_a_second_a_call() -> None:
    for serve in (silence, silence_after_greeting):
        assert 0 < await how_long(serve, lambda ledger: ledger.take([MINUTE])) <= 1
    for ask in (
        lambda ledger: ledger.uses([MINUTE]),
        lambda ledger: ledger.give_back([TOTAL]),
        lambda ledger: ledger.forget("session:a:"),
    ):
        assert 0 < await how_long(silence, ask) <= 1


@in_own_time
async def test_one_that_drops_connections_costs_less_than_a_second_a_call() -> None:
    assert await how_long(drops, lambda ledger: ledger.take([MINUTE])) <= 1


async def test_nothing_is_asked_twice(redis_server: RedisServer) -> None:
    asked = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        while line := await reader.readline():
            if line.startswith(b"*"):
                command = [await reader.readline() for _ in range(2 * int(line[1:]))][1]
                if command.strip().upper() == b"EVAL":
                    asked += 1
                    break  # the answer is lost: it may have been counted
                writer.write(b"+OK\r\n")
        writer.close()

    async with await asyncio.start_server(count, "127.0.0.1", 0) as server:
        ledger = RedisLedger(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
        await failure(ledger.take([MINUTE]))
        await ledger.close()
    assert asked == 1


async def test_a_cancelled_call_leaves_no_answer_behind_for_the_next(rig: RedisRig) -> None:
    assert await rig.ledger.take([MINUTE]) is None
    for _ in range(5):
        task = asyncio.create_task(rig.ledger.uses([TOTAL]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [use.used for use in await rig.ledger.uses([MINUTE, TOTAL])] == [1, 0]


async def test_connections_that_the_server_closed_are_made_anew(rig: RedisRig, redis_server: RedisServer) -> None:
    assert await rig.ledger.take([MINUTE]) is None
    with redis_server.client() as client:
        client.client_kill_filter(_type="normal", skipme=True)
    for _ in range(20):  # the loop learns of it from the socket
        await asyncio.sleep(0)
    assert await rig.ledger.take([MINUTE]) is None


# ---------------------------------------------------------------------- passwords and addresses


async def test_no_password_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = []
    with RedisServer(tmp_path, "--requirepass", "another") as server:
        for host in (f"127.0.0.1:{server.port}", f"127.0.0.1:{free_port()}"):
            for who in (f":{PASSWORD}", f"someone:{PASSWORD}"):
                ledger = RedisLedger(f"redis://{who}@{host}/0")
                error = await failure(ledger.take([MINUTE]))
                told += [error.message, repr(ledger), *traceback.format_exception(error)]
                assert host in error.message
                await ledger.close()
        right = RedisLedger(f"redis://:another@127.0.0.1:{server.port}/0")
        assert await right.take([MINUTE]) is None
        await right.close()
        without = RedisLedger(server.url)
        assert "does not accept" in (await failure(without.take([MINUTE]))).message
        await without.close()
    assert PASSWORD not in "".join(told) + caplog.text


@pytest.mark.parametrize(
    "url",
    [
        f"redis://:12/{PASSWORD}@host/0",
        f"redis://:12#{PASSWORD}@host/0",
        f"redis://:12?{PASSWORD}@host/0",
        f"redis://:[{PASSWORD}@host/0",
        f"redis://:{PASSWORD}@host:port/0",
        f"redis://host/0?socket_timeout={PASSWORD}",
        f"http://:{PASSWORD}@host/0",
        "redis://host:99999/0",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(Failed) as failed:
        RedisLedger(url)
    assert failed.value.code == "config"
    assert failed.value.setting == "WebBudgets.storage"
    assert PASSWORD not in "".join(traceback.format_exception(failed.value))


async def test_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    with RedisServer(tmp_path, "--unixsocket", str(path)):
        ledger = RedisLedger(f"unix://{path}")
        assert await ledger.take([MINUTE]) is None
    assert str(path) in (await failure(ledger.take([MINUTE]))).message
    await ledger.close()


# ---------------------------------------------------------------------- what is kept there


async def test_every_key_expires_and_has_our_prefix(rig: RedisRig, redis_server: RedisServer) -> None:
    assert await rig.ledger.take([MINUTE, TOTAL]) is None
    await rig.ledger.give_back([TOTAL])
    await rig.ledger.uses([MINUTE, TOTAL, Limit("x", "site:y", 1, 60.0)])
    with redis_server.client() as client:
        lives: dict[bytes, Any] = {key: client.pttl(key) for key in client.scan_iter()}
    assert set(lives) == {b"{webresearch}:server:minute", b"{webresearch}:session:a:total"}
    assert 55_000 < lives[b"{webresearch}:server:minute"] <= 61_000
    assert 29 * 24 * 3_600_000 < lives[b"{webresearch}:session:a:total"] <= 30 * 24 * 3_600_000


async def test_what_another_program_keeps_there_is_not_counted_over(rig: RedisRig, redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.set("{webresearch}:server:minute", "text")
    assert "refuses to count" in (await failure(rig.ledger.take([MINUTE, TOTAL]))).message
    assert [use.used for use in await rig.ledger.uses([TOTAL])] == [0]


@pytest.mark.parametrize("back", [20, 365 * 24 * 3600])
async def test_a_clock_set_back_neither_frees_nor_blocks_for_ever(rig: RedisRig, back: int) -> None:
    for _ in range(3):
        assert await rig.ledger.take([MINUTE]) is None
        rig.advance(5)
    rig.advance(-back)
    (use,) = await rig.ledger.uses([MINUTE])
    assert use.used == 3
    assert use.frees_in is not None
    assert 55 < use.frees_in <= 60
    shortage = await rig.ledger.take([MINUTE])
    assert shortage is not None
    assert shortage.retry_after is not None
    assert 55 < shortage.retry_after <= 60
    rig.advance(shortage.retry_after - rig.margin)
    assert await rig.ledger.take([MINUTE]) is not None
    rig.advance(rig.margin)
    assert await rig.ledger.take([MINUTE]) is None


# ---------------------------------------------------------------------- a cluster


async def test_a_cluster_keeps_all_on_one_node_and_is_followed_there(tmp_path: Path) -> None:
    nodes = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        bus = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
        nodes.append((RedisServer(tmp_path / name, *bus), bus[-1]))
    (first, _), (second, second_bus) = nodes
    with first, second, first.client() as one, second.client() as two:
        slot = one.cluster("KEYSLOT", "{webresearch}:any")
        one.execute_command("CLUSTER ADDSLOTSRANGE", 0, slot - 1, slot + 1, 16383)
        two.execute_command("CLUSTER ADDSLOTSRANGE", slot, slot)
        one.execute_command("CLUSTER MEET", "127.0.0.1", second.port, second_bus)
        while not all(b"cluster_state:ok" in _info(node) and b"known_nodes:2" in _info(node) for node in (one, two)):
            await asyncio.sleep(0.02)
        ledger = RedisLedger(first.url)
        answers = [await ledger.take([MINUTE, TOTAL]) for _ in range(4)]
        assert answers[:3] == [None] * 3
        assert answers[3] is not None
        await ledger.give_back([TOTAL])
        assert [use.used for use in await ledger.uses([MINUTE, TOTAL])] == [3, 2]
        await ledger.forget("session:a:")
        assert [use.used for use in await ledger.uses([MINUTE, TOTAL])] == [3, 0]
        await ledger.close()


def _info(node: Any) -> bytes:
    info = node.execute_command("CLUSTER INFO")
    return "".join(f"{name}:{value} " for name, value in info.items()).encode() if isinstance(info, dict) else info


def test_a_port_is_free() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port()))
