"""OpenAlex: null objects, abstracts as an index, the allowance without a key."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.openalex import OpenAlex
from jupyter_webresearch.search.question import Question
from tests.search.providers.openalex_api import KEY, WORKS, OpenAlexAPI

PAPERS = Question("open access", limit=3, kind="papers")


async def ask(api: OpenAlexAPI, question: Question = PAPERS, **values: str) -> ProviderAnswer:
    return await OpenAlex(values).ask(question, api.service())


async def test_works_become_papers() -> None:
    with OpenAlexAPI() as api:
        answer = await ask(api)
    first, second, third = answer.results
    assert first.url == "https://doi.org/10.7717/peerj.4375"
    assert first.title == "The state of OA: a large-scale analysis"
    assert first.snippet == "Despite growing interest in interest"
    assert first.ids == {
        "doi": "10.7717/peerj.4375",
        "pmid": "29456894",
        "pmcid": "PMC5815332",
        "openalex": "W2741809807",
    }
    assert first.authors == ("Heather Piwowar", "J. Priem")
    assert (first.container, first.published) == ("PeerJ", "2018-02-13")
    assert first.details == {
        "type": "article",
        "volume": "6",
        "pages": "e4375-e4390",
        "language": "en",
        "cited_by": "1012",
    }
    assert (first.open_access, first.pdf_url, first.retracted) == (True, "https://peerj.com/articles/4375.pdf", False)
    assert second.url == "https://arxiv.org/abs/2001.00001v2"
    assert second.ids == {"arxiv": "2001.00001v2", "openalex": "W2"}
    assert (second.title, second.published, second.details["type"]) == ("A talk", "2020", "proceedings-article")
    assert (second.open_access, second.pdf_url, second.retracted) == (False, "", True)
    assert third.url == "https://openalex.org/W3"
    assert (third.authors, third.container, third.open_access, third.published) == ((), "", None, "")
    assert (answer.total, answer.cost) == (120933, 0.001)


async def test_what_is_asked() -> None:
    with OpenAlexAPI() as api:
        await ask(api, Question("sun & moon", limit=2, kind="papers", since=date(2020, 5, 1)), OPENALEX_API_KEY=KEY)
        await ask(api)
    asked = api.asked[0]
    assert [name for name, _ in asked.query] == ["search", "per_page", "select", "filter", "api_key"]
    assert asked.parameter("search") == "sun & moon"
    assert asked.parameter("per_page") == "2"
    assert asked.parameter("filter") == "from_publication_date:2020-05-01"
    assert api.asked[1].parameter("api_key") is None


async def test_the_allowance_without_a_key_is_small_and_said_so() -> None:
    assert OpenAlex({}).is_available()
    assert "without a key some 10 to 100" in OpenAlex.about.limits
    with OpenAlexAPI("quota") as api, pytest.raises(ProviderError) as caught:
        await ask(api)
    assert (caught.value.kind, caught.value.http_status) == ("quota", 429)
    assert "OPENALEX_API_KEY" in caught.value.message
    assert "https://openalex.org/settings/api" in caught.value.message
    assert len(api.asked) == 1


async def test_a_key_is_never_told() -> None:
    with OpenAlexAPI() as api, pytest.raises(ProviderError) as caught:
        await ask(api, OPENALEX_API_KEY="wr0ng-s3cret")
    assert caught.value.kind == "bad_key"
    assert "OPENALEX_API_KEY" in caught.value.message
    assert "wr0ng" not in caught.value.message
    with OpenAlexAPI("quota") as api, pytest.raises(ProviderError) as caught:
        await ask(api, OPENALEX_API_KEY=KEY)
    assert KEY not in caught.value.message


async def test_too_quick_is_a_403() -> None:
    with OpenAlexAPI("too_quick") as api, pytest.raises(ProviderError) as caught:
        await ask(api)
    assert (caught.value.kind, caught.value.http_status) == ("rate_limited", 403)


@pytest.mark.parametrize(
    ("index", "abstract"),
    [
        ({"b": [1], "a": [0, 2]}, "a b a"),
        ({"far": [10**12], "near": [-5]}, "near far"),
        ({"a": None, "b": ["0"], "c": {}, "d": [0]}, "d"),
        ({"<b>x</b>": [0]}, "x"),
        ([], ""),
        ("text", ""),
    ],
)
async def test_abstracts_are_put_in_order(index: Any, abstract: str) -> None:
    with OpenAlexAPI() as api:
        api.works = [{**WORKS[0], "abstract_inverted_index": index}]
        answer = await ask(api)
    assert answer.results[0].snippet == abstract


async def test_a_retraction_is_in_the_title_too() -> None:
    with OpenAlexAPI() as api:
        api.works = [{**WORKS[0], "title": "RETRACTED ARTICLE: Mice", "is_retracted": None}]
        answer = await ask(api)
    assert answer.results[0].retracted


async def test_works_of_other_types_than_told_harm_nothing() -> None:
    with OpenAlexAPI() as api:
        api.works = [None, *(dict.fromkeys(WORKS[0], strange) for strange in (7, "x", [None], True))]
        answer = await ask(api, Question("sun", kind="papers"))
    assert answer.results == ()
    assert answer.warnings == ("4 left out: without a web address",)
