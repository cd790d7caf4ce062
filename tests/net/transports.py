"""A transport whose every public name leads to one server on loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from tests.sites import Site
from tests.sites.network import PUBLIC, MappedDialler, StubResolver

HOST = "www.example.org"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handle: Handler) -> AsyncIterator[int]:
    """Run a server of a few lines; gives its port, and ends with every connection closed."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handle(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


class Way:
    """The transport to a site, and what was dialled on it.

    Parameters
    ----------
    site
        Where every connection ends, or the port of a server.
    ssl_context
        Whom TLS trusts.
    fetch
        Settings of WebFetch.
    """

    def __init__(
        self,
        site: Site | int,
        *,
        ssl_context: ssl.SSLContext | None = None,
        dialler: MappedDialler | None = None,
        resolver: StubResolver | None = None,
        policy: WebPolicy | None = None,
        **fetch: Any,
    ) -> None:
        port = site if isinstance(site, int) else site.port
        self.scheme = "https" if isinstance(site, Site) and site._tls else "http"
        self.dialler = dialler or MappedDialler({PUBLIC: port})
        self.resolver = resolver or StubResolver()
        self.admission = GuardAdmission(Guard(policy or WebPolicy(), interfaces=frozenset, own_ports=frozenset))
        self.transport = GuardedTransport(
            WebFetch(**fetch), resolver=self.resolver, dialler=self.dialler, ssl_context=ssl_context
        )

    async def open(self, path: str = "/plain", method: str = "GET", **request: Any) -> httpx.Response:
        """Send a request and return the answer, its body unread."""
        url = f"{self.scheme}://{HOST}{path}" if path.startswith("/") else path
        extensions = {"admission": self.admission, **request.pop("extensions", {})}
        return await self.transport.handle_async_request(httpx.Request(method, url, **request, extensions=extensions))

    async def read(self, path: str = "/plain", method: str = "GET", **request: Any) -> bytes:
        """Send a request and return the raw body."""
        response = await self.open(path, method, **request)
        try:
            return b"".join([chunk async for chunk in response.aiter_raw()])
        finally:
            await response.aclose()

    async def fails(self, path: str = "/plain", method: str = "GET", **request: Any) -> WebResearchError:
        """Return the error that reading a path ends in; it must leave no connection open and name no address."""
        with pytest.raises(WebResearchError) as caught:
            await self.read(path, method, **request)
        assert self.dialler.open_streams == 0
        assert PUBLIC not in caught.value.message
        assert "127.0.0.1" not in caught.value.message
        return caught.value
