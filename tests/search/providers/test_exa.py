"""Exa: camel case, nothing cut by default, and contents whose statuses are told by URL."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.search.answer import Extract, ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.exa import Exa
from jupyter_webresearch.search.question import Question
from tests.search.local_api import Asked, Said
from tests.search.providers.exa_api import KEY, SEARCH, ExaAPI

KEYED = {"EXA_API_KEY": KEY}


async def ask(api: ExaAPI, **options: Any) -> ProviderAnswer:
    return await Exa(KEYED).ask(Question("cats", **options), api.service())


async def read(api: ExaAPI, *urls: str, **options: Any) -> list[Extract]:
    return await Exa(KEYED).read(urls, api.service(), **options)


async def test_results_are_plain_and_have_a_link() -> None:
    with ExaAPI() as api:
        said = await ask(api)
        (asked,) = api.asked
    assert asked.headers["x-api-key"] == KEY
    assert asked.json == {"query": "cats", "type": "auto", "numResults": 8, "contents": {"highlights": True}}
    first, second = said.results
    assert (first.url, first.title) == ("https://arxiv.org/pdf/2307.06435.pdf", "Large & small models")
    assert first.snippet == "Such requirements have limited … their adoption."
    assert first.published.startswith("2023-11-16T01:36:32")
    assert (first.authors, first.score) == (("Humza Naveed, Lahore",), 0.46)
    assert (second.title, second.snippet, second.published) == ("", "Two.", "")
    assert (said.cost, said.request_id) == (0.007, "b5947044")
    assert said.warnings == ("1 left out: without a web address",)
    assert said.raw == SEARCH


async def test_options_go_into_fields_of_their_own() -> None:
    with ExaAPI() as api:
        said = await ask(api, kind="papers", since=date(2023, 2, 9), site="arxiv.org")
        await ask(api, kind="news")
        sent, news = (asked.json for asked in api.asked)
    assert (sent["category"], sent["includeDomains"]) == ("research paper", ["arxiv.org"])
    assert sent["startPublishedDate"] == "2023-02-09T00:00:00.000Z"
    assert news["category"] == "news"
    assert said.results[0].kind == "paper"


@pytest.mark.parametrize(("mode", "tag"), [("quota", "NO_MORE_CREDITS"), ("budget", "API_KEY_BUDGET_EXCEEDED")])
async def test_credits_and_budgets_that_are_used_up_are_quota(mode: str, tag: str) -> None:
    with ExaAPI(mode) as api, pytest.raises(ProviderError) as caught:
        await ask(api)
    assert (caught.value.kind, caught.value.code, caught.value.http_status) == ("quota", tag, 402)


async def test_pages_and_their_faults_are_found_by_id_never_by_their_place() -> None:
    with ExaAPI() as api:
        api.results = [
            {"id": "https://example.test/c", "url": "https://www.example.test/c", "title": "C", "text": "x" * 20_000},
            {"id": "https://example.test/a", "url": "https://example.test/a", "title": "The <b>A</b>", "text": "A"},
        ]
        api.statuses = [
            {"id": "https://example.test/c", "status": "success", "source": "cached"},
            {
                "id": "https://example.test/b",
                "status": "error",
                "error": {"tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404},
            },
            {"id": "https://example.test/a", "status": "success", "source": "crawled"},
            {
                "id": "https://example.test/d",
                "status": "error",
                "error": {"tag": "CRAWL_HTTP_451", "httpStatusCode": 451},
            },
            {"id": "https://example.test/e", "status": "error", "error": {"tag": "NEW_TAG", "httpStatusCode": None}},
        ]
        a, b, c, d, e, f = await read(api, *(f"https://example.test/{name}" for name in "abcdef"))
        sent = api.asked[0].json
    # What the vendor's own client adds, a number of characters, would cut pages in silence.
    assert sent == {"urls": [f"https://example.test/{name}" for name in "abcdef"], "text": True}
    assert (a.title, a.markdown, a.error) == ("The A", "A", "")
    assert "no such page" in b.error
    assert (len(c.markdown), c.url) == (20_000, "https://example.test/c")
    assert c.metadata["final_url"] == "https://www.example.test/c"
    assert "status 451" in d.error
    assert "NEW_TAG" in e.error
    assert "nothing of this page" in f.error


async def test_a_crawl_reads_the_pages_below() -> None:
    with ExaAPI() as api:
        below = [{"id": f"https://example.test/{n}", "url": f"https://example.test/{n}", "text": n} for n in "bcd"]
        api.results = [
            {
                "id": "https://example.test/",
                "url": "https://example.test/",
                "text": "Home",
                "subpages": [*below, {"url": "file:///etc/passwd", "text": "?"}],
            }
        ]
        got = await read(api, "https://example.test/", mode="crawl", max_pages=3)
        assert api.asked[0].json["subpages"] == 2
    assert [page.url for page in got] == [f"https://example.test/{name}" for name in ("", "b", "c")]


async def test_one_batch_that_fails_does_not_fail_the_others() -> None:
    class Half(ExaAPI):
        def answer(self, asked: Asked) -> Said:
            if "https://example.test/0" in asked.json["urls"]:
                return Said(500, {"error": "broken", "tag": "INTERNAL_ERROR"})
            return super().answer(asked)

    urls = [f"https://example.test/{number}" for number in range(21)]
    with Half() as api:
        api.results = [{"id": url, "url": url, "text": "x"} for url in urls]
        got = await read(api, *urls)
    assert [page.url for page in got] == urls
    assert [bool(page.error) for page in got] == [True] * 20 + [False]
    assert "out of order" in got[0].error


async def test_contents_without_their_list_are_a_fault() -> None:
    with ExaAPI("missing_list") as api, pytest.raises(ProviderError) as caught:
        await read(api, "https://example.test/a")
    assert caught.value.kind == "bad_payload"


async def test_a_real_answer(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = json.loads((data_folder / "search" / "exa_search.json").read_text("utf-8"))
    monkeypatch.setattr("tests.search.providers.exa_api.SEARCH", real)
    with ExaAPI() as api:
        said = await ask(api)
    assert said.results[0].title == "A Comprehensive Overview of Large Language Models"
    assert said.cost == 0.005
