"""Where an operator keeps a secret: an environment variable, a file, or the keyring of the desktop.

Errors say what to do and hold neither the secret nor where it is kept: notebooks and models read them.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Mapping

import anyio
import anyio.to_thread

from jupyter_webresearch.errors import Failed

__all__ = ["MAX_SECRET", "SecretThreads", "read_secret"]

MAX_SECRET = 8 * 1024
"""Bytes; common servers take no larger header."""

THREADS = 8
"""Secrets that are read at once."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_EVERYONE = stat.S_IROTH | stat.S_IWOTH


def read_secret(source: str, environ: Mapping[str, str] = os.environ) -> str:
    """Read a secret now; this blocks, on a disk or on a person who unlocks a keyring.

    Parameters
    ----------
    source
        ``env:NAME``, ``file:/absolute/path`` or ``keyring:SERVICE/USER``.
    environ
        The environment that ``env:`` means.

    Returns
    -------
    str
        Without surrounding space, not empty, at most :data:`MAX_SECRET` bytes, without control characters.

    Raises
    ------
    Failed
        ``credential_unavailable``, saying why.
    """
    kind, _, place = source.partition(":")
    if kind == "env":
        text = _of_environment(place, environ)
    elif kind == "file":
        text = _of_file(place)
    elif kind == "keyring":
        text = _of_keyring(place)
    else:
        raise _unavailable("its source is none of env:, file: and keyring:")
    secret = text.strip(" \t\r\n")
    if not secret:
        raise _unavailable("it is empty")
    if _CONTROL.search(secret):
        raise _unavailable("it holds a line end or another control character; only the secret itself may stand there")
    if _size(secret) > MAX_SECRET:
        raise _unavailable(f"it is longer than {MAX_SECRET:,} bytes")
    return secret


class SecretThreads:
    """Threads on which secrets are read: few, for one that hangs must not take those that other work needs.

    Used on one loop.
    """

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, read: Callable[[], str]) -> str:
        """Return what a function reads on a thread; when this is cancelled, the thread is left behind."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)  # which needs a running loop
        return await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._limiter)


def _of_environment(name: str, environ: Mapping[str, str]) -> str:
    try:
        return environ[name]
    except KeyError:
        raise _unavailable("its environment variable is not set where the engine runs") from None


def _of_file(path: str) -> str:
    try:
        # Not blocking, because what is there could be a pipe.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such path"
        raise _unavailable(f"its file can't be opened ({reason})") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _unavailable("its path is not a plain file")
        if sys.platform != "win32" and mode & _EVERYONE:
            raise _unavailable("everyone on this machine may read or change its file; take that away with chmod o-rwx")
        data = os.read(descriptor, MAX_SECRET + 1024)
    except OSError:
        raise _unavailable("its file can't be read") from None
    finally:
        os.close(descriptor)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _unavailable("its file is not text in UTF-8") from None


def _of_keyring(place: str) -> str:
    service, _, user = place.rpartition("/")
    try:
        import keyring
    except ImportError:
        message = "the package keyring is not installed; pip install 'jupyter-webresearch[keyring]'"
        raise _unavailable(message) from None
    try:
        secret = keyring.get_password(service, user)
    except Exception:  # each backend raises what it likes, and its text could name the entry
        raise _unavailable("the keyring did not open") from None
    if secret is None:
        raise _unavailable("the keyring holds no such entry")
    return str(secret)


def _size(secret: str) -> int:
    try:
        return len(secret.encode())
    except UnicodeEncodeError:  # what an environment holds that is not UTF-8
        raise _unavailable("it is not text in UTF-8") from None


def _unavailable(why: str) -> Failed:
    return Failed("credential_unavailable", f"the secret can't be used: {why}")
