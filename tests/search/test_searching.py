"""The searcher: all asked at once under the policy, and what came in time is the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import Settings, WebBudgets, WebPolicy
from jupyter_webresearch.config_search import WebSearch
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.journal.reader import read_events
from jupyter_webresearch.policy.policy_change import PolicyChange
from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.question import Question, SearchRequest
from jupyter_webresearch.search.response import SearchResponse
from jupyter_webresearch.search.searching import Searcher, question_of
from jupyter_webresearch.search.service import Service
from tests.bench import Disk
from tests.conftest import EngineMaker

TODAY = date(2026, 11, 30)
Answering = Callable[[Question], Awaitable[ProviderAnswer]]


class Provider:
    """A provider that answers as a function says, and counts how often it was asked."""

    def __init__(self, name: str, answering: Answering) -> None:
        self.name = name
        self.display_name = name.title()
        self.asked: list[Question] = []
        self._answering = answering

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        self.asked.append(question)
        return await self._answering(question)


def giving(name: str, *urls: str, **more: Any) -> Provider:
    async def answer(_question: Question) -> ProviderAnswer:
        results = tuple(SearchResult(url, f"{name} {at}", position=at) for at, url in enumerate(urls, 1))
        return ProviderAnswer(name, results, **more)

    return Provider(name, answer)


def failing(name: str, error: Exception) -> Provider:
    async def answer(_question: Question) -> ProviderAnswer:
        raise error

    return Provider(name, answer)


def hanging(name: str) -> Provider:
    async def answer(_question: Question) -> ProviderAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    return Provider(name, answer)


class Turned(SystemClock):
    offset = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.offset


class Bench:
    """A searcher within a real engine's policy and journal."""

    def __init__(self, engine: Engine, folder: Path, providers: Sequence[Provider], **settings: Any) -> None:
        self.engine, self.folder = engine, folder
        self.session = engine.session("kernel:one")
        self.clock = Turned()
        by_name = {provider.name: provider for provider in providers}
        self.searcher = Searcher(
            WebSearch(**settings),
            engine._operations,
            lambda names, _kind: [by_name[name] for name in names] or list(providers),
            lambda *_: None,  # type: ignore[arg-type,return-value]  # these providers ask no service
            self.clock,
        )

    def search(self, query: str = "tides", caller: Caller = Caller(), **request: Any) -> SearchResponse:  # noqa: B008
        asked = SearchRequest(query, **request)
        work = self.searcher.search(self.session, asked, lambda _phase: None, caller)
        return self.engine.submit(work).result(60)

    def fails(self, query: str = "tides", **request: Any) -> WebResearchError:
        with pytest.raises(WebResearchError) as caught:
            self.search(query, **request)
        return caught.value

    @property
    def events(self) -> list[dict[str, Any]]:
        return read_events(self.folder, limit=100)


@pytest.fixture
def bench(make_engine: EngineMaker, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    def make(*providers: Provider, settings: Settings | None = None, **search: Any) -> Bench:
        engine = make_engine(settings or Settings(), data_folder=tmp_path / "journal")
        return Bench(engine, tmp_path / "journal", providers, **search)

    yield make


def test_a_journal_that_can_not_be_written_is_told_once(bench: Callable[..., Bench]) -> None:
    it = bench(giving("one", "https://a.example/"))
    Disk(it.engine).is_full = True
    told = [it.search().notes, it.search().notes]
    assert told == [("the journal can't be written: No space left on device; operations go on without it",), ()]


def test_all_are_asked_and_merged(bench: Callable[..., Bench]) -> None:
    it = bench(giving("one", "https://a.example/", "https://b.example/"), giving("two", "https://b.example/"))
    found = it.search()
    assert [(result.number, result.url) for result in found.results] == [
        (1, "https://b.example/"), (2, "https://a.example/"),
    ]  # fmt: skip
    assert found.results[0].ranks == {"two": 1, "one": 2}
    assert [tally.provider for tally in found.answered] == ["one", "two"]
    assert found.failed == ()


def test_who_fails_is_named_and_harms_nobody(bench: Callable[..., Bench]) -> None:
    it = bench(
        giving("one", "https://a.example/"),
        failing("two", ProviderError("bad_key", "set TWO_KEY")),
        failing("three", ZeroDivisionError("secret words")),
    )
    found = it.search()
    assert len(found) == 1
    assert [(failure.provider, failure.kind) for failure in found.failed] == [
        ("two", "bad_key"),
        ("three", "bad_payload"),
    ]
    assert "secret words" not in str(found.failed)


def test_who_is_late_is_named_and_the_rest_is_given(bench: Callable[..., Bench]) -> None:
    it = bench(giving("one", "https://a.example/"), hanging("slow"), timeout=1.0)
    found = it.search()
    assert len(found) == 1
    (failure,) = found.failed
    assert (failure.provider, failure.kind) == ("slow", "timeout")
    assert "1 s" in failure.reason


def test_who_is_named_has_its_own_time(bench: Callable[..., Bench]) -> None:
    it = bench(hanging("slow"), timeout=600, provider_timeouts={"slow": 1})
    assert it.searcher.seconds_for(hanging("slow")) == 1
    error = it.fails(providers=("slow",))
    assert (type(error), error.code) == (Failed, "search_failed")


def test_engines_behind_a_provider_that_did_not_answer_are_named(bench: Callable[..., Bench]) -> None:
    found = bench(giving("searxng", "https://a.example/", failed=(("google", "captcha"),))).search()
    (failure,) = found.failed
    assert (failure.provider, failure.reason) == ("searxng: google", "captcha")


def test_nobody_answers(bench: Callable[..., Bench]) -> None:
    it = bench(
        failing("one", ProviderError("unreachable", "it is down")), failing("two", ProviderError("quota", "used up"))
    )
    error = it.fails()
    assert error.code == "search_failed"
    assert "one: it is down" in error.message
    assert "two: used up" in error.message
    limited = bench(failing("one", ProviderError("rate_limited", "slow down", retry_after=30.0))).fails()
    assert (limited.code, limited.retry_after) == ("rate_limited", 30.0)


def test_nothing_found_is_an_answer(bench: Callable[..., Bench]) -> None:
    found = bench(giving("one")).search()
    assert len(found) == 0
    assert [tally.provider for tally in found.answered] == ["one"]


def test_the_same_question_is_answered_from_memory_and_free(bench: Callable[..., Bench]) -> None:
    provider = giving("one", "https://a.example/")
    it = bench(provider, settings=Settings(budgets=WebBudgets(search_per_minute=2)))
    assert [it.search().answered[0].cached for _ in range(3)] == [False, True, True]
    assert len(provider.asked) == 1
    assert [(event["outcome"], event["source"]) for event in it.events] == [
        ("started", ""), ("completed", "live"), ("completed", "cache"), ("completed", "cache"),
    ]  # fmt: skip
    it.search(kind="news")
    assert len(provider.asked) == 2, "another question"
    assert it.fails(site="example.org").setting == "WebBudgets.search_per_minute"
    it.clock.offset = 301
    assert it.fails().setting == "WebBudgets.search_per_minute", "too old to answer again"


def test_only_who_does_not_know_the_answer_is_asked_again(bench: Callable[..., Bench]) -> None:
    one, two = giving("one", "https://a.example/"), giving("two", "https://b.example/")
    it = bench(one, two)
    it.search(providers=("one",))
    found = it.search()
    assert (len(one.asked), len(two.asked)) == (1, 1)
    assert [tally.cached for tally in found.answered] == [True, False]


def test_fresh_asks_again(bench: Callable[..., Bench]) -> None:
    provider = giving("one", "https://a.example/")
    it = bench(provider)
    it.search()
    it.search(fresh=True)
    assert len(provider.asked) == 2


def test_another_session_is_not_told(bench: Callable[..., Bench]) -> None:
    provider = giving("one", "https://a.example/")
    it = bench(provider)
    it.search()
    it.session = it.engine.session("kernel:two")
    it.search()
    assert len(provider.asked) == 2


def test_a_search_is_one_in_its_windows_however_many_providers(bench: Callable[..., Bench]) -> None:
    it = bench(
        giving("one"), giving("two"), giving("three"),
        settings=Settings(budgets=WebBudgets(search_per_minute=2, price_per_search={"one": 0.25, "two": 0.5})),
    )  # fmt: skip
    it.search("a")
    it.search("b")
    assert it.fails("c").code == "over_budget"
    assert it.session.dollars_spent == 0, "none of these sent anything"


def test_it_stands_in_the_journal_without_secrets(bench: Callable[..., Bench]) -> None:
    it = bench(giving("one", "https://a.example/", "https://b.example/"))
    it.search("tides api_key=sk-0123456789abcdef0123456789")
    started, completed = it.events
    assert (started["outcome"], completed["outcome"]) == ("started", "completed")
    assert (completed["kind"], completed["provider"], completed["results"]) == ("search", "one", 2)
    assert completed["query"].startswith("tides")
    assert "0123456789abcdef" not in str(it.events)


def test_a_session_or_a_setting_that_does_not_search(bench: Callable[..., Bench]) -> None:
    it = bench(giving("one"))
    it.engine.submit(it.engine.change_policy(it.session, PolicyChange(search=False))).result(30)
    error = it.fails()
    assert (type(error), error.code) == (Refused, "disabled")
    it = bench(giving("one"), settings=Settings(policy=WebPolicy(disabled_operations=["search"])))
    assert it.fails().setting == "WebPolicy.disabled_operations"


def test_switching_off_ends_a_search(bench: Callable[..., Bench]) -> None:
    slow = hanging("slow")
    it = bench(slow)
    work = it.searcher.search(it.session, SearchRequest("tides"), lambda _phase: None, Caller())
    running = it.engine.submit(work)

    async def asked() -> None:
        while not slow.asked:
            await asyncio.sleep(0)

    it.engine.submit(asked()).result(30)
    it.engine.submit(it.engine.switch("search", False, Caller("rest"))).result(30)
    with pytest.raises(Refused) as caught:
        running.result(30)
    assert caught.value.code == "disabled"


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("", None), ("2024", date(2024, 1, 1)), ("2024-05", date(2024, 5, 1)), ("2024-05-17", date(2024, 5, 17)),
        ("7d", date(2026, 11, 23)), ("4w", date(2026, 11, 2)), ("1y", date(2025, 11, 30)), ("2M", date(2026, 10, 1)),
    ],
)  # fmt: skip
def test_since(since: str, expected: date | None) -> None:
    assert question_of(SearchRequest("q", since=since), 8, TODAY)[0].since == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": " "}, {"query": "x" * 2001}, {"kind": "videos"}, {"max_results": 0}, {"max_results": -3},
        {"site": "https://example.org/"}, {"site": "a b"}, {"since": "yesterday"}, {"since": "2024-13"},
        {"since": "2999-01-01"}, {"since": "9999y"}, {"since": "0001-00"},
    ],
    ids=str,
)  # fmt: skip
def test_what_can_t_be_read_is_said(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        question_of(replace(SearchRequest("q"), **wrong), 8, TODAY)
    assert caught.value.code == "bad_request"


def test_more_than_twenty_is_lowered_and_said() -> None:
    question, notes = question_of(SearchRequest("a  b", max_results=50, site="EXAMPLE.org."), 8, TODAY)
    assert (question.query, question.limit, question.site) == ("a b", 20, "example.org")
    assert "20" in notes[0]


def test_the_response_survives_json(bench: Callable[..., Bench]) -> None:
    found = bench(
        giving("one", "https://a.example/", failed=(("x", "y"),), infobox={"title": "t"}, answers=("42",))
    ).search()
    assert SearchResponse.from_json(found.to_json()) == found
