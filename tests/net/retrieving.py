"""A retriever over the real transport, with public names that lead to sites on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import Any

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.answer import Disposition, ResponseHead, Retrieved
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from tests.sites import Authority, Site
from tests.sites.network import MappedDialler, StubResolver

HOST, OTHER, PRIVATE = "www.example.org", "other.example.net", "inside.example.org"
AUTHORITY = Authority()
MIB = 1 << 20


class TurnedClock(SystemClock):
    """The machine's clock, set forward by the waits that a test skips."""

    def __init__(self) -> None:
        self.offset = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.offset)

    def monotonic(self) -> float:
        return super().monotonic() + self.offset


class Rig:
    """Sites and a retriever; ``secure`` and ``other`` are the sites behind https and behind OTHER."""

    def __init__(self, site: Site, secure: Site, other: Site, **settings: Any) -> None:
        self.site, self.secure, self.other = site, secure, other
        self.resolver = StubResolver({OTHER: ["93.184.216.35"], PRIVATE: ["10.1.2.3"]})
        self.dialler = MappedDialler(
            {
                ("93.184.216.34", 80): site.port,
                ("93.184.216.34", 8080): site.port,
                ("93.184.216.34", 443): secure.port,
                ("93.184.216.35", 80): other.port,
            }
        )
        self.clock = TurnedClock()
        self.slept: list[float] = []
        self.phases: list[str] = []
        self.heads: list[ResponseHead] = []
        self.admission = GuardAdmission(Guard(WebPolicy(), interfaces=frozenset, own_ports=frozenset))
        self.settings = WebFetch(**settings)
        transport = GuardedTransport(
            self.settings, resolver=self.resolver, dialler=self.dialler, ssl_context=AUTHORITY.client
        )
        self.retriever = Retriever(transport, self.settings, self.clock, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.offset += seconds

    async def get(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: tuple[tuple[str, str], ...] = (),
        body: bytes | None = None,
        limit: int = 10 * MIB,
        overflow: Any = "truncate",
        sink: Any = None,
        seconds: float = 30,
        accept: Callable[[ResponseHead], Disposition] | None = None,
    ) -> Retrieved:
        def decide(head: ResponseHead) -> Disposition:
            self.heads.append(head)
            return accept(head) if accept else Disposition(limit, overflow, sink)

        return await self.retriever.retrieve(
            FetchRequest(url if "://" in url else f"http://{HOST}{url}", method, headers, body),
            admission=self.admission,
            on_phase=self.phases.append,
            deadline=self.clock.monotonic() + seconds,
            accept=decide,
        )

    def untouched(self) -> bool:
        """Whether neither DNS nor the network was asked."""
        return not self.resolver.asked and not self.dialler.dialled


@contextlib.asynccontextmanager
async def rig(**settings: Any) -> AsyncIterator[Rig]:
    """Open sites and a retriever; at the end no connection may be left open."""
    async with Site() as site, Site(tls=AUTHORITY.server(HOST)) as secure, Site() as other:
        made = Rig(site, secure, other, **settings)
        yield made
        assert made.dialler.open_streams == 0


def echoed(answer: Retrieved) -> dict[str, Any]:
    """What /echo saw."""
    return json.loads(answer.body)  # type: ignore[no-any-return]


@contextlib.asynccontextmanager
async def heartbeat() -> AsyncIterator[list[float]]:
    """Measure the loop's stalls: the list holds the processor time between two beats, in seconds.

    Processor time of the loop's thread, because what else runs on the machine stalls it too; without collections of a
    heap that other tests have filled.
    """
    late: list[float] = []

    async def beat() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            late.append(time.thread_time() - before)

    gc.disable()
    task = asyncio.create_task(beat())
    await asyncio.sleep(0)
    try:
        yield late
    finally:
        task.cancel()
        gc.enable()
