"""SearXNG: its JSON as an instance gives it, and what its refusals mean for whoever runs it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.searxng import SearXNG
from jupyter_webresearch.search.question import Question
from tests.search.local_api import Asked, Said
from tests.search.providers.searxng_api import NOTHING, WEB, SearXNGAPI


@pytest.fixture
async def api() -> AsyncIterator[SearXNGAPI]:
    with SearXNGAPI() as running:
        yield running  # type: ignore[misc]


async def ask(api: SearXNGAPI, query: str = "social ties", **options: Any) -> ProviderAnswer:
    return await SearXNG({"SEARXNG_URL": api.url}).ask(Question(query, **options), api.service())


async def refused(api: SearXNGAPI, mode: str, seconds: float = 10.0) -> ProviderError:
    api.mode = mode
    with pytest.raises(ProviderError) as caught:
        await SearXNG({"SEARXNG_URL": api.url}).ask(Question("q"), api.service(seconds=seconds))
    return caught.value


async def test_an_answer_is_kept_whole_and_in_its_order(api: SearXNGAPI) -> None:
    said = await ask(api)
    first, second = said.results
    assert (first.url, first.title, first.snippet) == ("https://example.test/searx", "Searx & result", "A result.")
    assert (first.published, first.engines, first.score) == ("2024-05-01T10:00:00", ("bing", "duckduckgo"), 1.0)
    assert (second.title, second.score) == ("Later, though its score is higher", 4.0)
    assert [first.position, second.position] == [1, 2]
    assert said.answers == ("42 ties (https://example.org/answer)", "an older instance's answer")
    assert said.infobox == {
        "title": "Social tie",
        "text": "A connection between people.",
        "url": "https://en.wikipedia.org/wiki/Social_tie",
    }
    assert said.corrections == ("social tie",)
    assert said.suggestions == ("weak ties",)
    assert said.failed == (("google", "CAPTCHA"), ("qwant", "Suspended: access denied"))
    assert said.warnings == ("1 left out: without a web address",)
    assert said.raw == WEB
    assert first.raw == WEB["results"][0]


async def test_what_it_is_sent(api: SearXNGAPI) -> None:
    await ask(api, "a & b", site="example.org")
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("GET", "/search")
    assert dict(asked.query) == {"q": "a & b site:example.org", "format": "json", "categories": "general"}
    assert asked.headers["accept"] == "application/json"
    assert asked.headers["user-agent"]


@pytest.mark.parametrize(
    "days, reach", [(0, "day"), (1, "day"), (2, "week"), (7, "week"), (30, "month"), (300, "year")]
)
async def test_a_first_day_is_asked_for_by_the_range_that_reaches_it(api: SearXNGAPI, days: int, reach: str) -> None:
    service = api.service()
    since = service.today - timedelta(days=days)
    said = await SearXNG({}).ask(Question("q", since=since), service)
    assert api.asked[0].parameter("time_range") == reach
    assert set(said.warnings) == {"1 left out: without a web address", f"1 left out: older than {since}"}


async def test_a_first_day_beyond_all_ranges_is_said(api: SearXNGAPI) -> None:
    said = await ask(api, since=date(2024, 5, 1))
    assert api.asked[0].parameter("time_range") is None
    assert "no range longer than a year" in said.warnings[0]
    assert len(said.results) == 2


async def test_results_of_other_sites_are_left_out(api: SearXNGAPI) -> None:
    said = await ask(api, site="test")
    assert [result.url for result in said.results] == ["https://example.test/searx"]
    assert "1 left out: not of test" in said.warnings


async def test_a_limit_is_kept(api: SearXNGAPI) -> None:
    assert len((await ask(api, limit=1)).results) == 1


async def test_papers(api: SearXNGAPI) -> None:
    (paper,) = (await ask(api, kind="papers")).results
    assert api.asked[0].parameter("categories") == "science"
    assert (paper.kind, paper.ids, paper.container) == ("paper", {"doi": "10.1000/182"}, "Journal of Engines")
    assert paper.authors == ("Ada Lovelace", "Charles Babbage")
    assert paper.details == {"volume": "12", "issue": "3", "pages": "1-9", "publisher": "P", "type": "article"}
    assert (paper.pdf_url, paper.published) == ("https://example.org/182.pdf", "2023-01-02T00:00:00")


async def test_images(api: SearXNGAPI) -> None:
    (image,) = (await ask(api, kind="images")).results
    assert api.asked[0].parameter("categories") == "images"
    assert (image.kind, image.url, image.image_url) == (
        "image",
        "https://example.com/cats",
        "https://cdn.example.com/cat.jpg",
    )


async def test_news(api: SearXNGAPI) -> None:
    (news,) = (await ask(api, kind="news")).results
    assert (news.kind, news.published) == ("news", "2026-01-02T03:04:05")


async def test_no_hits_are_an_answer(api: SearXNGAPI) -> None:
    api.mode = "empty"
    said = await ask(api)
    assert (said.results, said.failed) == ((), ())


async def test_no_hits_and_engines_that_failed_are_no_answer(api: SearXNGAPI) -> None:
    error = await refused(api, "blocked")
    assert error.kind == "blocked"
    assert error.message == "its engines did not answer: google (CAPTCHA), brave (timeout)"


async def test_a_direct_answer_counts_although_engines_failed() -> None:
    class Answering(SearXNGAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, NOTHING | {"answers": ["42"], "unresponsive_engines": [["google", "CAPTCHA"]]})

    with Answering() as api:
        said = await ask(api)  # type: ignore[arg-type]
    assert (said.answers, said.failed) == (("42",), (("google", "CAPTCHA"),))


async def test_an_instance_without_json_is_told_the_setting(api: SearXNGAPI) -> None:
    error = await refused(api, "html_only")
    assert (error.kind, error.http_status) == ("disabled_format", 403)
    assert "`search.formats: [html, json]`" in error.message
    assert "settings.yml" in error.message


async def test_the_limiter_is_told_by_its_setting_and_not_asked_again(api: SearXNGAPI) -> None:
    error = await refused(api, "limiter")
    assert error.kind == "rate_limited"
    assert "`server.limiter: false`" in error.message
    assert len(api.asked) == 1


async def test_a_wait_that_is_asked_for_is_passed_on(api: SearXNGAPI) -> None:
    error = await refused(api, "rate_limited")
    assert (error.kind, error.retry_after) == ("rate_limited", 3600.0)


@pytest.mark.parametrize(
    "mode, kind, words",
    [
        ("down", "unreachable", "search error"),
        ("malformed", "bad_payload", "not JSON"),
        ("missing_list", "bad_payload", "without the list of results"),
    ],
)
async def test_what_else_goes_wrong(api: SearXNGAPI, mode: str, kind: str, words: str) -> None:
    error = await refused(api, mode)
    assert error.kind == kind
    assert words in error.message


async def test_a_slow_instance_is_not_waited_for(api: SearXNGAPI) -> None:
    assert (await refused(api, "slow", seconds=0.5)).kind == "timeout"


async def test_a_url_that_is_no_instance_is_told(api: SearXNGAPI) -> None:
    with pytest.raises(ProviderError, match="SEARXNG_URL is the instance's own URL") as caught:
        await SearXNG({}).ask(Question("q"), api.service(path="/nowhere"))
    assert caught.value.kind == "bad_request"


async def test_a_redirect_is_not_followed() -> None:
    class Moved(SearXNGAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(301, b"", {"Location": f"{self.url}/elsewhere"})

    with Moved() as api:
        error = await refused(api, "ok")  # type: ignore[arg-type]
        assert (error.kind, len(api.asked)) == ("bad_payload", 1)
        assert "its URL must be the final one" in error.message


@pytest.mark.parametrize(
    "values, base",
    [
        ({"SEARXNG_URL": "http://searx:8080/"}, "http://searx:8080"),
        ({"SEARXNG_URL": "http://a", "SEARX_URL": "http://b"}, "http://a"),
        ({"SEARX_URL": "http://b/searxng/"}, "http://b/searxng"),
        ({"SEARX_HOST": "http://c:8888"}, "http://c:8888"),
        ({"SEARXNG_QUERY_URL": "http://d:8080/search?q=<query>"}, "http://d:8080"),
        ({"SEARXNG_QUERY_URL": "http://d:8080/x/search"}, "http://d:8080/x"),
        ({"SEARX_HOST": "http://e/search"}, "http://e/search"),
    ],
)
def test_its_url_goes_by_several_names(values: dict[str, str], base: str) -> None:
    provider = SearXNG(values)
    assert (provider.base_url, provider.base_is_configured, provider.is_available()) == (base, True, True)


def test_without_a_url_it_is_not_available() -> None:
    assert SearXNG({}).missing() == ("SEARXNG_URL or SEARX_URL or SEARX_HOST or SEARXNG_QUERY_URL",)


@pytest.mark.parametrize(
    "field, value",
    [
        ("answers", "text"), ("answers", [None, 1.5, {"answer": {}}]), ("infoboxes", [None, {"urls": "x"}]),
        ("suggestions", {"a": 1}), ("corrections", None), ("unresponsive_engines", [None, [], [1], {"a": "b"}]),
        ("results", [None, "x", {}, {"url": None}, {"url": ["x"], "title": {}, "engines": "x", "score": True}]),
    ],
)  # fmt: skip
async def test_odd_values_are_as_good_as_none(field: str, value: Any) -> None:
    class Odd(SearXNGAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, NOTHING | {"results": WEB["results"]} | {field: value})

    with Odd() as api:
        said = await ask(api)  # type: ignore[arg-type]
    assert len(said.results) == (0 if field == "results" else 2)
    assert said.answers == () and said.infobox == {} and said.suggestions == ()


async def test_a_real_answer(data_folder: Path) -> None:
    real = json.loads((data_folder / "search" / "searxng.json").read_text("utf-8"))

    class Real(SearXNGAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, real)

    with Real() as api:
        said = await ask(api)  # type: ignore[arg-type]
    assert [(result.url, result.kind) for result in said.results] == [
        ("https://example.test/searx", "web"),
        ("https://example.com/cats", "image"),
    ]
    assert dict(said.failed).keys() == {"google", "brave"}
