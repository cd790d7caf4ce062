"""What one kernel owns: its recent answers, its stored texts, and what runs for it."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.models import OnPhase
from jupyter_webresearch.policy.lists import Asks
from jupyter_webresearch.store import Spool, Store

__all__ = ["Record", "Session"]

T = TypeVar("T")

MOST_REMEMBERED = 50_000
"""Requests whose newest record is known, and records known to be dropped: the oldest are forgotten."""


@dataclass
class Record:
    """One answer as it was read. All that is large of it (body, headers, texts, links) lies in the session's store.

    Attributes
    ----------
    charset_label
        The charset that the site's header named, needed to decode the body again.
    read
        ``clock.monotonic()`` at which it was read.
    url
        Where it came from, redirects followed.
    retry_after
        Seconds that a 429 or 503 asked to wait, if it did.
    modes
        What was extracted and stored: ``auto``, ``raw``.
    """

    charset_label: str
    read: float
    url: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    retry_after: float | None = None
    modes: set[str] = field(default_factory=set)


class Session:
    """One kernel's share of an engine. Used on the engine's loop only.

    Requests are told apart by a key: a digest, so that no credential of a request stays in memory for its sake.

    Parameters
    ----------
    id
        Who it belongs to, e.g. ``kernel:<kernel id>``.
    settings
        Sizes of cache and store.
    account
        What its budgets are counted under; the id by default.
    """

    def __init__(self, id: str, settings: WebFetch, account: str = "") -> None:
        self.id = id
        self.account = account or id
        self._settings = settings
        self._store = Store(settings.store_size)
        self._records: dict[str, Record] = {}
        self._recent: OrderedDict[str, str] = OrderedDict()
        self._newest: dict[str, str] = {}
        self._dropped: dict[str, None] = {}
        self._spools: OrderedDict[str, int] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Twice a batch's, so that a batch leaves room for what else the kernel asks.
        self._places = asyncio.Semaphore(2 * settings.batch_concurrency)
        self._tasks: set[asyncio.Task[object]] = set()
        self._on_disk: set[asyncio.Future[Any]] = set()
        self.closed = False
        self.asks = Asks()
        """What it may read by its own and its notebook's asking; a kernel's restart keeps it."""
        self.changing = asyncio.Lock()
        """Held while its asks are changed: of two changes at once neither is lost."""
        self.told_of_journal = False
        """Whether one of its results said that the journal can't be written, since it last could."""
        self.dollars_spent = 0.0
        """The price of all that it had sent."""

    # ------------------------------------------------------------------ what runs

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the current task among those that :meth:`close` cancels."""
        task = asyncio.current_task()
        if task is None:  # only a caller outside the engine's loop could cause it
            raise RuntimeError("a session is used on the engine's loop only")
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    @asynccontextmanager
    async def turn(self, key: str, on_phase: OnPhase) -> AsyncIterator[None]:
        """Let equal requests be answered one after the other, the later from memory; ``queued`` while it waits.

        Parameters
        ----------
        key
            The same for equal requests.
        on_phase
            Told ``queued``.
        """
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        if lock.locked():
            on_phase("queued")
        async with lock:
            yield

    @asynccontextmanager
    async def place(self, on_phase: OnPhase) -> AsyncIterator[None]:
        """Let a bounded number of requests be under way at once: each may hold a whole body in memory."""
        if self._places.locked():
            on_phase("queued")
        async with self._places:
            yield

    async def close(self) -> None:
        """Cancel what runs and delete what is stored."""
        self.closed = True
        current = asyncio.current_task()
        running = [task for task in self._tasks if task is not current]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, *self._on_disk, return_exceptions=True)
        self._records.clear()
        self._recent.clear()
        await asyncio.to_thread(self._store.close)

    # ------------------------------------------------------------------ answers

    def recent(self, key: str, now: float) -> Record | None:
        """Return the record that answers a repeated request from memory, if there is one young enough.

        Parameters
        ----------
        key
            Of the request.
        now
            The clock's monotonic seconds.
        """
        record = self.by_id(self._recent.get(key, ""))
        if record is None or now - record.read >= self._settings.cache_seconds:
            self._recent.pop(key, None)
            return None
        self._recent.move_to_end(key)
        return record

    def newest(self, key: str) -> Record | None:
        """Return the newest record of a request that was shown, whatever its age."""
        return self.by_id(self._newest.get(key, ""))

    def by_id(self, record_id: str) -> Record | None:
        """Return a record by the id that its Pages carry."""
        record = self._records.get(record_id)
        if record is not None and not self._store.holds(record_id):
            self._forget(record_id)
            return None
        return record

    def was_dropped(self, record_id: str) -> bool:
        """Whether a record was dropped to make room."""
        return self.by_id(record_id) is None and record_id in self._dropped

    def newest_was_dropped(self, key: str) -> bool:
        """Whether the newest record of a request was dropped to make room."""
        return self.was_dropped(self._newest.get(key, ""))

    def remember(self, key: str, record: Record, *, shown: bool, answer_again: bool) -> None:
        """Keep a record for reading on and, if asked, to answer the same request again for a while.

        An answer that is not ``shown`` but raised as an error does not take the place of a text that is being read.

        Parameters
        ----------
        key
            Of the request.
        record
            What was read.
        shown
            Whether the caller gets it as a Page.
        answer_again
            Whether it may answer an equal request.
        """
        self._records[record.id] = record
        if shown or key not in self._newest:
            self._newest.pop(key, None)
            self._newest[key] = record.id
            _shorten(self._newest)
        if answer_again:
            self._recent[key] = record.id
            self._recent.move_to_end(key)
            while len(self._recent) > self._settings.cache_entries:
                self._recent.popitem(last=False)

    async def put(self, record: Record, pieces: Mapping[str, bytes], *, new: bool = False) -> None:
        """Write pieces of a record to the store, off the loop; the oldest records make room.

        Parameters
        ----------
        record
            Whose pieces they are.
        pieces
            Bytes by name; one of the same name is replaced.
        new
            Make the record if it is not there; otherwise nothing is stored of one that was dropped meanwhile.
        """
        for dropped in await self._disk(lambda: self._store.put(record.id, pieces, new=new)):
            self._forget(dropped)

    async def get(self, record: Record, *names: str) -> list[bytes] | None:
        """Read pieces of a record, off the loop; None when it was dropped.

        Parameters
        ----------
        record
            Whose pieces they are.
        *names
            Of the pieces, in the order to return them.
        """
        return await self._disk(lambda: self._store.get(record.id, *names))

    def _forget(self, record_id: str) -> None:
        self._records.pop(record_id, None)
        self._dropped[record_id] = None
        _shorten(self._dropped)

    # ------------------------------------------------------------------ bodies that are saved

    def spool(self) -> Spool:
        """Return a file for a body that streams to disk."""
        return self._store.spool(secrets.token_hex(16))

    async def keep_spool(self, spool: Spool, size: int) -> str:
        """Hold a complete body of so many bytes until it is fetched, and return its key.

        Bodies that nobody fetched stay within ``WebFetch.store_size`` too, the newest apart.

        Parameters
        ----------
        spool
            The file that holds it.
        size
            Bytes.

        Raises
        ------
        OSError
            When the disk does not take it.
        """
        await self._disk(spool.keep)
        self._spools[spool.record] = size
        while sum(self._spools.values()) > self._settings.store_size and len(self._spools) > 1:
            self.discard_spool(next(iter(self._spools)))
        return spool.record

    def spooled(self, key: str) -> Path | None:
        """Return the file of a saved body."""
        return self._store.spool_path(key) if key in self._spools else None

    def discard_spool(self, key: str) -> asyncio.Future[None]:
        """Begin to delete a saved body; awaiting what is returned waits until it is gone."""
        self._spools.pop(key, None)
        return self._start(lambda: self._store.drop(key))

    def abandon_spool(self, spool: Spool) -> None:
        """Begin to delete a body that did not come to its end."""
        self._start(spool.discard)

    # ------------------------------------------------------------------ disk

    async def _disk(self, work: Callable[[], T]) -> T:
        """Do work on a thread. It goes on to its end when this task is cancelled, and :meth:`close` waits for it."""
        return await asyncio.shield(self._start(work))

    def _start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        future = asyncio.get_running_loop().run_in_executor(None, work)
        self._on_disk.add(future)
        future.add_done_callback(self._on_disk.discard)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, whoever was to await it
        return future


def _shorten(entries: dict[str, Any]) -> None:
    if len(entries) > MOST_REMEMBERED:
        del entries[next(iter(entries))]
