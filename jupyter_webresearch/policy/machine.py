"""What this machine knows of itself: the addresses of its interfaces, and the ports on which Jupyter listens."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from jupyter_webresearch.policy.addresses import IPAddress, parse_address
from jupyter_webresearch.running_servers import running_servers, server_port

__all__ = ["Recent", "exported_ports", "interface_addresses", "jupyter_ports"]

T = TypeVar("T")

_EXPORTED = ("JUPYTER_WEBRESEARCH_URL", "JUPYTERHUB_SERVICE_URL", "JUPYTERHUB_API_URL")


class Recent(Generic[T]):
    """The value of a function, read anew when it is older than ``seconds``."""

    def __init__(self, read: Callable[[], T], seconds: float = 5.0) -> None:
        self._read = read
        self._seconds = seconds
        self._kept: tuple[float, T] | None = None

    def __call__(self) -> T:
        """Return the value, at most ``seconds`` old."""
        now = time.monotonic()
        kept = self._kept
        if kept is None or now - kept[0] > self._seconds:
            self._kept = kept = now, self._read()
        return kept[1]


def interface_addresses() -> frozenset[IPAddress]:
    """Return the addresses of this machine's interfaces, the public ones too."""
    import psutil

    texts = [
        entry.address
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family in (socket.AF_INET, socket.AF_INET6)
    ]
    return frozenset(address for address in map(parse_address, texts) if address is not None)


def jupyter_ports(runtime_dir: Path | None = None) -> frozenset[int]:
    """Return the ports of this user's running Jupyter servers.

    Parameters
    ----------
    runtime_dir
        Where their files lie; None is Jupyter's runtime folder.
    """
    if runtime_dir is None:
        from jupyter_core.paths import jupyter_runtime_dir

        runtime_dir = Path(jupyter_runtime_dir())
    return frozenset(port for info in running_servers(runtime_dir) if (port := server_port(info)))


def exported_ports() -> frozenset[int]:
    """Return the ports that the server or Hub which started this process told it of."""
    return frozenset(port for name in _EXPORTED if (port := _url_port(os.environ.get(name, ""))))


def _url_port(url: str) -> int:
    try:
        parts = urlsplit(url)
        return parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return 0
