"""The journal, as the engine writes it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebJournal
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.file import JournalFile, lock_file
from jupyter_webresearch.journal.installation_key import SIZE as KEY_SIZE
from jupyter_webresearch.journal.installation_key import arguments_hash, installation_key
from jupyter_webresearch.journal.rows import close_interrupted, forget_running, insert, time_text
from jupyter_webresearch.journal.writer import Writer
from jupyter_webresearch.threads import Threads

__all__ = ["Journal"]

_log = logging.getLogger(__name__)

_WAIT = 5.0  # s for other processes
_WAIT_AGAIN = 0.2  # s, when they let us wait in vain before
_LARGEST_GROUP = 500  # events of one transaction
_MOST_UNENDED = 10_000  # operations whose lost end is remembered


@dataclass
class _Entry:
    """The events of one call, and what became of them."""

    events: tuple[Event, ...]
    failure: str = ""


class Journal:
    """Adds events to the journal's file, on a thread of its own; what is waiting goes into it at once.

    Parameters
    ----------
    folder
        Where the file lies; it is made, private, if it is not there.
    settings
        Size, number of files, and whether operations may go on without a journal.
    clock
        Tells the time.
    on_event
        Told each event when it is in the file, or lost while ``required`` is off. Called on the journal's thread.

    Notes
    -----
    If the file can't be written, one warning is logged until it can again, :attr:`fault` tells people why, and the next
    event written tells how many were lost. With ``WebJournal.required`` each :meth:`write` fails instead.
    """

    def __init__(
        self, folder: Path, settings: WebJournal, clock: Clock, *, on_event: Callable[[Event], None] | None = None
    ) -> None:
        self._folder = folder
        self._file = JournalFile(folder, max_size=settings.max_size, files=settings.files, clock=clock)
        self._required = settings.required
        self._clock = clock
        self._on_event = on_event
        self._threads = Threads(max_workers=1, thread_name_prefix="webresearch-journal")
        self._waiting: deque[_Entry] = deque()
        # Until the one in the folder can be had, one of our own: hashes within this process are comparable at least.
        self._key = secrets.token_bytes(KEY_SIZE)
        self._has_key = False
        self._writer: Writer | None = None
        self._is_settled = False
        self._fault = ""
        self._lost = 0
        self._unended: set[str] = set()
        self._closed = False

    async def open(self) -> None:
        """Give an end to what processes that are gone left open. A second call does nothing.

        A journal that can't be written is not told by an error here but by the first :meth:`write`.
        """
        if not self._is_settled:
            await self._on_thread(self._write_group, [])

    async def write(self, *events: Event) -> None:
        """Add events, in order and together; returns when they are in the file. Cancelling the task takes none back.

        Raises
        ------
        Failed
            ``journal_unavailable``, only with ``WebJournal.required``.
        """
        if not events:
            return
        entry = _Entry(events)
        self._waiting.append(entry)
        if self._closed:
            self._give_up([entry], "it is closed")
        else:
            await self._on_thread(self._write_waiting)
        if entry.failure and self._required:
            raise Failed(
                "journal_unavailable",
                f"the journal can't be written: {entry.failure}; mend that, or set WebJournal.required to False to go "
                "on without",
            )

    async def close(self) -> None:
        """Write what is waiting and end the thread. A second call does nothing."""
        if not self._closed:
            self._closed = True
            await self._on_thread(self._write_waiting)
            self._threads.shutdown()

    @property
    def fault(self) -> str:
        """Why it could not be written when that was last tried, in one line; empty when it could. From any thread."""
        return self._fault

    async def check(self) -> str:
        """Try again to write where that failed, and return :attr:`fault`."""
        if self._fault and not self._closed:
            await self._on_thread(self._write_group, [])
        return self._fault

    def arguments_hash(self, value: object) -> str:
        """Return the HMAC-SHA256, hexadecimal, of arguments; see :func:`.installation_key.arguments_hash`."""
        return arguments_hash(self._key, value)

    # ------------------------------------------------------------------ on the journal's thread

    async def _on_thread(self, work: Callable[..., None], *arguments: object) -> None:
        # Shielded: what has begun to be written is written.
        await asyncio.shield(asyncio.wrap_future(self._threads.submit(work, *arguments)))

    def _write_waiting(self) -> None:
        """Write what all calls have left by now; those that come next may find nothing to do."""
        while group := self._next_group():
            self._write_group(group)

    def _next_group(self) -> list[_Entry]:
        group: list[_Entry] = []
        size = 0
        with contextlib.suppress(IndexError):
            while size < _LARGEST_GROUP:
                group.append(self._waiting.popleft())
                size += len(group[-1].events)
        return group

    def _write_group(self, group: list[_Entry]) -> None:
        events = [event for entry in group for event in entry.events]
        wait = _WAIT_AGAIN if self._fault else _WAIT
        try:
            added = self._file.transaction(lambda connection: self._add(connection, events), wait)
        except (OSError, sqlite3.Error) as error:
            self._give_up(group, _told(error))
            return
        except Exception:  # a fault of ours must fail no operation, nor be overlooked
            _log.exception("Web Research: a fault while writing the journal")
            self._give_up(group, "a fault of ours, which the log tells")
            return
        self._is_settled = True
        self._fault = ""
        self._lost = 0
        self._unended.clear()
        if not self._has_key:
            self._take_key(wait)
        self._tell(added)

    def _add(self, connection: sqlite3.Connection, events: list[Event]) -> list[Event]:
        if self._writer is None:
            self._writer = Writer.of_this_process()
        forget_running(connection, self._unended)
        before = [] if self._is_settled else close_interrupted(connection, self._writer, self._clock.now())
        if self._lost:
            before.append(self._loss())
        added = [*before, *events]
        if added:
            insert(connection, added, first=self._file.next_number(connection), writer=self._writer.to_text())
        return added

    def _take_key(self, wait: float) -> None:
        self._has_key = True  # or one warning that it is not
        try:
            self._key = installation_key(self._folder, lock_file(self._folder), wait)
        except OSError as error:
            _log.warning("Web Research: hashes in the journal can't be compared with others': %s.", _told(error))

    def _loss(self) -> Event:
        told = "1 event" if self._lost == 1 else f"{self._lost:,} events"
        return Event(
            operation=secrets.token_hex(16),
            outcome="completed",
            kind="policy",
            time=time_text(self._clock.now()),
            scope=f"{told} could not be written",
        )

    def _give_up(self, group: list[_Entry], why: str) -> None:
        events = [event for entry in group for event in entry.events]
        for entry in group:
            entry.failure = why
        self._lost += len(events)
        self._unended.update(event.operation for event in events if event.outcome != "started")
        while len(self._unended) > _MOST_UNENDED:
            self._unended.pop()
        goes_on = "every operation is refused" if self._required else "operations go on without it"
        if not self._fault:
            _log.warning("Web Research: the journal in %s can't be written: %s; %s.", self._folder, why, goes_on)
        self._fault = f"the journal can't be written: {why}; {goes_on}"
        if not self._required:
            self._tell(events)

    def _tell(self, events: list[Event]) -> None:
        if self._on_event is None:
            return
        for event in events:
            try:
                self._on_event(event)
            except Exception:  # who listens must not stop what is told
                _log.exception("Web Research: a fault of who listens to the journal")


def _told(error: OSError | sqlite3.Error) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
