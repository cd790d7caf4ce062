"""Parallel: keywords that are required, settings that are nested, and excerpts."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.search.answer import Extract, ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.parallel import Parallel
from jupyter_webresearch.search.question import Question
from tests.search.local_api import Said
from tests.search.providers.parallel_api import KEY, SEARCH, ParallelAPI

KEYED = {"PARALLEL_API_KEY": KEY}


async def ask(api: ParallelAPI, query: str = "cats", mode: str = "", **options: Any) -> ProviderAnswer:
    return await Parallel(KEYED | {"PARALLEL_SEARCH_MODE": mode}).ask(Question(query, **options), api.service())


async def read(api: ParallelAPI, *urls: str, **options: Any) -> list[Extract]:
    return await Parallel(KEYED).read(urls, api.service(), **options)


async def test_results_are_plain_and_have_a_link() -> None:
    with ParallelAPI() as api:
        said = await ask(api)
        (asked,) = api.asked
    assert asked.headers["x-api-key"] == KEY
    assert asked.json == {"search_queries": ["cats"], "advanced_settings": {"max_results": 8}}
    first, second = said.results
    assert (first.title, first.published) == ("Renewables 2025 & more", "2025-10-08")
    assert first.snippet == "Additions reached 666 GW. … Solar PV led."
    assert (second.title, second.published, second.snippet) == ("", "", "Share.")
    assert said.request_id == "search_cad0"
    assert said.warnings == ("max_results clamped to 10", "1 left out: without a web address")
    assert said.raw == SEARCH


async def test_options_go_into_the_source_policy() -> None:
    with ParallelAPI() as api:
        await ask(api, mode="turbo", since=date(2024, 2, 9), site="iea.org")
        sent = api.asked[0].json
    assert sent["mode"] == "turbo"
    policy = {"include_domains": ["iea.org"], "after_date": "2024-02-09"}
    assert sent["advanced_settings"] == {"max_results": 8, "source_policy": policy}


async def test_a_mode_that_there_is_not_is_said_before_anything_is_sent() -> None:
    with ParallelAPI() as api:
        with pytest.raises(ProviderError, match="PARALLEL_SEARCH_MODE is to be one of turbo"):
            await ask(api, mode="slow")
        assert not api.asked


@pytest.mark.parametrize("query", ["why do cats purr " * 20, "x" * 500])
async def test_a_long_question_is_an_objective_and_keywords(query: str) -> None:
    query = query.strip()
    with ParallelAPI() as api:
        await ask(api, query)
        sent = api.asked[0].json
    assert sent["objective"] == query
    (keywords,) = sent["search_queries"]
    assert query.startswith(keywords)
    assert 100 < len(keywords) <= 200


async def test_the_body_of_an_error_is_read() -> None:
    with ParallelAPI() as api:
        with pytest.raises(ProviderError, match="not a domain") as caught:
            await ask(api, site="a/b")
        assert len(api.asked) == 1
    assert (caught.value.kind, caught.value.http_status, caught.value.code) == ("bad_request", 422, "err_9c1")


async def test_pages_are_found_by_their_url_never_by_their_place() -> None:
    with ParallelAPI() as api:
        api.results = [
            {"url": "https://example.test/c", "title": "C", "excerpts": ["One.", "Two."], "full_content": None},
            {
                "url": "https://example.test/a",
                "title": "The <b>A</b>",
                "publish_date": "2025-10-08",
                "excerpts": ["x"],
                "full_content": "# A",
            },
        ]
        api.errors = [
            {
                "url": "https://example.test/b",
                "error_type": "fetch_failed",
                "http_status_code": 403,
                "content": "Forbidden",
            },
            {"url": "https://example.test/d", "error_type": "fetch_failed", "http_status_code": None},
        ]
        a, b, c, d, e = await read(api, *(f"https://example.test/{name}" for name in "abcde"))
        sent = api.asked[0].json
    assert sent["advanced_settings"] == {"full_content": True}
    assert (a.title, a.markdown, a.metadata) == ("The A", "# A", {"published": "2025-10-08"})
    assert (b.error, b.markdown) == ("the site answered with the status 403", "")
    assert c.markdown == "One.\n\nTwo."
    assert "fetch_failed" in d.error
    assert "nothing of this page" in e.error


async def test_more_pages_than_one_request_takes() -> None:
    urls = [f"https://example.test/{number}" for number in range(21)]
    with ParallelAPI() as api:
        api.results = [{"url": url, "excerpts": [url]} for url in urls]
        got = await read(api, *urls)
        assert sorted(len(asked.json["urls"]) for asked in api.asked) == [1, 20]
    assert [page.markdown for page in got] == urls


async def test_it_does_not_crawl() -> None:
    with ParallelAPI() as api:
        with pytest.raises(ProviderError, match="does not crawl") as caught:
            await read(api, "https://example.test/", mode="crawl")
        assert not api.asked
    assert caught.value.kind == "unsupported"


async def test_real_answers(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search, extract, refused = (
        json.loads((data_folder / "search" / f"parallel_{name}.json").read_text("utf-8"))
        for name in ("search", "extract", "error")
    )
    monkeypatch.setattr("tests.search.providers.parallel_api.SEARCH", search)
    with ParallelAPI() as api:
        said = await ask(api)
        api.results, api.errors = extract["results"], extract["errors"]
        good, bad = await read(api, api.results[0]["url"], api.errors[0]["url"])
        api.answer = lambda _asked: Said(422, refused)  # type: ignore[method-assign]
        with pytest.raises(ProviderError, match="at least one query"):
            await ask(api)
    assert [result.published for result in said.results] == ["2025-10-08", ""]
    assert good.markdown.startswith("# Renewables 2025")
    assert "status 403" in bad.error
