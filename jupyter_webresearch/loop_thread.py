"""A lifelong thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from jupyter_webresearch.threads import Threads

__all__ = ["LoopThread"]

T = TypeVar("T")

SECONDS_TO_END = 10


class LoopThread:
    """Runs coroutines for other threads; started by the first one.

    Parameters
    ----------
    shut_down
        Run last on the loop, after everything else was cancelled.
    """

    def __init__(self, shut_down: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._shut_down = shut_down
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def start(self) -> None:
        """Start the thread and its loop; a second call does nothing."""
        with self._lock:
            self._started()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop; cancelling the future cancels it.

        Raises
        ------
        RuntimeError
            When it is closed.
        """
        try:
            # Under the lock, so that what is submitted comes before the end that :meth:`close` submits, or not at all.
            with self._lock:
                return asyncio.run_coroutine_threadsafe(work, self._started())
        except RuntimeError:
            work.close()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise RuntimeError("the engine is closed")
        if self._thread is None:
            ready = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(ready,), name="webresearch-engine", daemon=True)
            self._thread.start()
            ready.wait()
        if self._loop is None:
            raise RuntimeError("the engine's loop did not start")
        return self._loop

    def _run(self, ready: threading.Event) -> None:
        loop: asyncio.AbstractEventLoop
        if sys.platform == "win32":
            # ipykernel and tornado choose a selector loop on Windows, on which no subprocess can be spawned.
            loop = asyncio.ProactorEventLoop()
        else:
            loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        threads = Threads(thread_name_prefix="webresearch-work")
        loop.set_default_executor(threads)
        self._loop = loop
        loop.call_soon(ready.set)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            threads.shutdown()  # not the loop's way, which starts a thread: see Threads
            loop.close()

    def close(self) -> None:
        """Cancel what runs, shut down, end the thread. A second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        try:
            with contextlib.suppress(concurrent.futures.TimeoutError):
                asyncio.run_coroutine_threadsafe(self._end(), loop).result(timeout=SECONDS_TO_END)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=SECONDS_TO_END)

    async def _end(self) -> None:
        current = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not current]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._shut_down()
