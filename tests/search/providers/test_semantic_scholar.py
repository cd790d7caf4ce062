"""Semantic Scholar: the shared allowance, nulls everywhere, nothing found without a list."""

from __future__ import annotations

from datetime import date

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.semantic_scholar import SemanticScholar
from jupyter_webresearch.search.question import Question
from tests.search.providers.semantic_scholar_api import KEY, SemanticScholarAPI

PAPERS = Question("literature graph", limit=3, kind="papers")


async def ask(api: SemanticScholarAPI, question: Question = PAPERS, **values: str) -> ProviderAnswer:
    return await SemanticScholar(values).ask(question, api.service())


async def test_papers() -> None:
    with SemanticScholarAPI() as api:
        answer = await ask(api)
    first, second, third = answer.results
    assert first.url == "https://doi.org/10.18653/v1/2020.acl-main.447"
    assert first.title == "Construction of the Literature Graph"
    assert first.snippet == "We describe a deployed system."
    assert first.ids == {
        "doi": "10.18653/v1/2020.acl-main.447",
        "arxiv": "1911.02782",
        "pmid": "15335600",
        "pmcid": "PMC123456",
        "s2": "649def34f8be52c8b66281af98ae884c09aef38b",
    }
    assert first.authors == ("Oren Etzioni", "D. Downey")
    assert (first.container, first.published) == ("IETE Technical Review", "2020-04-21")
    assert first.details == {"type": "JournalArticle", "volume": "40", "pages": "116 - 135", "cited_by": "453"}
    assert (first.open_access, first.pdf_url) == (True, "https://www.aclweb.org/anthology/2020.pdf")
    assert second.url == "https://arxiv.org/abs/hep-th/9901001"
    assert (second.published, second.snippet, second.pdf_url, second.container) == ("1999", "", "", "")
    assert (second.open_access, second.retracted) == (False, True)
    assert third.url == "https://www.semanticscholar.org/paper/c0"
    assert (third.published, third.open_access, third.authors, third.ids) == ("", None, (), {"s2": "c0"})
    assert answer.total == 15117


async def test_what_is_asked() -> None:
    with SemanticScholarAPI() as api:
        await ask(api, Question("sun", limit=2, kind="papers", since=date(2020, 5, 1)), S2_API_KEY=KEY)
    asked = api.asked[0]
    assert [name for name, _ in asked.query] == ["query", "fields", "limit", "publicationDateOrYear"]
    assert asked.parameter("limit") == "2"
    assert asked.parameter("publicationDateOrYear") == "2020-05-01:"
    assert asked.headers["x-api-key"] == KEY


async def test_without_a_key_the_allowance_of_all_is_used_up() -> None:
    with SemanticScholarAPI("quota") as api:
        with pytest.raises(ProviderError) as caught:
            await ask(api)
        assert (await ask(api, SEMANTIC_SCHOLAR_API_KEY=KEY)).results
    assert (caught.value.kind, caught.value.http_status) == ("rate_limited", 429)
    assert "share one allowance" in caught.value.message
    assert "SEMANTIC_SCHOLAR_API_KEY" in caught.value.message
    assert "https://www.semanticscholar.org/product/api" in caught.value.message
    assert "x-api-key" not in api.asked[0].headers


async def test_a_wrong_key_is_named_by_its_variable_and_not_told() -> None:
    with SemanticScholarAPI() as api, pytest.raises(ProviderError) as caught:
        await ask(api, S2_API_KEY="wr0ng-s3cret")
    assert (caught.value.kind, caught.value.http_status) == ("bad_key", 403)
    assert "S2_API_KEY" in caught.value.message
    assert "wr0ng" not in caught.value.message


async def test_what_it_refuses_is_told_in_its_words() -> None:
    with SemanticScholarAPI() as api, pytest.raises(ProviderError) as caught:
        await ask(api, Question("sun", limit=101, kind="papers"))
    assert caught.value.kind == "bad_request"
    assert "limit beyond 100" in caught.value.message


async def test_of_a_site_its_own_pages_are_taken() -> None:
    with SemanticScholarAPI() as api:
        answer = await ask(api, Question("sun", kind="papers", site="arxiv.org"))
    assert [paper.url for paper in answer.results] == [
        "https://arxiv.org/abs/1911.02782",
        "https://arxiv.org/abs/hep-th/9901001",
    ]


async def test_papers_of_other_types_than_told_harm_nothing() -> None:
    with SemanticScholarAPI() as api:
        api.papers = [None, 3, dict.fromkeys(("title", "authors", "journal", "externalIds", "year"), 7)]
        answer = await ask(api)
    assert answer.results == ()
    assert answer.warnings == ("1 left out: without a web address",)
