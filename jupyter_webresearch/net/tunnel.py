"""A connection through a proxy."""

from __future__ import annotations

import ssl
from typing import Any

import httpcore

__all__ = ["Tunnel"]


class Tunnel(httpcore.AsyncNetworkStream):
    """What the proxy opened; its peer is what the proxy was asked for, and nobody else can know it.

    Parameters
    ----------
    stream
        The connection to the proxy.
    target
        The host or address, and the port, that it was asked for.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream, target: tuple[str, int]) -> None:
        self._stream = stream
        self._target = target

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Receive from the target."""
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send to the target."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection to the proxy."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Speak TLS with the target."""
        return await self._stream.start_tls(ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of the connection."""
        return self._target if info == "server_addr" else self._stream.get_extra_info(info)
