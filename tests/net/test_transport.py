"""One request, one judged connection: what goes out, who answers, and that nothing stays open."""

from __future__ import annotations

import asyncio
import contextlib
import json

import httpx
import pytest

from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.errors import BadInput, Failed, Refused
from jupyter_webresearch.net.transport import MAX_ATTEMPTS, GuardedTransport
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.urls import parse_url
from tests.net.transports import HOST, Way
from tests.own_time import in_own_time
from tests.sites import Site
from tests.sites.network import CASES, PUBLIC, MappedDialler, StubResolver, StuckResolver

V6 = "2606:4700:4700::1111"


async def test_an_answer_comes_raw_and_whole() -> None:
    async with Site() as site:
        way = Way(site)
        response = await way.open("/encoded?with=gzip")
        assert response.status_code == 200
        assert response.headers["content-encoding"] == "gzip"
        assert set(response.extensions) == {"http_version"}, "nothing that knows the peer's address"
        body = b"".join([chunk async for chunk in response.aiter_raw()])
        assert body.startswith(b"\x1f\x8b")
        assert way.dialler.open_streams == 0


async def test_exactly_the_headers_given_go_out() -> None:
    async with Site() as site:
        await Way(site).read("/echo", headers=[("User-Agent", "us"), ("X-A", "1"), ("x-a", "2"), ("X-Latin", b"\xe9")])
        sent = site.seen[0].headers
        assert sent == (("Host", HOST), ("User-Agent", "us"), ("X-A", "1"), ("x-a", "2"), ("X-Latin", "\xe9"))
        assert site.seen[0].target == "/echo"
        assert site.seen[0].version == "HTTP/1.1"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://WWW.Example.org.:80/", HOST),
        ("http://www.example.org:8080/", f"{HOST}:8080"),
        ("http://bücher.example.com/", "xn--bcher-kva.example.com"),
        (f"http://{PUBLIC}/", PUBLIC),
        (f"http://[{V6}]:8080/", f"[{V6}]:8080"),
    ],
)
async def test_the_host_header_is_the_urls(url: str, host: str) -> None:
    async with Site() as site:
        way = Way(site, dialler=MappedDialler(everything=site.port))
        await way.read(url, headers={"Host": "127.0.0.1", "HOST": "evil"})
        assert [value for name, value in site.seen[0].headers if name.lower() == "host"] == [host]


async def test_a_body_is_sent() -> None:
    async with Site() as site:
        way = Way(site)
        answer = json.loads(await way.read("/echo", "POST", content=b'{"q": 1}'))
        assert (answer["method"], answer["body"]) == ("POST", '{"q": 1}')


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "connect", "GE T", "GET\r\nX: y", "", "GÉT"])
async def test_methods_that_are_not_sent(method: str) -> None:
    error = await Way(1).fails(method=method)
    assert (error.code, type(error)) == ("blocked_method", BadInput)


UNSENDABLE = (
    *(("X", "a\r\nHost: evil"), ("X", "a\nb"), ("X", "a\0b"), ("X", "a\rb"), ("X", "\x7f"), ("X", " a"), ("X", "a\t")),
    *(("X\r\nY", "a"), ("X Y", "a"), ("X:", "a"), ("", "a"), ("X\0", "a"), ("É", "a")),
)


@pytest.mark.parametrize("header", UNSENDABLE)
async def test_headers_that_could_split_a_request(header: tuple[str, str]) -> None:
    way = Way(1)
    name, value = header
    error = await way.fails(headers=[(name.encode("latin-1"), value.encode("latin-1"))])
    assert (error.code, type(error)) == ("bad_request", BadInput)
    assert way.dialler.dialled == []


async def test_a_request_that_contradicts_itself_is_not_sent() -> None:
    async with Site() as site:
        error = await Way(site).fails(method="POST", content=b"four", headers={"Content-Length": "3"})
        assert error.code == "bad_request"
        assert "four" not in error.message


async def test_a_host_that_httpx_reads_differently_is_refused() -> None:
    class Lying(httpx.URL):
        @property
        def raw_host(self) -> bytes:
            return b"127.0.0.1"

    way = Way(1)
    request = httpx.Request("GET", "http://example.com/", extensions={"admission": way.admission})
    request.url = Lying("http://example.com/")
    with pytest.raises(BadInput, match="different hosts"):
        await way.transport.handle_async_request(request)
    assert way.resolver.asked == []


@pytest.mark.parametrize(
    "claimed", ["127.0.0.1", "93.184.216.35", "10.0.0.1", "::ffff:93.184.216.34", "::1", "nobody", ""]
)
async def test_another_peer_than_the_one_dialled(claimed: str) -> None:
    async with Site() as site:
        dialler = MappedDialler(everything=site.port, claimed=claimed)
        if not claimed:
            dialler.claimed = "nobody"
        error = await Way(site, dialler=dialler).fails()
        assert (error.code, type(error)) == ("blocked_address", Refused)
        assert site.seen == [], "closed unused"


async def test_a_peer_that_cannot_be_told_is_refused() -> None:
    async with Site() as site:
        dialler = MappedDialler(everything=site.port)
        connect = dialler.connect

        async def blind(*args: object) -> object:
            stream = await connect(*args)  # type: ignore[arg-type]
            stream._peer = None  # type: ignore[attr-defined]
            return stream

        dialler.connect = blind  # type: ignore[assignment]
        assert (await Way(site, dialler=dialler).fails()).code == "blocked_address"


async def test_the_real_dialler_says_who_answered() -> None:
    async with Site() as site:
        policy = WebPolicy(allow_private_networks=["127.0.0.0/8"], allowed_ports=[site.port])
        transport = GuardedTransport(WebFetch())
        admission = GuardAdmission(Guard(policy, own_ports=frozenset))
        response = await transport.handle_async_request(
            httpx.Request("GET", site.url("/plain"), extensions={"admission": admission})
        )
        assert await response.aread()
        assert response.status_code == 200


@in_own_time
async def test_closed_filtered_and_silent_sound_the_same() -> None:
    class Silent(MappedDialler):
        async def connect(self, *args: object) -> object:  # type: ignore[override]
            await asyncio.Event().wait()

    class Filtered(MappedDialler):
        async def connect(self, *args: object) -> object:  # type: ignore[override]
            raise OSError(113, "No route to host 93.184.216.34")

    errors = [
        await Way(1, dialler=dialler, idle_timeout=0.5).fails() for dialler in (MappedDialler(), Silent(), Filtered())
    ]
    assert {(error.code, error.message) for error in errors} == {
        ("unreachable", f"no connection to {HOST}, port 80, could be made")
    }


@in_own_time
async def test_attempts_share_the_time_and_both_families() -> None:
    times: list[float] = []

    class Silent(MappedDialler):
        async def connect(self, address: object, port: int, timeout: float) -> object:  # type: ignore[override]
            self.dialled.append((str(address), port))
            times.append(timeout)
            await asyncio.Event().wait()

    many = [f"2606:4700:4700::{n}" for n in range(1, 40)] + [PUBLIC]
    way = Way(1, dialler=Silent(), resolver=StubResolver({HOST: many}), idle_timeout=0.5)
    assert (await way.fails()).code == "unreachable"
    assert asyncio.get_running_loop().time() == pytest.approx(0.5)
    assert [address for address, _ in way.dialler.dialled] == [many[0], PUBLIC, *many[1:3]]
    assert times == pytest.approx([0.125] * MAX_ATTEMPTS)


async def test_phases_as_they_begin() -> None:
    phases: list[str] = []
    async with Site() as site:
        way = Way(site)
        await way.read(extensions={"on_phase": phases.append})
        assert phases == ["resolving", "connecting"]
    phases.clear()
    await Way(1).fails("http://10.0.0.1/", extensions={"on_phase": phases.append})
    assert phases == []
    await Way(1, resolver=StubResolver({HOST: ["10.0.0.1"]})).fails(extensions={"on_phase": phases.append})
    assert phases == ["resolving"]


async def test_closing_unread_closes_the_connection() -> None:
    async with Site() as site:
        way = Way(site)
        response = await way.open("/big")
        assert way.dialler.open_streams == 1
        await response.aclose()
        await response.aclose()
        assert way.dialler.open_streams == 0


@pytest.mark.parametrize("path", ["/big", "/chunks?size=1000&count=100", "/reset", "/length"])
async def test_the_end_of_the_body_closes_the_connection(path: str) -> None:
    async with Site() as site:
        way = Way(site)
        response = await way.open(path)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        with contextlib.suppress(Failed):
            async for _ in response.stream:
                assert way.dialler.open_streams == 1
        assert way.dialler.open_streams == 0


async def test_no_connection_is_used_twice() -> None:
    async with Site() as site:
        way = Way(site)
        for _ in range(3):
            await way.read()
        assert site.connections == len(way.dialler.dialled) == len(way.resolver.asked) == 3


@pytest.mark.parametrize("path", ["/hang", "/silence", "/drip-head"])
async def test_cancelling_closes_the_connection(path: str) -> None:
    async with Site() as site:
        way = Way(site)
        task = asyncio.ensure_future(way.read(path))
        await site.arrived(path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert way.dialler.open_streams == 0


async def test_cancelling_while_resolving() -> None:
    resolver = StuckResolver()
    way = Way(1, resolver=resolver)  # type: ignore[arg-type]
    task = asyncio.ensure_future(way.read())
    await resolver.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert way.dialler.dialled == []


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Site() as proxy, Site() as site:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        await Way(site).read("/echo")
        assert proxy.connections == 0
        assert [name for name, _ in site.seen[0].headers] == ["Host"]


async def test_targets_go_out_as_they_were_checked() -> None:
    accepted = [line.split("\t")[0] for line in (CASES / "ok_urls.txt").read_text("utf-8").splitlines()]
    async with Site() as site:
        way = Way(site)
        for url in accepted:
            target = parse_url(url).target
            await way.read(f"http://example.com{target}")
            assert site.seen[-1].target == target
