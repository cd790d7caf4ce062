"""Stand-ins for DNS and for the way to an address.

A test serves a site on loopback and lets a public address lead to it: the transport resolves, judges, dials and checks
the peer as in production, only the last metre differs.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpcore

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.addresses import IPAddress

CASES = Path(__file__).parent.parent / "cases"
PUBLIC = "93.184.216.34"


class StubResolver:
    """Answers from a table.

    ``answers`` maps a host to its addresses, or to a list of such lists, one for each look-up (the last repeats), each
    of which may be ``"gaierror"`` (no such name). ``asked`` records every look-up.
    """

    def __init__(self, answers: Mapping[str, Any] | None = None, *, default: Sequence[str] | None = (PUBLIC,)) -> None:
        self.answers = dict(answers or {})
        self.default = default
        self.asked: list[str] = []

    @classmethod
    def from_case_file(cls) -> StubResolver:
        """``ssrf_dns_stub.json``: the names of the URL case files."""
        stub = json.loads((CASES / "ssrf_dns_stub.json").read_text())
        return cls({**stub["refuse"], **stub["allow"]}, default=stub["default"])

    async def resolve(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        answer = self.answers.get(host, self.default)
        if answer is not None and any(isinstance(entry, (list, tuple)) or entry == "gaierror" for entry in answer):
            answer = answer[min(self.asked.count(host), len(answer)) - 1]
        if answer is None or answer == "gaierror":
            raise Failed("unresolved", f"{host} has no address.")
        return list(answer)


class CountingDialler:
    """Leads nowhere and counts: ``dialled`` is empty as long as not one packet would have been sent."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, int]] = []

    async def connect(self, address: IPAddress, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        self.dialled.append((str(address), port))
        raise httpcore.ConnectError("nothing is there")


class MappedDialler:
    """Leads to servers on loopback, and says that the dialled address answered.

    Parameters
    ----------
    routes
        Where a dialled ``(address, port)``, or any port of an ``address``, leads: a port on 127.0.0.1, or
        ``(host, port)``. Anything else is refused like a closed port.
    everything
        Where all that has no route leads.
    claimed
        The peer address that streams report instead of the dialled one, to play a dialler that lands elsewhere.
    """

    def __init__(
        self,
        routes: Mapping[str | tuple[str, int], int | tuple[str, int]] | None = None,
        *,
        everything: int | tuple[str, int] | None = None,
        claimed: str | None = None,
    ) -> None:
        self.routes = dict(routes or {})
        self.everything = everything
        self.claimed = claimed
        self.dialled: list[tuple[str, int]] = []
        self.streams: list[ClaimedStream] = []

    async def connect(self, address: IPAddress, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        self.dialled.append((str(address), port))
        target = self.routes.get((str(address), port), self.routes.get(str(address), self.everything))
        if target is None:
            raise httpcore.ConnectError("connection refused")
        host, real_port = target if isinstance(target, tuple) else ("127.0.0.1", target)
        real = await httpcore.AnyIOBackend().connect_tcp(host, real_port, timeout=timeout)
        stream = ClaimedStream(real, (self.claimed or str(address), port))
        self.streams.append(stream)
        return stream

    @property
    def open_streams(self) -> int:
        """Connections that nobody closed."""
        return sum(not stream.closed for stream in self.streams)


class ClaimedStream(httpcore.AsyncNetworkStream):
    """A real connection that reports another peer."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, peer: tuple[str, int]) -> None:
        self._stream = stream
        self._peer = peer
        self.closed = False
        self.secured: httpcore.AsyncNetworkStream | None = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        self.closed = True
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        self.secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _Secured(self.secured, self)

    def get_extra_info(self, info: str) -> Any:
        return self._peer if info == "server_addr" else self._stream.get_extra_info(info)


class _Secured(ClaimedStream):
    """The TLS layer; closing it closes what lies below."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, below: ClaimedStream) -> None:
        super().__init__(stream, below._peer)
        self._below = below

    async def aclose(self) -> None:
        self._below.closed = True
        await super().aclose()


class StuckResolver:
    """Never answers until released, like a resolver behind a dead link."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.released = asyncio.Event()

    async def resolve(self, host: str) -> Sequence[str]:
        self.asked.set()
        await self.released.wait()
        return [PUBLIC]
