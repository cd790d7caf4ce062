"""robots.txt: whether a site wants its documents read by us, and when it wants to be left alone.

Each origin is asked once a day, through the admission of whoever comes first, so that guard and lists hold on every
hop. What a file says is hostile text: a message shows one rule, escaped and short, and nothing reaches a log.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

import anyio

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.policy.admission import Admission
from jupyter_webresearch.policy.robots_answer import RobotsAnswer, RobotsReader, off_loop
from jupyter_webresearch.policy.urls import CheckedURL

__all__ = ["Robots"]

PATIENCE = 10.0
"""Seconds for one robots.txt at most."""
SHARE = 1 / 3
"""How much of what is left of a page's time its robots.txt may take."""
SHORT_WAIT = 2.0
"""Seconds that are waited for rather than refused."""

MAX_ORIGINS = 1024
"""Origins that are remembered."""
MAX_MEMORY = 32 * 1024 * 1024
"""Bytes that their rules may take together."""


@dataclass(frozen=True)
class _Known:
    """An answer, until when it holds, and until when the site is left alone; times are of the monotonic scale."""

    answer: RobotsAnswer
    until: float
    held: float


class Robots:
    """Asks for robots.txt, remembers and obeys it. Used on the engine's loop only.

    Parameters
    ----------
    retriever
        Through which it is read.
    settings
        ``agent``: our product token.
    mode
        ``off``: it is not asked for. ``named``: groups that name our token are obeyed, and a file that can't be had
        forbids nothing. ``full``: as a crawler, the group of ``*`` too, and a file that can't be had forbids all.
    clock
        Ages.
    sleep
        Waits while a site wants to be left alone.
    """

    def __init__(
        self,
        retriever: Retriever,
        settings: WebFetch,
        mode: str,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        self._reader = RobotsReader(retriever, settings.agent, clock)
        self._mode = mode
        self._clock = clock
        self._sleep = sleep
        self._known: OrderedDict[str, _Known] = OrderedDict()  # by origin, the least recently used first
        self._memory = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def check(self, url: CheckedURL, admission: Admission, *, deadline: float | None = None) -> None:
        """Decide whether a document may be asked for now.

        Parameters
        ----------
        url
            The document's.
        admission
            Lets out the request for robots.txt and each of its redirects.
        deadline
            Of the document, on the clock's monotonic scale.

        Raises
        ------
        Refused
            ``robots``; and what the admission refuses of the origin itself, for the document would meet the same.
        BadInput
            Likewise.
        Failed
            ``rate_limited`` while the site wants to be left alone. Under ``full`` also ``unresolved``, ``unreachable``,
            ``tls`` ...: there is no way to the site, and the document would meet the same.
        """
        if self._mode == "off" or url.target == "/robots.txt":
            return
        known = self._fresh(url.origin)
        asked = False
        if known is None:
            try:
                known, asked = await self._learn(url.origin, admission, self._patience(deadline))
            except Failed:
                if self._mode == "full":
                    raise
                return  # the document's own request will tell
        if not asked:  # who has just learnt that the site wants to be left alone could not know
            await self._hold_back(url, known, deadline)
        await self._judge(url, known)

    async def close(self) -> None:
        """Forget all answers."""
        self._known.clear()
        self._memory = 0

    # ------------------------------------------------------------------ the decision

    async def _hold_back(self, url: CheckedURL, known: _Known, deadline: float | None) -> None:
        """Wait while the site wants to be left alone, if that is short; else refuse."""
        now = self._clock.monotonic()
        left = known.held - now
        if left <= 0:
            return
        if left > SHORT_WAIT or (deadline is not None and now + left >= deadline):
            message = f"{url.host} asks to be left alone for now; try again in {math.ceil(left)} s"
            raise Failed("rate_limited", message, retry_after=left)
        await self._sleep(left)

    async def _judge(self, url: CheckedURL, known: _Known) -> None:
        if known.answer.unreachable:
            if self._mode == "full":
                raise self._unreadable(url, known)
            return
        group = known.answer.rules.group(named_only=self._mode == "named")
        rule = await off_loop(group.size, group.against, url.target) if group else None
        if group and rule:
            message = f"the robots.txt of {url.host} asks not to read this: {rule} (User-agent: {group.agent})"
            raise Refused("robots", message)

    def _unreadable(self, url: CheckedURL, known: _Known) -> Refused:
        left = known.until - self._clock.monotonic()
        return Refused(
            "robots",
            f"nothing of {url.host} is read while its robots.txt can't be: {known.answer.unreachable}",
            retry_after=left if left > 0 else None,
        )

    # ------------------------------------------------------------------ asking and remembering

    def _patience(self, deadline: float | None) -> float:
        if deadline is None:
            return PATIENCE
        return max(0.0, min(PATIENCE, (deadline - self._clock.monotonic()) * SHARE))

    async def _learn(self, origin: str, admission: Admission, seconds: float) -> tuple[_Known, bool]:
        """Return what is known of an origin by now, and whether it was asked for here.

        One asks at a time. Whoever waits asks next if that one was cancelled or got what holds for nobody else.
        """
        until = self._clock.monotonic() + seconds
        lock = self._locks.get(origin)
        if lock is None:
            lock = self._locks[origin] = asyncio.Lock()
        with anyio.move_on_after(seconds) as waiting:
            await lock.acquire()
        if waiting.cancelled_caught:
            return self._noted(RobotsAnswer(unreachable="it does not come in time")), False
        try:
            known = self._fresh(origin)
            if known is not None:
                return known, False
            known = self._noted(await self._reader.read(origin, admission, until=until))
            self._remember(origin, known)
            return known, True
        finally:
            lock.release()

    def _noted(self, answer: RobotsAnswer) -> _Known:
        now = self._clock.monotonic()
        return _Known(answer, now + answer.seconds, now + answer.wait)

    def _fresh(self, origin: str) -> _Known | None:
        known = self._known.get(origin)
        if known is None or known.until <= self._clock.monotonic():
            return None
        self._known.move_to_end(origin)
        return known

    def _remember(self, origin: str, known: _Known) -> None:
        """Keep an answer, and forget what was not used for longest where there is no room."""
        self._forget(origin)
        if not known.answer.seconds:
            return
        self._known[origin] = known
        self._memory += known.answer.rules.size
        while len(self._known) > MAX_ORIGINS or (self._memory > MAX_MEMORY and len(self._known) > 1):
            self._forget(next(iter(self._known)))

    def _forget(self, origin: str) -> None:
        known = self._known.pop(origin, None)
        if known is not None:
            self._memory -= known.answer.rules.size
