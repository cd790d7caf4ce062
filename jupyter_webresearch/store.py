"""Whole texts and bodies of one session, on disk, oldest dropped first.

The folder is private (0700), lives in the system's temporary folder and is deleted with its session. Folders that a
killed process of this user left behind are removed when the next store is made. Where nothing can be written, memory
serves instead, within the same size.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import psutil

__all__ = ["RECORD_OVERHEAD", "Spool", "Store"]

PREFIX = "jupyter-webresearch-"
SPOOL = "spool"

RECORD_OVERHEAD = 4096
"""Bytes that a record counts beside its pieces: what a folder takes on disk. It bounds the number of records too."""


class Store:
    """Named pieces of bytes, grouped by record, within a size.

    Methods may be called from any thread; all but :meth:`holds` read and write files, so never from an event loop. A
    closed store takes nothing more and holds nothing, whoever still writes on another thread.

    Parameters
    ----------
    size
        Most bytes held; the oldest records are dropped to stay within it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._closed = False
        self._records: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._used = 0
        self._memory: dict[tuple[str, str], bytes] = {}

    def holds(self, record: str) -> bool:
        """Whether a record is there; blocks for nothing."""
        return record in self._records

    def put(self, record: str, pieces: Mapping[str, bytes], *, new: bool = True) -> list[str]:
        """Store pieces of a record and return the records that were dropped to make room.

        Parameters
        ----------
        record
            Its id.
        pieces
            What to store, by name.
        new
            Make the record if it is not there. Otherwise nothing is stored of a record that was dropped meanwhile.
        """
        with self._lock:
            if self._closed or not (new or record in self._records):
                return []
            if record not in self._records:
                self._records[record] = {}
                self._used += RECORD_OVERHEAD
            held = self._records[record]
            for name, data in pieces.items():
                self._write(record, name, data)
                self._used += len(data) - held.get(name, 0)
                held[name] = len(data)
            return self._make_room(record)

    def get(self, record: str, *names: str) -> list[bytes] | None:
        """Return pieces of a record; None when one was never stored, was dropped, or is lost from the disk.

        Parameters
        ----------
        record
            Its identifier.
        *names
            Of the pieces, in the order to return them.
        """
        with self._lock:
            if any(name not in self._records.get(record, {}) for name in names):
                return None
            try:
                return [self._read(record, name) for name in names]
            except OSError:  # cleaners of temporary folders take files that nobody touched for days
                self._drop(record)
                return None

    def spool(self, record: str) -> Spool:
        """Return a place for a body that streams to disk; :meth:`drop` removes it."""
        return Spool(self, record)

    def drop(self, record: str) -> None:
        """Forget a record and delete its files."""
        with self._lock:
            self._drop(record)

    def close(self) -> None:
        """Delete everything."""
        with self._lock:
            self._closed = True
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._records.clear()
            self._memory.clear()

    def open_spool(self, record: str) -> BinaryIO:
        """Open the file of a :class:`Spool` for writing.

        Raises
        ------
        OSError
            When the temporary folder can't be written, or the store is closed.
        """
        with self._lock:
            if self._closed:
                raise OSError("the session has ended")
            return self._path(record, SPOOL).open("wb")

    def spool_path(self, record: str) -> Path | None:
        """Return where the file of a :class:`Spool` is; None when the store has no folder."""
        return None if self._folder is None else self._folder / record / SPOOL

    def _path(self, record: str, name: str) -> Path:
        if self._folder is None or not self._folder.is_dir():  # cleaners take whole folders too
            _remove_orphans()
            self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        folder = self._folder / record
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / name

    def _write(self, record: str, name: str, data: bytes) -> None:
        try:
            self._path(record, name).write_bytes(data)
            self._memory.pop((record, name), None)
        except OSError:  # full or read-only disk: the text must stay readable all the same
            self._memory[record, name] = data

    def _read(self, record: str, name: str) -> bytes:
        held = self._memory.get((record, name))
        if held is not None:
            return held
        if self._folder is None:
            raise FileNotFoundError(name)
        return (self._folder / record / name).read_bytes()

    def _make_room(self, newest: str) -> list[str]:
        dropped = []
        while self._used > self._size:
            oldest = next(iter(self._records))
            if oldest == newest:  # one record may be larger than the whole store: it stays until the next comes
                break
            self._drop(oldest)
            dropped.append(oldest)
        return dropped

    def _drop(self, record: str) -> None:
        pieces = self._records.pop(record, None)
        if pieces is not None:
            self._used -= RECORD_OVERHEAD + sum(pieces.values())
            for name in pieces:
                self._memory.pop((record, name), None)
        if self._folder is not None:
            shutil.rmtree(self._folder / record, ignore_errors=True)


class Spool:
    """A file for one body, made by the first write. Its methods read and write files; call them from any thread.

    A write that is still under way on a thread when its request was given up ends before :meth:`discard` deletes, and
    none begins after it.
    """

    def __init__(self, store: Store, record: str) -> None:
        self.record = record
        self._store = store
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._ended = False

    def write(self, data: bytes, /) -> None:
        """Take the next bytes.

        Raises
        ------
        OSError
            When the disk does not take them, or the spool has ended.
        """
        with self._lock:
            if self._ended:
                raise OSError("the request has ended")
            if self._file is None:
                self._file = self._store.open_spool(self.record)
            self._file.write(data)

    def keep(self) -> None:
        """End writing; the file stays, an empty one too.

        Raises
        ------
        OSError
            When the disk does not take what was still buffered.
        """
        self.write(b"")
        self._end()

    def discard(self) -> None:
        """End writing and delete the file."""
        try:
            self._end()
        finally:
            self._store.drop(self.record)

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            if self._file is not None:
                self._file.close()


def _remove_orphans() -> None:
    """Remove the folders of this user's processes that no longer run (SIGKILL leaves them)."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        match = re.fullmatch(rf"{PREFIX}(\d+)-.+", folder.name)
        if match is None or psutil.pid_exists(int(match[1])):
            continue
        with contextlib.suppress(OSError):  # another process removes it too
            if os.name != "posix" or folder.lstat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)
