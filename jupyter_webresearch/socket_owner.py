"""Whether what listens at the other end of a connection on this machine is this user's.

A port says nothing of who listens there: where a server has crashed, any user of the machine may take its port, and
wait for what is sent to it.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from jupyter_webresearch.policy.addresses import IPAddress

__all__ = ["belongs_to"]

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""The sockets of this machine with their owners (proc_pid_net(5))."""

_LISTENING = "0A"


def belongs_to(user: int, connection: socket.socket, tables: Sequence[Path] = TABLES) -> bool:
    """Whether a user listens at the other end of a connection, and nobody else does.

    Only Linux says so; elsewhere the answer is always yes.

    Parameters
    ----------
    user
        Number of the user.
    connection
        A connected socket, of TCP or of the Unix domain.
    tables
        Where the system lists sockets.
    """
    if sys.platform != "linux":
        return True
    if connection.family == socket.AF_UNIX:
        _, owner, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return bool(owner == user)
    host, port = connection.getpeername()[:2]
    return set(_listeners(_plain(ip_address(host.partition("%")[0])), port, tables)) == {user}


def _listeners(address: IPAddress, port: int, tables: Sequence[Path]) -> Iterator[int]:
    """Yield the owner of each socket that listens on a port, on this very address or on all."""
    for table in tables:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except FileNotFoundError:  # a machine without IPv6
            continue
        for line in lines:
            _, local, _, state, _, _, _, owner, *_ = line.split()
            where, _, number = local.partition(":")
            if state == _LISTENING and int(number, 16) == port:
                at = _plain(_address(where))
                if at == address or at.is_unspecified:
                    yield int(owner)


def _address(text: str) -> IPAddress:
    """Return an address of the table: words of four bytes, each as a number in the order of this machine."""
    words = [int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8)]
    return ip_address(b"".join(words))


def _plain(address: IPAddress) -> IPAddress:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
