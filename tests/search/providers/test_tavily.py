"""Tavily: its key in a header, its limits of three kinds, extraction and crawling."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from jupyter_webresearch.search.answer import Extract, ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.tavily import Tavily
from jupyter_webresearch.search.question import Question
from tests.search.providers.tavily_api import KEY, SEARCH, TavilyAPI

KEYED = {"TAVILY_API_KEY": KEY}


async def ask(api: TavilyAPI, values: dict[str, str] | None = None, **options: Any) -> ProviderAnswer:
    return await Tavily(KEYED if values is None else values).ask(Question("cats", **options), api.service())


async def read(api: TavilyAPI, *urls: str, values: dict[str, str] | None = None, **options: Any) -> list[Extract]:
    return await Tavily(KEYED if values is None else values).read(urls, api.service(), **options)


async def test_results_are_plain_and_have_a_link() -> None:
    with TavilyAPI() as api:
        said = await ask(api)
        (asked,) = api.asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert "x-tavily-access-mode" not in asked.headers
    assert asked.json == {"query": "cats", "max_results": 8, "topic": "general", "include_usage": True}
    first, second = said.results
    assert (first.url, first.title, first.snippet) == ("https://example.test/cats", "Cats & dogs", "About cats.")
    assert (first.published, first.score, first.kind) == ("2025-08-05T10:00:00+00:00", 0.93, "web")
    assert second.published == ""
    assert (said.cost, said.request_id, said.answers) == (1.0, "req-1", ())
    assert said.warnings == ("1 left out: without a web address",)
    assert said.raw == SEARCH


async def test_options_go_into_fields_of_their_own() -> None:
    with TavilyAPI() as api:
        said = await ask(api, kind="news", since=date(2024, 2, 9), site="example.test", limit=20)
        sent = api.asked[0].json
    assert (sent["topic"], sent["start_date"], sent["max_results"]) == ("news", "2024-02-09", 20)
    assert sent["include_domains"] == ["example.test"]
    assert said.results[0].kind == "news"


async def test_an_answer_of_a_model_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SEARCH, "answer", "Cats <b>purr</b>.")
    with TavilyAPI() as api:
        assert (await ask(api)).answers == ("Written by Tavily's model: Cats purr.",)


@pytest.mark.parametrize(("mode", "status"), [("quota", 432), ("pay_as_you_go", 433)])
async def test_both_limits_of_a_plan_are_quota(mode: str, status: int) -> None:
    with TavilyAPI(mode) as api:
        with pytest.raises(ProviderError) as caught:
            await ask(api)
        assert len(api.asked) == 1
    assert (caught.value.kind, caught.value.http_status) == ("quota", status)


async def test_a_query_that_is_too_long_is_said_in_its_words() -> None:
    with TavilyAPI() as api, pytest.raises(ProviderError, match="Max query length is 400") as caught:
        await Tavily(KEYED).ask(Question("cat " * 101), api.service())
    assert caught.value.kind == "bad_request"


async def test_without_a_key_it_says_so_in_a_header() -> None:
    with TavilyAPI() as api:
        said = await ask(api, {})
        api.extracted = [{"url": "https://example.test/a", "raw_content": "# A"}]
        (page,) = await read(api, "https://example.test/a", values={})
        for asked in api.asked:
            assert asked.headers["x-tavily-access-mode"] == "keyless"
            assert "authorization" not in asked.headers
    assert said.results
    assert page.markdown == "# A"
    assert Tavily({}).is_keyless_available()
    assert not Tavily({}).is_available()
    assert not Tavily({"TAVILY_BASE_URL": "https://gateway.test"}).is_keyless_available()


async def test_the_limit_without_a_key_names_the_key_and_the_wait() -> None:
    with TavilyAPI("keyless_limit") as api, pytest.raises(ProviderError, match="set TAVILY_API_KEY") as caught:
        await ask(api, {})
    assert (caught.value.kind, caught.value.code) == ("rate_limited", "keyless_limit")
    assert caught.value.retry_after == 3600
    assert "The limit without a key is reached" in caught.value.message


async def test_a_crawl_without_a_key_is_not_sent() -> None:
    with TavilyAPI() as api:
        with pytest.raises(ProviderError, match="to crawl") as caught:
            await read(api, "https://example.test/", values={}, mode="crawl")
        assert not api.asked
    assert caught.value.kind == "no_key"


async def test_pages_are_found_by_their_url_never_by_their_place() -> None:
    with TavilyAPI() as api:
        api.extracted = [
            {
                "url": "https://example.test/c",
                "raw_content": "C",
                "title": "The <b>C</b>",
                "favicon": "https://x/i.ico",
            },
            {"url": "https://EXAMPLE.test/a/", "raw_content": "A", "images": []},
            {"url": "https://example.test/e", "raw_content": ""},
        ]
        api.failed = [{"url": "https://example.test/b", "error": "Failed to fetch url"}]
        a, b, c, d, e = await read(api, *(f"https://example.test/{name}" for name in "abcde"))
        assert api.asked[0].json == {
            "urls": [f"https://example.test/{name}" for name in "abcde"],
            "format": "markdown",
        }
    assert (a.url, a.markdown, a.error) == ("https://example.test/a", "A", "")
    assert "Failed to fetch url" in b.error
    assert (c.markdown, c.title, c.metadata) == ("C", "The C", {"favicon": "https://x/i.ico"})
    assert "nothing of this page" in d.error
    assert "no text" in e.error


async def test_many_pages_are_several_requests() -> None:
    urls = [f"https://example.test/{number}" for number in range(45)]
    with TavilyAPI() as api:
        api.extracted = [{"url": url, "raw_content": url} for url in urls]
        got = await read(api, *urls, formats=("text",))
        assert sorted(len(asked.json["urls"]) for asked in api.asked) == [5, 20, 20]
        assert {asked.json["format"] for asked in api.asked} == {"text"}
    assert [page.markdown for page in got] == urls


async def test_a_crawl_stays_on_its_host_and_within_its_number() -> None:
    with TavilyAPI() as api:
        api.crawled = [
            {"url": "https://example.test/", "raw_content": "Home"},
            {"url": "mailto:x@example.test", "raw_content": "?"},
            {"url": "https://example.test/a", "raw_content": "A"},
            {"url": "https://example.test/b", "raw_content": "B"},
        ]
        got = await read(api, "https://example.test/", mode="crawl", max_pages=2)
        sent = api.asked[0].json
    assert (sent["url"], sent["limit"], sent["allow_external"]) == ("https://example.test/", 2, False)
    assert [(page.url, page.markdown) for page in got] == [
        ("https://example.test/", "Home"),
        ("https://example.test/a", "A"),
    ]


async def test_a_crawl_that_finds_nothing_says_so() -> None:
    with TavilyAPI() as api:
        (got,) = await read(api, "https://example.test/", mode="crawl")
    assert "no page" in got.error


async def test_an_extraction_without_its_list_is_a_fault() -> None:
    with TavilyAPI("missing_list") as api, pytest.raises(ProviderError) as caught:
        await read(api, "https://example.test/a")
    assert caught.value.kind == "bad_payload"
