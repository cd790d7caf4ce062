"""Whole texts and bodies of one session, on disk, oldest dropped first.

The folder is private (0700), lives in the system's temporary folder and is deleted with its session. Folders that a
killed process of this user left behind are removed when the next store is made. Where nothing can be written, memory
serves instead, within the same size.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path

import psutil

__all__ = ["Store"]

PREFIX = "jupyter-webresearch-"


class Store:
    """Named pieces of bytes, grouped by record, within a size.

    Methods may be called from any thread; they read and write files, so never from an event loop.

    Parameters
    ----------
    size
        Most bytes held; the oldest records are dropped to stay within it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._records: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._memory: dict[tuple[str, str], bytes] = {}

    def put(self, record: str, name: str, data: bytes) -> list[str]:
        """Store one piece of a record and return the records that were dropped to make room."""
        with self._lock:
            try:
                path = self._path(record, name)
                path.parent.mkdir(mode=0o700, exist_ok=True)
                path.write_bytes(data)
            except OSError:  # full or read-only disk: the text must stay readable all the same
                self._memory[record, name] = data
            self._records.setdefault(record, {})[name] = len(data)
            return self._make_room(record)

    def get(self, record: str, name: str) -> bytes | None:
        """Return a piece, or None when it was never stored or its record was dropped."""
        with self._lock:
            if name not in self._records.get(record, {}):
                return None
            held = self._memory.get((record, name))
            return held if held is not None else self._path(record, name).read_bytes()

    def spool(self, record: str) -> Path:
        """Return the path of a new file for a body that streams to disk; :meth:`drop` removes it.

        Raises
        ------
        OSError
            When the temporary folder can't be written.
        """
        with self._lock:
            path = self._path(record, "spool")
            path.parent.mkdir(mode=0o700, exist_ok=True)
            return path

    def drop(self, record: str) -> None:
        """Forget a record and delete its files."""
        with self._lock:
            self._drop(record)

    def close(self) -> None:
        """Delete everything."""
        with self._lock:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._records.clear()
            self._memory.clear()

    def _path(self, record: str, name: str) -> Path:
        if self._folder is None:
            _remove_orphans()
            self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        return self._folder / record / name

    def _make_room(self, newest: str) -> list[str]:
        dropped = []
        while sum(sum(pieces.values()) for pieces in self._records.values()) > self._size:
            oldest = next(iter(self._records))
            if oldest == newest:  # one record may be larger than the whole store: it stays until the next comes
                break
            self._drop(oldest)
            dropped.append(oldest)
        return dropped

    def _drop(self, record: str) -> None:
        for name in self._records.pop(record, {}):
            self._memory.pop((record, name), None)
        if self._folder is not None:
            shutil.rmtree(self._folder / record, ignore_errors=True)


def _remove_orphans() -> None:
    """Remove the folders of this user's processes that no longer run (SIGKILL leaves them)."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        match = re.fullmatch(rf"{PREFIX}(\d+)-.+", folder.name)
        if match is None or psutil.pid_exists(int(match[1])):
            continue
        if os.name == "posix" and folder.lstat().st_uid != os.getuid():
            continue
        shutil.rmtree(folder, ignore_errors=True)
