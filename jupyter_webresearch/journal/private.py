"""Where the journal lies, and that nobody but its owner can read it or put something else in its place."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

__all__ = ["create_private", "exists_private", "journal_folder", "private_folder"]

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def journal_folder() -> Path:
    """Return ``webresearch`` below Jupyter's data directory."""
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir()) / "webresearch"


def private_folder(folder: Path) -> None:
    """Make a folder of mode 0700, or make sure that what is there is one; OSError otherwise."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check(folder, folder.lstat(), stat.S_ISDIR, 0o700)


def exists_private(path: Path) -> bool:
    """Whether a file is there; PermissionError for a link, another kind of file, and one of another user.

    One that others may read is closed to them.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    _check(path, status, stat.S_ISREG, 0o600)
    return True


def create_private(path: Path) -> None:
    """Make an empty file of mode 0600 unless it is there; raises as :func:`exists_private` does."""
    if not exists_private(path):
        os.close(os.open(path, _CREATE, 0o600))


def _check(path: Path, status: os.stat_result, is_kind: Callable[[int], bool], mode: int) -> None:
    if not is_kind(status.st_mode):
        raise PermissionError(f"{path.name} is a link or not what it should be; remove it")
    if os.name != "posix":
        return
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{path.name} belongs to another user; remove it")
    if status.st_mode & 0o077:
        with contextlib.suppress(OSError):  # on a read-only disk it stays as it is
            path.chmod(mode)
