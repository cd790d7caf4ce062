"""Asked to wait: one polite retry if it fits, else the wait is reported."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from jupyter_webresearch.net.retry_after import LONGEST, seconds_to_wait
from tests.net.retrieving import HOST, rig

NOW = datetime(2025, 3, 4, 5, 6, 7, tzinfo=timezone.utc)


def date(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("1", 1),
        (" 120 ", 120),
        ("007", 7),
        ("99999999999", LONGEST),
        ("9" * 5000, LONGEST),
        (date(90), 90),
        (date(-90), 0),
        (date(10 * 365 * 86400), LONGEST),
        ("Tuesday, 04-Mar-25 05:07:07 GMT", 60),
        ("Tue Mar  4 05:07:07 2025", 60),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("+5", None),
        ("soon", None),
        ("5 seconds", None),
        ("٣", None),
        ("Tue, 99 Mar 2025 05:07:07 GMT", None),
        ("Tue, 04 Mar 99999999999 05:07:07 GMT", None),
        ("\0" * 100, None),
    ],
)
def test_reading_retry_after(value: str, seconds: float | None) -> None:
    assert seconds_to_wait(value, NOW) == seconds


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_one_retry_after_the_wait(code: int, method: str) -> None:
    async with rig() as net:
        answer = await net.get(f"/retry?code={code}&after=7", method=method)
    assert net.slept == [7]
    assert [hop.status for hop in answer.hops] == [code, 200]
    assert answer.hops[1].seconds >= 7
    assert answer.retry_after is None
    assert answer.url == f"http://{HOST}/retry?code={code}&after=7"


async def test_a_date_is_a_wait_too() -> None:
    async with rig() as net:
        net.clock.now = lambda: NOW  # type: ignore[method-assign]
        answer = await net.get(f"/retry?after={date(11).replace(' ', '%20')}")
    assert answer.head.status == 200
    assert net.slept == [11]


@pytest.mark.parametrize("code", [429, 503])
async def test_only_one_retry(code: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/retry?code={code}&after=2&times=9")
    assert net.slept == [2]
    assert (answer.head.status, answer.retry_after, answer.body) == (code, 2, b"Please wait.")
    assert len(net.site.seen) == 2


@pytest.mark.parametrize("after", ["26", "28", "60", "99999999999"])
async def test_a_wait_beyond_the_deadline_is_reported(after: str) -> None:
    async with rig() as net:
        answer = await net.get(f"/retry?after={after}&seconds=30", seconds=28)
    assert not net.slept
    assert (answer.head.status, answer.retry_after) == (429, min(float(after), LONGEST))
    assert len(net.site.seen) == 1


@pytest.mark.parametrize("after", ["", "-5", "soon"])
async def test_without_a_readable_wait_nothing_is_retried(after: str) -> None:
    async with rig() as net:
        answer = await net.get(f"/retry?after={after}")
    assert (net.slept, answer.head.status, answer.retry_after) == ([], 429, None)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_other_methods_are_not_repeated(method: str) -> None:
    async with rig() as net:
        answer = await net.get("/retry?after=1", method=method)
    assert (net.slept, answer.head.status, answer.retry_after) == ([], 429, 1)
    assert len(net.site.seen) == 1


@pytest.mark.parametrize("code", [400, 404, 500, 502, 301])
async def test_other_statuses_are_not_repeated(code: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/retry?code={code}&after=1")
    assert (net.slept, answer.head.status, answer.retry_after) == ([], code, None)


async def test_a_retry_in_the_middle_of_a_chain() -> None:
    async with rig() as net:
        answer = await net.get("/redirect?to=/retry?after=3", headers=(("X-A", "1"),))
    assert [hop.status for hop in answer.hops] == [302, 429, 200]
    assert [request.header("x-a") for request in net.site.seen] == ["1", "1", "1"]
