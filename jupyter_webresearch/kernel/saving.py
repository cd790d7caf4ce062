"""Putting a downloaded body into the notebook's folder, and nowhere else."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import TracebackType

from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.models import Saved

__all__ = ["SaveTarget", "safe_name"]

HAS_DIR_FD = os.open in os.supports_dir_fd and os.link in os.supports_dir_fd
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
NAME_LIMIT = 150  # UTF-8 bytes; file systems allow 255
WINDOWS_DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789¹²³"
}


def safe_name(offered: str) -> str:
    """Return the file name to use for one that a site offers.

    Only what follows the last slash or backslash counts. Control and invisible characters, what Windows forbids in
    names, leading dots (hidden files), and trailing dots and spaces go; a device name of Windows gets an underscore.

    Returns
    -------
    str
        At most 150 bytes of UTF-8, never empty.
    """
    base = unicodedata.normalize("NFC", offered).replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(
        c
        for c in base
        if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and c not in '<>:"|?*'
    )
    kept = kept.strip().lstrip(".").strip()
    stem, dot, suffix = kept.rpartition(".")
    if not dot or len(suffix.encode()) > 20:
        stem, dot, suffix = kept, "", ""
    room = NAME_LIMIT - len((dot + suffix).encode())
    stem = stem.encode()[:room].decode("utf-8", "ignore")
    name = f"{stem}{dot}{suffix}".rstrip(". ")
    if not name:
        return "download"
    return f"_{name}" if name.split(".")[0].strip().lower() in WINDOWS_DEVICES else name


class SaveTarget:
    """A place for one file inside a folder, checked before anything is downloaded. A context manager.

    Every step from the folder down is opened without following links, so what was checked is what is written to, even
    when the folder changes meanwhile.

    Parameters
    ----------
    folder
        The notebook's folder; it may itself be reached through a link.
    path
        File inside it: relative, or absolute and below it; or a folder in it, or None, to use the name the site gives.
    force
        Whether an existing plain file may be replaced.

    Raises
    ------
    Refused
        ``save_refused``: the path leaves the folder, passes a link, or is not a plain file's.
    Failed
        ``file_exists``: a file is there and ``force`` is not given.
    """

    def __init__(self, folder: str | os.PathLike[str], path: str | None = None, force: bool = False) -> None:
        self._root = Path(folder)
        self._force = force
        self._parts = [] if path is None else _parts(self._root, path)
        self._is_folder = path is not None and path.endswith(("/", "/."))
        self._name: str | None = None
        self._folder: _Folder | None = None

    def __enter__(self) -> SaveTarget:
        folder = _Folder.open(self._root)
        try:
            for depth, part in enumerate(self._parts):
                if depth == len(self._parts) - 1 and not self._is_folder and not folder.has_folder(part):
                    folder.check(part, self._force)
                    self._name = part
                    break
                folder = folder.step(part)
        except BaseException:
            folder.close()
            raise
        self._folder = folder
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def write(self, saved: Saved, chunks: Iterable[bytes]) -> Saved:
        """Write a body: whole or not at all.

        Parameters
        ----------
        saved
            What is known of it: offered name, size and digest, against which the written bytes are compared.
        chunks
            The body.

        Returns
        -------
        Saved
            With ``path`` relative to the folder, and the name used.

        Raises
        ------
        Refused, Failed
            ``save_refused`` or ``file_exists``; ``unreachable`` when fewer or other bytes came than were announced.
        """
        if self._folder is None:
            raise RuntimeError("a SaveTarget is written to inside its with block")
        name = self._name or safe_name(saved.name)
        self._folder.check(name, self._force)
        with self._folder.temporary(name) as (temporary, descriptor):
            size, digest = _copy(chunks, descriptor, saved.bytes)
            if size != saved.bytes or (saved.sha256 and digest != saved.sha256):
                raise Failed("unreachable", "the download broke off before its end; try again")
            self._folder.place(temporary, name, self._force)
        steps = self._parts[:-1] if self._name else self._parts
        return replace(saved, name=name, path=str(PurePosixPath(*steps, name)))


def _copy(chunks: Iterable[bytes], descriptor: int, most: int) -> tuple[int, str]:
    """Write chunks, not much more than there should be, and return their size and digest."""
    size, digest = 0, hashlib.sha256()
    with os.fdopen(os.dup(descriptor), "wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            if size > most:
                break
        file.flush()
        os.fsync(file.fileno())
    return size, digest.hexdigest()


OUTSIDE = "lies outside the folder to save in; name a file inside it"
MISSING = "is a folder that doesn't exist; create it first"


def _parts(root: Path, path: str) -> list[str]:
    """Return the steps from the folder to the file that the caller named."""
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in path) or "\\" in path or PureWindowsPath(path).drive:
        raise _refused(path, "is not a plain relative path")
    named = PurePosixPath(path)
    if named.is_absolute():
        try:
            named = named.relative_to(PurePosixPath(os.path.abspath(root)))  # noqa: PTH100 -- resolve() follows links
        except ValueError:
            raise _refused(path, OUTSIDE) from None
    parts = list(named.parts)
    if ".." in parts:
        raise _refused(path, OUTSIDE)
    if parts and parts[0].startswith("~"):
        raise _refused(path, "begins with ~, which is not expanded here")
    return parts


def _refused(path: str, why: str) -> Refused:
    return Refused("save_refused", f"{path!r} {why}")


class _Folder:
    """An open folder. On platforms without ``openat`` (Windows) it is its path, checked step by step instead."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._fd = descriptor

    @staticmethod
    def open(path: Path) -> _Folder:
        if not path.exists():
            raise _refused(str(path), MISSING)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY) if HAS_DIR_FD else None
        except OSError as error:
            raise _refused(str(path), f"can't be opened ({error.strerror})") from None
        return _Folder(path, descriptor)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _at(self, name: str) -> str | Path:
        return name if self._fd is not None else self._path / name

    def _mode(self, name: str) -> int | None:
        """Return the type bits of an entry, links not followed; None when there is none."""
        try:
            return stat.S_IFMT(os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refused(name, f"can't be used ({error.strerror})") from None

    def has_folder(self, name: str) -> bool:
        return self._mode(name) == stat.S_IFDIR

    def check(self, name: str, force: bool) -> None:
        """Raise unless a plain file may be put under this name."""
        mode = self._mode(name)
        if mode is None:
            return
        if mode != stat.S_IFREG:
            raise _refused(name, "is not a plain file; name another")
        if not force:
            raise _exists(name)

    def step(self, name: str) -> _Folder:
        """Open a folder in this one and close this one."""
        mode = self._mode(name)
        if mode is None:
            raise _refused(name, MISSING)
        if mode != stat.S_IFDIR:
            raise _refused(name, "is not a folder of its own")
        descriptor = None
        if self._fd is not None:
            try:
                descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW, dir_fd=self._fd)
            except OSError as error:
                raise _refused(name, f"can't be opened ({error.strerror})") from None
        self.close()
        return _Folder(self._path / name, descriptor)

    @contextmanager
    def temporary(self, name: str) -> Iterator[tuple[str, int]]:
        """Make a new file beside the wanted one; it is gone after the block unless it was placed."""
        temporary = f".{secrets.token_hex(8)}.part"  # of a length that every name that fits has room for
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | getattr(os, "O_BINARY", 0)
        descriptor = None
        try:
            # Inside, for an interrupt that comes meanwhile is raised as soon as the file is there.
            descriptor = os.open(self._at(temporary), flags, 0o666, dir_fd=self._fd)
            yield temporary, descriptor
        except OSError as error:
            raise _refused(name, f"can't be written ({error.strerror})") from error
        finally:
            if descriptor is not None:
                os.close(descriptor)
            with contextlib.suppress(OSError if descriptor is None else FileNotFoundError):
                os.unlink(self._at(temporary), dir_fd=self._fd)

    def place(self, temporary: str, name: str, force: bool) -> None:
        """Give the written file its name, atomically; without ``force`` never over another."""
        if force:
            self.check(name, force)
            os.replace(self._at(temporary), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)
            return
        try:
            os.link(
                self._at(temporary), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False
            )
        except FileExistsError:
            raise _exists(name) from None
        except (NotImplementedError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (
                errno.EPERM,
                errno.ENOTSUP,
                errno.ENOSYS,
                errno.EMLINK,
            ):
                raise
            self._claim_and_replace(temporary, name)

    def _claim_and_replace(self, temporary: str, name: str) -> None:
        """Do as :meth:`place` where files can't be linked (FAT, some network file systems)."""
        try:
            os.close(os.open(self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, dir_fd=self._fd))
        except FileExistsError:
            raise _exists(name) from None
        os.replace(self._at(temporary), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)


def _exists(name: str) -> Failed:
    return Failed("file_exists", f"{name!r} is there already; give another name, or --force to replace it")
