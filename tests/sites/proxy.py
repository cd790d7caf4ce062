"""A forward proxy on loopback that opens tunnels for CONNECT, and misbehaves on demand."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

Misbehaviour = Callable[["ProxyExchange"], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    """One request as the proxy got it."""

    line: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]


@dataclass
class ProxyExchange:
    """A request for a tunnel and the way to answer it."""

    asked: Asked
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hang(self) -> None:
        """Say nothing more until the client goes away."""
        with contextlib.suppress(ConnectionError):
            await self.reader.read()

    async def join(self, port: int) -> None:
        """Be the tunnel to a port on 127.0.0.1 until one side closes it."""
        their_reader, their_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(_pass_on(self.reader, their_writer), _pass_on(their_reader, self.writer, closing=True))
        finally:
            their_writer.transport.abort()


class Proxy:
    """A proxy on 127.0.0.1, on the test's own loop.

    Parameters
    ----------
    routes
        Port on 127.0.0.1 to which a target ``host:port`` leads; any other is answered with 502.
    credentials
        ``user:password`` that it demands.
    intercepting
        Server's side of the TLS that it speaks in the target's place; what is inside goes to the target in clear.
    instead
        What it does instead of answering a request.
    """

    def __init__(
        self,
        routes: Mapping[str, int] | None = None,
        *,
        credentials: str = "",
        intercepting: ssl.SSLContext | None = None,
        instead: Misbehaviour | None = None,
    ) -> None:
        self.routes = dict(routes or {})
        self.asked: list[Asked] = []
        self.peers: list[str] = []
        self.port = 0
        self._credentials = credentials
        self._intercepting = intercepting
        self._instead = instead
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def targets(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.target for asked in self.asked]

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.peers.append(writer.get_extra_info("peername")[0])
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the proxy closes
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head[:-4].split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in rest)}
        asked = Asked(line, headers)
        self.asked.append(asked)
        exchange = ProxyExchange(asked, reader, writer)
        if self._instead is not None:
            await self._instead(exchange)
            writer.close()
            await writer.wait_closed()
            return
        expected = "Basic " + base64.b64encode(self._credentials.encode()).decode()
        if self._credentials and headers.get("proxy-authorization") != expected:
            await exchange.send(b'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n')
            return
        port = self.routes.get(asked.target)
        if port is None:
            await exchange.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nsorry")
            return
        await self._tunnel(exchange, port)

    async def _tunnel(self, exchange: ProxyExchange, port: int) -> None:
        await exchange.send(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n")
        if self._intercepting is not None:
            await _start_tls(exchange, self._intercepting)
        await exchange.join(port)


async def _start_tls(exchange: ProxyExchange, context: ssl.SSLContext) -> None:
    """Speak TLS in the tunnel, as its server."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport = await loop.start_tls(exchange.writer.transport, protocol, context, server_side=True)
    assert transport is not None
    protocol.connection_made(transport)
    exchange.reader = reader
    exchange.writer = asyncio.StreamWriter(transport, protocol, reader, loop)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, closing: bool = False) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if closing:
        writer.close()
    elif writer.can_write_eof():
        writer.write_eof()
