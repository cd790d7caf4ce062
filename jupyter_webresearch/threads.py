"""Threads for blocking work that must be done even while the interpreter ends."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Threads"]

T = TypeVar("T")


class Threads(concurrent.futures.ThreadPoolExecutor):
    """An executor that does the work at once, on the caller's thread, where no thread can be started any more.

    Python 3.12 starts none from the moment that the main thread has ended (CPython gh-104690), which is when an engine
    is closed that nobody closed before: files are still to be deleted then, and processes to be waited for. Work that
    is given to it may be done twice in that case, and must bear that.
    """

    _ended = False

    def submit(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> concurrent.futures.Future[T]:
        """Schedule a call; RuntimeError after :meth:`shutdown`."""
        try:
            return super().submit(function, *arguments, **named)
        except RuntimeError:
            if self._ended:
                raise
        done: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            done.set_result(function(*arguments, **named))
        except BaseException as error:
            done.set_exception(error)
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end with what is scheduled."""
        self._ended = True
        super().shutdown(wait, cancel_futures=cancel_futures)
