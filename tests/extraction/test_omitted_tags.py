"""Markup with end tags left out or out of place: every word of it is read, whatever becomes of its structure."""

from __future__ import annotations

import random
import re

import pytest

from jupyter_webresearch.extraction.document import Limits, extract_document
from jupyter_webresearch.extraction.limits import bound_source

# "#" is a number; a letter after it tells the words of one unit apart.
OMITTED = (
    "<tr><td>w#a<td>w#b", "<tr><th>w#a<td>w#b", "<tr><td><div>w#a", "<tr><td><p>w#a<td><ul><li>w#b",
    "<tbody><tr><td>w#a", "<thead><tr><th>w#a", "<tfoot><tr><td>w#a", "<colgroup><col><tr><td>w#a",
    "<caption>w#a</caption>",
    "<dt>w#a<dd>w#b", "<dd>w#a", "<dt>w#a", "<dt><p>w#a<dd><div>w#b", "<li>w#a", "<li><p>w#a", "<li><b>w#a",
    "<li><span>w#a", "<li><div>w#a", "<p>w#a", "<p>w#a<h2>w#b", "<p><span>w#a", "<p><b>w#a", "<p><em>w#a<h3>w#b",
    "<p>w#a<section>w#b</section>", "<p>w#a<div>w#b</div>", "<p>w#a<ul><li>w#b</ul>", "<p><table><tr><td>w#a</table>",
    "<h2>w#a<h3>w#b", "<rt>w#a<rp>w#b", "<option>w#a", "<optgroup>w#a<option>w#b", "<a href=/x>w#a",
    "<a href=/x><b>w#a", "<html>w#a", "<head>w#a", "<body>w#a", "</p>w#a", "</body></html>w#a", "</li></td></b>w#a",
    "<section><div>w#a</section>", "<ul><li><ol><li>w#a</ul>",
)  # fmt: skip
NESTED = (
    "<table><tr><td>w#a", "<table>w#a<tr>w#b<td>w#c", "<ul><li>w#a", "<ul>w#a", "<dl><dt>w#a<dd>w#b", "<blockquote>w#a",
    "<div>w#a</span>", "<b>w#a<i>w#b</b>", "<font><p>w#a", "<button>w#a", "<label>w#a", "<fieldset><legend>w#a",
    "<details><summary>w#a", "<figure><figcaption>w#a", "<pre>w#a", "<article>w#a<aside>w#b<main>w#c", "<x-y>w#a",
    "<ruby>w#a<rt>w#b", "<sup>w#a", "<code>w#a", "<p>w#a<section>w#b", "<caption>w#a", "<center>w#a",
    "<menu>w#a<li>w#b",
)  # fmt: skip
AROUND = ("", "table", "ul", "dl", "table><tr><td")
WORD = re.compile(r"w\d+[a-c]")


def extract(source, stage="article"):
    return extract_document(
        source.encode(), url="https://e.example/", content_type="text/html", stage=stage, limits=Limits()
    )


def repeated(unit, count, around=""):
    inner = "".join(unit.replace("#", str(i)) for i in range(count))
    return (
        f"<p>Before.</p><{around}>{inner}</{around}><p>After.</p>" if around else f"<p>Before.</p>{inner}<p>After.</p>"
    )


def missing(source, extraction):
    return set(WORD.findall(source)) - set(WORD.findall(extraction.title + extraction.markdown))


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("unit", OMITTED + NESTED)
def test_every_word_is_there(unit, around):
    source = repeated(unit, 500, around)
    for stage in ("page", "text"):
        extraction = extract(source, stage)
        assert not missing(source, extraction)
        assert "After" in extraction.markdown


@pytest.mark.parametrize(
    "unit", [unit for unit in OMITTED + NESTED if not re.search("<(?:div|section|option)>w|<ul><li>w#b</ul>", unit)]
)
def test_every_word_is_there_when_the_article_is_looked_for(unit):
    source = repeated(unit, 500)
    assert not missing(source, extract(source))


@pytest.mark.parametrize("unit", OMITTED + NESTED)
def test_every_word_of_five_thousand_is_there(unit):
    source = repeated(unit, 5000)
    extraction = extract(source, "page")
    assert not missing(source, extraction)
    assert "After" in extraction.markdown


@pytest.mark.parametrize("around", ["", "table", "ul", "dl"])
@pytest.mark.parametrize("unit", OMITTED)
def test_an_omitted_end_tag_is_no_nesting(unit, around):
    assert bound_source(repeated(unit, 500, around), Limits()).notes == ()


def test_rows_without_end_tags_are_rows():
    source = "<p>Words.</p><table><tr><th>a<th>b" + "".join(f"<tr><td>cell {i}<td>val {i}" for i in range(5000))
    table = extract(source + "</table>").tables[0]
    assert table.rows == tuple((f"cell {i}", f"val {i}") for i in range(5000))


def test_what_stands_in_a_table_or_list_outside_its_cells_is_read():
    table = "<table>w1a<tr>w2a<td>w3a<td>w4a</td>w5a</tr><b>w6a</b><tr><td>w7a<td>w8a</tr><div>w9a</div></table>"
    items = "<ul>w10a<li>w11a</li>w12a<b>w13a</b></ul>"
    for source in (table, items, table + items):
        assert not missing(source, extract(source))
    assert extract(table).tables[0].rows == (("w7a", "w8a"),)


@pytest.mark.parametrize("seed", range(40))
def test_every_word_of_any_mixture_is_there(seed):
    choose = random.Random(seed)
    # A short button that nothing closes takes the next words for its label.
    units = choose.choices(
        [unit for unit in OMITTED + NESTED if "button" not in unit], k=choose.choice((20, 300, 2000))
    )
    source = "<p>Before.</p>" + "".join(unit.replace("#", str(i)) for i, unit in enumerate(units)) + "<p>After.</p>"
    assert not missing(source, extract(source, "page"))
