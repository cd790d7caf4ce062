"""The case files through the real transport: what is refused sends not one packet."""

from __future__ import annotations

import json
import socket
import threading
from ipaddress import ip_address
from typing import Any

import httpx
import pytest

from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.errors import BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.net.resolver import SystemResolver
from jupyter_webresearch.net.transport import MAX_ATTEMPTS, GuardedTransport
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from tests.sites import Site
from tests.sites.network import CASES, CountingDialler, MappedDialler, StubResolver

REFUSED = [line.split("\t")[0] for line in (CASES / "ssrf_urls.txt").read_text("utf-8").split("\n") if line] + [
    json.loads(line)["url"] for line in (CASES / "ssrf_urls_ctrl.jsonl").read_text("utf-8").splitlines()
]
ACCEPTED = [line.split("\t")[0] for line in (CASES / "ok_urls.txt").read_text("utf-8").splitlines()]
DNS = {case["name"]: case for case in json.loads((CASES / "dns_cases.json").read_text("utf-8"))}
OWN = "203.0.114.77"


def guard(**policy: Any) -> Guard:
    return Guard(WebPolicy(**policy), interfaces=lambda: frozenset({ip_address(OWN)}), own_ports=frozenset)


def admitted() -> dict[str, Any]:
    return {"admission": GuardAdmission(guard())}


@pytest.mark.parametrize("url", REFUSED)
async def test_refused_without_a_packet(url: str) -> None:
    dialler = CountingDialler()
    transport = GuardedTransport(WebFetch(), resolver=StubResolver.from_case_file(), dialler=dialler)
    with pytest.raises(WebResearchError) as caught:
        # As the retriever does: the text is judged first, because httpx would repair some of it (ports "+80", " 80").
        await transport.handle_async_request(httpx.Request("GET", guard().check_url(url).href, extensions=admitted()))
    assert isinstance(caught.value, (BadInput, Refused)) or caught.value.code == "unresolved"
    assert dialler.dialled == []


@pytest.mark.parametrize("url", ACCEPTED)
async def test_accepted(url: str) -> None:
    dialler = CountingDialler()
    checked = guard().check_url(url)
    transport = GuardedTransport(WebFetch(), resolver=StubResolver.from_case_file(), dialler=dialler)
    with pytest.raises(Failed) as caught:
        await transport.handle_async_request(httpx.Request("GET", checked.href, extensions=admitted()))
    assert caught.value.code == "unreachable"
    assert dialler.dialled == [(str(checked.address or "93.184.216.34"), checked.port)]


class Lookup:
    """Plays getaddrinfo from a DNS case; each call takes the next of its answers, the last again and again."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.answers = case["answers"]
        self.calls: list[bytes] = []
        self.release = threading.Event()

    def __call__(self, host: bytes, _port: None, **_hints: int) -> list[tuple[Any, ...]]:
        self.calls.append(host)
        answer = self.answers[min(len(self.calls), len(self.answers)) - 1]
        if answer == "gaierror":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if answer == "timeout":
            self.release.wait()
            return []
        if answer == "AF_UNIX tuple":
            return [(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", "/run/socket")]
        return [self._entry(OWN if address.startswith("<") else address) for address in answer]

    @staticmethod
    def _entry(address: str) -> tuple[Any, ...]:
        if ":" in address:
            return socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 0, 0, 0)
        return socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)


class Rig:
    """A DNS case, a real server behind whatever address is dialled, and the transport between."""

    def __init__(self, name: str, port: int, **policy: Any) -> None:
        case = DNS[name]
        self.url = f"http://{case['host']}/plain"
        self.lookup = Lookup(case)
        self.dialler = MappedDialler(everything=port)
        self.guard = guard(**policy)
        seconds = 0.2 if name == "timeout" else 60.0
        self.transport = GuardedTransport(
            WebFetch(), resolver=SystemResolver(seconds, lookup=self.lookup), dialler=self.dialler
        )

    async def get(self) -> int:
        href = self.guard.check_url(self.url).href
        request = httpx.Request("GET", href, extensions={"admission": GuardAdmission(self.guard)})
        response = await self.transport.handle_async_request(request)
        await response.aread()
        return response.status_code

    async def refused(self) -> str:
        before = len(self.dialler.dialled)
        with pytest.raises(WebResearchError) as caught:
            await self.get()
        assert len(self.dialler.dialled) == before
        return caught.value.code


REFUSED_BY_ADDRESS = (
    *("all-private", "mixed-public-first", "mixed-private-first", "mixed-family", "nat64-public", "mapped"),
    *("sixtofour", "teredo", "scope-id", "own-public-ip", "own-proxy-port", "non-inet-family"),
)
REBOUND = ("rebind-per-redirect", "rebind-keepalive", "rebind-robots-vs-page")
REFUSED_BY_NAME = {
    "numeric-name": "invalid_url",
    "idna-name": "invalid_url",
    "search-domain": "blocked_host",
    "nxdomain": "blocked_host",
}


@pytest.mark.parametrize("name", REFUSED_BY_ADDRESS)
async def test_refused_by_address(name: str) -> None:
    async with Site() as site:
        rig = Rig(name, site.port)
        assert await rig.refused() == "blocked_address"
        assert len(rig.lookup.calls) == 1
        assert site.connections == 0


@pytest.mark.parametrize("name", REFUSED_BY_NAME)
async def test_refused_by_name_without_a_query(name: str) -> None:
    async with Site() as site:
        rig = Rig(name, site.port)
        assert await rig.refused() == REFUSED_BY_NAME[name]
        assert rig.lookup.calls == []


@pytest.mark.parametrize("name", REBOUND)
async def test_each_connection_is_decided_anew(name: str) -> None:
    async with Site() as site:
        rig = Rig(name, site.port)
        assert await rig.get() == 200
        assert await rig.refused() == "blocked_address"
        assert [address for address, _ in rig.dialler.dialled] == ["93.184.216.34"]
        assert len(rig.lookup.calls) == 2
        assert site.connections == 1


async def test_a_second_lookup_never_happens() -> None:
    async with Site() as site:
        rig = Rig("rebind-second-lookup", site.port)
        assert await rig.get() == 200
        assert rig.lookup.calls == [b"g.example.com."], "once, as an absolute name"
        assert rig.dialler.dialled == [("93.184.216.34", 80)]


async def test_the_next_address_is_tried() -> None:
    async with Site() as site:
        rig = Rig("public-dual", site.port)
        rig.dialler.routes, rig.dialler.everything = {"93.184.216.34": site.port}, None
        assert await rig.get() == 200
        assert [address for address, _ in rig.dialler.dialled] == ["2606:4700:4700::1111", "93.184.216.34"]


async def test_nat64_where_it_is_configured() -> None:
    async with Site() as site:
        rig = Rig("nat64-public", site.port, allow_nat64=["64:ff9b::/96"])
        assert await rig.get() == 200
        assert rig.dialler.dialled == [("64:ff9b::5db8:d822", 80)]


async def test_many_answers_are_bounded() -> None:
    rig = Rig("many-answers", 0)
    rig.dialler.everything = None
    with pytest.raises(Failed, match="no connection") as caught:
        await rig.get()
    assert caught.value.code == "unreachable"
    assert len(rig.dialler.dialled) == MAX_ATTEMPTS


async def test_no_answers() -> None:
    assert await Rig("empty", 0).refused() == "unresolved"


async def test_no_such_name() -> None:
    rig = Rig("nxdomain", 0)
    rig.url = "http://x.example.com/"  # the case's own name is refused before DNS
    assert await rig.refused() == "unresolved"
    assert rig.lookup.calls == [b"x.example.com."]


async def test_a_resolver_that_never_answers() -> None:
    rig = Rig("timeout", 0)
    try:
        assert await rig.refused() == "unresolved"
    finally:
        rig.lookup.release.set()


def test_every_dns_case_is_here() -> None:
    single = {"public-dual", "rebind-second-lookup", "many-answers", "empty", "timeout"}
    assert set(DNS) == {*REFUSED_BY_ADDRESS, *REBOUND, *REFUSED_BY_NAME, *single}
