"""Whose process listens: real sockets, and the tables of Linux as it writes them."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from jupyter_webresearch.socket_owner import TABLES, belongs_to

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

LISTENERS = [
    (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
    (socket.AF_INET, "0.0.0.0", "127.0.0.1"),
    (socket.AF_INET, "0.0.0.0", "127.0.0.2"),
    (socket.AF_INET6, "::1", "::1"),
    (socket.AF_INET6, "::", "::1"),
    (socket.AF_INET6, "::", "127.0.0.1"),
]


@contextmanager
def connected(family: socket.AddressFamily, bound: str, dialled: str) -> Iterator[socket.socket]:
    with socket.socket(family) as listener:
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((bound, 0))
        listener.listen()
        with closing(socket.create_connection((dialled, listener.getsockname()[1]), timeout=10)) as connection:
            yield connection


@pytest.mark.parametrize(("family", "bound", "dialled"), LISTENERS)
def test_the_owner_of_a_port_is_told_from_others(family: socket.AddressFamily, bound: str, dialled: str) -> None:
    with connected(family, bound, dialled) as connection:
        assert belongs_to(os.getuid(), connection)
        assert not belongs_to(os.getuid() + 1, connection)


def test_the_owner_of_a_unix_socket_is_told_from_others(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as connection:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        connection.connect(str(tmp_path / "s"))
        assert belongs_to(os.getuid(), connection)
        assert not belongs_to(os.getuid() + 1, connection)


def table(path: Path, *rows: tuple[str, int, str, int]) -> Path:
    """Write address, port, state and owner of sockets as Linux does."""
    lines = [
        f"   {number}: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {owner}  0 7"
        for number, (address, port, state, owner) in enumerate(rows)
    ]
    path.write_text("\n".join(["  sl  local_address rem_address   st ...", *lines, ""]))
    return path


@pytest.mark.skipif(sys.byteorder != "little", reason="the tables are written as a little machine writes them")
def test_whoever_else_listens_there_counts_and_nobody_else(tmp_path: Path) -> None:
    with connected(socket.AF_INET, "127.0.0.1", "127.0.0.1") as connection:
        port = connection.getpeername()[1]
        mine, other = ("0100007F", port, "0A", 1000), ("00000000", port, "0A", 1001)
        elsewhere = [("0200007F", port, "0A", 1001), ("0100007F", port ^ 1, "0A", 1001), ("0100007F", port, "01", 1001)]
        mapped = ("0000000000000000FFFF00000100007F", port, "0A", 1001)

        def owns(*rows: tuple[str, int, str, int]) -> bool:
            return belongs_to(1000, connection, [table(tmp_path / "tcp", *rows), tmp_path / "gone"])

        assert owns(mine, *elsewhere)
        assert not owns(mine, other)
        assert not owns(mine, mapped)
        assert not owns(*elsewhere)
        assert not owns()


def test_the_tables_are_those_of_the_machine() -> None:
    assert TABLES[0].exists()
