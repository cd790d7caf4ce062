"""The client of an endpoint that the operator configured: to it alone, wherever it is, and as bounded as all else."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.errors import BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.net import endpoint as module
from jupyter_webresearch.net.endpoint import (
    LARGE,
    MAX_REQUEST,
    Endpoint,
    EndpointAdmission,
    EndpointStatus,
    endpoint_settings,
)
from jupyter_webresearch.net.resolver import SystemResolver
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.policy.urls import parse_url
from tests.own_time import in_own_time
from tests.sites import Authority, Site
from tests.sites.network import MappedDialler, StubResolver, StuckResolver

SECRET = "sk-of-the-operator"


def endpoint(url: str, *, key: Any = "", patience: float = 20, **seams: Any) -> Endpoint:
    settings = endpoint_settings(WebFetch(contact="ops@example.org"), patience)
    seams = {"resolver": SystemResolver(5, absolute=False), **seams}
    return Endpoint(GuardedTransport(settings, **seams), settings, SystemClock(), url, key=key)


async def fails(client: Endpoint, path: str = "/echo", *, timeout: float = 20, **more: Any) -> WebResearchError:
    with pytest.raises(WebResearchError) as caught:
        await client.post_json(path, {}, timeout=timeout, **more)
    return caught.value


async def test_an_object_goes_and_an_object_comes() -> None:
    async with Site() as site:
        site.serve("/v1/ask", '{"answer": [1, "é"]}', "application/json")
        answer = await endpoint(site.url("/v1")).post_json("/ask", {"question": "Ü\ud800"}, timeout=20)
        assert answer == {"answer": [1, "é"]}
        [seen] = site.seen
        assert (seen.method, seen.target) == ("POST", "/v1/ask")
        assert json.loads(seen.body) == {"question": "Ü\ud800"}
        assert seen.header("accept") == seen.header("content-type") == "application/json"
        assert "ops@example.org" in str(seen.header("user-agent"))
        assert seen.header("authorization") is seen.header("accept-language") is seen.header("cookie") is None


@pytest.mark.parametrize("slash", ["", "/"])
async def test_paths_are_added(slash: str) -> None:
    async with Site() as site:
        await endpoint(site.url("/echo" + slash)).post_json("", {}, timeout=20)
        assert site.paths() == ["/echo"]


async def test_a_name_of_this_machine_and_any_port() -> None:
    async with Site() as site:
        echoed = await endpoint(f"http://localhost:{site.port}").post_json("/echo", {}, timeout=20)
        assert ["Host", f"localhost:{site.port}"] in echoed["headers"]


async def test_a_short_name_keeps_out_of_absolute_dns() -> None:
    asked: list[bytes] = []

    def lookup(name: bytes, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        asked.append(name)
        return []

    await SystemResolver(5, lookup=lookup).resolve("searxng")
    await SystemResolver(5, lookup=lookup, absolute=False).resolve("searxng")
    assert asked == [b"searxng.", b"searxng"]


@pytest.mark.parametrize(
    "url",
    [
        "http://api.internal:8001/v1",
        "http://api.internal/v1",
        "https://api.internal:8000/v1",
        "http://api.internal.evil.example:8000/v1",
        "http://other.internal:8000/v1",
        "http://127.0.0.1:8000/v1",
        "http://169.254.169.254/latest/meta-data/",
    ],
)
async def test_no_other_origin_is_let_out(url: str) -> None:
    admission = EndpointAdmission(parse_url("http://api.internal:8000/v1"), "")
    with pytest.raises(Refused) as caught:
        admission.check_url(url)
    assert caught.value.code == "not_allowed"


@pytest.mark.parametrize("url", ["http://API.internal.:8000", "http://api.internal:8000/other?q=1#f"])
async def test_the_origin_however_it_is_written(url: str) -> None:
    admission = EndpointAdmission(parse_url("http://api.internal:8000/v1"), "")
    assert admission.check_url(url).origin == "http://api.internal:8000"


async def test_a_path_cannot_lead_elsewhere() -> None:
    resolver = StubResolver()
    client = endpoint("http://api.internal", resolver=resolver)
    for path in (".evil.example/", "@evil.example/", ":81/"):
        await fails(client, path)
    assert resolver.asked == []


@pytest.mark.parametrize("address", ["10.0.0.7", "127.0.0.1", "::1", "fd00::7", "169.254.1.1", "100.64.0.1"])
async def test_addresses_that_are_not_public(address: str) -> None:
    async with Site() as site:
        resolver, dialler = StubResolver({"api.internal": [address]}), MappedDialler({(address, 6333): site.port})
        client = endpoint("http://api.internal:6333", resolver=resolver, dialler=dialler)
        assert (await client.post_json("/echo", {}, timeout=20))["method"] == "POST"
        assert dialler.dialled == [(address, 6333)]
        assert dialler.open_streams == 0


@pytest.mark.parametrize("answers", [[], ["not an internet address"]])
async def test_a_name_without_address(answers: list[str]) -> None:
    error = await fails(endpoint("http://api.internal", resolver=StubResolver({"api.internal": answers})))
    assert error.code == "unresolved"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(code: int) -> None:
    async with Site() as site, Site() as other:
        for to in (other.url("/echo"), "/echo"):
            error = await fails(endpoint(site.url(), key=lambda: SECRET), f"/redirect?code={code}&to={to}")
            assert error.code == "bad_response"
            assert "redirects" in error.message
        assert other.connections == 0
        assert [request.path for request in site.seen] == ["/redirect", "/redirect"]


@pytest.mark.parametrize("code", [304, 400, 401, 404, 422, 500, 503])
async def test_other_statuses(code: int) -> None:
    async with Site() as site:
        error = await fails(endpoint(site.url()), f"/status?code={code}&body=private")
        assert isinstance(error, EndpointStatus)
        assert (error.code, error.answered, error.retryable) == ("http_status", code, False)
        assert str(code) in error.message
        assert "private" not in error.message
        assert "127.0.0.1" not in error.message


async def test_a_wish_to_wait_is_passed_on_not_followed() -> None:
    async with Site() as site:
        error = await fails(endpoint(site.url()), "/retry?after=1&code=429")
        assert isinstance(error, EndpointStatus)
        assert (error.answered, error.retry_after, error.retryable) == (429, 1, True)
        assert len(site.seen) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1',
        b"\xff\xfe\xfd",
        b"[" * 30_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"1" * 10_000,
    ],
    ids=lambda body: body[:12].decode("latin-1"),
)
async def test_what_is_not_json(body: bytes) -> None:
    async with Site() as site:
        site.serve("/ask", body, "application/json")
        error = await fails(endpoint(site.url()), "/ask")
        assert (type(error), error.code) == (Failed, "bad_response")


async def test_bodies_are_capped_as_they_are_decoded() -> None:
    async with Site() as site:
        client = endpoint(site.url())
        for path in ("/big?type=application/json", "/bomb?with=gzip", "/chunks?size=60000&type=application/json"):
            error = await fails(client, path)
            assert (error.code, error.setting) == ("too_large", "")
        site.serve("/ask", json.dumps("x" * 98), "application/json")
        assert await client.post_json("/ask", {}, timeout=20, max_bytes=100) == "x" * 98
        assert (await fails(client, "/ask", max_bytes=99)).code == "too_large"


async def test_an_encoded_answer_is_decoded() -> None:
    async with Site() as site:
        site.serve("/ask", gzip.compress(b'{"a": 1}'), "application/json", headers={"Content-Encoding": "gzip"})
        assert await endpoint(site.url()).post_json("/ask", {}, timeout=20) == {"a": 1}


async def test_a_request_is_capped() -> None:
    resolver = StubResolver()
    with pytest.raises(BadInput) as caught:
        await endpoint("http://api.internal", resolver=resolver).post_json("/", {"a": "x" * MAX_REQUEST}, timeout=20)
    assert caught.value.code == "request_too_large"
    assert resolver.asked == []


async def test_large_answers_are_parsed_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[bool] = []
    parse = module._parse

    def watched(body: bytes) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return parse(body)

    monkeypatch.setattr(module, "_parse", watched)
    async with Site() as site:
        for size in (10, LARGE):
            site.serve("/ask", json.dumps("x" * size), "application/json")
            await endpoint(site.url()).post_json("/ask", {}, timeout=20)
    assert threads == [True, False]


@in_own_time
async def test_the_time_holds_whatever_hangs() -> None:
    async with Site() as site:
        client = endpoint(site.url(), resolver=StubResolver(), patience=600)
        for path in ("/hang", "/drip-head", "/drip-body", "/silence"):
            assert (await fails(client, path, timeout=2)).code == "timeout"
        client = endpoint("http://api.internal", resolver=StuckResolver(), patience=600)
        assert (await fails(client, timeout=2)).code == "timeout"


@in_own_time
async def test_a_model_may_be_silent_for_longer_than_a_page() -> None:
    assert WebFetch().idle_timeout < 55
    async with Site() as site:
        # The silence is cut short by our patience of 55 s, not by the 8 s of a page.
        error = await fails(endpoint(site.url(), resolver=StubResolver(), patience=55), "/hang", timeout=60)
        assert (error.code, "55 s" in error.message) == ("timeout", True)


async def test_a_key_that_is_never_read_does_not_hold_up_the_time() -> None:
    released = threading.Event()
    try:
        async with Site() as site:
            error = await fails(endpoint(site.url(), key=released.wait), timeout=0.2)
            assert error.code == "timeout"
            assert site.connections == 0
    finally:
        released.set()


async def test_the_key_is_read_for_each_request_off_the_loop() -> None:
    keys = iter(["first", "second"])
    threads: list[threading.Thread] = []

    def key() -> str:
        threads.append(threading.current_thread())
        return next(keys)

    async with Site() as site:
        client = endpoint(site.url(), key=key)
        for _ in range(2):
            await client.post_json("/echo", {}, timeout=20)
        assert [request.header("authorization") for request in site.seen] == ["Bearer first", "Bearer second"]
    assert threading.main_thread() not in threads


async def test_where_the_key_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(SECRET + "\n")
    file.chmod(0o600)
    monkeypatch.setenv("SOME_KEY", SECRET)
    async with Site() as site:
        for source in ("env:SOME_KEY", f"file:{file}"):
            await endpoint(site.url(), key=source).post_json("/echo", {}, timeout=20)
            assert site.seen[-1].header("authorization") == f"Bearer {SECRET}"


@pytest.mark.parametrize("source", ["env:NOT_THERE", "file:/not/there"])
async def test_without_its_key_nothing_is_sent(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    async with Site() as site:
        error = await fails(endpoint(site.url(), key=source))
        assert error.code == "credential_unavailable"
        assert site.connections == 0


@pytest.mark.parametrize("bad", [SECRET + "\r\nX-Evil: 1", SECRET + "\0"])
async def test_a_key_that_no_header_can_hold(bad: str) -> None:
    async with Site() as site:
        error = await fails(endpoint(site.url(), key=lambda: bad))
        assert SECRET not in repr(error)
        assert site.connections == 0


async def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Site() as site, Site() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        await endpoint(site.url()).post_json("/echo", {}, timeout=20)
        assert (len(site.seen), proxy.connections) == (1, 0)


async def test_tls_is_verified() -> None:
    authority = Authority()
    async with Site(tls=authority.server("localhost")) as site:
        url = f"https://localhost:{site.port}"
        client = endpoint(url, key=lambda: SECRET, ssl_context=authority.client)
        assert (await client.post_json("/echo", {}, timeout=20))["method"] == "POST"
        error = await fails(endpoint(url, key=lambda: SECRET, ssl_context=Authority().client))
        assert error.code == "tls"
        assert len(site.seen) == 1


async def test_nothing_listens() -> None:
    error = await fails(endpoint("http://api.internal", resolver=StubResolver(), dialler=MappedDialler()))
    assert error.code == "unreachable"


def test_settings() -> None:
    pages = WebFetch(dns_timeout=3, max_headers=8192, contact="me", timeout=30, max_request_body=0)
    own = endpoint_settings(pages, 60)
    assert (own.idle_timeout, own.timeout, own.max_redirects, own.max_request_body) == (60, 60, 0, MAX_REQUEST)
    assert (own.dns_timeout, own.max_headers, own.contact) == (3, 8192, "me")
    for extreme in (0.1, 10_000):
        endpoint_settings(pages, extreme)


@pytest.mark.parametrize("url", ["localhost", "http://user:pass@localhost", "ftp://localhost"])
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(WebResearchError):
        endpoint(url)
