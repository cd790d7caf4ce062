"""Somebody who visits sites and obeys their robots.txt, over the real retriever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.answer import Disposition
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.policy.admission import Admission, GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.robots import Robots
from jupyter_webresearch.policy.urls import CheckedURL, parse_url
from tests.net.retrieving import HOST, OTHER, Rig, TurnedClock, rig
from tests.sites.robots import RULES

HTTP, HTTPS, ELSEWHERE = f"http://{HOST}", f"https://{HOST}", f"http://{OTHER}"
TOKEN = "JupyterWebResearch"


class Obeying(GuardAdmission):
    """One operation's admission, as the engine has it: robots.txt is asked before each document."""

    def __init__(self, visit: Visit, deadline: float) -> None:
        super().__init__(visit.guard)
        self._visit = visit
        self._deadline = deadline

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        await self._visit.robots.check(url, self._visit.net.admission, deadline=self._deadline)


class Visit:
    """Sites, and somebody who reads them under one mode."""

    def __init__(self, net: Rig, mode: str) -> None:
        self.net = net
        self.guard: Guard = net.admission._guard
        self.robots = Robots(net.retriever, net.settings, mode, net.clock, sleep=net._sleep)
        for site in (net.site, net.secure, net.other):
            for path in ("/page", "/private", "/public"):
                site.serve(path, "a document", "text/plain")

    def serve(self, text: str | bytes = RULES, *, status: int = 200, kind: str = "text/plain", **headers: str) -> None:
        """Put a robots.txt on the site."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.net.site.serve("/robots.txt", text, kind, status=status, headers=named)

    async def read(self, target: str, base: str = HTTP, *, seconds: float = 30) -> str:
        """Read a document: ``read``, or the code of the error."""
        deadline = self.net.clock.monotonic() + seconds
        try:
            await self.net.retriever.retrieve(
                FetchRequest(base + target),
                admission=Obeying(self, deadline),
                on_phase=lambda _phase: None,
                deadline=deadline,
                accept=lambda _head: Disposition(1000),
            )
        except WebResearchError as error:
            return error.code
        return "read"

    async def check(self, target: str = "/page", base: str = HTTP, *, admission: Admission | None = None) -> None:
        await self.robots.check(parse_url(base + target), admission or self.net.admission)

    async def refusal(self, target: str = "/private", base: str = HTTP) -> WebResearchError:
        with pytest.raises(WebResearchError) as caught:
            await self.check(target, base)
        return caught.value

    @property
    def asked(self) -> int:
        """How often the site's robots.txt was asked for."""
        return self.net.site.paths().count("/robots.txt")


class StoppedClock(TurnedClock):
    """Time that passes only where a test turns the clock or waits."""

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=self.offset)

    def monotonic(self) -> float:
        return 1000.0 + self.offset


class LoopClock(TurnedClock):
    """The loop's own time."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


@asynccontextmanager
async def visit(mode: str = "full", clock: TurnedClock | None = None, **settings: Any) -> AsyncIterator[Visit]:
    async with rig(**settings) as net:
        net.clock = clock or StoppedClock()
        net.retriever = Retriever(net.retriever._transport, net.settings, net.clock, sleep=net._sleep)
        yield Visit(net, mode)


@asynccontextmanager
async def slow_visit(target: str, mode: str = "full") -> AsyncIterator[Visit]:
    """A visit in the loop's own time, whose robots.txt is that scenario."""
    async with visit(mode, LoopClock()) as site:
        site.net.site.robots = target
        yield site


Served = Callable[[Visit], None]


def status(code: int) -> Served:
    return lambda site: site.serve("the status counts, whatever stands here\n" + RULES, status=code)


def led(to: str, code: int = 302) -> Served:
    return lambda site: site.serve(status=code, Location=to)


def scenario(target: str) -> Served:
    def serve(site: Visit) -> None:
        site.net.site.robots = target

    return serve


def nowhere(site: Visit) -> None:
    site.net.resolver.answers[HOST] = "gaierror"
