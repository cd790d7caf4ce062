"""What one kernel owns: its recent answers, its stored texts, and what runs for it."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.models import Extraction, Page
from jupyter_webresearch.store import Store

__all__ = ["Record", "RequestKey", "Session"]

RequestKey = tuple[str, str, tuple[tuple[str, str], ...], str]
"""Method, URL without fragment, caller's headers, digest of the body."""


@dataclass
class Record:
    """One answer as it was read; its body and texts lie in the session's store.

    Attributes
    ----------
    page
        The Page without text: what every answer made from this record shares.
    charset_label
        The charset that the site's header named, needed to decode the body again.
    read
        ``clock.monotonic()`` at which it was read.
    retry_after
        Seconds that a 429 or 503 asked to wait, if it did.
    extractions
        By mode (``auto``, ``raw``): what was extracted, without the text.
    answers
        How many answers were made from it.
    """

    page: Page
    charset_label: str
    read: float
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    retry_after: float | None = None
    extractions: dict[str, Extraction] = field(default_factory=dict)
    answers: int = 0


class Session:
    """One kernel's share of an engine. Used on the engine's loop only.

    Parameters
    ----------
    id
        Who it belongs to, e.g. ``kernel:<kernel id>``.
    settings
        Sizes of cache and store.
    """

    def __init__(self, id: str, settings: WebFetch) -> None:
        self.id = id
        self._settings = settings
        self._store = Store(settings.store_size)
        self._records: dict[str, Record] = {}
        self._recent: OrderedDict[RequestKey, str] = OrderedDict()
        self._stored: dict[RequestKey, str] = {}
        self._dropped: set[str] = set()
        self._spools: dict[str, Path] = {}
        self._locks: WeakValueDictionary[RequestKey, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[object]] = set()
        self.closed = False

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

    def lock(self, key: RequestKey) -> asyncio.Lock:
        """Return the lock under which equal requests are answered one after the other, the later from memory."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    def recent(self, key: RequestKey, now: float) -> Record | None:
        """Return the record that answers a repeated request from memory, if there is one young enough."""
        record = self._records.get(self._recent.get(key, ""))
        if record is None or now - record.read >= self._settings.cache_seconds:
            self._recent.pop(key, None)
            return None
        self._recent.move_to_end(key)
        return record

    def stored(self, key: RequestKey) -> Record | None:
        """Return the newest record of a request, whatever its age."""
        return self._records.get(self._stored.get(key, ""))

    def by_id(self, record_id: str) -> Record | None:
        """Return a record by the id that its Pages carry."""
        return self._records.get(record_id)

    def was_dropped(self, record_id: str) -> bool:
        """Whether a record was dropped to make room."""
        return record_id in self._dropped

    def dropped(self, key: RequestKey) -> bool:
        """Whether the newest record of a request was dropped to make room."""
        return self._stored.get(key, "") in self._dropped

    def remember(self, key: RequestKey, record: Record, *, answer_again: bool) -> None:
        """Keep a record for reading on and, if asked, to answer the same request again for a while."""
        self._records[record.id] = record
        self._stored[key] = record.id
        if answer_again:
            self._recent[key] = record.id
            self._recent.move_to_end(key)
            while len(self._recent) > self._settings.cache_entries:
                self._recent.popitem(last=False)

    async def put(self, record: Record, name: str, data: bytes) -> None:
        """Write one piece of a record to the store, off the loop; the oldest records make room."""
        for dropped in await asyncio.to_thread(self._store.put, record.id, name, data):
            self._records.pop(dropped, None)
            self._dropped.add(dropped)

    async def get(self, record: Record, name: str) -> bytes | None:
        """Read one piece of a record, off the loop."""
        return await asyncio.to_thread(self._store.get, record.id, name)

    def new_spool(self) -> tuple[str, Path]:
        """Return the key and path of a file for a body that streams to disk."""
        key = secrets.token_hex(16)
        self._spools[key] = self._store.spool(key)
        return key, self._spools[key]

    def spooled(self, key: str) -> Path | None:
        """Return the file of a spooled body."""
        return self._spools.get(key)

    def discard_spool(self, key: str) -> None:
        """Delete a spooled body."""
        if self._spools.pop(key, None) is not None:
            self._store.drop(key)

    async def close(self) -> None:
        """Cancel what runs and delete what is stored."""
        self.closed = True
        current = asyncio.current_task()
        running = [task for task in self._tasks if task is not current]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._records.clear()
        self._recent.clear()
        await asyncio.to_thread(self._store.close)
