"""A lock between processes: flock, or msvcrt on Windows. A process that ends lets go of it, however it ends."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["LockTimeout", "exclusive"]

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_TAKEN = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.01

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        # Closing alone would not do: a process that was forked meanwhile holds the same lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class LockTimeout(OSError):
    """Someone else held the lock all the time."""


@contextmanager
def exclusive(path: Path, wait: float) -> Iterator[None]:
    """Hold a lock that threads and processes exclude each other by; it is not reentrant.

    Parameters
    ----------
    path
        The file that stands for it, made if it is not there.
    wait
        Longest wait in seconds; then LockTimeout is raised.
    """
    descriptor = _acquire(path, wait)
    try:
        yield
    finally:
        try:
            _unlock(descriptor)
        finally:
            os.close(descriptor)


def _acquire(path: Path, wait: float) -> int:
    # By asking again, since a call that waits can't be given up.
    deadline = time.monotonic() + wait
    pause = _FIRST_PAUSE
    while True:
        descriptor = os.open(path, _FLAGS, 0o600)
        if _is_mine(descriptor, path):
            return descriptor
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise LockTimeout(errno.ETIMEDOUT, f"another process has held it locked for {wait:g} s")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _is_mine(descriptor: int, path: Path) -> bool:
    """Try to lock; a lock on a file that was deleted meanwhile excludes nobody and counts as none."""
    try:
        _lock(descriptor)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        os.close(descriptor)
        raise
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
