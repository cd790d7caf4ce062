"""Whether what is kept can be kept: temporary and runtime files, the journal, the budgets' counts.

Nothing is left behind: where a file does not exist yet, one is written in a folder beside its place, which is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import Settings
from jupyter_webresearch.doctor.finding import Finding
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.policy.budgets.storage import MEMORY, meanwhile, redis_ledger, try_ledger

__all__ = ["budgets", "journal", "runtime_folder", "temporary_folder"]

MIB = 1024**2
PATIENCE = 2.0
"""Seconds to wait for others that write the journal."""


def temporary_folder(settings: Settings) -> Finding:
    """Write a file where texts of pages are kept, and see whether there is room for them."""
    try:
        folder = tempfile.gettempdir()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(
            "temporary folder",
            "warn",
            f"it can't be written ({error.strerror}): texts of pages are held in memory, --save does not work",
            "set TMPDIR to a folder that can be written",
        )
    wanted = max(settings.fetch.store_size, settings.fetch.save_max)
    detail = f"{folder}, {free // MIB:,} MiB free"
    if free < wanted:
        mend = f"free some space, or lower WebFetch.store_size and WebFetch.save_max ({wanted // MIB:,} MiB)"
        return Finding("temporary folder", "warn", detail, mend)
    return Finding("temporary folder", "ok", detail)


def runtime_folder() -> Finding:
    """Whether kernels can find their server."""
    from jupyter_core.paths import jupyter_runtime_dir

    folder = Path(jupyter_runtime_dir())
    if os.access(_nearest(folder), os.W_OK | os.X_OK):
        return Finding("runtime folder", "ok", str(folder))
    return Finding(
        "runtime folder",
        "warn",
        f"{folder} can't be written: kernels find no Jupyter server through it",
        "set JUPYTER_RUNTIME_DIR to a folder that can be written",
    )


# ---------------------------------------------------------------------- the journal


def journal(settings: Settings) -> Finding:
    """Write to the journal's file without adding an event, and see that nobody else can read it."""
    from jupyter_webresearch.journal.file import journal_files
    from jupyter_webresearch.journal.private import journal_folder

    folder = journal_folder()
    required = settings.journal.required
    try:
        _write_journal(folder)
        files = journal_files(folder) if folder.is_dir() else []
        size = sum(path.stat().st_size for path in files)
        is_open = any(map(_is_open_to_others, [folder, *files])) if files else False
        damaged = sorted(path.name for path in folder.glob("journal.corrupt-*.sqlite"))
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        then = "every operation is refused (WebJournal.required)" if required else "operations go on without a record"
        mend = f"mend that, or set JUPYTER_DATA_DIR to a folder that can be written; until then {then}"
        return Finding("journal", "fail" if required else "warn", f"{folder} can't be written: {why}", mend)
    count = f"{len(files)} of at most {settings.journal.files} files, {size / MIB:,.1f} MiB" if files else "no file yet"
    detail = f"{folder}: {count}"
    if is_open:
        mend = "put it on a disk that knows permissions: set JUPYTER_DATA_DIR to a folder there"
        return Finding("journal", "warn", f"{detail}; others on this machine can read it", mend)
    if damaged:
        mend = "its events are shown no more; delete it when nobody needs it"
        return Finding("journal", "warn", f"{detail}; damaged and set aside: {', '.join(damaged)}", mend)
    return Finding("journal", "ok", detail)


def _write_journal(folder: Path) -> None:
    """Write by the journal's own rules; OSError or sqlite3.Error when that can't be done."""
    from jupyter_webresearch.journal.file import VERSION, JournalFile
    from jupyter_webresearch.journal.private import exists_private, private_folder

    def rewrite(connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA user_version = {VERSION}")  # the same again: a page is written, and nothing new

    def file_in(place: Path) -> JournalFile:
        # So large that no full file is put aside, and no old one dropped, because somebody looked.
        return JournalFile(place, max_size=sys.maxsize, files=sys.maxsize, clock=SystemClock())

    if folder.exists():
        private_folder(folder)
    existing = file_in(folder)
    if exists_private(existing.path):
        existing.transaction(rewrite, PATIENCE)
        return
    with _trial_folder(folder) as trial:
        file_in(trial).transaction(rewrite, PATIENCE)


def _is_open_to_others(path: Path) -> bool:
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


# ---------------------------------------------------------------------- the budgets


def budgets(settings: Settings) -> Finding:
    """Ask whatever counts for an answer; nothing is counted."""
    if settings.budgets.storage == MEMORY:
        return _budgets_in_memory(settings)
    return _budgets_on_redis(settings)


def _budgets_in_memory(settings: Settings) -> Finding:
    from jupyter_webresearch.policy.budgets.file import shared_file

    file = shared_file()
    try:
        _try_file(file)
    except (WebResearchError, OSError) as error:
        why = error.message if isinstance(error, WebResearchError) else f"{file} can't be written: {error.strerror}"
        refuses = settings.budgets.when_unavailable == "refuse"
        then = "kernels without a server read nothing" if refuses else "each kernel without a server counts for itself"
        mend = f"mend that, or set JUPYTER_RUNTIME_DIR to a folder that can be written; until then {then}"
        return Finding("budgets", "fail" if refuses else "warn", why, mend)
    return Finding("budgets", "ok", f"each server counts for itself; kernels without one count together in {file}")


def _budgets_on_redis(settings: Settings) -> Finding:
    from jupyter_webresearch.config_entries import without_password

    shown = without_password(settings.budgets.storage)
    refuses = settings.budgets.when_unavailable == "refuse"
    try:
        asyncio.run(try_ledger(redis_ledger(settings.budgets.storage)))
    except WebResearchError as error:
        if error.code == "config":
            mend = "mend that, or correct WebBudgets.storage; until then nothing starts"
            return Finding("budgets", "fail", f"{shown}: {error.message}", mend)
        mend = f"start it, or correct WebBudgets.storage; {meanwhile(settings.budgets)}"
        return Finding("budgets", "fail" if refuses else "warn", f"{shown}: {error.message}", mend)
    return Finding("budgets", "ok", f"{shown} answers")


def _try_file(file: Path) -> None:
    from jupyter_webresearch.policy.budgets.file import FileLedger

    if file.exists() or file.is_symlink():
        asyncio.run(try_ledger(FileLedger(file)))
        return
    with _trial_folder(file.parent) as trial:
        asyncio.run(try_ledger(FileLedger(trial / file.name)))


# ---------------------------------------------------------------------- folders that may not exist yet


@contextlib.contextmanager
def _trial_folder(wanted: Path) -> Iterator[Path]:
    """Make a folder where one is wanted that may not exist yet, and remove it; OSError when that can't be done."""
    with tempfile.TemporaryDirectory(prefix="webresearch-doctor-", dir=_nearest(wanted)) as trial:
        yield Path(trial)


def _nearest(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
