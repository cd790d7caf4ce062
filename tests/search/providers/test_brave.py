"""Brave: its parameters as it takes them, and its words where statuses say too little."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.brave import Brave
from jupyter_webresearch.search.question import Question
from tests.search.local_api import Asked, Said
from tests.search.providers.brave_api import KEY, NO_WEB, WEB, BraveAPI

VALUES = {"BRAVE_SEARCH_API_KEY": KEY}


@pytest.fixture
async def api() -> AsyncIterator[BraveAPI]:
    with BraveAPI() as running:
        yield running  # type: ignore[misc]


async def ask(api: BraveAPI, query: str = "soical ties", **options: Any) -> ProviderAnswer:
    return await Brave(VALUES).ask(Question(query, **options), api.service())


async def refused(api: BraveAPI, mode: str, *, key: str = KEY, seconds: float = 10.0) -> ProviderError:
    api.mode = mode
    with pytest.raises(ProviderError) as caught:
        await Brave({"BRAVE_API_KEY": key}).ask(Question("q"), api.service(seconds=seconds))
    assert key not in str(caught.value)
    return caught.value


async def test_an_answer(api: BraveAPI) -> None:
    said = await ask(api)
    first, second, third = said.results
    assert (first.url, first.title) == ("https://example.test/brave", "Brave social ties")
    assert first.snippet == "A complete Brave answer. And more."
    assert (first.published, first.container) == ("2026-08-01", "Example Source")
    assert first.image_url == "https://example.test/x.png"
    assert (second.published, third.published) == ("2026-07-30T10:11:12", "")
    assert said.answers == ("What is a tie? A link. (https://example.test/faq)",)
    assert said.infobox == {
        "title": "Social tie",
        "text": "A connection between people.",
        "url": "https://en.wikipedia.org/wiki/Social_tie",
    }
    assert said.query_altered == "social ties"
    assert said.warnings == ("1 left out: without a web address",)
    assert (said.raw, first.raw) == (WEB, WEB["web"]["results"][0])


async def test_what_it_is_sent(api: BraveAPI) -> None:
    await ask(api, "a & b", limit=20, site="example.org")
    (asked,) = api.asked
    assert dict(asked.query) == {
        "q": "a & b site:example.org",
        "count": "20",
        "text_decorations": "false",
        "result_filter": "web,infobox,faq",
    }
    assert asked.headers["x-subscription-token"] == KEY
    assert "gzip" in asked.headers["accept-encoding"]
    assert KEY not in str(asked.query)


async def test_a_first_day_is_a_range_up_to_today(api: BraveAPI) -> None:
    service = api.service()
    await Brave(VALUES).ask(Question("q", since=date(2026, 8, 1)), service)
    assert api.asked[0].parameter("freshness") == f"2026-08-01to{service.today}"


async def test_a_first_day_to_come_is_a_range_of_one_day(api: BraveAPI) -> None:
    await ask(api, since=date(2999, 1, 1))
    assert api.asked[0].parameter("freshness") == "2999-01-01to2999-01-01"


async def test_news(api: BraveAPI) -> None:
    (news,) = (await ask(api, kind="news", since=date(2026, 10, 1))).results
    assert api.asked[0].path == "/news/search"
    assert (news.kind, news.published) == ("news", "2026-10-30T08:00:00")


async def test_images(api: BraveAPI) -> None:
    said = await ask(api, kind="images", since=date(2026, 10, 1))
    (image,) = said.results
    assert (image.kind, image.url, image.image_url) == (
        "image",
        "https://example.com/cats",
        "https://example.com/cat.jpg",
    )
    assert image.container == "example.com"
    assert "no dates of images" in said.warnings[0]


@pytest.mark.parametrize("kind", ["web", "news", "images"])
async def test_no_hits_are_an_answer(api: BraveAPI, kind: str) -> None:
    api.mode = "empty"
    assert (await ask(api, kind=kind)).results == ()


@pytest.mark.parametrize("kind", ["web", "news", "images"])
async def test_a_missing_list_is_none(api: BraveAPI, kind: str) -> None:
    api.mode = "missing_list"
    with pytest.raises(ProviderError, match="without the list") as caught:
        await ask(api, kind=kind)
    assert caught.value.kind == "bad_payload"


async def test_an_empty_list_is_an_answer() -> None:
    class Empty(BraveAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, NO_WEB | {"web": {"type": "search", "results": []}})

    with Empty() as api:
        assert (await ask(api)).results == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("query, words", [("a" * 401, "401 and 1"), ("a " * 51, "and 51")])
async def test_a_long_query_is_not_sent(api: BraveAPI, query: str, words: str) -> None:
    with pytest.raises(ProviderError, match=f"400 characters and 50 words; this one has .*{words}: ") as caught:
        await ask(api, query.strip())
    assert caught.value.kind == "bad_request"
    assert api.asked == []


async def test_the_site_counts_as_part_of_the_query(api: BraveAPI) -> None:
    with pytest.raises(ProviderError, match="make it shorter"):
        await ask(api, "a" * 390, site="example.org")
    await ask(api, "a" * 400)
    await ask(api, ("a " * 50).strip())


@pytest.mark.parametrize("listed", [False, True])
async def test_a_bad_key_is_a_422(api: BraveAPI, listed: bool) -> None:
    api.listed_errors = listed
    error = await refused(api, "ok", key="BSAanotherkey")
    assert (error.kind, error.http_status, error.code) == ("bad_key", 422, "SUBSCRIPTION_TOKEN_INVALID")
    assert "BRAVE_SEARCH_API_KEY or BRAVE_API_KEY" in error.message
    assert "https://api-dashboard.search.brave.com" in error.message


@pytest.mark.parametrize("listed", [False, True])
async def test_a_quota_is_not_waited_for(api: BraveAPI, listed: bool) -> None:
    api.listed_errors = listed
    error = await refused(api, "quota")
    assert (error.kind, error.http_status, error.code) == ("quota", 429, "QUOTA_LIMITED")
    assert len(api.asked) == 1


async def test_a_rate_is_waited_for_once(api: BraveAPI) -> None:
    error = await refused(api, "rate_limited")
    assert (error.kind, error.retry_after, error.code) == ("rate_limited", 1.0, "RATE_LIMITED")
    assert len(api.asked) == 2


async def test_a_rate_that_is_over_is_not_told() -> None:
    class Recovering(BraveAPI):
        def answer(self, asked: Asked) -> Said:
            self.mode = "rate_limited" if len(self.asked) == 1 else "ok"
            return super().answer(asked)

    with Recovering() as api:
        assert (await ask(api)).results  # type: ignore[arg-type]


async def test_other_words_for_a_bad_key() -> None:
    class Refusing(BraveAPI):
        refusal: Said

        def answer(self, asked: Asked) -> Said:
            return self.refusal

    with Refusing() as api:
        api.refusal = api._error(422, "VALIDATION", "Unable", ["header", "x-subscription-token"])
        assert (await refused(api, "ok")).kind == "bad_key"  # type: ignore[arg-type]
        api.refusal = api._error(404, "SUBSCRIPTION_NOT_FOUND", "No subscription found")
        assert (await refused(api, "ok")).kind == "bad_key"  # type: ignore[arg-type]
        api.refusal = api._error(422, "VALIDATION", f"Unable, {KEY}", ["query", "q"])
        assert (await refused(api, "ok")).kind == "bad_request"  # type: ignore[arg-type]
        api.refusal = api._error(400, "OPTION_NOT_IN_PLAN", "Not in plan")
        assert (await refused(api, "ok")).kind == "forbidden"  # type: ignore[arg-type]
        api.refusal = Said(429, b"Too many")
        assert (await refused(api, "ok")).kind == "rate_limited"  # type: ignore[arg-type]
        api.refusal = Said(422, {"errors": ["odd"], "error": None})
        assert (await refused(api, "ok")).kind == "bad_request"  # type: ignore[arg-type]


@pytest.mark.parametrize("mode, kind", [("down", "unreachable"), ("malformed", "bad_payload")])
async def test_what_else_goes_wrong(api: BraveAPI, mode: str, kind: str) -> None:
    assert (await refused(api, mode)).kind == kind


async def test_a_slow_service_is_not_waited_for(api: BraveAPI) -> None:
    assert (await refused(api, "slow", seconds=0.5)).kind == "timeout"


def test_its_key_goes_by_two_names() -> None:
    assert Brave({"BRAVE_API_KEY": "b"}).key == "b"
    assert Brave({"BRAVE_API_KEY": "b", "BRAVE_SEARCH_API_KEY": "a"}).key == "a"
    assert Brave({}).missing() == ("BRAVE_SEARCH_API_KEY or BRAVE_API_KEY",)


async def test_a_real_answer(data_folder: Path) -> None:
    real = json.loads((data_folder / "search" / "brave_web.json").read_text("utf-8"))

    class Real(BraveAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, real)

    with Real() as api:
        (result,) = (await ask(api, "social ties")).results  # type: ignore[arg-type]
    assert (result.title, result.published) == ("Brave social ties result", "2026-08-01")
