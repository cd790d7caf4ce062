"""Counts in one SQLite file, shared by the processes of one user that have no server: notebooks run side by side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from itertools import repeat
from pathlib import Path
from typing import TypeVar

import anyio

from jupyter_webresearch.clock import Clock, SystemClock
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.budgets.judging import (
    KEPT_SECONDS,
    MICROSECONDS,
    most_pressing,
    units_short,
    window_of,
)
from jupyter_webresearch.policy.budgets.limit import Limit, Shortage, Use
from jupyter_webresearch.threads import Threads

__all__ = ["FileLedger", "shared_file"]

T = TypeVar("T")

PATIENCE = 0.9
"""Seconds within which a call has to have the file for itself: a second is the most that it may take in all."""

GRACE = 0.1  # beyond it the caller waits no longer: a disk that hangs holds the thread, not the caller

STEP = 0.05  # after which SQLite is asked anew to wait: its own waits grow to 0.1 s each

VERSION = 1

SCHEMA = """
CREATE TABLE log (key TEXT NOT NULL, stamp INTEGER NOT NULL, ends INTEGER NOT NULL);
CREATE INDEX log_by_key ON log (key, stamp);
CREATE INDEX log_by_end ON log (ends);
CREATE TABLE total (key TEXT PRIMARY KEY, used INTEGER NOT NULL, touched INTEGER NOT NULL) WITHOUT ROWID;
"""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def shared_file() -> Path:
    """Return the file in which a user's engines without a server count together, in Jupyter's runtime directory."""
    from jupyter_core.paths import jupyter_runtime_dir

    return Path(jupyter_runtime_dir(), "webresearch", "budgets.sqlite")


class FileLedger:
    """A :class:`~jupyter_webresearch.policy.budgets.limit.Ledger` in a file. Used from any thread and any loop.

    Each call is one transaction that has the file for itself from its first reading on, on a thread of the ledger's.
    The folder is private to the user (0700), and so is the file (0600). One that is damaged, of somebody else, a link,
    or of another version is not used: the call fails, and nothing is let through uncounted.

    Parameters
    ----------
    path
        Of the file; it is made when it is first needed, and again when somebody deleted it.
    clock
        Its wall time is the time, the only one that processes share. Where it was set back, stamps that then lie in
        the future count as taken now: they hold for one window more at most, and none is lost.
    patience
        Seconds to wait for others that use the file.
    """

    def __init__(self, path: Path, clock: Clock | None = None, *, patience: float = PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._clock = clock or SystemClock()
        self._thread = Threads(max_workers=1, thread_name_prefix="webresearch-budgets")
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._closed = False

    async def take(self, limits: Sequence[Limit]) -> Shortage | None:
        """Take all or nothing; see :meth:`Ledger.take`."""
        return await self._transact(lambda rows, now: _take(rows, limits, now))

    async def give_back(self, limits: Sequence[Limit]) -> None:
        """Return what was taken of totals; see :meth:`Ledger.give_back`."""
        totals = [limit for limit in limits if limit.seconds is None]
        await self._transact(lambda rows, now: _give_back(rows, totals, now))

    async def uses(self, limits: Sequence[Limit]) -> list[Use]:
        """Return what is used; see :meth:`Ledger.uses`."""
        return await self._transact(lambda rows, now: _uses(rows, limits, now))

    async def forget(self, prefix: str) -> None:
        """Drop keys; see :meth:`Ledger.forget`."""
        await self._transact(lambda rows, now: _forget(rows, prefix))

    async def close(self) -> None:
        """Let go of the file; see :meth:`Ledger.close`."""
        if self._closed:
            return
        self._closed = True
        closing = self._thread.submit(self._disconnect)
        self._thread.shutdown(wait=False)
        with contextlib.suppress(TimeoutError), anyio.fail_after(self._patience + GRACE):
            await asyncio.wrap_future(closing)

    async def _transact(self, work: Callable[[sqlite3.Connection, int], T]) -> T:
        if self._closed:
            raise Failed("budget_unavailable", "the budgets are closed: the engine has ended")
        doing = self._thread.submit(self._do, work, time.monotonic() + self._patience)
        try:
            with anyio.fail_after(self._patience + GRACE):
                return await asyncio.wrap_future(doing)
        except TimeoutError:
            raise self._unavailable("the disk does not answer") from None

    # ------------------------------------------------------------------ on the thread

    def _do(self, work: Callable[[sqlite3.Connection, int], T], deadline: float) -> T:
        try:
            rows = self._connected(deadline)
            _when_free(rows, "BEGIN IMMEDIATE", deadline)
            try:
                # The time is read when nobody else can write any more, so it never lies before what is written there.
                now = (self._clock.now() - _EPOCH) // timedelta(microseconds=1)
                _check_format(rows)
                answer = work(rows, now)
                _when_free(rows, "COMMIT", deadline)
            except BaseException:
                rows.rollback()
                raise
        except (sqlite3.Error, OSError) as error:
            if not isinstance(error, TimeoutError):
                self._disconnect()
            raise self._unavailable(str(error)) from None
        return answer

    def _connected(self, deadline: float) -> sqlite3.Connection:
        if self._connection is not None and self._opened == _identity(self._path):
            return self._connection
        self._disconnect()
        self._secure()
        # Threads may do its work on another thread when the interpreter ends; never on two at once.
        rows = sqlite3.connect(self._path, timeout=STEP, isolation_level=None, check_same_thread=False)
        self._connection = rows
        self._path.chmod(0o600)
        self._opened = _identity(self._path)
        # No write-ahead log: it needs memory that hosts which share a home folder do not share. No waiting for the
        # disk: a killed process loses nothing by it, and after a crash of the machine hardly anything still counts.
        _when_free(rows, "PRAGMA journal_mode = TRUNCATE", deadline)
        _when_free(rows, "PRAGMA synchronous = OFF", deadline)
        return rows

    def _secure(self) -> None:
        folder = self._path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owned(folder, stat.S_ISDIR, "a folder")
        folder.chmod(0o700)
        # Never opened here: closing any descriptor of it would drop the locks that this process holds on it.
        with contextlib.suppress(FileNotFoundError):
            _check_owned(self._path, stat.S_ISREG, "a plain file")

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _unavailable(self, why: str) -> Failed:
        return Failed(
            "budget_unavailable",
            f"the budgets' file {self._path} can't be used: {why}; if that stays so, delete the file: it holds counts "
            "of the last minutes and of kernels that run",
        )


# ---------------------------------------------------------------------- within a transaction


def _take(rows: sqlite3.Connection, limits: Sequence[Limit], now: int) -> Shortage | None:
    rows.execute("DELETE FROM log WHERE ends <= ?", (now,))
    rows.execute("DELETE FROM total WHERE touched < ?", (now - KEPT_SECONDS * MICROSECONDS,))
    shortage = most_pressing(limits, [_wait(rows, limit, now) for limit in limits])
    if shortage is None:
        for limit in limits:
            _charge(rows, limit, now)
    return shortage


def _wait(rows: sqlite3.Connection, limit: Limit, now: int) -> int | None:
    short = units_short(limit, _used(rows, limit, now))
    if not short:
        return short
    nth = "SELECT stamp FROM log WHERE key = ? AND stamp > ? ORDER BY stamp LIMIT 1 OFFSET ?"
    return int(rows.execute(nth, (limit.key, now - window_of(limit), short - 1)).fetchone()[0]) + window_of(limit) - now


def _used(rows: sqlite3.Connection, limit: Limit, now: int) -> int:
    if limit.seconds is None:
        row = rows.execute("SELECT used FROM total WHERE key = ?", (limit.key,)).fetchone()
        return int(row[0]) if row else 0
    set_back = "UPDATE log SET stamp = :now, ends = :now + ends - stamp WHERE key = :key AND stamp > :now"
    rows.execute(set_back, {"now": now, "key": limit.key})
    count = "SELECT count(*) FROM log WHERE key = ? AND stamp > ?"
    return int(rows.execute(count, (limit.key, now - window_of(limit))).fetchone()[0])


def _charge(rows: sqlite3.Connection, limit: Limit, now: int) -> None:
    if not limit.cost:
        return
    if limit.seconds is None:
        rows.execute(
            "INSERT INTO total VALUES (:key, :cost, :now) "
            "ON CONFLICT (key) DO UPDATE SET used = used + :cost, touched = :now",
            {"key": limit.key, "cost": limit.cost, "now": now},
        )
    else:
        rows.executemany(
            "INSERT INTO log VALUES (?, ?, ?)", repeat((limit.key, now, now + window_of(limit)), limit.cost)
        )


def _give_back(rows: sqlite3.Connection, totals: Sequence[Limit], now: int) -> None:
    for limit in totals:
        less = "UPDATE total SET used = max(0, used - ?), touched = ? WHERE key = ?"
        rows.execute(less, (limit.cost, now, limit.key))


def _uses(rows: sqlite3.Connection, limits: Sequence[Limit], now: int) -> list[Use]:
    uses = []
    for limit in limits:
        used, frees_in = _used(rows, limit, now), None
        if limit.seconds is not None and used:
            oldest = "SELECT min(stamp) FROM log WHERE key = ? AND stamp > ?"
            stamp = rows.execute(oldest, (limit.key, now - window_of(limit))).fetchone()[0]
            frees_in = (stamp + window_of(limit) - now) / MICROSECONDS
        uses.append(Use(limit, used, frees_in))
    return uses


def _forget(rows: sqlite3.Connection, prefix: str) -> None:
    for table in ("log", "total"):
        rows.execute(f"DELETE FROM {table} WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))  # noqa: S608 - ours


# ---------------------------------------------------------------------- opening


def _when_free(rows: sqlite3.Connection, statement: str, deadline: float) -> None:
    """Execute what others may have to make way for. In short steps: one long wait would go to whoever came last."""
    while True:
        if time.monotonic() > deadline:  # whoever asked has given up: it must not be charged
            raise TimeoutError("others hold it")
        try:
            rows.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        else:
            return


def _check_format(rows: sqlite3.Connection) -> None:
    """Make the tables in an empty file; refuse one that another version made, or another program."""
    version = rows.execute("PRAGMA user_version").fetchone()[0]
    if version == 0 and not rows.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        for statement in SCHEMA.strip().split("\n"):
            rows.execute(statement)
        rows.execute(f"PRAGMA user_version = {VERSION}")
    elif version != VERSION:
        raise OSError(f"its format is {version}, and this version of the package reads {VERSION}")


def _check_owned(path: Path, is_kind: Callable[[int], bool], kind: str) -> None:
    status = path.lstat()
    if not is_kind(status.st_mode):
        raise OSError(f"{path} is not {kind}, or a link")
    if os.name == "posix" and status.st_uid != os.getuid():
        raise OSError(f"{path} belongs to another user")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
