"""Crossref: what is missing in its records, who asks, and what was retracted."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.crossref import Crossref
from jupyter_webresearch.search.question import Question
from tests.search.providers.crossref_api import WORK, CrossrefAPI

PAPERS = Question("mice", limit=3, kind="papers")


async def ask(api: CrossrefAPI, question: Question = PAPERS, **values: str) -> ProviderAnswer:
    return await Crossref(values).ask(question, api.service())


async def answered(*works: Any, question: Question = PAPERS) -> ProviderAnswer:
    with CrossrefAPI() as api:
        api.works = list(works)
        return await ask(api, question)


async def test_a_work_becomes_a_paper() -> None:
    answer = await answered(WORK)
    (paper,) = answer.results
    assert paper.url == "https://doi.org/10.1371/journal.pone.0033693"
    assert paper.title == "Methylphenidate exposure in Mice: A study"
    assert paper.snippet == "Mice & men"
    assert paper.authors == ("Shankar Sadasivan", "Gabriel García Márquez Jr.", "The Mouse Consortium")
    assert paper.container == "PLoS ONE"
    assert paper.published == "2012-03-21"
    assert paper.ids == {"doi": "10.1371/journal.pone.0033693", "issn": "1932-6203"}
    assert paper.details == {
        "type": "journal-article",
        "volume": "7",
        "issue": "3",
        "pages": "e33693",
        "publisher": "Public Library of Science (PLoS)",
        "cited_by": "72",
        "family_names": "Sadasivan; García Márquez; The Mouse Consortium",
    }
    assert (paper.kind, paper.score, paper.retracted) == ("paper", 11.04, False)
    assert (paper.open_access, paper.pdf_url) == (True, "https://dx.plos.org/x.pdf")
    assert paper.raw["DOI"] == WORK["DOI"]
    assert answer.total == 586628


async def test_what_is_asked() -> None:
    with CrossrefAPI() as api:
        await ask(api, Question("mice & men", limit=2, kind="papers", since=date(2020, 5, 1)))
    assert api.asked[0].query == (
        ("query.bibliographic", "mice & men"),
        ("rows", "7"),
        ("filter", "from-pub-date:2020-05-01"),
    )


async def test_an_address_is_told_where_one_is_set() -> None:
    with CrossrefAPI() as api:
        await ask(api)
        await ask(api, CROSSREF_MAILTO="ada@example.org")
        answer = await ask(api, CROSSREF_MAILTO="no address (at all)")
    without, polite, faulty = (asked.headers["user-agent"] for asked in api.asked)
    assert "mailto" not in without
    assert "mailto:ada@example.org" in polite
    assert polite.startswith("JupyterWebResearch/")
    assert "mailto" not in faulty
    assert "CROSSREF_MAILTO is no e-mail address" in answer.warnings[0]
    assert all("mailto" not in dict(asked.query) for asked in api.asked)


@pytest.mark.parametrize("title", [{}, {"title": []}, {"title": None}, {"title": [""]}, {"title": [None]}])
async def test_a_work_without_a_title_is_shown_by_its_doi(title: dict[str, Any]) -> None:
    answer = await answered({"DOI": "10.5555/12345678", "type": "journal-article", **title})
    (paper,) = answer.results
    assert paper.title == "doi:10.5555/12345678"
    assert paper.authors == ()
    assert paper.open_access is None


async def test_another_title_stands_in() -> None:
    answer = await answered({"DOI": "10.5555/1", "title": [], "original-title": ["Über Mäuse"]})
    assert answer.results[0].title == "Über Mäuse"


@pytest.mark.parametrize(
    ("dates", "published"),
    [
        ({"issued": {"date-parts": [[None]]}}, ""),
        ({"issued": {"date-parts": [[]]}}, ""),
        ({"issued": {"date-parts": []}}, ""),
        ({"issued": None}, ""),
        ({"issued": {"date-parts": [[2024]]}}, "2024"),
        ({"issued": {"date-parts": [[2024, 5]]}}, "2024-05"),
        ({"issued": {"date-parts": [[2024, 5, 1]]}}, "2024-05-01"),
        ({"issued": {"date-parts": [[2024, 13, 1]]}}, "2024"),
        ({"issued": {"date-parts": [["2024"]]}}, ""),
        ({"issued": {"date-parts": [[None]]}, "published-print": {"date-parts": [[1999]]}}, "1999"),
    ],
)
async def test_dates_are_as_precise_as_known(dates: dict[str, Any], published: str) -> None:
    answer = await answered({"DOI": "10.5555/1", "title": ["T"], **dates})
    assert answer.results[0].published == published


async def test_components_are_left_out_and_others_take_their_place() -> None:
    component = {"DOI": "10.5555/1.fig", "type": "component", "title": ["Figure 1"]}
    answer = await answered(component, component, WORK, component, {"DOI": "10.5555/2", "title": ["Second"]}, WORK)
    assert [paper.ids["doi"][:8] for paper in answer.results] == ["10.1371/", "10.5555/", "10.1371/"]
    assert [paper.position for paper in answer.results] == [1, 2, 3]


@pytest.mark.parametrize(
    "mark",
    [
        {"updated-by": [{"DOI": "10.5555/n", "type": "retraction", "source": "retraction-watch"}]},
        {"updated-by": [{"DOI": "10.5555/n", "type": "correction"}, {"DOI": "10.5555/m", "type": "withdrawal"}]},
        {"relation": {"is-retracted-by": [{"id": "10.5555/n", "id-type": "doi"}]}},
        {"update-to": [{"DOI": "10.5555/1", "type": "retraction"}]},
        {"title": ["RETRACTED: Mice and men"]},
        {"title": ["[Retracted article] Mice"]},
        {"title": ["Withdrawn: Mice"]},
    ],
)
async def test_a_retracted_work_is_marked(mark: dict[str, Any]) -> None:
    answer = await answered({"DOI": "10.5555/1", "title": ["Mice"], **mark})
    assert answer.results[0].retracted


async def test_a_notice_is_not_itself_retracted_but_marks_what_it_is_about() -> None:
    notice = {
        "DOI": "10.5555/n",
        "title": ["Retraction: Mice"],
        "update-to": [{"DOI": "10.5555/1", "type": "retraction", "label": "Retraction"}],
    }
    answer = await answered(notice, {"DOI": "10.5555/1", "title": ["Mice"]}, {"DOI": "10.5555/2", "title": ["Men"]})
    assert [paper.retracted for paper in answer.results] == [False, True, False]
    assert answer.results[0].details["updates"] == "retraction of 10.5555/1"


@pytest.mark.parametrize(
    "mark",
    [
        {"updated-by": [{"DOI": "10.5555/c", "type": "correction"}]},
        {"updated-by": [{"DOI": "10.5555/c", "type": "expression_of_concern"}]},
        {"relation": {"is-preprint-of": [{"id": "10.5555/c"}]}},
        {"update-to": [{"DOI": "10.5555/c", "type": "erratum"}]},
        {"title": ["Retracted potential in neurons"]},
        {"updated-by": None, "update-to": "retraction", "relation": []},
    ],
)
async def test_what_is_corrected_is_not_retracted(mark: dict[str, Any]) -> None:
    answer = await answered({"DOI": "10.5555/1", "title": ["Mice"], **mark})
    assert not answer.results[0].retracted


async def test_corrections_are_told() -> None:
    answer = await answered({**WORK, "updated-by": [{"DOI": "10.5555/C", "type": "expression_of_concern"}]})
    assert answer.results[0].details["updated_by"] == "expression of concern in 10.5555/c"


@pytest.mark.parametrize(
    "licences",
    [
        [],
        None,
        [{"URL": "https://www.elsevier.com/tdm/userlicense/1.0/"}],
        [{**WORK["license"][0], "delay-in-days": 365}],
    ],
)
async def test_a_pdf_is_named_where_it_is_free_only(licences: Any) -> None:
    (paper,) = (await answered({**WORK, "license": licences})).results
    assert (paper.open_access, paper.pdf_url) == (None, "")


async def test_odd_dois_make_whole_urls() -> None:
    odd = "10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O#x"
    (paper,) = (await answered({"DOI": odd, "title": ["T"]})).results
    assert paper.ids["doi"] == odd.lower()
    assert paper.url == "https://doi.org/10.1002/(sici)1097-4571(199806)49:8%3C693::aid-asi4%3E3.0.co;2-o%23x"


async def test_of_a_site_the_publishers_own_pages_are_taken() -> None:
    question = Question("mice", kind="papers", site="plos.org")
    answer = await answered(WORK, {"DOI": "10.5555/1", "title": ["Elsewhere"]}, question=question)
    assert [paper.url for paper in answer.results] == [WORK["resource"]["primary"]["URL"]]
    assert answer.warnings == ("1 left out: not of plos.org",)


async def test_works_of_other_types_than_told_harm_nothing() -> None:
    strange = dict.fromkeys(WORK, 7) | {"DOI": "10.5555/1"}
    answer = await answered(None, "x", [], strange, {"title": ["no DOI, no URL"]})
    assert [paper.url for paper in answer.results] == ["https://doi.org/10.5555/1"]
    assert answer.warnings == ("1 left out: without a web address",)


async def test_what_it_refuses_is_told_in_its_words() -> None:
    with CrossrefAPI() as api, pytest.raises(ProviderError) as caught:
        await Crossref({}).ask(Question("x", limit=2000), api.service())
    assert caught.value.kind == "bad_request"
    assert caught.value.code == "integer-not-valid"
    assert "Integer specified as rows" in caught.value.message


@pytest.mark.parametrize("name", ["crossref_test_works_query", "crossref_test_works_with_one_id"])
async def test_recorded_answers_are_read(name: str, data_folder: Path) -> None:
    path = data_folder / "search" / f"{name}.yaml"
    body = yaml.safe_load(path.read_text())["interactions"][0]["response"]["body"]["string"]
    message = json.loads(gzip.decompress(body))["message"]
    works = message.get("items", [message])
    answer = await answered(*works)
    assert len(answer.results) == len(works)
    for paper in answer.results:
        assert paper.title
        assert paper.ids["doi"].startswith("10.")
        assert len(paper.published) == 10
        assert paper.container
        assert "<" not in paper.snippet
