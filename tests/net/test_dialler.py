"""The machine's own TCP."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import httpcore
import pytest

from jupyter_webresearch.net.dialler import SocketDialler
from tests.sites import Site


async def test_it_connects_to_the_address_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_args: object, **_more: object) -> None:
        raise AssertionError("an address was resolved")

    async with Site() as site:
        monkeypatch.setattr(socket, "getaddrinfo", never)
        stream = await SocketDialler().connect(ip_address("127.0.0.1"), site.port, 5)
        assert stream.get_extra_info("server_addr")[:2] == ("127.0.0.1", site.port)
        await stream.aclose()


async def test_a_closed_port() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        with pytest.raises(httpcore.ConnectError):
            await SocketDialler().connect(ip_address("127.0.0.1"), taken.getsockname()[1], 5)
