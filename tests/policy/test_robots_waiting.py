"""Sites that are slow, and sites that want to be left alone."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_webresearch.errors import Failed
from tests.net.retrieving import HOST
from tests.own_time import in_own_time
from tests.policy.robots_visits import (
    ELSEWHERE,
    HTTPS,
    TOKEN,
    LoopClock,
    slow_visit,
    visit,
)

HOUR = 3600.0

# ---------------------------------------------------------------- time


@pytest.mark.parametrize("then", ["hang", "drip"])
@in_own_time
async def test_of_a_body_without_end_what_came_counts(then: str) -> None:
    async with slow_visit(f"/rules?then={then}") as site:
        assert await site.read("/private") == "robots"
        assert LoopClock().monotonic() < 10
        assert await site.read("/page") == "read"
        assert site.asked == 1


async def test_what_came_of_a_broken_body_counts_and_is_asked_for_again_soon() -> None:
    async with visit() as site:
        site.net.site.robots = "/rules?then=reset"
        assert await site.read("/private") == "robots"
        site.net.clock.offset += 300
        assert await site.read("/page") == "read"
        assert site.asked == 2


SILENT = ["/hang", "/drip-head", "/silence?after=0"]


@in_own_time
async def test_what_came_in_haste_counts_but_once() -> None:
    async with slow_visit("/rules?then=hang") as site:
        for _ in range(2):
            assert await site.read("/private", seconds=9) == "robots"
        assert site.asked == 2
        assert await site.read("/private") == "robots"  # with time enough it is remembered
        assert await site.read("/private", seconds=9) == "robots"
        assert site.asked == 3


@pytest.mark.parametrize("target", SILENT)
@in_own_time
async def test_not_a_byte_is_unreachable(target: str) -> None:
    async with slow_visit(target) as site:
        assert await site.read("/page") == "robots"
        assert await site.read("/page") == "robots"
        assert site.asked == 1  # its silence is remembered


@pytest.mark.parametrize("target", SILENT)
@in_own_time
async def test_robots_txt_leaves_the_page_most_of_its_time(target: str) -> None:
    async with slow_visit(target, "named") as site:
        assert await site.read("/page", seconds=9) == "read"
        assert LoopClock().monotonic() == pytest.approx(3, abs=0.7)  # drip-head ticks every 0.3 s
        assert await site.read("/page", seconds=9) == "read"
        assert site.asked == 2  # three seconds are not enough to hold its silence against it


@in_own_time
async def test_who_waits_for_anothers_answer_waits_no_longer_than_for_its_own() -> None:
    async with slow_visit("/hang") as site:
        first = asyncio.ensure_future(site.read("/page", seconds=60))
        await site.net.site.arrived("/robots.txt")
        begun = LoopClock().monotonic()
        assert await site.read("/page", seconds=9) == "robots"
        assert LoopClock().monotonic() - begun == pytest.approx(3, abs=0.2)
        assert await first == "robots"
        assert site.asked == 1


# ---------------------------------------------------------------- being left alone


@pytest.mark.parametrize("mode", ["named", "full"])
async def test_429_allows_who_asked_and_then_the_site_is_left_alone(mode: str) -> None:
    async with visit(mode) as site:
        site.serve(status=429)
        assert await site.read("/private") == "read"
        error = await site.refusal("/page")
        assert isinstance(error, Failed)
        assert error.code == "rate_limited"
        assert error.retry_after == 60
        assert error.message == f"{HOST} asks to be left alone for now; try again in 60 s"
        assert await site.read("/page", ELSEWHERE) == "read"
        assert await site.read("/page", HTTPS) == "read"
        site.serve(f"User-agent: {TOKEN}\nDisallow: /private\n")
        site.net.clock.offset += 60
        assert [await site.read("/page"), await site.read("/private")] == ["read", "robots"]
        assert not site.net.slept


@pytest.mark.parametrize(
    ("after", "seconds"), [("20", 20), ("0120", 120), ("999999999", HOUR), ("Fri, 01 Jan 2999 00:00:00 GMT", HOUR)]
)
@pytest.mark.parametrize("code", [429, 503])
async def test_a_site_says_for_how_long(code: int, after: str, seconds: float) -> None:
    async with visit("named") as site:
        site.serve(status=code, Retry_After=after)
        assert await site.read("/page") == "read"
        assert (await site.refusal("/page")).retry_after == seconds
        site.net.clock.offset += seconds - 3
        assert await site.read("/page") == "rate_limited"
        site.net.clock.offset += 3
        assert await site.read("/page") == "read"


@pytest.mark.parametrize(("code", "after"), [(429, "0"), (503, ""), (503, "soon"), (500, "60"), (404, "60")])
async def test_or_does_not_want_to_be_left_alone(code: int, after: str) -> None:
    async with visit("named") as site:
        site.serve(status=code, Retry_After=after)
        assert [await site.read("/page") for _ in range(2)] == ["read", "read"]


async def test_503_is_unreachable_under_full_besides() -> None:
    async with visit() as site:
        site.serve(status=503, Retry_After="100")
        assert [await site.read("/page") for _ in range(2)] == ["robots", "rate_limited"]
        site.serve()
        site.net.clock.offset += 100
        assert await site.read("/page") == "read"


async def test_a_short_while_is_waited_for() -> None:
    async with visit() as site:
        site.serve(status=429)
        assert await site.read("/page") == "read"
        site.net.clock.offset += 58
        assert await site.read("/page") == "read"
        assert site.net.slept == [2]


async def test_but_not_beyond_the_documents_own_time() -> None:
    async with visit() as site:
        site.serve(status=429)
        assert await site.read("/page") == "read"
        site.net.clock.offset += 58
        assert await site.read("/page", seconds=1.9) == "rate_limited"
        assert not site.net.slept
