"""Which answers are remembered, for how long, and for whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.policy import robots as module
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.urls import CheckedURL
from tests.net.retrieving import HOST
from tests.policy.robots_visits import (
    ELSEWHERE,
    HTTP,
    TOKEN,
    Served,
    Visit,
    led,
    status,
    visit,
)

HOUR = 3600.0

# ---------------------------------------------------------------- what is remembered


async def test_an_answer_holds_for_a_day() -> None:
    async with visit() as site:
        site.serve()
        assert await site.read("/private") == "robots"
        site.serve("")
        site.net.clock.offset += 24 * HOUR - 60
        assert await site.read("/private") == "robots"
        assert site.asked == 1
        site.net.clock.offset += 60
        assert await site.read("/private") == "read"
        assert site.asked == 2


@pytest.mark.parametrize("serve", [status(404), led("/robots.txt")])
async def test_so_does_the_absence_of_one(serve: Served) -> None:
    async with visit() as site:
        serve(site)
        assert await site.read("/page") == "read"
        asked = site.asked
        site.net.clock.offset += 24 * HOUR - 60
        assert await site.read("/page") == "read"
        assert site.asked == asked


@pytest.mark.parametrize("serve", [status(500), led("http://127.0.0.1/")])
async def test_a_failure_holds_for_minutes(serve: Served) -> None:
    async with visit() as site:
        serve(site)
        assert await site.read("/page") == "robots"
        site.serve()
        site.net.clock.offset += 290
        assert await site.read("/page") == "robots"
        assert site.asked == 1
        site.net.clock.offset += 10
        assert await site.read("/page") == "read"


async def test_closing_forgets() -> None:
    async with visit() as site:
        for _ in range(2):
            assert await site.read("/page") == "read"
        await site.robots.close()
        assert await site.read("/page") == "read"
        assert site.asked == 2


def origins(*names: str) -> list[str]:
    return [f"http://{name}.example.org" for name in names]


async def remembered(site: Visit, *bases: str) -> list[bool]:
    """Whether each origin is not asked again."""
    kept = []
    for base in bases:
        before = site.asked
        await site.check("/page", base)
        kept.append(site.asked == before)
    return kept


async def test_the_origins_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ORIGINS", 3)
    a, b, c, d = origins("a", "b", "c", "d")
    async with visit() as site:
        assert await remembered(site, a, b, c, a, d) == [False, False, False, True, False]
        assert await remembered(site, a, c, d, b) == [True, True, True, False]


async def test_large_files_leave_room_for_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "User-agent: *\n" + "".join(f"Disallow: /{n}\n" for n in range(100))
    monkeypatch.setattr(module, "MAX_MEMORY", 50_000)
    async with visit() as site:
        site.serve(text)
        bases = origins(*"abcdefgh")
        assert not any(await remembered(site, *bases))
        kept = await remembered(site, *reversed(bases))
        assert kept[0]
        assert not kept[-1]
        monkeypatch.setattr(module, "MAX_MEMORY", 1)  # the one just asked is kept, however large
        assert await remembered(site, *origins("i", "i")) == [False, True]
        await site.robots.close()
        assert site.robots._memory == 0


async def test_what_is_replaced_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = origins("a", "b")
    async with visit() as site:
        site.serve()
        await site.check("/page", a)
        monkeypatch.setattr(module, "MAX_MEMORY", 3 * site.robots._memory)
        for _ in range(5):
            site.net.clock.offset += 24 * HOUR
            assert await remembered(site, a, b) == [False, False]
        assert await remembered(site, a, b) == [True, True]


# ---------------------------------------------------------------- several at once


async def test_one_request_serves_all_who_wait() -> None:
    async with visit() as site:
        site.net.site.robots = "/rules?gate=1"
        reads = [asyncio.ensure_future(site.read(path)) for path in ("/page", "/private") * 4]
        others = asyncio.ensure_future(site.read("/page", ELSEWHERE))
        await site.net.site.arrived("/robots.txt")
        assert await others == "read"  # another origin does not wait
        assert not any(read.done() for read in reads)
        site.net.site.release()
        assert await asyncio.gather(*reads) == ["read", "robots"] * 4
        assert site.asked == 1


async def test_if_the_one_who_asks_is_cancelled_the_next_asks() -> None:
    async with visit() as site:
        site.net.site.robots = "/rules?gate=1"
        first = asyncio.ensure_future(site.read("/private"))
        await site.net.site.arrived("/robots.txt")
        second = asyncio.ensure_future(site.read("/private"))
        await asyncio.sleep(0)
        first.cancel()
        await site.net.site.arrived("/robots.txt", 2)
        site.net.site.release()
        assert await second == "robots"
        assert first.cancelled()


class Listed(GuardAdmission):
    """The admission of a session whose list has one host."""

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        checked = super().check_url(url, method)
        if checked.host != HOST:
            raise Refused("not_allowed", f"{checked.host} is on no list")
        return checked


@asynccontextmanager
async def two_sessions(mode: str) -> AsyncIterator[tuple[Visit, Listed]]:
    """A robots.txt that redirects to a host which only one of them may read."""
    async with visit(mode) as site:
        site.serve(status=302, Location=f"{ELSEWHERE}/policy.txt")
        site.net.other.serve("/policy.txt", f"User-agent: {TOKEN}\nDisallow: /private\n", "text/plain")
        yield site, Listed(site.guard)


async def test_what_one_sessions_list_refuses_is_not_held_against_others() -> None:
    async with two_sessions("full") as (site, listed):
        with pytest.raises(Refused, match="on no list of hosts") as caught:
            await site.check("/page", admission=listed)
        assert (caught.value.code, caught.value.retry_after) == ("robots", None)
        assert not site.net.other.seen
        await site.check("/page")
        await site.check("/page", admission=listed)  # by now it is known, and nothing is sent for it
        assert (await site.refusal("/private")).code == "robots"
        assert site.asked == 2


async def test_nor_does_it_take_the_place_of_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ORIGINS", 1)
    async with two_sessions("named") as (site, listed):
        await site.check("/page", ELSEWHERE)
        await site.check("/page", admission=listed)
        await site.check("/page", ELSEWHERE)
        assert site.net.other.paths() == ["/robots.txt"]


async def test_nor_does_it_let_others_read_what_is_forbidden() -> None:
    async with two_sessions("named") as (site, listed):
        await site.check("/private", admission=listed)
        assert (await site.refusal("/private")).code == "robots"


async def test_nor_against_those_who_wait_for_the_same_answer() -> None:
    async with two_sessions("full") as (site, listed):
        both = [site.check("/page", admission=listed), site.check("/page")]
        refused, passed = await asyncio.gather(*both, return_exceptions=True)
        assert isinstance(refused, Refused)
        assert passed is None
        assert site.asked == 2


async def test_every_hop_is_admitted_with_what_the_admission_adds() -> None:
    hops = []

    class Noting(GuardAdmission):
        async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
            hops.append((url.href, method, redirected))

        async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
            return [("X-Added", "redirected" if redirected else "first")]

    async with visit() as site:
        site.serve(status=302, Location=f"{ELSEWHERE}/policy.txt")
        await site.check("/page", admission=Noting(site.guard))
        sent = [request.header("x-added") for request in (*site.net.site.seen, *site.net.other.seen)]
    assert hops == [(f"{HTTP}/robots.txt", "GET", False), (f"{ELSEWHERE}/policy.txt", "GET", True)]
    assert sent == ["first", "redirected"]


async def test_an_admission_that_fails_refuses_nobody_else() -> None:
    class Failing(GuardAdmission):
        async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
            raise Failed("budget_unavailable", "no answer")

    async with visit() as site:
        with pytest.raises(Failed, match="no answer"):
            await site.check("/page", admission=Failing(site.guard))
        await site.check("/page")
