"""What the journal tells of an operation: what was asked, who asked, how it was judged, and what came of it."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.config import WebClassifier
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.policy_change import PolicyChange
from tests.bench import arrived
from tests.conftest import HOST, BenchMaker
from tests.sites import Site
from tests.sites.network import MappedDialler
from tests.sites.openai_api import ChatAPI, verdict


def test_what_was_asked_is_told_by_its_hash_alone(bench: BenchMaker) -> None:
    it = bench()
    url, more = f"http://{HOST}/echo", {"method": "HEAD"}
    asked: list[dict[str, Any]] = [
        more,
        {"method": "OPTIONS"},
        {**more, "headers": (("X-One", "1"),)},
        {**more, "headers": (("X-One", "2"),)},
        {**more, "max_bytes": 7},
        {**more, "raw": True},
        {"method": "PUT", "body": b"one"},
        {"method": "PUT", "body": b"two"},
    ]

    def hashes() -> list[str]:
        for arguments in asked:
            it.fetch(url, **arguments)
        for data in (b"one", b"two"):
            extracting = it.engine.extract(data, url=url, session=it.session, content_type="text/plain")
            it.engine.submit(extracting).result(60)
        ended = [event["arguments"] for event in it.events if event["outcome"] == "completed"]
        return ended[-len(asked) - 2 :]

    first = hashes()
    assert len(set(first)) == len(asked) + 2
    assert hashes() == first, "the same asked again is the same"


def test_the_classifiers_judgement_is_on_record(bench: BenchMaker, site: Site) -> None:
    with ChatAPI() as judge:
        dialler = MappedDialler({"127.0.0.1": judge.port}, everything=site.port)
        it = bench(classifier=WebClassifier(url=judge.base, model="judge"), dialler=dialler)
        judge.says = verdict("allow", 0.25, "other")
        it.fetch(f"http://{HOST}/plain", method="HEAD")
        judge.says = verdict("refuse", 0.5, "spam_or_fraud")
        it.fails(f"http://{HOST}/echo", method="HEAD")
        judge.says = verdict("allow", 0.9, "attack")
        it.fails(f"http://{HOST}/json", method="HEAD")
        judge.status = 500
        it.fetch(f"http://{HOST}/csv", method="HEAD")
    told = [(event["outcome"], event["score"], event["category"]) for event in it.events]
    assert told[1::2] == [
        ("completed", 0.25, "other"),
        ("refused", 0.5, "spam_or_fraud"),
        ("refused", 0.9, "attack"),
        ("completed", None, ""),
    ]
    assert {event[1:] for event in told[::2]} == {(None, "")}


def test_a_batch_is_asked_by_who_asks_for_it(bench: BenchMaker) -> None:
    it = bench()
    agent = Caller("tool", "one", "tides.ipynb")
    requests = [FetchRequest(f"http://{HOST}/plain", method) for method in ("HEAD", "POST")]
    page, error = it.engine.submit(it.engine.fetch_many(it.session, requests, caller=agent)).result(60)
    assert (type(page), getattr(error, "code", "")) == (Page, "acting_not_allowed")
    assert {(event["channel"], event["kernel"], event["notebook"]) for event in it.events} == {
        ("tool", "one", "tides.ipynb")
    }


def test_a_save_is_begun_on_record_before_it_is_sent(bench: BenchMaker, site: Site) -> None:
    it = bench()
    running = it.begin(f"http://{HOST}/gate", method="get", save=True)
    arrived(site, "/gate")
    (started,) = it.events
    assert (started["outcome"], started["method"], started["risk"]) == ("started", "GET", "read")
    site.release()
    assert running.result(30).saved is not None


def test_what_is_no_success_tells_what_the_site_answered(bench: BenchMaker) -> None:
    it = bench()
    error = it.fails(f"http://{HOST}/redirect?to=/status?code=404")
    failed = it.events[-1]
    assert error.page is not None
    assert (failed["outcome"], failed["code"], failed["status"]) == ("failed", "http_status", 404)
    assert (failed["final_url"].partition("?")[0], failed["bytes"]) == (f"http://{HOST}/status", error.page.body_bytes)


def test_a_fault_of_ours_is_on_record_by_its_kind_alone(bench: BenchMaker) -> None:
    it = bench()

    async def retrieve(*_: object, **__: object) -> None:
        raise ZeroDivisionError("api_key=sk-verysecret-0123456789abcdef")

    it.engine._fetcher._retriever.retrieve = retrieve  # type: ignore[assignment,method-assign]
    with pytest.raises(ZeroDivisionError):
        it.fetch()
    failed = it.events[-1]
    assert (failed["outcome"], failed["code"], failed["reason"]) == ("failed", "internal", "ZeroDivisionError")


def test_who_granted_is_on_record(bench: BenchMaker) -> None:
    it = bench()
    change = it.engine.change_policy(it.session, PolicyChange(allow=(HOST,)), Caller("kernel", "one", "tides.ipynb"))
    it.engine.submit(change).result(30)
    (granted,) = it.events
    assert (granted["channel"], granted["kernel"], granted["notebook"]) == ("kernel", "one", "tides.ipynb")
    assert granted["session"] == it.session.id
