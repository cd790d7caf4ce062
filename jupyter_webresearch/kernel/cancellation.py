"""Ending a blocking call from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jupyter_webresearch.errors import Failed

__all__ = ["Cancellation", "Interrupted"]


class Interrupted(KeyboardInterrupt):
    """A KeyboardInterrupt that IPython shows as one line; it stops a run of cells as any other does."""

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self} [cancelled]"]


Interrupted.__name__ = "KeyboardInterrupt"  # the name that front ends and runners of notebooks compare


class Cancellation:
    """A handle by which another thread ends the call that it was given to.

    The call then raises ``Failed("cancelled")``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Callable[[], object] | None = None
        self._requested = threading.Event()

    def cancel(self) -> None:
        """End the call, now or as soon as it begins."""
        with self._lock:
            self._requested.set()
            stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopping_with(self, stop: Callable[[], object]) -> Iterator[None]:
        """Have :meth:`cancel` call ``stop`` while the block runs.

        Raises
        ------
        Failed
            ``cancelled``, when that has happened already or happens meanwhile.
        """
        with self._lock:
            if self._requested.is_set():
                raise _cancelled()
            self._stop = stop
        try:
            yield
        except BaseException as error:
            if self._requested.is_set() and isinstance(error, Exception):
                raise _cancelled() from None
            raise
        finally:
            with self._lock:
                self._stop = None


def _cancelled() -> Failed:
    return Failed("cancelled", "the operation was interrupted")
