"""How fast a service may be asked: one request at a time, and no sooner than so long after the last one began."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from jupyter_webresearch.clock import Clock, SystemClock
from jupyter_webresearch.search.answer import ProviderError

__all__ = ["Pace"]


class Pace:
    """A gate that all calls of one engine share. Used on the engine's loop only.

    Parameters
    ----------
    interval
        Seconds from the beginning of one request to that of the next.
    clock
        Time.
    sleep
        Waits.
    """

    def __init__(
        self, interval: float, clock: Clock | None = None, sleep: Callable[[float], Awaitable[object]] = anyio.sleep
    ) -> None:
        self._interval = interval
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._busy: anyio.Lock | None = None
        self._next = float("-inf")

    @asynccontextmanager
    async def turn(self, service: str, deadline: float) -> AsyncIterator[None]:
        """Wait for one's turn, and hold it while the block runs.

        Parameters
        ----------
        service
            Its name, for people.
        deadline
            By which the turn must have come, on the clock's monotonic scale.

        Raises
        ------
        ProviderError
            ``rate_limited`` when it does not come in time; the service is not asked then.
        """
        with anyio.move_on_after(deadline - self._clock.monotonic()) as waiting:
            busy = await self._begun(service, deadline)
        if waiting.cancelled_caught:
            raise _too_late(service, self._interval)
        try:
            yield
        finally:
            busy.release()

    async def _begun(self, service: str, deadline: float) -> anyio.Lock:
        if self._busy is None:
            self._busy = anyio.Lock()  # not before: it belongs to a loop
        await self._busy.acquire()
        try:
            await self._rest(service, deadline)
        except BaseException:
            self._busy.release()
            raise
        self._next = self._clock.monotonic() + self._interval
        return self._busy

    async def _rest(self, service: str, deadline: float) -> None:
        wait = self._next - self._clock.monotonic()
        if self._next >= deadline:
            raise _too_late(service, wait)
        if wait > 0:
            await self._sleep(wait)


def _too_late(service: str, wait: float) -> ProviderError:
    return ProviderError(
        "rate_limited",
        f"{service} may be asked at a slow pace only, and others of this server are before; try again in a moment",
        retry_after=wait,
    )
