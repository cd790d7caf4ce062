"""What the settings and the environment say reaches every part of an engine that goes out by it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.config import WebClassifier, WebPolicy
from tests.bench import CELL, Bench
from tests.conftest import HOST, BenchMaker
from tests.sites import Authority, Site
from tests.sites.network import PUBLIC, MappedDialler
from tests.sites.openai_api import ChatAPI
from tests.sites.proxy import Proxy

OWN = "127.0.0.2"
PLAIN = f"http://{HOST}/plain"
KEY = "operators-key-5c1e"


@pytest.fixture
def judge() -> Iterator[ChatAPI]:
    with ChatAPI(key=KEY) as api:
        yield api


def judged_by(api: ChatAPI, **more: Any) -> WebClassifier:
    return WebClassifier(**{"url": api.base, "model": "judge", "key": "env:JUDGE_KEY", **more})


async def read(it: Bench, url: str = PLAIN) -> int:
    """Read a head, for which no worker is needed, while the test's own loop serves."""
    return (await asyncio.wrap_future(it.begin(url, CELL, method="HEAD"))).status


async def test_page_robots_txt_and_classifier_are_asked_from_the_source_address(
    bench: BenchMaker, site: Site, judge: ChatAPI
) -> None:
    """Nothing stands for the network here: the operator lets loopback be read."""
    for own, seen in ((OWN, OWN), ("", "127.0.0.1")):
        policy = WebPolicy(
            source_ipv4=own, robots="full", allow_private_networks=["127.0.0.1/32"], allowed_ports=[site.port]
        )
        it = bench(
            policy=policy,
            classifier=judged_by(judge),
            resolver=None,
            dialler=None,
            environ={"JUDGE_KEY": KEY},
        )
        site.peers.clear()
        judge.peers.clear()
        assert await read(it, site.url("/plain")) == 200
        assert [request.path for request in site.seen[-2:]] == ["/robots.txt", "/plain"]
        assert site.peers == [seen, seen]
        assert judge.peers == [seen]
    assert len(judge.payloads) == 2, "asked with the key of the engine's environment"


async def test_the_environments_proxy_serves_where_it_is_trusted(bench: BenchMaker, site: Site, judge: ChatAPI) -> None:
    async with Proxy({f"{PUBLIC}:80": site.port}) as proxy:
        environ = {"HTTPS_PROXY": proxy.url, "JUDGE_KEY": KEY}
        policy = WebPolicy(trust_env_proxy=True, source_ipv4=OWN, robots="full")
        it = bench(policy=policy, classifier=judged_by(judge), dialler=None, environ=environ)
        assert await read(it) == 200
        assert proxy.targets == [f"{PUBLIC}:80"] * 2, "robots.txt and the page; not the operator's own classifier"
        assert proxy.peers == [OWN, OWN]
        assert [request.path for request in site.seen] == ["/robots.txt", "/plain"]
        assert judge.peers == [OWN]
        assert await read(bench(environ=environ)) == 200
        assert len(proxy.asked) == 2, "untrusted, it is passed over"


async def test_the_operators_authorities_are_trusted_by_pages_and_classifier(bench: BenchMaker, tmp_path: Path) -> None:
    authority, bundle = Authority(), tmp_path / "authorities.pem"
    bundle.write_bytes(authority.pem)
    with Site(tls=authority.server(HOST)) as secure, ChatAPI(tls=authority.server("127.0.0.1")) as judge:
        dialler = MappedDialler({("127.0.0.1", 8443): judge.port}, everything=secure.port)
        judged = judged_by(judge, url="https://127.0.0.1:8443/v1", key="")
        it = bench(policy=WebPolicy(ca_bundle=str(bundle)), classifier=judged, dialler=dialler)
        assert await read(it, f"https://{HOST}/plain") == 200
        assert dialler.dialled == [("127.0.0.1", 8443), (PUBLIC, 443)]
        assert len(judge.payloads) == 1
        it = bench(classifier=judged, dialler=dialler)
        assert (await asyncio.to_thread(it.fails, f"https://{HOST}/plain", method="HEAD")).code == "tls"
        assert (len(judge.payloads), len(secure.seen)) == (1, 1)


def test_a_credential_of_the_engines_environment_goes_to_its_host_and_is_told_to_nobody(bench: BenchMaker) -> None:
    authority = Authority()
    policy = WebPolicy(robots="full", credentials={HOST: {"name": "archive", "source": "env:ARCHIVE"}})
    with Site(tls=authority.server(HOST)) as secure:
        dialler = MappedDialler(everything=secure.port)
        it = bench(policy=policy, ssl_context=authority.client, dialler=dialler, environ={"ARCHIVE": KEY})
        page = it.fetch(f"https://{HOST}/echo")
        it.fetch(f"https://{HOST}/redirect?to=/plain", method="HEAD")
    sent = {request.path: request.header("Authorization") for request in secure.seen}
    assert sent == {"/robots.txt": None, "/echo": f"Bearer {KEY}", "/redirect": f"Bearer {KEY}", "/plain": None}
    assert "credential:archive" in page.markdown
    assert KEY not in page.markdown
    robots, echo, *_ = secure.seen
    assert robots.header("X-Request-ID") == echo.header("X-Request-ID") == it.events[0]["operation"]


@pytest.mark.parametrize("hub", [{}, {"JUPYTERHUB_API_URL": "http://hub.example/hub/api"}], ids=["alone", "on a hub"])
def test_whether_this_is_a_hub_is_asked_of_the_engines_environment(bench: BenchMaker, hub: dict[str, str]) -> None:
    it = bench(environ=hub)
    assert any("JupyterHub" in warning for warning in it.engine.warnings()) is bool(hub)
