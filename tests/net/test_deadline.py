"""The deadline holds whatever hangs: each seam in turn never comes back, and takes no notice of a timeout."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Sequence
from typing import Any

import httpcore
import pytest

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.answer import Disposition
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.policy.addresses import IPAddress
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from tests.own_time import in_own_time
from tests.sites.network import PUBLIC

DEADLINE = 4.0  # seconds of the loop's own time; less than any other bound
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 3_000_000


class Hanging(httpcore.AsyncNetworkStream):
    """A connection, and all that leads to it, of which the named part hangs."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.reached = False
        self.waited_for = False
        self.released = threading.Event()
        self._answer = memoryview(ANSWER)

    async def _maybe_hang(self, part: str) -> None:
        if part == self.part:
            self.reached = True
            await asyncio.Event().wait()

    def block(self) -> None:
        """Hang on a thread; ``waited_for`` tells of a retrieval that did not go on without it."""
        self.reached = True
        self.waited_for = not self.released.wait(30)

    async def resolve(self, host: str) -> Sequence[str]:
        await self._maybe_hang("resolve")
        return [PUBLIC]

    async def connect(self, address: IPAddress, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        await self._maybe_hang("connect")
        return self

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        await self._maybe_hang("start_tls")
        return self

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._maybe_hang("write")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        await self._maybe_hang("read")
        piece, self._answer = self._answer[:max_bytes], self._answer[max_bytes:]
        if not piece:  # more is announced
            self.reached = self.part == "body"
            await asyncio.Event().wait()
        return bytes(piece)

    async def aclose(self) -> None:
        """Closing a socket waits for nobody."""

    def get_extra_info(self, info: str) -> Any:
        return (PUBLIC, 443) if info == "server_addr" else None


class HangingSink:
    def __init__(self, hanging: Hanging) -> None:
        self._hanging = hanging

    def write(self, data: bytes, /) -> None:
        if self._hanging.part == "sink":
            self._hanging.block()


class LoopClock(SystemClock):
    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


@pytest.mark.parametrize("part", ["resolve", "connect", "start_tls", "write", "read", "sink", "body", "trust"])
@in_own_time
async def test_nothing_holds_up_the_deadline(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Hanging(part)
    context: ssl.SSLContext | None = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if part == "trust":
        context = None
        monkeypatch.setattr("jupyter_webresearch.net.transport.tls_context", lambda _bundle: hanging.block())
    guard = Guard(WebPolicy(), interfaces=frozenset, own_ports=frozenset)
    settings = WebFetch()
    transport = GuardedTransport(settings, resolver=hanging, dialler=hanging, ssl_context=context)
    clock = LoopClock()
    retriever = Retriever(transport, settings, clock)
    try:
        with pytest.raises(Failed) as caught:
            await retriever.retrieve(
                FetchRequest("https://www.example.org/"),
                admission=GuardAdmission(guard),
                on_phase=lambda _phase: None,
                deadline=clock.monotonic() + DEADLINE,
                accept=lambda _head: Disposition(10_000_000, "error", HangingSink(hanging)),
            )
        took = clock.monotonic()
    finally:
        hanging.released.set()
    assert caught.value.code == "timeout"
    assert hanging.reached
    assert not hanging.waited_for
    assert took == pytest.approx(DEADLINE)
