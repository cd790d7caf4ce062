"""What a page says of itself, and that no value of it is more than one clean line."""

from __future__ import annotations

import json

import pytest

from jupyter_webresearch.extraction.document import Limits, extract_document

WORDS = "<p>" + "Ordinary words of an article that is long enough to be taken for one. " * 6 + "</p>"


def extract(head="", body="", lang=""):
    source = f"<!doctype html><html{lang}><head>{head}</head><body><article>{body}{WORDS}</article></body>"
    return extract_document(source.encode(), url="https://site.example/a/b", content_type="text/html", limits=Limits())


def meta(**values):
    return "".join(f'<meta property="{name.replace("__", ":")}" content="{value}">' for name, value in values.items())


def linked(**values):
    return f"<script type='application/ld+json'>{json.dumps({'@type': 'NewsArticle', **values})}</script>"


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>The title</title>", "", "The title"),
        ("<title>The title | The Site</title>", "<h1>The title</h1>", "The title"),
        (f"<title>The title - The Site</title>{meta(og__site_name='The Site')}", "", "The title"),
        (f"<title>The Site: The title</title>{meta(og__title='The title')}", "", "The title"),
        (f"<title>x</title>{linked(headline='The title')}", "", "The title"),
        ("", "<h1>The <i>title</i></h1>", "The title"),
        ("<title>A &amp; B &lt;i&gt;</title>", "", "A & B <i>"),
        ("", "", ""),
    ],
)
def test_title(head, body, title):
    assert extract(head, body).title == title


@pytest.mark.parametrize(
    ("head", "body", "name", "value"),
    [
        (meta(og__site_name="The Site"), "", "site", "The Site"),
        (linked(publisher={"@type": "Organization", "name": "The Paper"}), "", "site", "The Paper"),
        ("<meta name=author content='A. Writer'>", "", "author", "A. Writer"),
        (linked(author=[{"name": "A. Writer"}, {"name": "B. Author"}]), "", "author", "A. Writer, B. Author"),
        ("", "<a rel=author href=/x>By A. Writer</a>", "author", "A. Writer"),
        ("<meta name=author content='https://site.example/writer'>", "", "author", None),
        (meta(article__published_time="2024-02-29T23:59:00+01:00"), "", "published", "2024-02-29"),
        (linked(datePublished="2023-12-01"), "", "published", "2023-12-01"),
        ("", "<time datetime='2022-03-04T05:06'>today</time>", "published", "2022-03-04"),
        (meta(article__published_time="soon"), "", "published", None),
        (meta(article__modified_time="2024-03-01"), "", "modified", "2024-03-01"),
        ("<meta name=description content='What it is about.'>", "", "description", "What it is about."),
        ("<link rel=canonical href=/c>", "", "canonical", "https://site.example/c"),
        ("<link rel=canonical href='javascript:alert(1)'>", "", "canonical", None),
        (meta(og__locale="de_CH"), "", "language", "de-CH"),
    ],
)
def test_values(head, body, name, value):
    assert extract(head, body).metadata.get(name) == value


def test_language_of_the_document():
    assert extract(lang=" lang=pt-BR").metadata["language"] == "pt-BR"
    assert "language" not in extract(lang=" lang='x y&lt;'").metadata


@pytest.mark.parametrize(
    "hostile", ["a\nb: c", "a\r\nSet-Cookie: x", "\x1b[31ma", "a\u202eb", "a" * 100_000, "<b>a</b>"]
)
def test_values_are_one_clean_line(hostile):
    value = hostile.replace("<", "&lt;")
    extraction = extract(
        f"<title>{value}</title>" + meta(og__site_name=value, article__modified_time=value) + linked(author=hostile)
        + f"<meta name=description content='{value}'>"
    )  # fmt: skip
    for text in (extraction.title, *extraction.metadata.values()):
        assert text.isprintable()
        assert len(text) <= 500


@pytest.mark.parametrize(
    "data",
    ["{", "[" * 100_000, '{"@graph":' * 500 + "1" + "}" * 500, "null", '"x"', "[1, [2, {}]]", '{"headline": {"a": 1}}',
     '{"@type": 5, "author": 5, "datePublished": []}', json.dumps({"@graph": [{"headline": "x"}] * 50_000})],
    ids=range(9),
)  # fmt: skip
def test_any_linked_data_is_survived(data):
    extraction = extract(f"<title>T</title><script type='application/ld+json'>{data}</script>")
    assert extraction.title in ("T", "x")
