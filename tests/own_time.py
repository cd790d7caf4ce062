"""Time that passes only when nothing else happens, for tests of what happens when nothing else does.

On such a loop a timeout of half a second is as safe as one of a minute: as long as anything is being done, the clock
stands still, however slow the machine is; when nothing is left to do, it goes straight to the next timer. What a test
waits for must come from the loop itself or from sockets whose other end it serves, not from a thread.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

__all__ = ["in_own_time"]

# Seconds without an event, twice, after which none is to come: what loopback carries is there at once. Twice, because
# a machine that stood still meanwhile has had no time to carry it.
IDLE = 0.025

P = ParamSpec("P")


class _Selector(selectors.DefaultSelector):
    """Cuts each wait short in which nothing happens, and counts it as waited all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(min(timeout, IDLE)) or super().select(min(timeout, IDLE))
        if not ready:
            self.waited += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.waited


async def _end() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


def in_own_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an asynchronous test on a loop of its own time, which begins at 0."""

    @functools.wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        loop = _Loop()
        try:
            loop.run_until_complete(test(*arguments, **named))
        finally:
            loop.run_until_complete(_end())
            loop.close()

    return run
