"""A slow service is asked by one at a time, at its own pace."""

from __future__ import annotations

from datetime import datetime, timezone

import anyio
import pytest

from jupyter_webresearch.search.answer import ProviderError
from jupyter_webresearch.search.pace import Pace


class Clock:
    """Stands still but while somebody sleeps."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=timezone.utc)

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await anyio.lowlevel.checkpoint()


async def test_requests_begin_an_interval_apart() -> None:
    clock = Clock()
    pace = Pace(3.0, clock, clock.sleep)
    begun: list[float] = []

    async def one() -> None:
        async with pace.turn("arXiv", 1000.0):
            begun.append(clock.time)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(one)
    assert begun == [100.0, 103.0, 106.0, 109.0]


async def test_who_comes_later_does_not_wait() -> None:
    clock = Clock()
    pace = Pace(3.0, clock, clock.sleep)
    async with pace.turn("arXiv", 1000.0):
        pass
    clock.time += 50
    async with pace.turn("arXiv", 1000.0):
        assert clock.time == 150.0


async def test_one_at_a_time() -> None:
    clock = Clock()
    pace = Pace(0.0, clock, clock.sleep)
    inside, order, release = anyio.Event(), [], anyio.Event()

    async def first() -> None:
        async with pace.turn("arXiv", 1000.0):
            inside.set()
            await release.wait()
            order.append("first")

    async def second() -> None:
        await inside.wait()
        release.set()
        async with pace.turn("arXiv", 1000.0):
            order.append("second")

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        group.start_soon(second)
    assert order == ["first", "second"]


async def test_a_turn_that_would_come_too_late_is_not_waited_for() -> None:
    clock = Clock()
    pace = Pace(3.0, clock, clock.sleep)
    async with pace.turn("arXiv", 1000.0):
        pass
    with pytest.raises(ProviderError) as caught:
        async with pace.turn("arXiv", clock.time + 2):
            pytest.fail("its turn has not come")
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", 3.0)
    assert "arXiv" in caught.value.message
    async with pace.turn("arXiv", 1000.0):
        assert clock.time == 103.0


async def test_nobody_waits_behind_another_beyond_the_deadline() -> None:
    clock = Clock()
    pace = Pace(3.0, clock, clock.sleep)
    kinds: list[str] = []

    async def late() -> None:
        with pytest.raises(ProviderError) as caught:
            async with pace.turn("arXiv", clock.time + 0.01):
                pytest.fail("its turn has not come")
        kinds.append(caught.value.kind)

    async with pace.turn("arXiv", 1000.0), anyio.create_task_group() as group:
        group.start_soon(late)
    assert kinds == ["rate_limited"]


async def test_who_gives_up_while_waiting_lets_others_go_on() -> None:
    clock = Clock()
    pace = Pace(3.0, clock, clock.sleep)
    async with pace.turn("arXiv", 1000.0):
        pass
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with pace.turn("arXiv", 1000.0):
            pytest.fail("it was cancelled")
    async with pace.turn("arXiv", 1000.0):
        assert clock.time >= 103.0
