"""Reading the journal, over all of its files, while others write it and begin new ones."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.file import VERSION, is_damage, journal_files, lock_file
from jupyter_webresearch.journal.lock import exclusive
from jupyter_webresearch.journal.rows import COLUMNS, row_to_json, time_text
from jupyter_webresearch.models import pandas_module

if TYPE_CHECKING:
    import pandas

__all__ = ["follow", "read_events", "to_dataframe"]

_log = logging.getLogger(__name__)

INTERVAL = 0.5  # s between two looks for new events
_WINDOW = 2000  # events read under one lock, which takes some milliseconds
_WAIT = 10.0  # s for writers
_END = 2**63 - 1  # the greatest number that SQLite has

_TIME, _OUTCOME, _KIND, _SESSION, _KERNEL = map(COLUMNS.index, ("time", "outcome", "kind", "session", "kernel"))

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM events"  # noqa: S608 -- our own names
_BEFORE = f"{_SELECT} WHERE number < ? ORDER BY number DESC LIMIT {_WINDOW}"
_AFTER = f"{_SELECT} WHERE number > ? ORDER BY number LIMIT {_WINDOW}"


@dataclass(frozen=True)
class _Wanted:
    """Which events are meant; what is empty leaves them all."""

    session: str
    kernel: str
    kind: str
    outcome: str
    since: str

    def takes(self, row: tuple[Any, ...]) -> bool:
        columns = ((_SESSION, self.session), (_KERNEL, self.kernel), (_KIND, self.kind), (_OUTCOME, self.outcome))
        return not any(value and row[column] != value for column, value in columns) and not self.is_before(row)

    def is_before(self, row: tuple[Any, ...]) -> bool:
        return bool(row[_TIME] < self.since)


def read_events(
    folder: Path,
    *,
    limit: int | None = None,
    session: str = "",
    kernel: str = "",
    kind: str = "",
    outcome: str = "",
    since: datetime | None = None,
    after: int = 0,
) -> list[dict[str, Any]]:
    """Return events as JSON objects, each with its ``number``, in the order in which they were written.

    Parameters
    ----------
    folder
        Of the journal.
    limit
        Most that are returned, the newest; None is no limit.
    session, kernel, kind, outcome
        Only events with that value; empty is any.
    since
        Only events from that time on; aware.
    after
        Only events with a greater number.

    Raises
    ------
    Failed
        ``journal_unavailable`` when it can't be read. A journal that is not there yet holds no events.
    """
    wanted = _Wanted(session, kernel, kind, outcome, _text_of(since))
    return list(map(row_to_json, _newest(folder, wanted, limit, after, _END)))


def follow(
    folder: Path,
    *,
    limit: int = 0,
    session: str = "",
    kernel: str = "",
    kind: str = "",
    outcome: str = "",
    since: datetime | None = None,
    wait: Callable[[float], object] = time.sleep,
) -> Iterator[dict[str, Any]]:
    """Yield events as they are written, each once, in the form and order of :func:`read_events`.

    Parameters
    ----------
    folder
        Of the journal.
    limit
        So many that are there already come first, the newest.
    session, kernel, kind, outcome, since
        As for :func:`read_events`.
    wait
        Waits for so many seconds, as ``threading.Event().wait`` does; a true result ends it.

    Raises
    ------
    Failed
        As for :func:`read_events`.
    """
    wanted = _Wanted(session, kernel, kind, outcome, _text_of(since))
    there = _window(folder, _BEFORE, _END)
    last = there[0][0] if there else 0
    yield from map(row_to_json, _newest(folder, wanted, limit, 0, last + 1))
    while True:
        rows = _window(folder, _AFTER, last)
        for row in rows:
            last = row[0]
            if wanted.takes(row):
                yield row_to_json(row)
        if not rows and wait(INTERVAL):
            return


def to_dataframe(events: list[dict[str, Any]]) -> pandas.DataFrame:
    """Return events as a DataFrame, one a row, with their numbers as the index.

    Raises
    ------
    ImportError
        When pandas is not installed.
    """
    pandas = pandas_module()
    columns = ["number", *(field.name for field in fields(Event))]
    frame = pandas.DataFrame(events, columns=columns).set_index("number")
    frame["time"] = pandas.to_datetime(frame["time"], utc=True, format="ISO8601")
    return frame  # type: ignore[no-any-return]  # pandas is imported on use


def _newest(folder: Path, wanted: _Wanted, limit: int | None, after: int, before: int) -> list[tuple[Any, ...]]:
    """Return the newest rows between two numbers, both excluded, in their order."""
    found: list[tuple[Any, ...]] = []
    while limit is None or len(found) < limit:
        rows = _window(folder, _BEFORE, before)
        found += [row for row in rows if row[0] > after and wanted.takes(row)]
        # One event before a time does not mean that all others are: processes do not write in the order of time.
        if not rows or rows[-1][0] <= after or all(map(wanted.is_before, rows)):
            break
        before = rows[-1][0]
    return found[:limit][::-1]


def _text_of(moment: datetime | None) -> str:
    return "" if moment is None else time_text(moment.astimezone(timezone.utc))


def _window(folder: Path, query: str, number: int) -> list[tuple[Any, ...]]:
    """Return the events next to a number, from the one file that has them: numbers grow from file to file.

    The lock is held as long as this takes and not between two windows, whatever happens to the files there.
    """
    try:
        if not folder.is_dir():
            return []
        with _locked(folder):
            files = journal_files(folder)
            for path in files if query is _BEFORE else files[::-1]:
                rows = _rows(path, query, number)
                if rows:
                    return rows
    except (OSError, sqlite3.Error) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise Failed("journal_unavailable", f"the journal can't be read: {why}") from error
    return []


def _rows(path: Path, query: str, number: int) -> list[tuple[Any, ...]]:
    # To write as well where that can be: SQLite then undoes a transaction that a process died in.
    mode = "rw" if os.access(path, os.W_OK) else "ro"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_WAIT)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            # 0 is a file that nobody has come to write anything to.
            return connection.execute(query, (number,)).fetchall() if version == VERSION else []
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        _log.warning("Web Research: %s is damaged and passed over: %s", path.name, error)
        return []


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = lock_file(folder)
    if not os.access(lock if lock.exists() else folder, os.W_OK):  # then nobody writes
        yield
        return
    with exclusive(lock, _WAIT):
        yield
