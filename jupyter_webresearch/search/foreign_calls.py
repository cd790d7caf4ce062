"""Calls of code that is not ours: it may raise anything, end the thread, or never return, and harms only itself.

Nothing can end a thread. A call that does not return in time is given up: its thread is left behind and counted, and
when several of one plugin hang, no more are begun.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

__all__ = ["ForeignCalls", "ForeignLoop", "Hangs", "Outcome", "Raised"]

T = TypeVar("T")

MOST_HANGING = 4
"""Calls of one plugin that hang, after which it is not called any more."""

SECONDS_TO_END = 1.0


class Hangs(Exception):
    """The call did not return in time, or is not begun because others did not."""


class Raised(Exception):
    """The call ended with an exception.

    Parameters
    ----------
    error
        Of any type, SystemExit and the like among them.
    """

    def __init__(self, error: BaseException) -> None:
        try:
            words = str(error)
        except BaseException:
            words = ""
        kind = type(error).__name__
        super().__init__(f"{kind}: {words}" if words else kind)
        self.error = error


class Outcome(Generic[T]):
    """What came of a call; an exception is carried, because some of them would end an event loop."""

    def __init__(self, value: T | None = None, raised: Raised | None = None) -> None:
        self._value = value
        self._raised = raised

    @classmethod
    def of(cls, function: Callable[[], T]) -> Outcome[T]:
        """Return what comes of a call that is made here."""
        try:
            return cls(function())
        except BaseException as error:
            return cls(raised=Raised(error))

    @classmethod
    async def awaited(cls, work: Awaitable[T]) -> Outcome[T]:
        """Return what comes of something that is awaited here."""
        try:
            return cls(await work)
        except BaseException as error:
            return cls(raised=Raised(error))

    def get(self) -> T:
        """Return the value.

        Raises
        ------
        Raised
            When the call ended with an exception.
        """
        if self._raised is not None:
            raise self._raised
        return self._value  # type: ignore[return-value]  # it is T where nothing was raised


class ForeignCalls:
    """The plain functions of one plugin, each call on a thread of its own.

    Parameters
    ----------
    name
        Of the plugin, for the names of threads.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._given_up: list[threading.Thread] = []

    @property
    def hanging(self) -> int:
        """How many calls were given up and have not ended since."""
        with self._lock:
            self._given_up = [thread for thread in self._given_up if thread.is_alive()]
            return len(self._given_up)

    def run(self, function: Callable[[], T], seconds: float) -> T:
        """Call a function, and wait for it: blocks.

        Parameters
        ----------
        function
            What is called.
        seconds
            Longest wait.

        Raises
        ------
        Hangs
            When it takes longer.
        Raised
            When it ends with an exception.
        """
        future, thread = self._begun(function)
        try:
            outcome = future.result(seconds)
        except concurrent.futures.TimeoutError:
            self._give_up(thread)
            raise Hangs(f"it did not return within {seconds:g} s") from None
        return outcome.get()

    async def ask(self, function: Callable[[], T], seconds: float) -> T:
        """Call a function, while the loop goes on; as :meth:`run`.

        Parameters
        ----------
        function
            What is called.
        seconds
            Longest wait.

        Raises
        ------
        Hangs
            When it takes longer.
        """
        future, thread = self._begun(function)
        try:
            with anyio.fail_after(seconds):
                outcome = await asyncio.wrap_future(future)
        except TimeoutError:
            raise Hangs(f"it did not return within {seconds:g} s") from None
        finally:
            if not future.done():
                self._give_up(thread)
        return outcome.get()

    def _begun(self, function: Callable[[], T]) -> tuple[concurrent.futures.Future[Outcome[T]], threading.Thread]:
        hanging = self.hanging
        if hanging >= MOST_HANGING:
            raise Hangs(f"{hanging} earlier calls of it hang; it is not asked any more until one of them ends")
        future: concurrent.futures.Future[Outcome[T]] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()  # from here on nobody can cancel it
        thread = threading.Thread(
            target=lambda: future.set_result(Outcome.of(function)), name=f"webresearch-plugin-{self._name}", daemon=True
        )
        thread.start()
        return future, thread

    def _give_up(self, thread: threading.Thread) -> None:
        with self._lock:
            self._given_up.append(thread)


class ForeignLoop:
    """The event loop on which the coroutines of one plugin run; one that blocks holds up nobody else.

    It lasts between calls, because clients that a plugin keeps belong to a loop.

    Parameters
    ----------
    name
        Of the plugin, for the names of threads.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._running: _RunningLoop | None = None
        self._given_up: list[_RunningLoop] = []

    @property
    def hanging(self) -> int:
        """How many loops were given up and are blocked still."""
        with self._lock:
            return sum(running.is_blocked for running in [*self._given_up, *filter(None, (self._running,))])

    async def ask(self, work: Awaitable[T], seconds: float) -> T:
        """Await something there, while our own loop goes on.

        Parameters
        ----------
        work
            A coroutine or the like.
        seconds
            Longest wait; after it the work is cancelled.

        Raises
        ------
        Hangs
            When it takes longer.
        Raised
            When it ends with an exception.
        """
        running = self._responsive()
        future = asyncio.run_coroutine_threadsafe(Outcome.awaited(work), running.loop)
        try:
            with anyio.fail_after(seconds):
                outcome = await asyncio.wrap_future(future)
        except TimeoutError:
            running.probe()
            raise Hangs(f"it did not return within {seconds:g} s") from None
        return outcome.get()

    def close(self) -> None:
        """Cancel what runs, and end the threads that can be ended."""
        with self._lock:
            ending = [*self._given_up, *filter(None, (self._running,))]
            self._running, self._given_up = None, []
        for running in ending:
            running.stop()

    def _responsive(self) -> _RunningLoop:
        """Return the loop, or a new one where it answers no more."""
        with self._lock:
            if self._running is not None and self._running.is_blocked:
                self._given_up.append(self._running)
                self._running = None
            blocked = sum(running.is_blocked for running in self._given_up)
            if blocked >= MOST_HANGING:
                raise Hangs(f"{blocked} earlier calls of it hang; it is not asked any more until one of them ends")
            if self._running is None:
                self._running = _RunningLoop(self._name)
            return self._running


class _RunningLoop:
    """A loop on a thread."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._answered = threading.Event()
        self._answered.set()
        self._thread = threading.Thread(target=self._run, name=f"webresearch-plugin-{name}-loop", daemon=True)
        self._thread.start()

    @property
    def is_blocked(self) -> bool:
        """Whether it has not answered since the last :meth:`probe`."""
        return not self._answered.is_set()

    def probe(self) -> None:
        """Ask whether it still runs what it is given."""
        self._answered.clear()
        self.loop.call_soon_threadsafe(self._answered.set)

    def stop(self) -> None:
        """End it, where it answers."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(0 if self.is_blocked else SECONDS_TO_END)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:
            try:
                self.loop.run_forever()
                break
            except (SystemExit, KeyboardInterrupt):  # a task of the plugin's that would end the program
                continue
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
