"""The journal's files: one SQLite database that is written, and older ones beside it.

Every access opens the database and closes it again, under one lock between processes. So nobody holds a database that
another process renames, which SQLite does not bear: the name of its rollback journal comes from the path. Opening costs
about 0.1 ms. Nothing is synced: what is written outlives this process, and SQLite's rollback journal makes the
transaction that a process died in undone; after a loss of power the file may be damaged, and is set aside then.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.journal.lock import exclusive
from jupyter_webresearch.journal.private import create_private, exists_private, private_folder

__all__ = ["COMPANIONS", "VERSION", "JournalFile", "is_damage", "journal_files", "lock_file"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

VERSION = 1
COMPANIONS = ("-journal", "-wal", "-shm")
"""What SQLite puts beside a database."""

_NAME = "journal.sqlite"
_ROTATED = re.compile(r"journal\.([1-9]\d{0,5})\.sqlite")

_SCHEMA = (
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY, time TEXT NOT NULL, operation TEXT NOT NULL, outcome TEXT NOT NULL,
        kind TEXT NOT NULL, session TEXT NOT NULL, kernel TEXT NOT NULL, more TEXT NOT NULL)""",
    """CREATE TRIGGER no_update BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the journal is only added to'); END""",
    """CREATE TRIGGER no_delete BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the journal is only added to'); END""",
    # REPLACE deletes without calling a trigger of DELETE.
    """CREATE TRIGGER no_replacement BEFORE INSERT ON events
        WHEN NEW.number <= (SELECT max(number) FROM events)
        BEGIN SELECT RAISE(ABORT, 'the journal is only added to'); END""",
    # What has a `started` and no end yet, wherever that stands: not part of the record.
    "CREATE TABLE running (operation TEXT PRIMARY KEY, writer TEXT NOT NULL, event TEXT NOT NULL) WITHOUT ROWID",
    f"PRAGMA user_version = {VERSION}",
)


def lock_file(folder: Path) -> Path:
    """Return the file by which everyone who reads or writes excludes the others."""
    return folder / "journal.lock"


def journal_files(folder: Path) -> list[Path]:
    """Return the files that are there, the newest first."""
    current = folder / _NAME
    return [path for path in (current, *map(folder.joinpath, _rotated(folder))) if exists_private(path)]


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is no database any more, rather than that it can't be used now."""
    return type(error) is sqlite3.DatabaseError  # its subclasses stand for the other cases


class JournalFile:
    """The file that is written, begun anew when it is full or damaged.

    Parameters
    ----------
    folder
        Where it lies; made if it is not there.
    max_size
        Bytes from which on a new file is begun.
    files
        Files that are kept.
    clock
        Tells the time.
    """

    def __init__(self, folder: Path, *, max_size: int, files: int, clock: Clock) -> None:
        self.folder = folder
        self.path = folder / _NAME
        self._max_size = max_size
        self._files = files
        self._clock = clock

    def transaction(self, work: Callable[[sqlite3.Connection], T], wait: float) -> T:
        """Do some work in one transaction; nothing of it is in the file if it raises.

        Raises OSError or sqlite3.Error when the file can't be written. A damaged one is moved aside and the work done
        in a new one.

        Parameters
        ----------
        work
            Called with a connection; twice if the file is found to be damaged.
        wait
            Longest wait for other processes, in seconds.
        """
        private_folder(self.folder)
        with exclusive(lock_file(self.folder), wait):
            try:
                return self._begun_when_full(work, wait)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                aside = self._set_aside()
                _log.warning("The journal was damaged (%s): it is now %s, and a new one is begun.", error, aside)
            return self._write(work, wait, carry_over=False)

    def _begun_when_full(self, work: Callable[[sqlite3.Connection], T], wait: float) -> T:
        is_full = exists_private(self.path) and self.path.stat().st_size >= self._max_size
        if is_full:
            self._rotate(wait)
        result = self._write(work, wait)
        if is_full:
            self._drop_rotated_from(self._files)
        return result

    def _write(self, work: Callable[[sqlite3.Connection], T], wait: float, *, carry_over: bool = True) -> T:
        create_private(self.path)
        for companion in COMPANIONS:
            exists_private(self.path.with_name(_NAME + companion))
        with closing(_connect(self.path, wait)) as connection, _immediate(connection):
            self._prepare(connection, carry_over)
            return work(connection)

    def _prepare(self, connection: sqlite3.Connection, carry_over: bool) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == VERSION:
            return
        if version:
            raise sqlite3.NotSupportedError(f"{_NAME} is of another version of Jupyter Web Research")
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise sqlite3.DatabaseError(f"{_NAME} is another database")
        for statement in _SCHEMA:
            connection.execute(statement)
        if carry_over:
            connection.executemany("INSERT INTO running VALUES (?, ?, ?)", self._running_before())

    # ------------------------------------------------------------------ numbers, and what runs

    def next_number(self, connection: sqlite3.Connection) -> int:
        """Return the number of the next event: greater than any before it, in this file, older and lost ones."""
        (last,) = connection.execute("SELECT max(number) FROM events").fetchone()
        if last is not None:
            return int(last) + 1
        # A new file begins with the time, in microseconds, since nobody knows the numbers of a file that was lost.
        before = self._of_newest_rotated("SELECT max(number) FROM events")
        last = before[0][0] if before else None
        return max(int(last or 0) + 1, int(self._clock.now().timestamp() * 1e6))

    def _running_before(self) -> list[tuple[Any, ...]]:
        return self._of_newest_rotated("SELECT operation, writer, event FROM running")

    def _of_newest_rotated(self, query: str) -> list[tuple[Any, ...]]:
        for path in journal_files(self.folder):
            if path != self.path:
                try:
                    with closing(_connect(path, 0.0)) as connection:
                        return connection.execute(query).fetchall()
                except sqlite3.Error as error:
                    _log.warning("%s can't be read: %s", path.name, error)
                    break
        return []

    # ------------------------------------------------------------------ rotation

    def _rotate(self, wait: float) -> None:
        """Rename the files, the oldest first; a crash in between leaves a gap in their numbers and loses nothing."""
        with closing(_connect(self.path, wait)) as connection, _immediate(connection):
            pass  # a transaction that a process died in is undone now: its journal goes by this name
        gap = next(number for number in itertools.count(1) if not self._rotated_path(number).exists())
        # On Windows a file that a reader has open can't be renamed: the full one grows until it can.
        with contextlib.suppress(PermissionError):
            for number in range(gap, 1, -1):
                self._rotated_path(number - 1).replace(self._rotated_path(number))
            self.path.replace(self._rotated_path(1))
        self._drop_rotated_from(max(self._files, 2))  # the newest has still to hand over what runs

    def _drop_rotated_from(self, number: int) -> None:
        for name in _rotated(self.folder)[::-1]:
            path = self.folder / name
            if _number(name) >= number and exists_private(path):
                with contextlib.suppress(PermissionError):
                    path.unlink()

    def _rotated_path(self, number: int) -> Path:
        return self.folder / f"journal.{number}.sqlite"

    def _set_aside(self) -> str:
        """Move a damaged file away, with what SQLite put beside it, and return its new name."""
        time = self._clock.now().strftime("%Y%m%dT%H%M%S%fZ")
        aside = self.folder / f"journal.corrupt-{time}.sqlite"
        for companion in COMPANIONS:
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(_NAME + companion).replace(aside.with_name(aside.name + companion))
        self.path.replace(aside)
        for old in sorted(self.folder.glob("journal.corrupt-*.sqlite"))[: -self._files]:
            old.unlink()
        return aside.name


def _rotated(folder: Path) -> list[str]:
    names = [path.name for path in folder.iterdir() if _ROTATED.fullmatch(path.name)]
    return sorted(names, key=_number)


def _number(name: str) -> int:
    return int(name.split(".")[1])


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = DELETE")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
