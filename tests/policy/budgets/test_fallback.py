"""A Redis that ends in the middle: nothing passes, or what passes is counted here, by setting."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from jupyter_webresearch.config import WebBudgets
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.policy.budgets.budgets import Budgets
from jupyter_webresearch.policy.budgets.fallback import PROBE_SECONDS, FallbackLedger
from jupyter_webresearch.policy.budgets.limit import Limit, Shortage
from jupyter_webresearch.policy.budgets.memory import MemoryLedger
from tests.policy.budgets.redis_server import RedisServer
from tests.policy.budgets.rigs import SetClock

LOGGER = "jupyter_webresearch.policy.budgets.fallback"


def budgets(server: RedisServer, clock: SetClock, when_unavailable: str) -> Budgets:
    settings = WebBudgets(server_per_minute=3, storage=server.url, when_unavailable=when_unavailable)
    return Budgets.of(settings, shared_file=None, clock=clock)


async def passed(counted: Budgets, tries: int) -> int:
    number = 0
    for _ in range(tries):
        try:
            await counted.open("fetch", "kernel:a", "example.org")
        except Refused as refused:
            assert refused.code == "over_budget"
        else:
            number += 1
    return number


async def used(counted: Budgets) -> int:
    rows = await counted.report("kernel:a")
    return next(row["used"] for row in rows if row["name"] == "WebBudgets.server_per_minute")


async def test_refuse_lets_nothing_through_until_it_answers_again(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        counted = budgets(server, SetClock(), "refuse")
        assert await passed(counted, 1) == 1
        server.kill()
        for call in (
            counted.open("fetch", "kernel:a", "example.org"),
            counted.open("search", "kernel:a", ""),
            counted.hop("example.org"),
            counted.report("kernel:a"),
        ):
            with pytest.raises(Failed) as failed:
                await call
            assert failed.value.code == "budget_unavailable"
            assert failed.value.setting == "WebBudgets.when_unavailable"
            assert failed.value.retryable
        server.start()
        assert await passed(counted, 5) == 3  # it keeps nothing on disk
        await counted.close()


async def test_local_counts_here_with_the_same_limits_and_goes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SetClock()
    caplog.set_level(logging.INFO, LOGGER)
    with RedisServer(tmp_path) as server:
        counted = budgets(server, clock, "local")
        assert await passed(counted, 1) == 1
        server.kill()
        assert await passed(counted, 9) == 3
        assert await used(counted) == 3
        server.start()
        assert await used(counted) == 3  # it is not asked before its time
        clock.advance(PROBE_SECONDS)
        assert await used(counted) == 0
        assert await passed(counted, 9) == 3
        server.kill()
        assert await passed(counted, 9) == 0  # what was counted here still is: no room comes from its coming and going
        clock.advance(60)
        assert await passed(counted, 9) == 3
        await counted.close()
    assert [(record.levelname, server.url in record.message) for record in caplog.records] == [
        ("WARNING", False),
        ("INFO", False),
        ("WARNING", False),
    ]


class Switched(MemoryLedger):
    """Answers or fails as it is told, and counts how often it is asked."""

    def __init__(self, clock: SetClock) -> None:
        super().__init__(clock)
        self.fails = False
        self.asked = 0

    async def take(self, limits: Sequence[Limit]) -> Shortage | None:
        self.asked += 1
        await asyncio.sleep(0)
        if self.fails:
            raise Failed("budget_unavailable", "it does not answer")
        return await super().take(limits)


LIMIT = Limit("WebBudgets.server_per_minute", "server:minute", 100, 60.0)


async def test_while_it_is_down_one_asks_it_now_and_then_and_nobody_waits(caplog: pytest.LogCaptureFixture) -> None:
    clock = SetClock()
    shared = Switched(clock)
    ledger = FallbackLedger(shared, clock)
    shared.fails = True
    await asyncio.gather(*(ledger.take([LIMIT]) for _ in range(5)))
    assert shared.asked == 5  # all were under way when it failed
    await asyncio.gather(*(ledger.take([LIMIT]) for _ in range(5)))
    assert shared.asked == 5
    clock.advance(PROBE_SECONDS)
    await asyncio.gather(*(ledger.take([LIMIT]) for _ in range(5)))
    assert shared.asked == 6
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    shared.fails = False
    clock.advance(PROBE_SECONDS)
    await ledger.take([LIMIT])
    assert [use.used for use in await shared.uses([LIMIT])] == [1]


async def test_faults_are_not_taken_for_silence() -> None:
    class Faulty(MemoryLedger):
        async def take(self, limits: Sequence[Limit]) -> Shortage | None:
            raise Failed("internal", "a fault")

    with pytest.raises(Failed, match="a fault"):
        await FallbackLedger(Faulty(SetClock()), SetClock()).take([LIMIT])
