"""Connections come from the address that an operator chose, and one that this machine has not stops the start."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

import httpcore
import pytest

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.net.dialler import SocketDialler
from jupyter_webresearch.net.source_address import check_source_addresses


async def who_asked(dialler: SocketDialler, server_address: str) -> str:
    """Return who a server on an address says has connected to it."""
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.put_nowait(writer.get_extra_info("peername")[0])
        writer.close()

    async with await asyncio.start_server(connected, server_address, 0) as server:
        port = server.sockets[0].getsockname()[1]
        stream = await dialler.connect(ip_address(server_address), port, 5)
        assert stream.get_extra_info("server_addr")[:2] == (server_address, port)
        await stream.aclose()
        return await asked.get()


async def test_ipv4() -> None:
    assert await who_asked(SocketDialler(source_ipv4="127.0.0.2"), "127.0.0.1") == "127.0.0.2"
    assert await who_asked(SocketDialler(), "127.0.0.1") == "127.0.0.1"


async def test_ipv6() -> None:
    assert await who_asked(SocketDialler(source_ipv6="::1"), "::1") == "::1"


async def test_each_family_has_its_own() -> None:
    dialler = SocketDialler(source_ipv4="127.0.0.2", source_ipv6="::1")
    assert await who_asked(dialler, "127.0.0.1") == "127.0.0.2"
    assert await who_asked(dialler, "::1") == "::1"
    assert await who_asked(SocketDialler(source_ipv4="127.0.0.2"), "::1") == "::1"


async def test_an_address_that_went_away_makes_no_connection_from_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises((httpcore.ConnectError, OSError)):
        await SocketDialler(source_ipv4="192.0.2.7").connect(ip_address("127.0.0.1"), server.getsockname()[1], 5)


@pytest.mark.parametrize(
    "policy", [{}, {"source_ipv4": "127.0.0.2"}, {"source_ipv4": "127.0.0.1", "source_ipv6": "::1"}]
)
def test_addresses_of_this_machine(policy: dict[str, str]) -> None:
    check_source_addresses(WebPolicy(**policy))


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("source_ipv4", "192.0.2.7"),
        ("source_ipv4", "0.0.0.0"),
        ("source_ipv4", "224.0.0.1"),
        ("source_ipv6", "2001:db8::7"),
        ("source_ipv6", "::"),
    ],
)
def test_addresses_that_this_machine_has_not(setting: str, address: str) -> None:
    with pytest.raises(Failed) as caught:
        check_source_addresses(WebPolicy(**{setting: address}))
    assert (caught.value.code, caught.value.setting) == ("config", f"WebPolicy.{setting}")
    assert f"WebPolicy.{setting}" in caught.value.message
    assert address in caught.value.message
