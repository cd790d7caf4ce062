"""The server under all test sites: asyncio streams, no HTTP library between a scenario and the wire."""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Handler = Callable[["Exchange"], Awaitable[None]]

ROUTES: dict[str, Handler] = {}
"""Path -> scenario; filled by :func:`route` when the scenario modules are imported."""


def route(*paths: str) -> Callable[[Handler], Handler]:
    """Register a scenario under its paths."""

    def register(handler: Handler) -> Handler:
        for path in paths:
            ROUTES[path] = handler
        return handler

    return register


@dataclass(frozen=True)
class SeenRequest:
    """One request as it arrived; ``headers`` in order, names as sent."""

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, list[str]]:
        # latin-1, so that a test can name any byte as %XX
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True, encoding="latin-1")

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class Exchange:
    """A request and the way to answer it."""

    request: SeenRequest
    site: Site
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    def text(self, name: str, default: str = "") -> str:
        """A query parameter."""
        return self.request.query.get(name, [default])[0]

    def number(self, name: str, default: float | None = None) -> Any:
        """A numeric query parameter; whole numbers as int."""
        value = self.text(name)
        if not value:
            return default
        return float(value) if "." in value else int(value)

    async def send(self, data: bytes) -> None:
        """Send exactly these bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def head(
        self,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        content_type: str = "",
        length: int | None = None,
        reason: str = "Whatever",
    ) -> None:
        """Send a head, always with ``Connection: close``."""
        lines = [f"HTTP/1.1 {status} {reason}", "Connection: close"]
        if content_type:
            lines.append(f"Content-Type: {content_type}")
        if length is not None:
            lines.append(f"Content-Length: {length}")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def answer(
        self,
        body: bytes | str = b"",
        content_type: str = "text/html; charset=utf-8",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a whole, honest answer; to HEAD without its body."""
        data = body.encode() if isinstance(body, str) else body
        await self.head(status, headers, content_type=content_type, length=len(data))
        if self.request.method != "HEAD":
            await self.send(data)

    async def hang(self) -> None:
        """Say nothing more until the client goes away."""
        with contextlib.suppress(ConnectionError):
            await self._reader.read()

    def reset(self) -> None:
        """Break the connection with RST."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


@dataclass
class _Page:
    body: bytes
    content_type: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Site:
    """A site on 127.0.0.1; see the package's docstring for what it serves.

    Parameters
    ----------
    tls
        Serve https with this context.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        # Imported here, because the scenarios import this module.
        from tests.sites import encodings, pages, robots, statuses, wire  # noqa: F401

        self.seen: list[SeenRequest] = []
        self.connections = 0
        self.peers: list[str] = []
        self.port = 0
        self.counts: dict[str, int] = {}
        self.robots = ""
        self._tls = tls
        self._pages: dict[str, _Page] = {}
        self._folders: dict[str, Path] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Condition()
        self._open = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def url(self, path: str = "/", host: str | None = None) -> str:
        """Return a URL of this site: on loopback, or on a host that a test's resolver and dialler lead here."""
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{host or f'127.0.0.1:{self.port}'}{path}"

    def serve(
        self,
        path: str,
        body: bytes | str,
        content_type: str = "text/html; charset=utf-8",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Add a page of the test's own; it wins over a scenario of the same path."""
        data = body.encode() if isinstance(body, str) else body
        self._pages[path] = _Page(data, content_type, status, dict(headers or {}))

    def serve_folder(self, prefix: str, folder: Path) -> None:
        """Serve a folder's files below a prefix, the type by suffix."""
        self._folders[prefix.rstrip("/") + "/"] = folder

    def paths(self) -> list[str]:
        """Targets asked for, in order."""
        return [request.target for request in self.seen]

    async def arrived(self, path: str, count: int = 1) -> None:
        """Wait until a path was asked for that many times (on the site's loop)."""
        async with self._changed:
            await self._changed.wait_for(lambda: sum(r.path == path for r in self.seen) >= count)

    def release(self) -> None:
        """Let /gate answer, now and later; from any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._open.set)

    async def opened(self) -> None:
        """Wait for :meth:`release`."""
        await self._open.wait()

    async def __aenter__(self) -> Site:
        self._loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def __enter__(self) -> Site:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live(ready)), name="site", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _live(self, ready: threading.Event) -> None:
        self._stop = asyncio.Event()
        async with self:
            ready.set()
            await self._stop.wait()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.peers.append(writer.get_extra_info("peername")[0])
        try:
            await self._exchange(reader, writer)
            writer.close()
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client went away or sent no HTTP
        except asyncio.CancelledError:
            pass  # the site closes
        finally:
            self._tasks.discard(task)
            if not writer.is_closing():
                writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head[:-4].split("\r\n")
        method, target, version = first.split(" ", 2)
        headers = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
        request = SeenRequest(method, target, version, headers)
        length = request.header("content-length")
        if length:
            request = SeenRequest(method, target, version, headers, await reader.readexactly(int(length)))
        async with self._changed:
            self.seen.append(request)
            self._changed.notify_all()
        await self._answer(Exchange(request, self, reader, writer))

    async def _answer(self, exchange: Exchange) -> None:
        path = exchange.request.path
        page = self._pages.get(exchange.request.target) or self._pages.get(path) or self._file(path)
        if page is not None:
            await exchange.answer(page.body, page.content_type, status=page.status, headers=page.headers)
        elif path in ROUTES:
            await ROUTES[path](exchange)
        else:
            await exchange.answer("no such page", "text/plain", status=404)

    def _file(self, path: str) -> _Page | None:
        for prefix, folder in self._folders.items():
            file = folder / path.removeprefix(prefix)
            if path.startswith(prefix) and file.is_file() and folder.resolve() in file.resolve().parents:
                kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
                return _Page(file.read_bytes(), kind)
        return None
