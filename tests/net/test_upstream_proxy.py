"""Behind a proxy: tunnels to checked addresses, and an error of its own for each way in which that fails."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest

from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.net.dialler import SocketDialler
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.net.upstream_proxy import MAX_HEAD, UpstreamProxy
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from tests.own_time import in_own_time
from tests.sites import Authority, Site
from tests.sites.network import PUBLIC, CountingDialler, StubResolver
from tests.sites.proxy import Misbehaviour, Proxy, ProxyExchange

HOST = "www.example.org"
V6 = "2606:4700:4700::1111"
WORD = "swordfish-swordfish"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


class CountedDialler(SocketDialler):
    """The machine's own, counting what is dialled and what stays open."""

    def __init__(self) -> None:
        super().__init__()
        self.dialled: list[tuple[str, int]] = []
        self.streams: list[httpcore.AsyncNetworkStream] = []

    async def connect(self, address: Any, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        self.dialled.append((str(address), port))
        stream = await super().connect(address, port, timeout)
        self.streams.append(stream)
        return stream

    @property
    def open_streams(self) -> int:
        return sum(stream.get_extra_info("socket").fileno() != -1 for stream in self.streams)


class Way:
    """The transport behind a proxy."""

    def __init__(
        self,
        proxy: Proxy | str,
        *,
        resolver: StubResolver | None = None,
        ssl_context: ssl.SSLContext | None = None,
        environ: dict[str, str] | None = None,
        settings: WebFetch | None = None,
        **policy: Any,
    ) -> None:
        address = proxy if isinstance(proxy, str) else proxy.url
        if not policy.get("trust_env_proxy"):
            policy["upstream_proxy"] = address
        self.policy = WebPolicy(**policy)
        self.settings = settings or WebFetch(idle_timeout=5.0)
        self.dialler = CountedDialler()
        self.resolver = resolver or StubResolver()
        upstream = UpstreamProxy.of(self.policy, self.settings, dialler=self.dialler, environ=environ or {})
        self.transport = GuardedTransport(
            self.settings,
            resolver=self.resolver,
            dialler=self.dialler,
            ssl_context=ssl_context,
            proxy=upstream,
            ca_bundle=self.policy.ca_bundle,
        )
        self.admission = GuardAdmission(Guard(self.policy, interfaces=frozenset, own_ports=frozenset))
        self.phases: list[str] = []

    async def read(self, url: str = f"http://{HOST}/plain") -> bytes:
        extensions = {"admission": self.admission, "on_phase": self.phases.append}
        response = await self.transport.handle_async_request(httpx.Request("GET", url, extensions=extensions))
        try:
            return b"".join([chunk async for chunk in response.aiter_raw()])
        finally:
            await response.aclose()

    async def fails(self, url: str = f"http://{HOST}/plain") -> WebResearchError:
        """Return the error; it tells no secret and no resolved address, and leaves no connection open."""
        with pytest.raises(WebResearchError) as caught:
            await self.read(url)
        assert self.dialler.open_streams == 0
        for secret in {WORD, PUBLIC, V6, "127.0.0.1"} - {httpx.URL(url).host}:
            assert secret not in caught.value.message
        return caught.value


@contextlib.asynccontextmanager
async def sites(authority: Authority, **proxy: Any) -> AsyncIterator[tuple[Site, Site, Proxy]]:
    """Open a plain site, one behind TLS, and a proxy that leads to them."""
    async with Site() as site, Site(tls=authority.server(HOST)) as secure:
        routes = {f"{PUBLIC}:80": site.port, f"{PUBLIC}:443": secure.port, f"[{V6}]:80": site.port}
        routes |= {f"{HOST}:80": site.port, f"{HOST}:443": secure.port}
        async with Proxy(routes, **proxy) as running:
            yield site, secure, running


# Where connections lead


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_the_proxy_is_asked_for_the_checked_address(authority: Authority, scheme: str) -> None:
    async with sites(authority) as (site, secure, proxy):
        way = Way(proxy, ssl_context=authority.client)
        assert await way.read(f"{scheme}://{HOST}/plain")
        asked = proxy.asked[0]
        port = 443 if scheme == "https" else 80
        assert asked.line == f"CONNECT {PUBLIC}:{port} HTTP/1.1"
        assert asked.headers == {"host": f"{PUBLIC}:{port}"}
        assert (secure if scheme == "https" else site).seen[0].header("host") == HOST
        assert way.dialler.dialled == [("127.0.0.1", proxy.port)]
        assert way.resolver.asked == [HOST]
        assert way.phases == ["resolving", "connecting"]
        assert way.dialler.open_streams == 0


async def test_ipv6_stands_in_brackets(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        way = Way(proxy, resolver=StubResolver({HOST: [V6]}))
        assert await way.read()
        assert await way.read(f"http://[{V6}]/plain")
        assert [asked.line for asked in proxy.asked] == [f"CONNECT [{V6}]:80 HTTP/1.1"] * 2


async def test_an_address_that_the_proxy_cant_reach_is_not_the_last(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        way = Way(proxy, resolver=StubResolver({HOST: ["93.184.216.99", PUBLIC]}))
        assert await way.read()
        assert proxy.targets == ["93.184.216.99:80", f"{PUBLIC}:80"]
        assert way.dialler.open_streams == 0


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://inside.example.org/", "blocked_address"),
        ("http://127.0.0.1/", "blocked_address"),
        ("http://169.254.169.254/", "blocked_address"),
        ("http://metadata.google.internal/", "blocked_host"),
        (f"http://{HOST}:22/", "blocked_port"),
    ],
)
@pytest.mark.parametrize("by_name", [False, True])
async def test_the_guard_decides_before_the_proxy(authority: Authority, url: str, code: str, by_name: bool) -> None:
    if by_name and "inside" in url:
        return  # then the proxy decides
    async with sites(authority) as (_site, _secure, proxy):
        way = Way(proxy, resolver=StubResolver({"inside.example.org": ["10.0.0.1"]}), upstream_proxy_resolves=by_name)
        assert (await way.fails(url)).code == code
        assert not proxy.asked
        assert not way.dialler.dialled


async def test_without_one_nothing_changes() -> None:
    assert UpstreamProxy.of(WebPolicy(), WebFetch(), dialler=CountingDialler(), environ={}) is None


async def test_the_address_asked_for_is_the_peer(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        policy = WebPolicy(upstream_proxy=proxy.url)
        upstream = UpstreamProxy.of(policy, WebFetch(), dialler=SocketDialler(), environ={})
        assert upstream is not None
        stream = await upstream.connect(ip_address(PUBLIC), 80, 5)
        assert stream.get_extra_info("server_addr") == (PUBLIC, 80)
        await stream.aclose()


async def test_the_proxys_own_name_is_the_systems(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        way = Way(f"http://localhost:{proxy.port}")
        assert await way.read()
        assert way.resolver.asked == [HOST]
        assert ("127.0.0.1", proxy.port) in way.dialler.dialled


async def test_connections_to_the_proxy_come_from_the_source_address(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        dialler = SocketDialler(source_ipv4="127.0.0.2")
        upstream = UpstreamProxy.of(WebPolicy(upstream_proxy=proxy.url), WebFetch(), dialler=dialler, environ={})
        assert upstream is not None
        await (await upstream.connect(ip_address(PUBLIC), 80, 5)).aclose()
        assert proxy.peers == ["127.0.0.2"]


# Names


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_names_go_to_a_proxy_that_resolves(authority: Authority, scheme: str) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        way = Way(proxy, ssl_context=authority.client, upstream_proxy_resolves=True)
        assert await way.read(f"{scheme}://{HOST.upper()}./plain")
        assert proxy.targets == [f"{HOST}:{443 if scheme == 'https' else 80}"]
        assert not way.resolver.asked
        assert way.phases == ["resolving", "connecting"]


async def test_addresses_stay_addresses_where_the_proxy_resolves(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        assert await Way(proxy, upstream_proxy_resolves=True).read(f"http://{PUBLIC}/plain")
        assert proxy.targets == [f"{PUBLIC}:80"]


async def test_a_name_without_address_names_the_setting(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        error = await Way(proxy, resolver=StubResolver(default=None)).fails()
        assert (error.code, error.setting) == ("unresolved", "WebPolicy.upstream_proxy_resolves")
        assert "WebPolicy.upstream_proxy_resolves" in error.message
        assert not proxy.asked


# Credentials


async def test_credentials(authority: Authority) -> None:
    async with sites(authority, credentials=f"me:{WORD}") as (_site, _secure, proxy):
        environ = {"PROXY_WORD": f"me:{WORD}"}
        way = Way(proxy, environ=environ, upstream_proxy_credentials="env:PROXY_WORD")
        assert await way.read()
        environ["PROXY_WORD"] = "me:another"
        assert (await way.fails()).code == "proxy_auth", "read at each use"


@pytest.mark.parametrize("given", ["", "me:wrong"])
async def test_other_credentials(authority: Authority, given: str) -> None:
    async with sites(authority, credentials=f"me:{WORD}") as (_site, _secure, proxy):
        source = "env:PROXY_WORD" if given else ""
        error = await Way(proxy, environ={"PROXY_WORD": given}, upstream_proxy_credentials=source).fails()
        assert (error.code, error.setting) == ("proxy_auth", "WebPolicy.upstream_proxy_credentials")
        assert ("does not accept" in error.message) == bool(given)
        assert "wrong" not in error.message
        assert len(proxy.asked) == 1


async def test_credentials_that_cant_be_read(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        error = await Way(proxy, upstream_proxy_credentials="env:PROXY_WORD").fails()
        assert (error.code, error.setting) == ("credential_unavailable", "WebPolicy.upstream_proxy_credentials")
        assert not proxy.asked


async def test_credentials_stay_out_of_the_tunnel(authority: Authority) -> None:
    async with sites(authority, credentials=f"me:{WORD}") as (site, _secure, proxy):
        environ = {"PROXY_WORD": f"me:{WORD}"}
        await Way(proxy, environ=environ, upstream_proxy_credentials="env:PROXY_WORD").read()
        assert "proxy-authorization" not in {name.lower() for name, _ in site.seen[0].headers}


# TLS that the proxy opens


@pytest.mark.parametrize("known", [False, True])
async def test_tls_that_the_proxy_opens(authority: Authority, known: bool, tmp_path: Path) -> None:
    interceptor = Authority()
    bundle = tmp_path / "proxy.pem"
    bundle.write_bytes(interceptor.pem)
    async with Site() as site:
        routes = {f"{PUBLIC}:443": site.port}
        async with Proxy(routes, intercepting=interceptor.server(HOST)) as proxy:
            way = Way(proxy, ca_bundle=str(bundle) if known else "")
            if known:
                assert await way.read(f"https://{HOST}/plain")
                return
            error = await way.fails(f"https://{HOST}/plain")
    assert (error.code, error.setting) == ("tls_intercepted", "WebPolicy.ca_bundle")
    assert "WebPolicy.ca_bundle" in error.message


async def test_a_certificate_that_is_wrong_in_another_way_is_no_interception(authority: Authority) -> None:
    async with Site(tls=authority.server("other.example.org")) as site, Proxy({f"{PUBLIC}:443": site.port}) as proxy:
        error = await Way(proxy, ssl_context=authority.client).fails(f"https://{HOST}/plain")
    assert error.code == "tls"


# A proxy that is broken


def sending(data: bytes) -> Misbehaviour:
    async def send(exchange: ProxyExchange) -> None:
        await exchange.send(data)

    return send


async def hanging(exchange: ProxyExchange) -> None:
    await exchange.hang()


async def dripping_for_ever(exchange: ProxyExchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nX-A: ")
    while True:
        await exchange.send(b"a")
        await asyncio.sleep(0.2)


async def interim_for_ever(exchange: ProxyExchange) -> None:
    while True:
        await exchange.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")


BROKEN: dict[str, tuple[Misbehaviour, str]] = {
    "403": (sending(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nsecr"), "status 403"),
    "301": (sending(b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"), "status 301"),
    "garbage": (sending(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "not valid HTTP"),
    "http/0.9": (sending(b"<html>\r\n\r\nhello</html>"), "not valid HTTP"),
    "closing": (sending(b""), "closed the connection"),
    "closing early": (sending(b"HTTP/1.1 200 OK\r\nX-A"), "closed the connection"),
    "huge head": (sending(b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * MAX_HEAD + b"\r\n\r\n"), "larger than"),
    "interim answers": (interim_for_ever, "larger than"),
    "glued body": (sending(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), "data of its own"),
    "glued answer": (sending(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged"), "data of its own"),
    "hung": (hanging, "within"),
    "dripping": (dripping_for_ever, "within"),
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("scheme", ["http", "https"])
@in_own_time
async def test_a_broken_proxy(how: str, scheme: str) -> None:
    instead, words = BROKEN[how]
    async with Proxy(instead=instead) as proxy:
        error = await Way(proxy).fails(f"{scheme}://{HOST}/plain")
        assert (error.code, error.setting) == ("proxy_failed", "WebPolicy.upstream_proxy")
        assert words in error.message


@in_own_time
async def test_an_answer_in_drips_is_an_answer() -> None:
    async with Site() as site:

        async def drip(exchange: ProxyExchange) -> None:
            for byte in b"HTTP/1.1 200 OK\r\nVia: 1.1 proxy\r\n\r\n":
                await exchange.send(bytes([byte]))
                await asyncio.sleep(0.01)
            await exchange.join(site.port)

        async with Proxy(instead=drip) as proxy:
            assert await Way(proxy).read()


async def test_a_proxy_that_is_not_there() -> None:
    async with Proxy() as proxy:
        address = proxy.url
    error = await Way(address).fails()
    assert (error.code, error.setting) == ("proxy_failed", "WebPolicy.upstream_proxy")


async def test_a_proxy_whose_name_has_no_address() -> None:
    error = await Way("http://no-such-proxy.invalid:3128").fails()
    assert (error.code, error.setting) == ("proxy_failed", "WebPolicy.upstream_proxy")


# The environment


VARIABLES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("trusted", [False, True])
async def test_the_environments_proxy_only_where_it_is_trusted(variable: str, trusted: bool) -> None:
    environ = {variable: "http://proxy.corp.example:3128"}
    policy = WebPolicy(trust_env_proxy=trusted)
    assert (UpstreamProxy.of(policy, WebFetch(), dialler=CountingDialler(), environ=environ) is not None) == trusted


async def test_the_first_of_the_environment_counts_and_its_credentials(authority: Authority) -> None:
    async with sites(authority, credentials=f"m@e:{WORD}%") as (_site, _secure, proxy):
        environ = {
            "ALL_PROXY": "http://absent.invalid:1",
            "https_proxy": f"http://m%40e:{WORD}%25@127.0.0.1:{proxy.port}/",
        }
        assert await Way("", environ=environ, trust_env_proxy=True).read()
        assert len(proxy.asked) == 1


async def test_what_is_set_wins_over_the_environment(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        environ = {"HTTPS_PROXY": "http://absent.invalid:1", "NO_PROXY": "*"}
        policy = WebPolicy(upstream_proxy=proxy.url, trust_env_proxy=True)
        upstream = UpstreamProxy.of(policy, WebFetch(), dialler=SocketDialler(), environ=environ)
        assert upstream is not None
        assert upstream.serves(HOST)
        await (await upstream.connect(ip_address(PUBLIC), 80, 5)).aclose()


@pytest.mark.parametrize(
    ("spared", "host", "serves"),
    [
        ("", HOST, True),
        (HOST, HOST, False),
        ("example.org", HOST, False),
        (".example.org", HOST, False),
        ("*.EXAMPLE.org ", HOST, False),
        ("a.example, example.org", HOST, False),
        ("*", HOST, False),
        ("ample.org", HOST, True),
        ("example.org.evil.example", HOST, True),
        ("10.0.0.0/8,::,not a host,", HOST, True),
        ("93.184.216.34", PUBLIC, False),
        ("216.34", PUBLIC, True),
        ("[2606:4700:4700::1111]", V6, False),
        ("2606:4700:4700:0::1111", V6, False),
    ],
)
async def test_no_proxy(spared: str, host: str, serves: bool) -> None:
    environ = {"HTTPS_PROXY": "http://proxy.corp.example:3128", "NO_PROXY": spared}
    policy = WebPolicy(trust_env_proxy=True)
    upstream = UpstreamProxy.of(policy, WebFetch(), dialler=CountingDialler(), environ=environ)
    assert upstream is not None
    assert upstream.serves(host) == serves


async def test_a_spared_host_is_resolved_judged_and_dialled_here(authority: Authority) -> None:
    async with sites(authority) as (_site, _secure, proxy):
        environ = {"HTTPS_PROXY": proxy.url, "no_proxy": "inside.example.org"}
        resolver = StubResolver({"inside.example.org": ["10.0.0.1"]})
        way = Way("", environ=environ, resolver=resolver, trust_env_proxy=True, upstream_proxy_resolves=True)
        assert (await way.fails("http://inside.example.org/")).code == "blocked_address"
        assert not proxy.asked
        assert await way.read()
        assert proxy.targets == [f"{HOST}:80"]


@pytest.mark.parametrize(
    "value",
    [
        f"socks5://me:{WORD}@p.example:1080",
        f"https://me:{WORD}@p.example",
        f"http://me:{WORD}@p.example:99999",
        "http://",
        "http://p.example/x",
    ],
)
async def test_an_environment_that_cant_be_used_stops_the_start(value: str) -> None:
    environ = {"HTTPS_PROXY": value, "HTTP_PROXY": "http://p.example:3128"}
    with pytest.raises(Failed, match="HTTPS_PROXY") as caught:
        UpstreamProxy.of(WebPolicy(trust_env_proxy=True), WebFetch(), dialler=CountingDialler(), environ=environ)
    assert caught.value.code == "config"
    assert WORD not in caught.value.message


async def test_a_scheme_and_a_port_may_be_left_out() -> None:
    for value, port in (("p.example", 80), ("p.example:3128", 3128), ("http://p.example", 80)):
        upstream = UpstreamProxy.of(
            WebPolicy(trust_env_proxy=True), WebFetch(), dialler=CountingDialler(), environ={"HTTP_PROXY": value}
        )
        assert upstream is not None
        assert (upstream._choice.host, upstream._choice.port) == ("p.example", port)
