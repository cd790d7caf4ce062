"""What a page may cost: each limit from both sides, the text at any depth, and linear time whatever the page."""

from __future__ import annotations

import pytest

from jupyter_webresearch.extraction import document
from jupyter_webresearch.extraction.document import Limits, TooLargeForArticle, extract_document
from jupyter_webresearch.extraction.flat import paragraphs_of
from jupyter_webresearch.extraction.limits import bound_source
from jupyter_webresearch.extraction.tables import CellBudget, grid_of
from jupyter_webresearch.extraction.tree import parse
from tests.growth import grows_at_most

STAGES = ("article", "page", "text")
MIB = 1024 * 1024


def extract(source, stage="page", **limits):
    return extract_document(
        source.encode(), url="https://e.example/", content_type="text/html", stage=stage, limits=Limits(**limits)
    )


@pytest.mark.parametrize(("count", "note"), [(1999, ()), (2000, ()), (2001, ("limits: elements 2,000 of 2,001",))])
def test_elements(count, note):
    source = "".join(f"<p>word{i}" for i in range(count))
    bounded, notes, _ = bound_source(source, Limits(max_elements=2000))
    assert notes == note
    assert bounded.count("<p>") == min(count, 2000)
    extraction = extract(source, max_elements=2000)
    assert extraction.limits == note
    assert "word1998" in extraction.markdown
    assert ("word2000" in extraction.markdown) is False


def test_the_number_of_elements_is_told_however_many():
    assert bound_source("<p>x" * 1_000_000, Limits())[1] == ("limits: elements 200,000 of 1,000,000",)


def test_end_tags_that_end_nothing_are_bounded_too():
    source, notes, _ = bound_source("<p>before</p>" + "</p>" * 9000, Limits(max_elements=1000))
    assert source.count("</p>") <= 4000
    assert notes


@pytest.mark.parametrize(("count", "cut"), [(499, False), (500, False), (501, True), (20_000, True)])
@pytest.mark.parametrize("form", ["a{}", "a{}=1", "a{}='>'", 'a{} = "x y"', "a{}=&gt;"])
def test_attributes(count, cut, form):
    tag = "<div " + " ".join(form.format(i) for i in range(count)) + ">"
    bounded, notes, _ = bound_source(f"{tag}kept</div>", Limits())
    assert notes == ((f"limits: attributes of one element 500 of {count:,}",) if cut else ())
    body = parse(bounded).body
    assert len(body[0].attrib) == min(count, 500)
    assert body[0].text == "kept"


TAGS = ("div", "span", "b", "ul", "blockquote", "section", "font", "table", "a", "x-y")
DEPTHS = [(depth, tag) for depth in (10, 190, 240, 1000, 3000) for tag in TAGS] + [(100_000, "div"), (100_000, "span")]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("depth", "tag"), DEPTHS)
def test_text_is_there_at_any_depth(depth, tag, stage):
    if stage == "article" and depth > 40_000:
        stage = "page"
    inner = f"<{tag}>" * depth + "<p>the deepest words</p>" + f"</{tag}>" * depth
    extraction = extract(f"<p>Some words before.</p>{inner}<p>Some words after.</p>", stage)
    for words in ("words before", "the deepest words", "words after"):
        assert words in extraction.markdown
    if stage != "text" and tag != "a":
        assert any(note.startswith("limits: nesting 200 of ") for note in extraction.limits) is (depth > 200)


def test_depth_from_both_sides():
    for depth, cut in ((197, False), (220, True)):
        notes = bound_source("<div>" * depth + "x", Limits())[1]
        assert bool(notes) is cut
    assert bound_source("<div>" * 201 + "x", Limits())[1] == ("limits: nesting 200 of 201",)
    assert bound_source("<div>" * 200 + "x", Limits())[1] == ()
    assert bound_source("<div></div>" * 300 + "<p>x" * 300 + "<li>x" * 300 + "<br>" * 300, Limits())[1] == ()


def test_what_lies_too_deep_keeps_its_words_apart_and_its_scripts_out():
    source = "<div>" * 300 + "<p>one</p><p>two</p><script>alert(1)</script><style>p{}</style><br>three"
    words = extract(source).markdown.split()
    assert words == ["one", "two", "three"]


def test_misnested_markup_is_bounded():
    for unit in ("<b><p>x", "<a href=/x>y", "<table><b>x", "<font><div>x", "<i><table><td>x", "<p><ul><li>x"):
        extraction = extract(f"<p>Some words.</p>{unit * 3000}<p>The last words.</p>")
        assert "Some words" in extraction.markdown
        assert "The last words" in extraction.markdown


@pytest.mark.parametrize(("rows", "columns", "cut"), [(9, 10, False), (10, 10, False), (11, 10, True)])
def test_cells(rows, columns, cut):
    row = "<tr>" + "".join(f"<td>c{i}" for i in range(columns))
    extraction = extract(f"<p>words</p><table>{row * rows}</table>", max_cells=100)
    table = extraction.tables[0]
    assert (len(table.rows) + 1) * len(table.header) <= 100
    assert extraction.limits == ((f"limits: cells 100 of {rows * columns}",) if cut else ())


@pytest.mark.parametrize(
    ("width", "height"),
    [(1000, 1), (1001, 1), (9007199254740991, 1), (1, 65534), (1, 65535), (1000, 65534), (0, 0), ("x", -1)],
)
def test_spans_are_clamped(width, height):
    source = f"<table><tr><td colspan='{width}' rowspan='{height}'>a<td>b<tr><td>c<tr><td>d</table>"
    grid = grid_of(parse(source).body.find("table"), CellBudget(100_000))
    assert len(grid) == 3
    assert len({len(row) for row in grid}) == 1
    assert len(grid[0]) == (1001 if str(width).isdigit() and int(width) >= 1000 else 2)


def test_a_grid_is_never_larger_than_its_budget():
    rows = "<tr><td colspan=1000 rowspan=65534>x" * 300
    budget = CellBudget(5000)
    grid = grid_of(parse(f"<table>{rows}</table>").body.find("table"), budget)
    assert sum(map(len, grid)) <= 5000
    assert budget.wanted > 5000


def test_a_long_cell_is_not_repeated_without_end():
    extraction = extract(f"<p>words</p><table><tr><th colspan=900>{'long ' * 20_000}<th>b<tr><td>c<td>d</table>")
    assert len(extraction.markdown) < 3 * MIB


# Repeated over megabytes: hostile to a scanner that goes back, nothing to a linear one.
HEAVY = {
    "paragraphs": "<p>x",
    "tags without end": "<a ",
    "quotes without end": "<a b='",
    "odd quotes": "<a b=\"'",
    "less-than": "<",
    "end tags": "</p>",
    "bare ends": "</",
    "attributes": " a=1",
    "open comments": "<!--",
    "comments": "<!---->",
    "declarations": "<!x",
    "instructions": "<?x>",
    "entities": "&amp;",
    "numbers": "&#1234567890;",
    "ampersands": "&",
    "spaces": " ",
    "newlines": "\n",
    "open scripts": "<script>",
    "scripts": "<script></script>",
    "open titles": "<title>",
    "open styles": "<style ",
    "deep": "<div>",
    "deep and closed": "<div><b></div>",
    "equals": "=",
    "equals and spaces": "<a = ",
    "slashes": "<br/////",
    "stars": "*",
    "backticks": "`",
    "brackets": "[",
    "letters": "a",
    "wide letters": "漢",
    "zero-width": "\u200b",
    "nulls": "\0",
    "cells": "<td>",
}


@pytest.mark.parametrize("name", HEAVY)
def test_the_scan_is_linear(name):
    unit = HEAVY[name]
    start = "<p>Some words.</p><div " * (name == "attributes")
    half, five = (start + unit * (size // len(unit)) for size in (MIB // 2, 5 * MIB))
    assert grows_at_most(20, lambda source: bound_source(source, Limits()), half, five)


@pytest.mark.parametrize("name", HEAVY)
def test_the_last_resort_is_linear_too(name):
    unit = HEAVY[name]
    quarter, two = ("<p>Some words.</p>" + unit * (size // len(unit)) for size in (MIB // 4, 2 * MIB))
    assert grows_at_most(16, paragraphs_of, quarter, two)


@pytest.mark.parametrize(
    "source",
    [
        "<p>words & more <b>bold</b><script>x</script>", "words", "<p title='a>b'>words</p>", "<p>words<!-- c --> x",
        "<textarea>words</textarea>", "words<script>never closed", "words<!-- never closed", "<p>words</p><p",
        "<style>x</style>words", "&#99999999999999999999;words", "&#x" + "f" * 5000 + ";words",
    ],
)  # fmt: skip
def test_the_last_resort_reads_any_source(source):
    text = "\n".join(paragraphs_of(source))
    assert "words" in text
    assert "never closed" not in text
    assert "<" not in text


@pytest.mark.parametrize(
    "source",
    ["", " ", "<p>", "<!-- x -->", "<br><hr><img>", "<script>words</script>", "<div id=root></div>", "***", "\0"],
)
@pytest.mark.parametrize("stage", STAGES)
def test_no_word_is_no_text(source, stage):
    assert extract(source, stage).markdown == ""


def test_many_siblings_are_chosen_whole():
    def book(count):
        paragraphs = "".join(
            f"<p>Paragraph number {i} has some words of the long book in it.</p>" for i in range(count)
        )
        return f"<nav><a href=/>Home</a></nav><article><h1>Book</h1>{paragraphs}</article>"

    assert grows_at_most(10, lambda source: extract(source, "article"), book(600), book(3000), floor=0.05)
    extraction = extract(book(3000), "article")
    assert extraction.extractor == "article"
    assert all(f"number {i} has" in extraction.markdown for i in range(3000))


@pytest.mark.parametrize(
    "source",
    ["<p>x" * 41_000, "<table>" + "<tr><td colspan=1000 rowspan=30>x" * 10 + "</table>"],
    ids=["elements", "spans"],
)
def test_what_is_too_large_for_the_article_says_so_before_one_is_looked_for(source, monkeypatch):
    def never(*_):
        pytest.fail("the article was looked for")

    monkeypatch.setattr(document, "select", never)
    with pytest.raises(TooLargeForArticle):
        extract("<p>Some words.</p>" + source, "article")
