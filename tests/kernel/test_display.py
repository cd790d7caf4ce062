"""What a Page looks like, as text alone; JupyterLab's view of it is in tests/ui."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.kernel import display
from jupyter_webresearch.kernel.blocks import cut_at_block, split_blocks
from jupyter_webresearch.kernel.cell_markdown import as_cell, as_fence
from jupyter_webresearch.kernel.display import answer_text, mimebundle, plain_form
from jupyter_webresearch.kernel.heading import heading
from jupyter_webresearch.kernel.inert import guard_inline, language_word, link, literal
from jupyter_webresearch.kernel.outcomes import Outcomes
from jupyter_webresearch.kernel.plain_form import width, wrapped
from jupyter_webresearch.models import Saved, Source, Window
from jupyter_webresearch.page import Page
from jupyter_webresearch.reading import window

PARAGRAPH = "The harbour office keeps a table of the tides, and every morning somebody reads it out aloud."


def page(markdown: str, **values: Any) -> Page:
    url = "https://www.example.org/tides"
    defaults: dict[str, Any] = {
        "title": "Tides",
        "url": url,
        "status": 200,
        "content_type": "text/html",
        "kind": "html",
        "extractor": "article",
        "kept_share": 0.64,
        "source": Source(url, url, "2026-03-04T05:06:07Z", "GET", 200),
        "metadata": {"site": "Harbour Notes", "author": "A. Author", "published": "2024-05-06T01:02:03Z"},
    }
    part, where = window(markdown, 0, 48 * 1024)
    return Page(markdown=part, **{**defaults, "window": where, **values})


LONG = "\n\n".join(f"## Part {n}\n\n{PARAGRAPH} {PARAGRAPH}" for n in range(400))


# Where a text is cut.


@pytest.mark.parametrize("most", [200, 1000, 6000, 20_000])
def test_a_long_text_is_cut_behind_a_block(most: int) -> None:
    cut = cut_at_block(LONG, most)
    assert most // 2 <= cut <= most
    assert LONG[:cut].rstrip().endswith("aloud.")
    assert LONG[cut:].lstrip().startswith("## Part")


def test_a_fence_or_a_table_is_cut_behind_a_line_and_closed() -> None:
    code = "```python\n" + "print('tide')\n\n" * 500 + "```\n\nAfter.\n"
    cut = cut_at_block(code, 1000)
    assert code[:cut].endswith("\n")
    assert as_cell(code[:cut]).count("```") == 2
    table = "| a | b |\n| --- | --- |\n" + "| 1 | 2 |\n" * 500
    cut = cut_at_block(table, 1000)
    assert table[:cut].endswith("|\n")
    assert as_cell(table[:cut]).rstrip().endswith("</div>")


def test_a_word_without_end_is_cut_all_the_same() -> None:
    assert cut_at_block("x" * 10_000, 600) == 600
    assert cut_at_block("short", 600) == 5


@pytest.mark.parametrize("most", range(10, 120))
def test_no_cut_is_beyond_the_limit_or_at_nothing(most: int) -> None:
    text = "# H\n\nab cd\n\n```\nx\n\ny\n```\n\n| a |\n| --- |\n| b |\n\n$$\nx\n\ny\n$$\n\n- a\n- b\n"
    assert 0 < cut_at_block(text, most) <= most


def test_blank_lines_in_code_and_formulas_end_no_block() -> None:
    text = "a\n\n```\nx\n\ny\n```\n\n$$\nx\n\ny\n$$\n\n> - ```\n>   x\n>\n>   y\n>   ```\n\n# h\n\n| t |\n"
    assert [block.kind for block in split_blocks(text)] == ["text", "fence", "math", "text", "heading", "table"]
    assert "".join(text[b.start : b.end] for b in split_blocks(text)).replace("\n", "") == text.replace("\n", "")


# The cell.


def test_the_header_line() -> None:
    first = mimebundle(page(PARAGRAPH))["text/markdown"].split("\n\n")[1]
    assert first == (
        "**[Tides](https://www.example.org/tides)** · Harbour Notes · A. Author · published 2024-05-06"
        " · read 2026-03-04 05:06 UTC"
    )


def test_a_page_without_a_title_is_named_by_its_url() -> None:
    assert (
        "**[https\\://www\\.example.org/tides](https://www.example.org/tides)**"
        in mimebundle(page(PARAGRAPH, title="", metadata={}))["text/markdown"]
    )


def test_only_the_first_part_is_shown_and_the_way_on_is_told() -> None:
    shown = page(LONG)
    forms = mimebundle(shown)
    cut = cut_at_block(shown.markdown, 6000)
    assert len(forms["text/markdown"]) < 8000
    said = f"[truncated at {cut} of {len(LONG)} bytes]"
    assert said in forms["text/plain"]
    assert literal(said) in forms["text/markdown"]
    for form in forms.values():
        assert "show()" in form
        assert "page." not in form  # whatever the reader called it
        assert f"%webfetch https://www.example.org/tides --offset {cut}" in form
    # Reading on there leaves no gap and repeats nothing.
    part, where = window(LONG, cut, 48 * 1024)
    assert shown.markdown[:cut] + part == LONG[: where.end]


def test_the_end_of_what_is_held_is_told_after_show(capsys: pytest.CaptureFixture[str]) -> None:
    shown = page(LONG * 3)
    shown.show()
    text = capsys.readouterr().out
    assert f"--offset {shown.window.end}" in text
    assert "show()" not in text


def test_a_post_is_read_on_by_the_page_itself() -> None:
    url = "https://www.example.org/tides"
    forms = mimebundle(page(LONG * 3, source=Source(url, url, "", "POST", 200)))
    assert "next()   of this Page reads on" in forms["text/plain"]
    assert "%webfetch" not in forms["text/plain"]


def test_reading_on_in_a_source_stays_in_the_source() -> None:
    raw = page("<p>\n" * 40_000, kind="text", extractor="as-is")
    assert re.search(r"%webfetch https://www\.example\.org/tides --offset \d+ --raw   reads on", plain_form(raw))
    assert answer_text(raw).endswith(f"--offset {raw.window.end} --raw")
    assert "--raw" not in plain_form(page(LONG)) + plain_form(
        page("a,b\n" * 40_000, kind="csv", content_type="text/csv", extractor="as-is")
    )


@pytest.mark.parametrize("status", [200, 204, 205])
def test_an_empty_body_is_said(status: int) -> None:
    empty = page("", status=status)
    for text in (*mimebundle(empty).values(), answer_text(empty)):
        assert f"status {status}, empty body" in text
        assert "words" not in text
    unread = replace(empty, source=replace(empty.source, bytes=9), notes=("a body of type x/y is not shown",))
    assert "empty body" not in plain_form(unread)


def test_a_short_page_has_no_closing_line() -> None:
    for form in mimebundle(page(PARAGRAPH)).values():
        assert "truncated" not in form
        assert "64% of the page's words" in form


FACTS = {
    "from memory, read 75 s ago": {"cached_seconds": 75.0},
    "from memory, read 12 min ago": {"cached_seconds": 720.0},
    "body cut: 10,485,760 bytes kept of 20,000,000 announced": {
        "truncated_body": True,
        "body_bytes": 10_485_760,
        "announced_bytes": 20_000_000,
    },
    "hidden: 3 invisible elements": {"hidden": 3},
    "limits: elements 200,000 of 1,000,000": {"limits": ("limits: elements 200,000 of 1,000,000",)},
    "a note": {"notes": ("a note",)},
    "max_bytes 1 was lowered": {"window": Window(0, 1, 1, 1, 1, "max_bytes 1 was lowered")},
    "from https to http": {"source": Source("a", "b", "", "GET", 200, insecure_redirect=True)},
    "whole page, no article was found": {"extractor": "page"},
    "plain text of the page": {"extractor": "text"},
    "saved: d/x.zip, 1,234 bytes, application/zip, sha256 abc": {
        "saved": Saved("x.zip", 1234, "abc", "application/zip", path="d/x.zip")
    },
}


@pytest.mark.parametrize("fact", FACTS)
def test_what_a_reader_must_know_is_in_every_form(fact: str) -> None:
    shown = page(PARAGRAPH, **FACTS[fact])
    assert fact in plain_form(shown)
    assert literal(fact) in mimebundle(shown)["text/markdown"]
    assert fact in answer_text(shown)


def test_a_status_that_is_no_success_is_told() -> None:
    shown = page(PARAGRAPH, status=404)
    assert "status 404" in plain_form(shown)
    assert "\nstatus: 404\n" in answer_text(shown)


@pytest.mark.parametrize(
    ("kind", "language"), [("json", "json"), ("xml", "xml"), ("markdown", "markdown"), ("csv", ""), ("text", "")]
)
def test_sources_stand_in_a_fence_longer_than_any_inside(kind: str, language: str) -> None:
    text = "a\n```\n<img src=x onerror=1>\n````\n" + "line\n" * 3000
    forms = mimebundle(page(text, kind=kind, extractor="as-is"))
    assert f"\n\n`````{language}\na\n```\n" in forms["text/markdown"]
    assert forms["text/markdown"].count("`````") == 2
    assert "page's words" not in forms["text/plain"]


def test_html_source_is_never_taken_for_markdown() -> None:
    forms = mimebundle(page("<script>alert(1)</script>", extractor="as-is"))
    assert "```\n<script>alert(1)</script>\n```" in forms["text/markdown"]


def test_headings_are_demoted_and_marked() -> None:
    shown = as_cell("# One\n\n### Three\n\n##### Five\n\n> # Quoted\n\n- # Listed\n\n```\n# code\n```")
    assert re.findall(r"<h(\d) class=\"jp-toc-ignore\">", shown) == ["4", "6", "6", "4", "4"]
    assert "\n# code\n" in shown
    assert not re.search(r"^#", shown.replace("\n# code\n", ""), re.MULTILINE)
    assert as_cell("### Top\n\n#### Below").count("<h4") == 1


def test_a_heading_keeps_code_links_and_formulas() -> None:
    text = "`f(x)` of [the *page*](https://e.org/?a=$b) \\* &lt;b> $x^2$ **bold**[^2]"
    assert heading(text, 4) == (
        '<h4 class="jp-toc-ignore"><code>f(x)</code> of '
        '<a href="https&#58;//e.org/?a=%24b">the page</a> &#42; &lt;b&#62; '
        '<span class="mathjax_process tex2jax_process">$x^2$</span> bold<sup>2</sup></h4>'
    )


def test_only_types_that_can_carry_no_script() -> None:
    assert set(mimebundle(page(PARAGRAPH))) == {"text/markdown", "text/plain"}
    assert set(Outcomes([], [])._repr_mimebundle_()) == {"text/markdown", "text/plain"}


# The wall; what it holds against is shown in tests/ui/test_inert.py.


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("<img>", "&lt;img>"),
        ("![a](https://e.org/x.png)", "\\![a](https://e.org/x.png)"),
        ("[a](https://e.org/x)", "[a](https://e.org/x)"),
        ("[a](<https://e.org/x>)", "[a](https://e.org/x)"),
        ("[a](mailto:a@e.org)", "[a](mailto:a@e.org)"),
        ("[a](javascript:x)", "[a&#93;(javascript:x)"),
        ('[a](https://e.org/ "t")', '[a&#93;(https://e.org/ "t")'),
        ("[a](//e.org)", "[a&#93;(//e.org)"),
        ("[a](https://e.org/?$x)", "[a](https://e.org/?%24x)"),
        ("\\[a\\](x)", "&#91;a&#93;(x)"),
        ("[a]: x", "[a&#93;: x"),
        ("[^1]: x", "<sup>1</sup> x"),
        ("a[^n]", "a<sup>n</sup>"),
        ("`x < y`", "<code>x &#60; y</code>"),
        ("`plain_code()`", "`plain_code()`"),
        ("`no end", "&#96;no end"),
        ("a\n===", "a\n\\==="),
        ("a\n  --- ", "a\n  \\--- "),
        ("\\\\(x\\\\)", "&#92;(x&#92;)"),
        ("\\$5", "\\$5"),
        ("$5", "\\$5"),
        ("$x < y$", '<span class="mathjax_process tex2jax_process">$x \\lt  y$</span>'),
        ("$\\href{javascript:1}{x}$", "\\$\\href{javascript:1}{x}\\$"),
        ("$\\HREF{x}$", "\\$\\HREF{x}\\$"),
        ("$\\colorbox{x}$", "\\$\\colorbox{x}\\$"),
        ("*a* **b** ~~c~~", "*a* **b** ~~c~~"),
    ],
)
def test_what_is_not_plainly_harmless_is_written_as_something_that_is(text: str, guarded: str) -> None:
    assert guard_inline(text) == guarded


@pytest.mark.parametrize("word", ["mermaid", "Mermaid", "math", '"><img', "a b", "-x", "x" * 31, "`", "\u202e"])
def test_no_language_that_is_drawn_or_is_not_a_word(word: str) -> None:
    assert language_word(word) == ""
    assert as_fence("x", word) == "```\nx\n```"


def test_a_link_only_to_what_can_be_clicked_on() -> None:
    assert link("a", "https://e.org/(x)") == "[a](https://e.org/%28x%29)"
    assert link("a", "javascript:x") == "a"


PIECES = [
    "`",
    "``` ",
    "`a ",
    "$",
    "$a ",
    "[",
    "](",
    "](https://e.org/",
    "![",
    "\\",
    "- ",
    "-  ",
    "1. ",
    "> ",
    ">",
    "<",
    "[^",
]
PIECES += [
    "|",
    "| ",
    "#",
    "# ",
    " ",
    "\t",
    "[a]: ",
    "=\n",
    "*",
    "*a",
    "**",
    "潮",
    "&#",
    "a@",
    "www.",
    "\n",
    "```\n",
    "$$\n",
]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", PIECES)
def test_no_text_takes_long(piece: str) -> None:
    # 40,000 characters are the most that an answer holds; one quadratic step would take minutes here.
    for text in (piece * (40_000 // len(piece)), "# " + piece * (40_000 // len(piece)), f"| {piece * 9} |\n" * 2000):
        as_cell(text[:40_000])
        wrapped(text[:40_000], 100)
        cut_at_block(text, 6000)


# Plain text.


def test_no_line_is_wider_than_the_columns() -> None:
    text = f"""# {PARAGRAPH} {PARAGRAPH}

{PARAGRAPH} {PARAGRAPH} {PARAGRAPH}

- {PARAGRAPH} {PARAGRAPH}
  1. {PARAGRAPH} {PARAGRAPH}

> {PARAGRAPH} {PARAGRAPH}

{"x" * 350}

{"潮汐表每天早上都有人大声朗读" * 20}

| {PARAGRAPH} | {PARAGRAPH} | {PARAGRAPH} |
| --- | --- | --- |
| 1 | 2 | 潮汐表每天 |

```
{"code " * 60}
```
"""
    for columns in (40, 100, 137):
        lines = wrapped(text, columns).split("\n")
        assert max(width(line) for line in lines) <= columns
        assert max(width(line) for line in wrapped(text, columns, source=True).split("\n")) <= columns
    assert max(width(line) for line in wrapped(text, 100).split("\n")) > 95


def test_what_follows_in_a_list_stands_under_its_text() -> None:
    assert wrapped("- one two three four five", 12) == "- one two\n  three four\n  five"


def test_terminal_escapes_and_what_reorders_text_are_gone() -> None:
    nasty = "a\x1b[31mred\x1b]52;c;x\x07\u202eb\u200bc\x9b\U000e0041"
    for shown in (page(nasty, title=nasty, metadata={"author": nasty}), page(nasty, kind="text", extractor="as-is")):
        for form in (*mimebundle(shown).values(), plain_form(shown), answer_text(replace(shown, markdown=""))):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b\U000e0041]", form)


# The answer.


def test_the_answer_in_full() -> None:
    shown = page(LONG * 2, hidden=2)
    head, text = answer_text(shown).split("\n\n", 1)
    assert head.split("\n") == [
        "url: https://www.example.org/tides",
        "content-type: text/html",
        "title: Tides",
        "site: Harbour Notes",
        "author: A. Author",
        "published: 2024-05-06T01:02:03Z",
        "extracted: article; 64% of the page's words",
    ]
    assert text.startswith(shown.markdown.strip())
    assert text.endswith(
        f"\n\n[hidden: 2 invisible elements or characters removed]\n"
        f"[truncated at {shown.window.shown_bytes} of {len(LONG) * 2} bytes] --offset {shown.window.end}"
    )
    assert str(shown) == answer_text(shown)


def test_no_header_value_makes_a_line_of_its_own() -> None:
    shown = page(PARAGRAPH, title="a\nurl: https://evil.example/\r\nb\u2028c", metadata={"author": "x\n\ny"})
    head = answer_text(shown).split("\n\n")[0].split("\n")
    assert [line.partition(":")[0] for line in head] == ["url", "content-type", "title", "author", "extracted"]


# A batch.


def test_outcomes_show_a_table() -> None:
    outcomes = Outcomes(
        ["https://a.example/", "http://10.0.0.1/", "https://b.example/"],
        [
            page(PARAGRAPH, title="A | B [x](javascript:1)"),
            Refused("blocked_address", "not <b>public</b> | here"),
            Failed("timeout", "https://b.example/ was not read"),
        ],
    )
    markdown = outcomes._repr_mimebundle_()["text/markdown"]
    rows = [line for line in markdown.split("\n") if line.startswith("| ")][2:]
    assert len(rows) == 3
    assert rows[0] == "| 0 | 200 | [A \\| B &#91;x&#93;(javascript:1)](https://www.example.org/tides) |"
    assert "not &lt;b>public&lt;/b> \\| here" in rows[1]
    assert rows[2].count("b.example") == 1
    assert repr(outcomes).count("\n") == 3
    assert list(outcomes.errors) == ["http://10.0.0.1/", "https://b.example/"]


def test_failures_that_say_the_same_are_one_line() -> None:
    def full(seconds: int) -> Refused:
        return Refused("over_budget", f"at most 60; try again in {seconds} s", retry_after=float(seconds))

    urls = [f"https://a.example/{number}" for number in range(10)]
    gone = [Failed("unresolved", f"{number}.example has no address") for number in range(2)]
    read = page(PARAGRAPH, title="Tides")
    outcomes = Outcomes(urls, [full(51), read, gone[0], full(52), full(53), gone[1], full(52), read, read, full(50)])
    assert repr(outcomes).split("\n") == [
        "3 of 10 pages read, 7 not",
        "0, 3-4, 6, 9  over_budget        at most 60; try again in 53 s  5 URLs, the first is https://a.example/0",
        "  1  200                Tides  https://www.example.org/tides",
        "  2  unresolved         0.example has no address  https://a.example/2",
        "  5  unresolved         1.example has no address  https://a.example/5",
        "  7  200                Tides  https://www.example.org/tides",
        "  8  200                Tides  https://www.example.org/tides",
    ]
    markdown = outcomes._repr_mimebundle_()["text/markdown"]
    assert markdown.count("over_budget") + markdown.count("over\\_budget") == 1
    assert list(outcomes.errors) == [urls[number] for number in (0, 2, 3, 4, 5, 6, 9)]
    scattered = Outcomes(urls, [full(9) if number % 2 else read for number in range(10)])
    assert "1, 3, 5, 7, 9  over_budget" in repr(scattered)


def test_settings_that_cannot_be_read_do_not_hide_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBDISPLAY_MAX_CHARS", "not a number")
    display.settings.cache_clear()
    try:
        assert PARAGRAPH[:20] in plain_form(page(PARAGRAPH))
    finally:
        display.settings.cache_clear()


@pytest.mark.parametrize("invisible", ["\u202e", "\u200b", "\U000e0041", "\u2066"])
def test_an_answer_shows_no_invisible_characters_of_a_source(invisible: str) -> None:
    text = f"before{invisible}after"
    source = Source(requested="https://e.org/", url="https://e.org/", fetched="", method="GET", status=200)
    page = Page(text, "", "https://e.org/", 200, "text/plain", "text", source)
    assert invisible not in str(page)
    assert "beforeafter" in str(page)
    assert "1 invisible characters are not shown" in str(page)
    assert page.markdown == text
