"""Asking a site for its robots.txt, and what its answer means (RFC 9309, 2.3.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.errors import CODES, BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.answer import Disposition, ResponseHead
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.net.retry_after import seconds_to_wait
from jupyter_webresearch.policy.addresses import IPAddress
from jupyter_webresearch.policy.admission import Admission
from jupyter_webresearch.policy.redactor import Redactor
from jupyter_webresearch.policy.robots_rules import RobotsRules, parse_robots
from jupyter_webresearch.policy.urls import CheckedURL

__all__ = ["RobotsAnswer", "RobotsReader", "off_loop"]

MAX_BYTES = 512 * 1024
"""Decoded bytes that are read; at least 500 KiB are to be (RFC 9309, 2.5)."""
MAX_REDIRECTS = 5
"""Redirects that are followed (RFC 9309, 2.3.1.2)."""
BODY_SHARE = 0.8
"""Of the time, after which a body that still comes is taken as it is."""
ENOUGH = 5.0
"""Seconds in which a site should have answered: its silence then counts for others too."""

FRESH = 24 * 3600.0
"""Seconds for which an answer holds (RFC 9309, 2.4)."""
FAULT_FRESH = 300.0
"""Seconds for which a failure holds, or what came of a file that broke off."""

DEFAULT_WAIT = 60.0
"""Seconds to leave a site alone that answers 429 without saying for how long."""
LONGEST_WAIT = 3600.0
"""Seconds to leave a site alone at most, whatever it says."""

# Failures of the answer, as opposed to the way to it: the page itself may still be had.
_OF_ANSWER = frozenset({"timeout", "bad_response", "bad_encoding", "headers_too_large", "too_many_redirects"})
# What comes of the place that a redirect leads to, not of the lists and credentials of whoever asked.
_OF_PLACE = frozenset(
    {"invalid_url", "unsupported_scheme", "blocked_host", "blocked_port", "blocked_address"}
    | {"unresolved", "unreachable", "tls"}
)
_SMALL = 16 * 1024  # bytes that are read, and whose rules are matched, in about a millisecond

T = TypeVar("T")


@dataclass(frozen=True)
class RobotsAnswer:
    """What a site says of robots.

    Attributes
    ----------
    rules
        Those of its robots.txt; none where there certainly is no such file.
    unreachable
        Why it is not known whether there are rules; empty when it is.
    seconds
        For how long this holds; 0 when it holds for nobody but who asked.
    wait
        For how long the site wants to be left alone.
    """

    rules: RobotsRules = field(default_factory=RobotsRules)
    unreachable: str = ""
    seconds: float = 0.0
    wait: float = 0.0


class RobotsReader:
    """Reads robots.txt.

    Parameters
    ----------
    retriever
        Through which it is asked for.
    agent
        Our product token.
    clock
        Its time limits, and Retry-After dates.
    """

    def __init__(self, retriever: Retriever, agent: str, clock: Clock) -> None:
        self._retriever = retriever
        self._agent = agent
        self._clock = clock

    async def read(self, origin: str, admission: Admission, *, until: float) -> RobotsAnswer:
        """Ask an origin for its robots.txt.

        Parameters
        ----------
        origin
            Scheme and authority; the rules are theirs, wherever redirects lead.
        admission
            Lets out the request and each redirect.
        until
            When to give up, on the clock's monotonic scale.

        Raises
        ------
        BadInput, Refused, Failed
            What has nothing to do with robots.txt: a page of this origin would meet the same.
        """
        way = _Way(admission)
        started = self._clock.monotonic()
        seconds = max(0.0, until - started)
        cut = started + BODY_SHARE * seconds
        try:
            got = await self._retriever.retrieve(
                FetchRequest(f"{origin}/robots.txt"),
                admission=way,
                on_phase=_no_phase,
                deadline=until,
                accept=_accept,
                cut=cut,
            )
        except _OtherStatus as answer:
            return self._without_rules(answer.head)
        except WebResearchError as error:
            if not way.led_on(error) and error.code not in _OF_ANSWER:
                raise
            return _unreadable(error, way, hasty=self._hasty(seconds, cut))
        full = len(got.body) >= MAX_BYTES
        broken = got.truncated and not full
        holds = (0.0 if self._hasty(seconds, cut) else FAULT_FRESH) if broken else FRESH
        data = _whole_lines(got.body) if full else got.body
        return RobotsAnswer(await off_loop(len(data), parse_robots, data, self._agent), seconds=holds)

    def _hasty(self, seconds: float, cut: float) -> bool:
        """Whether the site might have done better, had it been given more time."""
        return seconds < ENOUGH and self._clock.monotonic() >= cut

    def _without_rules(self, head: ResponseHead) -> RobotsAnswer:
        """Return what follows from a status that is not success."""
        wait = self._wait(head)
        again = max(wait, DEFAULT_WAIT)
        if head.status >= 500:
            return RobotsAnswer(
                unreachable=f"the site answers {head.status}", seconds=again if wait else FAULT_FRESH, wait=wait
            )
        return RobotsAnswer(seconds=again if head.status == 429 else FRESH, wait=wait)

    def _wait(self, head: ResponseHead) -> float:
        if head.status not in (429, 503):
            return 0.0
        asked = seconds_to_wait(head.header("retry-after"), self._clock.now())
        if asked is None:
            return DEFAULT_WAIT if head.status == 429 else 0.0
        return min(asked, LONGEST_WAIT)


async def off_loop(size: int, function: Callable[..., T], *arguments: object) -> T:
    """Call a function, on a thread if it has much to do.

    Parameters
    ----------
    size
        Of what it works on, in bytes.
    function, arguments
        What to call.
    """
    if size <= _SMALL:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


class _Way:
    """The asker's admission, for one robots.txt: counts its redirects and follows few, however many a page may have."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._resolved = False
        self.redirects = 0

    def led_on(self, error: WebResearchError) -> bool:
        """Whether an error is that of a redirect's target, rather than of the origin itself."""
        # Of the origin itself nothing is refused any more once it is resolved.
        return self.redirects > 0 or (self._resolved and isinstance(error, (BadInput, Refused)))

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        return self._admission.check_url(url, method)

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        addresses = self._admission.check_addresses(url, answers)
        self._resolved = True
        return addresses

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        self.redirects += redirected
        if self.redirects > MAX_REDIRECTS:
            raise Failed("too_many_redirects", f"more than {MAX_REDIRECTS} redirects")
        await self._admission.admit(url, method=method, body=body, redirected=redirected)

    async def charge(self, url: CheckedURL) -> None:
        await self._admission.charge(url)

    def note_sending(self) -> None:
        self._admission.note_sending()

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        return await self._admission.headers(url, redirected=redirected)

    def redactor(self) -> Redactor | None:
        return self._admission.redactor()


class _OtherStatus(Exception):
    """No error: ends a retrieval whose body nobody wants."""

    def __init__(self, head: ResponseHead) -> None:
        super().__init__()
        self.head = head


def _accept(head: ResponseHead) -> Disposition:
    if not 200 <= head.status <= 299:
        raise _OtherStatus(head)
    return Disposition(MAX_BYTES, "truncate")


def _unreadable(error: WebResearchError, way: _Way, *, hasty: bool) -> RobotsAnswer:
    """Return what follows from a failure; its own text, which may hold what the site wrote, goes no further."""
    if error.code == "too_many_redirects" and way.redirects >= MAX_REDIRECTS:
        return RobotsAnswer(seconds=FRESH)  # as if there were none (RFC 9309, 2.3.1.2)
    meaning = CODES[error.code].meaning.rstrip(".")
    why = ("after a redirect, " if way.led_on(error) else "") + meaning[0].lower() + meaning[1:]
    alike = not hasty and error.code in _OF_ANSWER | _OF_PLACE
    return RobotsAnswer(unreachable=why, seconds=FAULT_FRESH if alike else 0.0)


def _whole_lines(data: bytes) -> bytes:
    """Leave out the last line, which the limit cut: half a path forbids, or allows, more than a whole one."""
    return data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]


def _no_phase(_phase: str) -> None:
    """Nobody wants to know."""
