"""Wikipedia: languages, titles as URLs, errors in a 200."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.wikipedia import Wikipedia
from jupyter_webresearch.search.question import Question
from tests.search.providers.wikipedia_api import WikipediaAPI


async def ask(api: WikipediaAPI, question: Question, values: dict[str, str] | None = None) -> ProviderAnswer:
    return await Wikipedia(values or {}).ask(question, api.service())


async def test_articles_become_results() -> None:
    with WikipediaAPI() as api:
        answer = await ask(api, Question("python", limit=3))
    first, second, third = answer.results
    assert first.title == "Python (programming language)"
    assert first.url == "https://en.wikipedia.org/wiki/Python_(programming_language)"
    assert first.snippet == "Python is a high-level & general-purpose language"
    assert (first.position, first.kind, first.container) == (1, "web", "Wikipedia")
    assert first.published == ""
    assert first.details == {
        "changed": "2026-03-25T15:46:00Z",
        "language": "en",
        "words": "11448",
        "page": "23862",
    }
    assert first.raw["pageid"] == 23862
    assert second.url == "https://en.wikipedia.org/wiki/C%2B%2B"
    assert second.snippet == "C++ <T>"
    assert third.url == "https://en.wikipedia.org/wiki/AC/DC:_Was_ist_das%3F_Gro%C3%9Fe_Hits"
    assert answer.total == 6045
    assert answer.warnings == ()


async def test_it_is_asked_for_as_many_as_are_wanted_and_by_name() -> None:
    with WikipediaAPI() as api:
        answer = await ask(api, Question("python", limit=2))
    assert len(answer.results) == 2
    assert api.asked[0].parameter("srlimit") == "2"
    assert api.asked[0].parameter("maxlag") is None
    assert "JupyterWebResearch" in api.asked[0].headers["user-agent"]


@pytest.mark.parametrize(
    ("value", "host"),
    [("", "en"), ("de", "de"), (" PT ", "pt"), ("zh-min-nan", "zh-min-nan"), ("simple", "simple")],
)
def test_the_language_is_the_host(value: str, host: str) -> None:
    provider = Wikipedia({"WIKIPEDIA_LANGUAGE": value})
    assert provider.base_url == f"https://{host}.wikipedia.org"
    assert provider.is_available()


@pytest.mark.parametrize("value", ["evil.example/", "en.", "a", "../x", "en@b", "english language"])
def test_what_names_no_language_is_not_made_a_host(value: str) -> None:
    provider = Wikipedia({"WIKIPEDIA_LANGUAGE": value})
    assert provider.base_url == ""
    assert not provider.is_available()
    assert "WIKIPEDIA_LANGUAGE" in provider.missing()[0]


async def test_results_are_of_the_languages_own_host() -> None:
    with WikipediaAPI() as api:
        answer = await ask(api, Question("python", site="wikipedia.org"), {"WIKIPEDIA_LANGUAGE": "de"})
    assert answer.results[0].url == "https://de.wikipedia.org/wiki/Python_(programming_language)"
    assert answer.results[0].details["language"] == "de"


async def test_another_site_is_not_searched_here() -> None:
    with WikipediaAPI() as api:
        answer = await ask(api, Question("python", site="python.org"))
    assert answer.results == ()
    assert "en.wikipedia.org" in answer.warnings[0]
    assert api.asked == []


async def test_that_dates_are_not_heeded_is_said() -> None:
    with WikipediaAPI() as api:
        answer = await ask(api, Question("python", since=date(2026, 1, 1)))
    assert len(answer.results) == 3
    assert "not asked for recent" in answer.warnings[0]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ratelimited", "rate_limited"),
        ("maxlag", "unreachable"),
        ("internal_api_error_DBQueryError", "unreachable"),
        ("search-error", "unreachable"),
        ("badvalue", "bad_request"),
        ("cirrussearch-query-too-long", "bad_request"),
    ],
)
async def test_an_error_in_a_200_is_an_error(code: str, kind: str) -> None:
    with WikipediaAPI() as api:
        api.error = (code, "said <b>so</b>")
        with pytest.raises(ProviderError) as caught:
            await ask(api, Question("python"))
    assert (caught.value.kind, caught.value.code) == (kind, code)
    assert "Wikipedia" in caught.value.message
    assert "said so" in caught.value.message


async def test_suggestions_and_rewritten_queries_are_told() -> None:
    with WikipediaAPI() as api:
        api.information = {"totalhits": 3, "suggestion": "python", "rewrittenquery": "pythons"}
        answer = await ask(api, Question("pyhton"))
    assert answer.suggestions == ("python",)
    assert answer.query_altered == "pythons"


async def test_an_article_without_a_title_is_left_out_and_said() -> None:
    with WikipediaAPI() as api:
        api.articles = [{"title": None}, {"title": ["x"]}, {"title": "Kept", "snippet": None}]
        answer = await ask(api, Question("python"))
    assert [result.title for result in answer.results] == ["Kept"]
    assert answer.results[0].snippet == ""
    assert answer.warnings == ("2 left out: without a web address",)


@pytest.mark.parametrize("name", ["info[suggestion]", "prop[size]", "prop[snippet]", "what[text]"])
async def test_recorded_answers_are_read(name: str, data_folder: Path) -> None:
    said = json.loads((data_folder / "search" / f"mediawiki_TestVcrWikiSearch.test_{name}_0.json").read_text())
    with WikipediaAPI() as api:
        api.articles = said["query"]["search"]
        answer = await ask(api, Question("python", limit=20))
    assert len(answer.results) == 10
    assert answer.results[0].url == "https://en.wikipedia.org/wiki/Python_(programming_language)"
    assert all("<" not in result.snippet for result in answer.results)
