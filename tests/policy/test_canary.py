"""A host that is refused before DNS gets nothing: no query, no connection, by whatever way it was named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.config import WebClassifier, WebPolicy
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.models import FetchRequest
from tests.bench import Bench
from tests.conftest import HOST, BenchMaker
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver
from tests.sites.openai_api import ChatAPI, verdict

AGENT = Caller("tool")
SECRET = "planted-7f3a9c51"
EVIL = [
    *[
        "evil.example",
        "EVIL.example.",
        "sub.evil.example",
        f"{HOST}.evil.example",
        f"evil{HOST}",
        "www.example.org.com",
    ],
    *[
        "example.org",
        "wwwXexample.org",
        "xn--wwwexample-.org",
        "93.184.216.34",
        "[2606:2800:220:1::1]",
        "bücher.example",
    ],
    *[
        "www.examp1e.org",
        "www.еxample.org",
        "www。example.org",
        "www.example.org..",
        f"{HOST}@evil.example",
        f"{HOST}%00",
    ],
    *["1572395042", "0x5db8d822", "localhost", "metadata.google.internal", "169.254.169.254", "127.1"],
]
WAYS: dict[str, dict[str, Any]] = {
    "asked for": {},
    "by an agent": {"caller": AGENT},
    "to write": {"method": "POST", "body": b"x"},
    "to keep": {"save": True},
    "anew": {"fresh": True, "any_status": True, "raw": True},
    "to read on": {"offset": 10},
}


@pytest.fixture
def resolver() -> StubResolver:
    return StubResolver()


@pytest.fixture
def narrow(bench: BenchMaker, resolver: StubResolver) -> Bench:
    """Only one host may be read; robots.txt and a credential make more requests."""
    policy = WebPolicy(
        ceiling=[HOST], robots="full", credentials={"evil.example": {"name": "planted", "source": "env:PLANTED"}}
    )
    return bench(policy=policy, resolver=resolver, environ={"PLANTED": SECRET})


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_asked_of_a_host_outside(narrow: Bench, resolver: StubResolver, site: Site, way: str) -> None:
    for host in EVIL:
        for url in (f"http://{host}/a", f"https://{host}:8443/", f"HTTP://{host}/robots.txt"):
            narrow.fails(url, **WAYS[way])
    assert (resolver.asked, site.connections) == ([], 0)


@pytest.mark.parametrize("led", ["/redirect?to={}", "/redirect?code=307&to={}", "/redirect?code=303&to={}"])
def test_nothing_is_asked_of_a_host_that_an_allowed_one_leads_to(
    narrow: Bench, resolver: StubResolver, site: Site, led: str
) -> None:
    for host in ("evil.example", "sub.evil.example", "93.184.216.34", f"evil{HOST}", "localhost"):
        error = narrow.fails(f"http://{HOST}" + led.format(f"http://{host}/a"))
        assert error.message.startswith("redirect refused: ")
    assert set(resolver.asked) == {HOST}
    assert {request.header("host") for request in site.seen} == {HOST}


def test_nothing_is_asked_of_a_host_that_a_robots_txt_leads_to(
    narrow: Bench, resolver: StubResolver, site: Site
) -> None:
    site.robots = "/redirect?to=http://evil.example/robots.txt"
    assert narrow.fails().code == "robots"
    assert set(resolver.asked) == {HOST}


def test_a_batch_and_a_check_ask_nothing_either(narrow: Bench, resolver: StubResolver, site: Site) -> None:
    requests = [FetchRequest(f"http://{host}/") for host in EVIL]
    outcomes = narrow.engine.submit(narrow.engine.fetch_many(narrow.session, requests)).result(60)
    assert all(isinstance(outcome, WebResearchError) for outcome in outcomes)
    assert all(narrow.engine.check_url(f"http://{host}/", "kernel:one").code != "ok" for host in EVIL)
    narrow.engine.submit(
        narrow.engine.extract(
            b"<img src=//evil.example/a><link rel=preload href=//evil.example/b><p>text</p>",
            url="http://evil.example/",
            session=narrow.session,
            content_type="text/html",
        )
    ).result(60)
    assert (resolver.asked, site.connections) == ([], 0)


@pytest.fixture
def judge() -> Iterator[ChatAPI]:
    with ChatAPI() as api:
        api.says = verdict("refuse", 1.0, "exfiltration", "no")
        yield api


def test_what_the_classifier_refuses_is_not_even_asked_for_its_robots_txt(
    bench: BenchMaker, judge: ChatAPI, site: Site
) -> None:
    """The name of the host may be the message."""
    resolver = StubResolver()
    classifier = WebClassifier(url=judge.base, model="judge")
    dialler = MappedDialler({"127.0.0.1": judge.port}, everything=site.port)
    it = bench(policy=WebPolicy(robots="full"), classifier=classifier, resolver=resolver, dialler=dialler)
    assert it.fails("http://what-the-notebook-knows.evil.example/").code == "classifier"
    assert (resolver.asked, site.connections) == ([], 0)
    judge.says = verdict()
    assert it.fetch().status == 200
    assert [request.path for request in site.seen] == ["/robots.txt", "/article"]
