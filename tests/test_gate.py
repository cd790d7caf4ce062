"""The gate of a real engine: classifier and robots.txt at the first request and at each redirect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jupyter_webresearch.config import WebClassifier, WebFetch, WebPolicy
from tests.conftest import HOST, BenchMaker
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver
from tests.sites.openai_api import ChatAPI, verdict

OTHER = "other.example.net"


@pytest.fixture
def judge() -> Iterator[ChatAPI]:
    with ChatAPI() as api:
        yield api


@pytest.fixture
def other() -> Iterator[Site]:
    """The site behind OTHER."""
    with Site() as running:
        yield running


@pytest.fixture
def ways(site: Site, other: Site, judge: ChatAPI) -> dict[str, object]:
    """The seams that lead HOST and OTHER to two sites, and to the classifier."""
    return {
        "resolver": StubResolver({OTHER: ["93.184.216.35"]}),
        "dialler": MappedDialler({"127.0.0.1": judge.port, "93.184.216.35": other.port}, everything=site.port),
    }


def test_the_classifier_is_asked_of_a_redirect_to_another_host(
    bench: BenchMaker, ways: dict[str, object], judge: ChatAPI, other: Site
) -> None:
    it = bench(classifier=WebClassifier(url=judge.base, model="judge"), **ways)
    led = f"http://{HOST}/redirect?to=http://{OTHER}/plain"
    assert it.fetch(led, method="HEAD").status == 200
    assert [judge.shown(number)["url"] for number in range(len(judge.payloads))] == [led, f"http://{OTHER}/plain"]
    judge.says = lambda payload: verdict("refuse", 1.0) if OTHER in payload["messages"][-1]["content"] else verdict()
    error = it.fails(f"http://{HOST}/redirect?to=http://{OTHER}/echo", method="HEAD")
    assert error.code == "classifier"
    assert [request.path for request in other.seen] == ["/plain"]


def test_the_classifier_is_not_asked_of_a_redirect_to_a_host_that_it_has_judged(
    bench: BenchMaker, ways: dict[str, object], judge: ChatAPI, site: Site
) -> None:
    it = bench(classifier=WebClassifier(url=judge.base, model="judge"), **ways)
    assert it.fetch(f"http://{HOST}/redirect?to=/plain", method="HEAD").status == 200
    assert [request.path for request in site.seen] == ["/redirect", "/plain"]
    assert len(judge.payloads) == 1
    assert it.fetch(f"http://{HOST}/plain?more", method="HEAD").status == 200
    assert len(judge.payloads) == 2, "another request of the session is another question"


def test_the_robots_txt_of_a_redirects_target_is_obeyed(
    bench: BenchMaker, ways: dict[str, object], site: Site, other: Site
) -> None:
    it = bench(policy=WebPolicy(robots="full"), **ways)
    other.robots = "/rules"
    error = it.fails(f"http://{HOST}/redirect?to=http://{OTHER}/private", method="HEAD")
    assert (error.code, OTHER in error.message) == ("robots", True)
    assert [request.path for request in site.seen] == ["/robots.txt", "/redirect"]
    assert [request.path for request in other.seen] == ["/robots.txt"], "and not what it forbids"
    assert it.fetch(f"http://{HOST}/redirect?to=http://{OTHER}/plain", method="HEAD").status == 200


def test_a_robots_txt_that_hangs_leaves_the_page_two_thirds_of_its_time(bench: BenchMaker, site: Site) -> None:
    site.robots = "/hang"
    it = bench(fetch=WebFetch(timeout=3), as_is=True)
    assert it.fetch(f"http://{HOST}/plain", method="HEAD").status == 200
    assert [request.path for request in site.seen] == ["/robots.txt", "/plain"]
