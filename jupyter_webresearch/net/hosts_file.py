"""The names that this machine's hosts file holds, for those that the resolver is not asked for as the file has them.

``getaddrinfo`` compares what it is asked for with the file letter by letter, a trailing dot included: for ``wiki.`` or
``wiki.example.com.`` it does not find the line of ``wiki`` or ``wiki.example.com`` (measured on glibc 2.36). Names are
asked for with that dot, which alone keeps the search list of resolv.conf away; so the file is read here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from jupyter_webresearch.policy.addresses import parse_address

__all__ = ["HostsFile", "hosts_path"]

LARGEST = 1024 * 1024
"""Bytes of a file that is read; a larger one is a list of sites to block, not of machines."""


def hosts_path() -> Path:
    """Return where this system keeps the file."""
    if os.name == "nt":
        return Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "drivers", "etc", "hosts")
    return Path("/etc/hosts")


class HostsFile:
    """Addresses by name, read again when the file has changed. Used on any thread but an event loop's.

    Parameters
    ----------
    path
        The file; one that is not there, can't be read or is too large holds no names.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[object, Mapping[str, Sequence[str]]] = (None, {})
        self._lock = threading.Lock()

    def addresses(self, host: str) -> Sequence[str]:
        """Return what the file says of a name, on all its lines, as it is written there.

        Parameters
        ----------
        host
            In lower case, without a trailing dot.
        """
        with self._lock:
            try:
                found = self._path.stat()
                version = (found.st_mtime_ns, found.st_size, found.st_ino)
                if version != self._read[0]:
                    self._read = (version, _names(self._path) if found.st_size <= LARGEST else {})
            except OSError:
                return ()
            return self._read[1].get(host, ())


def _names(path: Path) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    with path.open("rb") as file:
        text = file.read(LARGEST).decode("utf-8", "replace")
    for line in text.splitlines():
        address, *aliases = line.partition("#")[0].split() or [""]
        for alias in aliases if parse_address(address) is not None else ():
            names.setdefault(alias.lower().removesuffix("."), []).append(address)
    return names
