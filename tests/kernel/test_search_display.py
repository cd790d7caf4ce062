"""What the answer to a search looks like, as text alone."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.kernel import search_display
from jupyter_webresearch.kernel.display import settings
from jupyter_webresearch.kernel.inert import CLOSE, OPEN
from jupyter_webresearch.kernel.plain_form import width
from jupyter_webresearch.kernel.search_display import mimebundle, plain_form
from jupyter_webresearch.kernel.searches import Searches
from jupyter_webresearch.search.response import Failure, Result, SearchResponse, Tally
from tests.extraction.rendered import assert_inert, render, visible
from tests.ui import hostile

WEB = Result(1, "https://www.example.org/tides", "Tides", "The sea rises and falls.", "2024-05-01T10:00:00Z")
PAPER = Result(
    2,
    "https://doi.org/10.1000/182",
    "Of tides",
    "An abstract.",
    "2023",
    kind="paper",
    authors=tuple(f"Ada {name}" for name in ("One", "Two", "Three", "Four", "Five", "Six")),
    container="Journal of Tides",
    pdf_url="https://example.org/182.pdf",
    open_access=True,
    retracted=True,
)
WIKIPEDIA, CROSSREF = (
    Tally("wikipedia", "Wikipedia", 5, 0.42, total=1234),
    Tally("crossref", "Crossref", 1, cached=True),
)
TIMEOUT = Failure("arxiv", "timeout", "it did not answer within 15 s")
ENGINE = Failure("searxng: google", "blocked", "CAPTCHA", 30.0)


def response(*results: Result, **values: Any) -> SearchResponse:
    return SearchResponse("tides", results=results, **{"answered": (WIKIPEDIA,), **values})


def shown(of: SearchResponse | Result | Searches) -> str:
    """Return the Markdown inside of the element that keeps formulas out."""
    markdown = of._repr_mimebundle_()["text/markdown"]
    assert markdown.startswith(f"{OPEN}\n\n")
    assert markdown.endswith(f"\n\n{CLOSE}")
    return markdown[len(OPEN) : -len(CLOSE)].strip()


def forms(of: SearchResponse | Result | Searches) -> tuple[str, str]:
    """Return what a reader sees of each form."""
    bundle = of._repr_mimebundle_()
    assert set(bundle) == {"text/markdown", "text/plain"}
    return visible(shown(of)), bundle["text/plain"]


# ------------------------------------------------------------------ results


def test_a_result_is_a_numbered_item_with_its_title_as_link() -> None:
    first, *rest = shown(response(WEB)).split("\n\n")[1].split("\n")
    assert first == "1. **[Tides](https://www.example.org/tides)** · www\\.example.org · 2024-05-01  "
    assert rest == ["   The sea rises and falls."]


def test_the_numbers_are_those_of_the_results() -> None:
    many = response(*(replace(WEB, number=n, url=f"https://example.org/{n}") for n in range(1, 13)))
    items = render(shown(many)).findall(".//ol/li")
    assert [item.find(".//a").get("href") for item in items] == [result.url for result in many.results]
    assert [line for line in plain_form(many).splitlines() if line.startswith("12. ")] == ["12. Tides"]
    for form in forms(many):
        assert re.search(r"\.results\[0\]\.fetch\(\)\s+of this response reads number 1\b", form)
        assert re.search(r"\.results\[11\]\s+is number 12\b", form)


def test_a_paper_has_journal_authors_and_marks() -> None:
    for form in forms(response(PAPER)):
        assert "Journal of Tides · 2023 · RETRACTED · open access" in form
        assert "Ada One, Ada Two, Ada Three, Ada Four and 2 more" in form
        assert "Ada Five" not in form
    assert "**RETRACTED**" in shown(response(PAPER))
    assert "[PDF](https://example.org/182.pdf)" in shown(response(PAPER))
    assert "   PDF https://example.org/182.pdf" in plain_form(response(PAPER))


def test_what_a_model_wrote_and_images_are_told_and_no_image_is_shown() -> None:
    result = replace(WEB, generated=True, image_url="https://cdn.example.org/cat.jpg")
    for form in forms(response(result)):
        assert "written by a model" in form
    assert "[image](https://cdn.example.org/cat.jpg)" in shown(response(result))
    assert "![" not in shown(response(result))


def test_an_unknown_openness_is_not_told() -> None:
    for form in forms(response(WEB, replace(PAPER, open_access=False, retracted=False))):
        assert "open access" not in form
        assert "RETRACTED" not in form


def test_a_snippet_has_two_lines() -> None:
    long = replace(WEB, snippet="tide " * 500)
    lines = [line for line in plain_form(response(long)).splitlines() if line.startswith("   tide")]
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert max(map(width, lines)) <= settings().columns
    wide = [line for line in plain_form(response(replace(WEB, snippet="潮" * 500))).splitlines() if "潮" in line]
    assert len(wide) == 2
    assert max(map(width, wide)) <= settings().columns
    assert len(shown(response(long))) < 700


def test_who_ranked_it_where_is_told_of_several() -> None:
    ranked = replace(WEB, ranks={"wikipedia": 1, "crossref": 3})
    for form in forms(response(ranked, answered=(WIKIPEDIA, CROSSREF))):
        assert "Wikipedia 1, Crossref 3" in form
    for form in forms(response(ranked)):
        assert "Crossref 3" not in form


def test_one_result_alone() -> None:
    for form in forms(PAPER):
        assert "Of tides" in form
        assert "RETRACTED" in form
    assert repr(PAPER) == "<Result 2 'Of tides' https://doi.org/10.1000/182>"
    assert "raw" not in repr(replace(PAPER, raw={"x": "raw"}))


# ------------------------------------------------------------------ above and below


def test_answers_and_infobox_come_first() -> None:
    found = response(
        WEB,
        answers=(("wikipedia", "Twice a day."),),
        infobox={"title": "Tide", "text": "Rise of the sea.", "url": "https://e.org/", "provider": "wikipedia"},
    )
    for form in forms(found):
        places = [form.index(part) for part in ("Wikipedia: Twice a day.", "Rise of the sea.", "The sea rises")]
        assert places == sorted(places)
    assert "**[Tide](https://e.org/)**" in shown(found)


def test_who_answered_and_who_did_not_and_why() -> None:
    found = response(
        WEB,
        answered=(WIKIPEDIA, CROSSREF),
        failed=(TIMEOUT, ENGINE),
        notes=("at most 20 results are given",),
        suggestions=("ebb", "flow"),
    )
    for form in forms(found):
        assert "Answered: Wikipedia (5 of 1,234 results in 0.4 s), Crossref (1 result from memory)" in form
        assert "No answer from arxiv: it did not answer within 15 s [timeout]" in form
        assert "No answer from google behind searxng: CAPTCHA; try again in 30 s [blocked]" in form
        assert "at most 20 results are given" in form
        assert "Other queries: ebb · flow" in form
        assert form.index("The sea rises") < form.index("Answered")


def test_nothing_found_is_said_with_advice() -> None:
    for form in forms(response(suggestions=("ebb",))):
        assert 'Nothing found for "tides"' in form
        assert "Other words may find more" in form
        assert "Other queries: ebb" in form
        assert "locked" not in form
        assert ".results" not in form


@pytest.mark.parametrize("failure", [TIMEOUT, ENGINE])
def test_nothing_from_some_and_no_answer_from_others_is_blocked(failure: Failure) -> None:
    for form in forms(response(failed=(failure,))):
        assert 'Blocked for "tides": not all who were asked could answer' in form
        assert "tells nothing of what there is" in form
        assert "othing found" not in form


def test_an_answer_without_a_page_is_not_nothing() -> None:
    for form in forms(response(answers=(("wikipedia", "42"),), kind="news", failed=(TIMEOUT,))):
        assert 'No page for "tides", news, but an answer' in form
        assert "locked for" not in form


# ------------------------------------------------------------------ inert


def hostile_texts() -> list[str]:
    return [
        *hostile.armed([*hostile.MARKUP, *hostile.MARKDOWN], "http://canary.example", "search"),
        *hostile.CONTROLS,
        *hostile.mixtures(50, seed=11),
    ]


def saying(text: str, url: str = "https://www.example.org/") -> SearchResponse:
    """Return a response in which a stranger's text stands wherever one can."""
    result = Result(
        1, url, text, text, text, kind="paper", generated=True, authors=(text, text), container=text, pdf_url=url,
        open_access=True, retracted=True, image_url=url, ranks={"one": 1, text: 2},
    )  # fmt: skip
    return SearchResponse(
        query=text,
        kind="papers",
        results=(result, replace(result, number=2, title="", container="")),
        answers=((text, text),),
        infobox={"title": text, "text": text, "url": url, "provider": text},
        suggestions=(text,),
        answered=(Tally("one", text, 1), Tally(text, text, 2, total=9)),
        failed=(Failure(text, "blocked", text, 3.0),),
        notes=(text,),
        raw={"x": text},
    )


def test_no_text_of_a_stranger_comes_alive_and_the_structure_stays_ours() -> None:
    for text in hostile_texts():
        markdown = shown(saying(text))
        assert_inert(markdown)
        root = render(markdown)
        assert len(root.findall(".//ol/li")) == 2, text
        assert {element.tag for element in root.iterdescendants()} <= {
            "p", "ol", "li", "strong", "em", "a", "br", "code",
        }  # fmt: skip
        assert_inert(shown(saying(text).results[0]))


def test_what_a_stranger_says_can_be_read() -> None:
    for text in hostile.armed([*hostile.MARKUP, *hostile.MARKDOWN], "http://canary.example", "search"):
        line = " ".join(text.split())
        if len(line) < 150:
            assert line in " ".join(visible(shown(response(replace(WEB, title=text)))).split())


@pytest.mark.parametrize(
    "url",
    [
        *hostile.armed(hostile.LINKS, "http://canary.example", "links"),
        "http://[",
        "",
        "not a url",
        "https://e.org/\n[x](javascript:1)",
    ],
)
def test_no_url_leads_anywhere_else(url: str) -> None:
    found = saying("text", url)
    assert_inert(shown(found))
    for link in render(shown(found)).iter("a"):
        assert re.match("https?://|mailto:", link.get("href"))
    assert "\n[x]" not in plain_form(found)


def test_a_terminal_is_commanded_by_nobody() -> None:
    for text in hostile.CONTROLS:
        for of in (saying(text), saying("x", f"https://e.org/{text}")):
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", plain_form(of))
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", repr(of.results[0]))


# ------------------------------------------------------------------ many


def test_many_are_a_table_with_failures_in_their_places() -> None:
    outcomes: list[SearchResponse | WebResearchError] = [
        response(WEB), response(), response(failed=(TIMEOUT,)), Failed("search_failed", "one: it is down"),
    ]  # fmt: skip
    many = Searches(["a", "b", "c", "d"], outcomes)
    assert [type(outcome) for outcome in many.responses] == [SearchResponse] * 3
    assert list(many.errors) == ["d"]
    for form in forms(many):
        assert "3 of 4 queries answered, 1 not" in form
        assert "www.example.org" in shown(many)
        for said in ("1 result", "nothing found", "blocked", "search_failed", "one: it is down", "Tides"):
            assert said in form
    rows = render(shown(many)).findall(".//tbody/tr")
    assert [row[0].text for row in rows] == ["0", "1", "2", "3"]


def test_many_are_inert() -> None:
    for text in hostile_texts():
        many = Searches([text, text], [saying(text), Failed("search_failed", text)])
        assert_inert(shown(many))
        assert len(render(shown(many)).findall(".//tbody/tr")) == 2, text


def test_every_mark_of_the_state_has_its_advice() -> None:
    assert set(search_display._ADVICE) == {
        search_display.state_of(r) for r in (response(), response(failed=(TIMEOUT,)))
    }
    assert mimebundle(response(WEB))["text/plain"] == repr(response(WEB))
