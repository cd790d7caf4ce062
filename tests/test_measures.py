"""What tests measure with, measured: it tells a fault, and nothing but one."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.growth import grows_at_most
from tests.own_time import in_own_time
from tests.sites import Site


def linear(size: int) -> None:
    for _ in range(size * 200):
        pass


def quadratic(size: int) -> None:
    for _ in range(size * size):
        pass


def test_growth_is_seen() -> None:
    assert grows_at_most(15, linear, 100, 1000, floor=0.0001)
    assert not grows_at_most(15, quadratic, 100, 1000, floor=0.0001)


def test_what_takes_no_time_at_all_does_not_grow() -> None:
    assert grows_at_most(15, quadratic, 1, 10)


@in_own_time
async def test_nobody_waits_for_a_timer() -> None:
    await asyncio.sleep(3600)
    assert asyncio.get_running_loop().time() == pytest.approx(3600)


@in_own_time
async def test_what_is_done_takes_no_time() -> None:
    time.sleep(0.1)
    async with Site() as site:
        for _ in range(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(b"GET /plain HTTP/1.1\r\n\r\n")
            assert await reader.read()
            writer.close()
    assert asyncio.get_running_loop().time() == 0


@in_own_time
async def test_what_never_comes_ends_at_its_timeout() -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 60)
    assert asyncio.get_running_loop().time() == pytest.approx(60)
