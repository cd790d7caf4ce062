"""A line that says what is going on, replaced in place and gone when the result is there."""

from __future__ import annotations

import contextvars
import sys
import threading
import uuid
from types import TracebackType
from typing import Any, Protocol

from jupyter_webresearch.extraction.sanitise import one_line

__all__ = ["LiveLine", "Surface", "surface_of"]

DELAY = 0.3  # seconds before the line appears: what is quicker needs none


class Surface(Protocol):
    """Where a line can be shown and replaced."""

    def show(self, text: str) -> None:
        """Show the text in place of what was shown before."""
        ...

    def clear(self) -> None:
        """Leave nothing behind."""
        ...


class NotebookSurface:
    """A display output that is updated in place; at the end its data is empty, which front ends draw as nothing."""

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher
        self._id: str | None = None
        # ipykernel finds the cell that a message belongs to in the context; phases come from other threads.
        self._context = contextvars.copy_context()

    def show(self, text: str) -> None:
        """Show or replace the line."""
        known = self._id is not None
        self._id = self._id or uuid.uuid4().hex
        self._publish({"text/plain": text}, update=known)

    def clear(self) -> None:
        """Empty the output."""
        if self._id is not None:
            self._publish({}, update=True)

    def _publish(self, data: dict[str, str], *, update: bool) -> None:
        self._context.run(self._publisher.publish, data, {}, transient={"display_id": self._id}, update=update)


class TerminalSurface:
    """The current line of a terminal."""

    def show(self, text: str) -> None:
        """Write over the line."""
        sys.stderr.write(f"\r\x1b[2K{text[:78]}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Wipe the line."""
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


def surface_of(shell: Any) -> Surface | None:
    """Return where this shell can show a live line, or None.

    A cell that runs with nobody watching (nbclient, papermill) gets none, so that nothing of it is left in the file.
    The sign of a front end is the id of the cell, which Jupyter's and VS Code's front ends send and the others don't.
    """
    if hasattr(shell, "kernel"):
        parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
        return NotebookSurface(shell.display_pub) if (parent.get("metadata") or {}).get("cellId") else None
    return TerminalSurface() if sys.stderr.isatty() else None


class LiveLine:
    """Shows what is going on while the block runs.

    Parameters
    ----------
    surface
        Where; None shows nothing.
    subject
        What is being read, e.g. a URL; shown in front of each state.
    delay
        Seconds before the line appears.
    """

    def __init__(self, surface: Surface | None, subject: str, *, delay: float = DELAY) -> None:
        self._surface = surface
        self._subject = one_line(subject, 70)
        self._state = ""
        self._visible = self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(delay, self._appear)
        self._timer.daemon = True

    def __call__(self, state: str) -> None:
        """Take note of a new state; from any thread."""
        with self._lock:
            if state != self._state:
                self._state = state
                self._draw()

    def __enter__(self) -> LiveLine:
        if self._surface is not None:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._visible and self._surface is not None:
                self._surface.clear()

    def _appear(self) -> None:
        with self._lock:
            self._visible = True
            self._draw()

    def _draw(self) -> None:
        if self._visible and not self._over and self._surface is not None:
            self._surface.show(f"{self._subject} … {self._state}" if self._state else f"{self._subject} …")
