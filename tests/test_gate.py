"""The gate of a real engine: classifier and robots.txt at the first request and at each redirect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jupyter_webresearch.config import WebBudgets, WebClassifier, WebFetch, WebPolicy
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.policy.urls import parse_url
from tests.bench import CELL
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
def resolver() -> StubResolver:
    return StubResolver({OTHER: ["93.184.216.35"]})


@pytest.fixture
def ways(site: Site, other: Site, judge: ChatAPI, resolver: StubResolver) -> dict[str, object]:
    """The seams that lead HOST and OTHER to two sites, and to the classifier."""
    return {
        "resolver": resolver,
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


def test_the_classifier_is_shown_what_is_asked_and_what_for_once_a_session(
    bench: BenchMaker, ways: dict[str, object], judge: ChatAPI, site: Site
) -> None:
    it = bench(classifier=WebClassifier(url=judge.base, model="judge"), **ways)
    it.change(task="tides")
    site.serve("/done", b"", "text/plain", status=204)
    url = f"http://{HOST}/done"
    for _ in range(2):
        assert it.fetch(url, method="PUT", body=b"a note").status == 204
    shown = {"kind": "fetch", "method": "PUT", "url": url, "body": "a note", "body_bytes": 6, "task": "tides"}
    assert [judge.shown(number) for number in range(len(judge.payloads))] == [shown]
    it.session = it.engine.session("kernel:two")
    it.change(task="tides")
    it.fetch(url, method="PUT", body=b"a note")
    assert len(judge.payloads) == 2

    async def image() -> None:
        async with it.engine._operations.open("image", it.session, CELL, arguments={}) as operation:
            await operation.gate.admit(parse_url(url), method="PUT", body=b"another", redirected=False)

    it.engine.submit(image()).result(60)
    assert judge.shown() == {**shown, "kind": "image", "body": "another", "body_bytes": 7}
    it.engine.submit(it.engine._end_session(it.session)).result(30)  # as drop_session does, awaited
    it.engine.submit(image()).result(60)
    assert len(judge.payloads) == 4, "nothing is remembered of a session that has ended"


def test_a_redirect_over_a_sites_budget_is_shown_to_nobody(
    bench: BenchMaker, ways: dict[str, object], judge: ChatAPI, resolver: StubResolver
) -> None:
    budgets = WebBudgets(site_per_minute=1)
    it = bench(classifier=WebClassifier(url=judge.base, model="judge"), budgets=budgets, **ways)
    it.fetch(f"http://{OTHER}/plain", method="HEAD")
    error = it.fails(f"http://{HOST}/redirect?to=http://{OTHER}/echo", method="HEAD")
    assert (error.code, error.setting) == ("over_budget", "WebBudgets.site_per_minute")
    assert len(judge.payloads) == 2
    assert resolver.asked == [OTHER, HOST]


def test_without_an_answer_only_reads_go_on(bench: BenchMaker, ways: dict[str, object], judge: ChatAPI) -> None:
    it = bench(classifier=WebClassifier(url=judge.base, model="judge"), **ways)
    judge.status = 500
    url = f"http://{HOST}/status?code=204"
    assert it.fetch(url, method="HEAD").status == 204
    assert it.fails(url, method="PUT", body=b"a note").code == "classifier"


def test_a_search_is_judged_by_its_query_and_refused_for_nothing(
    bench: BenchMaker, ways: dict[str, object], judge: ChatAPI
) -> None:
    budgets = WebBudgets(search_per_minute=2, price_per_search={"one": 0.25})
    it = bench(classifier=WebClassifier(url=judge.base, model="judge"), budgets=budgets, **ways)
    it.change(task="tides")

    async def search(query: str) -> float:
        opened = it.engine._operations.open("search", it.session, CELL, arguments={"query": query})
        async with opened as operation:
            await operation.gate.admit_search(query, ["one"])
            return operation.gate.reserved

    def code_of(query: str) -> str:
        with pytest.raises(Refused) as caught:
            it.engine.submit(search(query)).result(60)
        return caught.value.code

    assert it.engine.submit(search("the moon")).result(60) == 0.25
    shown = {"kind": "search", "method": "GET", "url": "", "body": "the moon", "body_bytes": 8, "task": "tides"}
    assert judge.shown() == shown
    judge.says = verdict("refuse", 0.5, "exfiltration")
    assert code_of("what the notebook knows") == "classifier"
    assert it.events[-1]["category"] == "exfiltration"
    judge.says = verdict()
    assert it.used["search_per_minute"] == 1
    it.engine.submit(search("the sun")).result(60)
    assert code_of("the stars") == "over_budget"
    assert len(judge.payloads) == 3, "where there is no room the model is not asked"


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
