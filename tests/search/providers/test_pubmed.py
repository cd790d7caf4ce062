"""PubMed: three utilities, errors in a 200, a key that is never told."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.pace import Pace
from jupyter_webresearch.search.providers.pubmed import PubMed
from jupyter_webresearch.search.question import Question
from tests.search.local_api import Asked, Said
from tests.search.providers.pubmed_api import KEY, SUMMARIES, PubMedAPI

PAPERS = Question("coli", limit=2, kind="papers")


async def ask(api: PubMedAPI, question: Question = PAPERS, **values: str) -> ProviderAnswer:
    return await PubMed(values, pace=Pace(0.0)).ask(question, api.service())


async def test_summaries_become_papers() -> None:
    with PubMedAPI() as api:
        answer = await ask(api)
    first, second = answer.results
    assert first.url == "https://pubmed.ncbi.nlm.nih.gov/37096423/"
    assert first.title == "Role of E. coli & others (p < 0.05)"
    assert first.snippet == "BACKGROUND: Effect of E. coli on H2O. RESULTS: None."
    assert first.authors == ("JA van der Berg", "M O'Neil-Smith Jr", "WHO Study Group", "Plato")
    assert first.container == "The New England journal of medicine"
    assert first.published == "2023-04-05"
    assert first.ids == {"pmid": "37096423", "doi": "10.1056/nejmoa1", "pmcid": "PMC10123456"}
    assert first.details == {
        "type": "Journal Article",
        "volume": "388",
        "issue": "16",
        "pages": "1501-11",
        "family_names": "van der Berg; O'Neil-Smith; WHO Study Group; Plato",
    }
    assert (first.open_access, first.retracted) == (True, False)
    assert first.pdf_url == "https://pmc.ncbi.nlm.nih.gov/articles/PMC10123456/pdf/"
    assert second.retracted
    assert (second.published, second.snippet) == ("1998-02", "")
    assert (second.open_access, second.pdf_url, second.ids["pmcid"]) == (None, "", "PMC1")
    assert answer.total == 2
    assert answer.warnings == ()


async def test_what_is_asked() -> None:
    with PubMedAPI() as api:
        await ask(api, Question("coli", limit=1, kind="papers", since=date(2020, 5, 1)), NCBI_EMAIL="a@example.org")
    search, summary, fetch = api.asked
    assert (search.path, summary.path, fetch.path) == ("/esearch.fcgi", "/esummary.fcgi", "/efetch.fcgi")
    query = dict(search.query)
    assert query.pop("tool").startswith("jupyter-webresearch-")
    assert query == {
        "db": "pubmed",
        "term": "coli",
        "retmax": "1",
        "sort": "relevance",
        "datetype": "pdat",
        "mindate": "2020/05/01",
        "maxdate": "3000",
        "retmode": "json",
        "email": "a@example.org",
    }
    assert summary.parameter("id") == "37096423"
    assert fetch.parameter("retmode") == "xml"


async def test_nothing_found_asks_for_no_summaries() -> None:
    with PubMedAPI("empty") as api:
        answer = await ask(api)
    assert answer.results == ()
    assert answer.warnings == ("PubMed does not know: qwxyz",)
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": "API rate limit exceeded", "api-key": KEY, "count": "11", "limit": "10"}, "rate_limited"),
        ({"error": "API key invalid", "api-key": KEY}, "bad_key"),
        ({"error": "error forwarding request", "api-key": KEY}, "bad_request"),
        ({"error": "/lbsm/eutils_lb -> Neg", "api-key": KEY, "type": "ip"}, "unreachable"),
        ({"esearchresult": {"ERROR": "Search Backend failed: timeout"}}, "unreachable"),
        ({"esearchresult": {"ERROR": "Invalid db name specified: x"}}, "bad_request"),
    ],
)
async def test_an_error_in_a_200_is_an_error(body: dict[str, Any], kind: str) -> None:
    with PubMedAPI() as api:
        api.said_200 = body
        with pytest.raises(ProviderError) as caught:
            await ask(api, NCBI_API_KEY=KEY)
    assert (caught.value.kind, caught.value.http_status) == (kind, 200)
    assert "PubMed" in caught.value.message
    assert KEY not in caught.value.message


@pytest.mark.parametrize(
    ("mode", "key", "kind"),
    [("ok", "s3cret-0f-mine", "bad_key"), ("bad_key", KEY, "bad_key"), ("quota", KEY, "rate_limited")],
)
async def test_a_key_is_never_told(mode: str, key: str, kind: str) -> None:
    with PubMedAPI(mode) as api, pytest.raises(ProviderError) as caught:
        await ask(api, NCBI_API_KEY=key)
    assert api.asked[0].parameter("api_key") == key
    assert key not in repr(caught.value) + caught.value.message + caught.value.code
    assert caught.value.kind == kind


async def test_an_answer_holds_no_key() -> None:
    with PubMedAPI() as api:
        answer = await ask(api, NCBI_API_KEY=KEY)
    assert api.asked[0].parameter("api_key") == KEY
    assert KEY not in repr(answer)


async def test_a_service_that_is_not_there_is_told_without_the_key() -> None:
    with PubMedAPI() as api:
        service = api.service()
    with pytest.raises(ProviderError) as caught:
        await PubMed({"NCBI_API_KEY": KEY}).ask(PAPERS, service)
    assert caught.value.kind == "unreachable"
    assert KEY not in caught.value.message


def test_a_key_makes_it_quicker() -> None:
    assert PubMed({})._pace._interval == 0.34
    assert PubMed({"NCBI_API_KEY": KEY})._pace._interval == 0.1


async def test_results_are_told_without_abstracts() -> None:
    with PubMedAPI() as api:
        api.broken = "efetch"
        answer = await ask(api)
    assert [paper.snippet for paper in answer.results] == ["", ""]
    assert answer.warnings == ("PubMed did not give the abstracts in time",)


async def test_abstracts_are_not_waited_for_long() -> None:
    class Late(PubMedAPI):
        def answer(self, asked: Asked) -> Said:
            if asked.path == "/efetch.fcgi":
                self.released.wait(60)
            return super().answer(asked)

    with Late() as api:
        answer = await PubMed({}, pace=Pace(0.0), abstracts_within=0.2).ask(PAPERS, api.service())
    assert len(answer.results) == 2
    assert answer.warnings == ("PubMed did not give the abstracts in time",)


async def test_without_summaries_there_is_no_answer() -> None:
    with PubMedAPI() as api:
        api.broken = "esummary"
        with pytest.raises(ProviderError) as caught:
            await ask(api)
    assert caught.value.kind == "unreachable"


async def test_a_paper_without_a_summary_is_left_out_and_said() -> None:
    with PubMedAPI() as api:
        api.searched = {"count": "3", "idlist": ["37096423", "999", "javascript:1"]}
        answer = await ask(api, Question("coli", kind="papers"))
    assert [paper.ids["pmid"] for paper in answer.results] == ["37096423"]
    assert answer.warnings == ("1 left out: PubMed has no summary",)


@pytest.mark.parametrize(
    ("sent", "published"),
    [
        ({"pubdate": "2024"}, "2024"),
        ({"pubdate": "2024 Spring"}, "2024"),
        ({"pubdate": "2024 May"}, "2024-05"),
        ({"pubdate": "2024 May-Jun"}, "2024-05"),
        ({"pubdate": "2024 Dec 15-31"}, "2024-12-15"),
        ({"pubdate": "", "epubdate": "2023 Nov 2"}, "2023-11-02"),
        ({"pubdate": "", "epubdate": "", "sortpubdate": "2022/01/01 00:00"}, "2022"),
        ({"pubdate": None, "epubdate": 3, "sortpubdate": None}, ""),
    ],
)
async def test_dates_are_as_precise_as_known(sent: dict[str, Any], published: str) -> None:
    with PubMedAPI() as api:
        api.summaries = {"1": {**SUMMARIES["37096423"], **sent}}
        answer = await ask(api)
    assert answer.results[0].published == published


async def test_another_site_is_not_searched_here() -> None:
    with PubMedAPI() as api:
        answer = await ask(api, Question("coli", kind="papers", site="example.org"))
        assert api.asked == []
        assert (await ask(api, Question("coli", kind="papers", site="nih.gov"))).results
    assert "pubmed.ncbi.nlm.nih.gov only" in answer.warnings[0]


async def test_summaries_of_other_types_than_told_harm_nothing() -> None:
    with PubMedAPI() as api:
        api.summaries = {"1": dict.fromkeys(SUMMARIES["37096423"], 7), "2": dict.fromkeys(SUMMARIES["37096423"])}
        answer = await ask(api)
    assert [paper.title for paper in answer.results] == ["PMID 1", "PMID 2"]
