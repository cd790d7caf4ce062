"""Nothing that a page writes is more than text: security checklist N1, N2, N5, N7, and every character of text."""

from __future__ import annotations

import random
import re

import pytest

from jupyter_webresearch.extraction.document import Limits, extract_document
from jupyter_webresearch.extraction.escape import escape_block_start, escape_text
from jupyter_webresearch.plain import plain_text
from tests.extraction.rendered import assert_inert, render, visible

STAGES = ("article", "page", "text")
FILLER = "<p>" + "Ordinary words of an article that is long enough to be taken for one. " * 6 + "</p>"

# As the page's characters, to be escaped for HTML where they are placed.
ATTACKS = [
    # N1: raw HTML
    "<script>alert(1)</script>", "<ScRiPt src=//evil.example></ScRiPt>", "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>", "<svg/onload=alert(1)//", "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<form action=https://evil.example><input name=q>", "<a id=MathJax href=javascript:alert(1)>x</a>",
    "<style>*{background:url(https://evil.example)}</style>", "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=https://evil.example>", "<link rel=preconnect href=//evil.example>",
    "<object data=x></object>", "<embed src=x>", "<math><mtext></mtext></math>", "<!--", "<!-- x -->", "<![CDATA[x]]>",
    "<?php x ?>", "<!DOCTYPE html>", "</div></main><script>", "<details open ontoggle=alert(1)>", "<b", "<b\n",
    "<x-y z>", "&lt;script&gt;", "&#60;script&#62;", "&#x3c;script&#x3e;", "&lt", "&amp;lt;", "<<script>script>",
    "<button data-commandlinker-command=x data-commandlinker-args={}>", "<video src=x onerror=y>",
    # N2: Markdown
    "[x](javascript:alert(1))", "[x]( javascript:alert(1))", "[x](<javascript:alert(1)>)", "[x](data:text/html,x)",
    "<javascript:alert(1)>", "<https://evil.example>", "<mail@evil.example>", "![](https://evil.example/?leak)",
    "![x]( https://evil.example )", "![x](<https://evil.example>)", "[x]: javascript:alert(1)\n\n[x]",
    "[x]: https://evil.example 'y'", "![x][y]\n\n[y]: https://evil.example", "[x][]", "[x]", "[^1]", "[^1]: note",
    "\\[x](javascript:alert(1))", "\\\\[x](javascript:alert(1))", "[[x](javascript:1)](https://a.example)", "]", "[",
    "](javascript:alert(1))", "[x](javascript&colon;alert(1))", "[x](vbscript:x)", "[x](file:///etc/passwd)",
    "![x](data:image/svg+xml;base64,AAAA)", "[\\[x\\](javascript:alert(1))](https://a.example)",
    # N5: breaking out of blocks
    "```", "~~~", "```html\n<script>", "````", "`", "``", "`x`", "`` ` ``", "---", "***", "___", "- - -", "===", "# x",
    "####### x", "#", "> x", ">", "- x", "+ x", "* x", "-", "1. x", "1) x", "123456789. x", "1234567890. x",
    "---\ntitle: x\n---", "| a | b |\n| --- | --- |", "a | b\n--- | ---", "a\n:--", "    code", "\tcode", "|", "\\|",
    "</tool_result>", "<|im_start|>system", "$$\nx\n$$", "$x$", "\\(x\\)", "\\[x\\]", "\\begin{equation}x",
    "$\\href{javascript:alert(1)}{x}$", "**x**", "__x__", "*x*", "_x_", "~~x~~", "~x~", "a_b_c", "_a", "a_", "2*3*4",
    "!", "\\", "\\\\", "\\`", "http://a.example", "www.a.example", "a@b.example", "{{x}}", "{% x %}", "<%= x %>", "&",
    "AT&T", "&copy;", "&#0;", "&unknown;", "x\\", "!\\", "1\\.", "a  ", "#x", "+1", "-1", "=x", ":-:", "::: x", "@x",
]  # fmt: skip

PLACES = {
    "paragraph": "<p>{}</p>",
    "two in a paragraph": "<p>{0} {0}</p>",
    "after a break": "<p>before<br>{}<br>after</p>",
    "inside words": "<p>before{}after</p>",
    "between elements": "<p><span>be</span>{}<i>x</i>{}<b>{}</b></p>",
    "heading": "<h2>{}</h2>",
    "list item": "<ul><li>{}</li><li><p>{}</p><p>{}</p></li></ul><ol start=7><li>{}</ol>",
    "quote": "<blockquote>{}<p>{}</blockquote>",
    "table": "<table><tr><th>{}<th>b<tr><td>{}<td>{}<tr><td><code>{}</code><td>x</table>",
    "caption": "<table><caption>{}</caption><tr><th>a<th>b<tr><td>1<td>2</table>",
    "code": "<p>x <code>{}</code> y</p>",
    "two codes": "<p><code>{}</code><code>{}</code></p>",
    "block of code": "<pre><code class='language-{}'>{}</code></pre>",
    "code in a list in a quote": "<blockquote><ul><li>a<pre>{}\n{}</pre></ul></blockquote>",
    "link": "<p><a href='https://a.example/'>{}</a>{}</p>",
    "link around blocks": "<a href='https://a.example/'><h3>{}</h3><p>{}</p></a>",
    "image description": "<p>x <img src='https://a.example/i.png' alt='{}'> y</p>",
    "linked image": "<p><a href='https://a.example/'><img src='/i.png' alt='{}'>{}</a></p>",
    "figure": "<figure><img src=i.png alt='{}'><figcaption>{}</figcaption></figure>",
    "formula": "<p>x <math><mi>x</mi><annotation encoding='application/x-tex'>{}</annotation></math></p>",
    "displayed formula": "<p><span class='katex-display'><math alttext='{}' display=block></math></span></p>",
    "formula script": "<p>x <script type='math/tex'>{}</script></p><script type='math/tex; mode=display'>{}</script>",
    "note": "<p>x<sup><a href='#fn1'>1</a></sup>{}</p><ol><li id=fn1>{}</li></ol>",
    "definition": "<dl><dt>{}<dd>{}</dl>",
    "strong": "<p><strong>{}</strong><em>{}</em><del>{}</del></p>",
    "title": "<h1>{}</h1>",
    "nested emphasis": "<p>a<b>{}<i>{}</i></b><i>{}</i>b</p>",
}  # fmt: skip


def _html(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;")


def _extract(body, stage="article"):
    source = f"<!doctype html><title>T</title><body><article>{FILLER}{body}{FILLER}</article>"
    return extract_document(
        source.encode(), url="https://site.example/a/b", content_type="text/html", stage=stage, limits=Limits()
    )


@pytest.mark.parametrize("place", PLACES)
def test_no_attack_is_more_than_text(place):
    template = PLACES[place].replace("{0}", "{}")
    for start in range(0, len(ATTACKS), 12):
        body = "".join(template.replace("{}", _html(attack)) for attack in ATTACKS[start : start + 12])
        for stage in STAGES:
            assert_inert(_extract(body, stage).markdown)


@pytest.mark.parametrize("stage", STAGES)
def test_live_markup_of_a_page_is_gone(stage):
    body = "".join(
        f"{attack}<p>visible</p>" for attack in ATTACKS if "CDATA" not in attack and not attack.startswith("<!--")
    )
    markdown = _extract(body, stage).markdown
    assert_inert(markdown)
    assert "alert(1)</" not in markdown


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_reader_sees_the_characters_of_the_page(attack):
    markdown = _extract(f"<p>before {_html(attack)} after</p>").markdown
    expected = " ".join(f"before {attack} after".split())
    assert expected in " ".join(visible(markdown).split())
    assert expected in " ".join(plain_text(markdown).split())


@pytest.mark.parametrize("seed", range(12))
def test_any_text_survives_both_ways(seed):
    random.seed(seed)
    alphabet = "ab1 .\\`*_{}[]<>()#+-!|~$&;:@=\"'/^%\n" + "http://www.x.y lt;#92;amp;"
    for _ in range(150):
        text = "".join(random.choice(alphabet) for _ in range(random.randint(1, 40)))
        words = " ".join(text.split())
        markdown = escape_block_start(escape_text(words))
        assert " ".join(visible(markdown).split()) == words
        assert plain_text(markdown) == words
        assert_inert(markdown)


@pytest.mark.parametrize("seed", range(8))
def test_any_nesting_of_any_text_is_inert(seed):
    random.seed(seed)
    names = "b i em strong code a span p div li ul ol blockquote h2 pre td tr table sup br del img figure dl dt dd"
    tags = names.split()
    for _ in range(25):
        source, texts = _random_page(tags)
        for stage in STAGES:
            markdown = _extract(source, stage).markdown
            assert_inert(markdown)
        assert texts


def _random_page(tags):
    parts, texts = [], []
    for _ in range(random.randint(3, 40)):
        tag = random.choice(tags)
        text = random.choice(ATTACKS)
        href = " href='https://a.example/?a=1&lt;=2'" if tag == "a" else ""
        close = f"</{random.choice(tags)}>" if random.random() < 0.7 else ""
        parts.append(f"<{tag}{href}>{_html(text)}{close}")
        texts.append(text)
    return "".join(parts), texts


INVISIBLE = {
    "escape sequence": "\x1b[31m", "operating system command": "\x1b]8;;https://evil.example\x07", "bell": "\x07",
    "backspace": "a\x08", "C1": "\x9b31m", "null": "\x00", "delete": "\x7f", "bidi override": "\u202e",
    "bidi isolate": "\u2066", "pop": "\u202c", "right-to-left mark": "\u200f", "Arabic letter mark": "\u061c",
    "tags": "\U000e0001\U000e0041\U000e007f", "zero-width space": "\u200b", "word joiner": "\u2060",
    "byte order mark": "\ufeff", "soft hyphen": "\u00ad", "variation selectors": "\U000e0100\U000e0101",
    "run of selectors": "\ufe00\ufe01\ufe0f", "filler": "\u3164", "line separator": "\u2028", "joiner": "\u200d",
    "annotation": "\ufff9", "invisible times": "\u2062",
}  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", INVISIBLE)
def test_no_invisible_character_gets_through(name, stage):
    text = INVISIBLE[name]
    places = (
        "<p>be{}fore</p><h2>x{}y</h2><pre>a{}b</pre><p><code>a{}b</code><a href='/x{}y'>l{}k</a>"
        "<img src='/i{}.png' alt='a{}b'><table><tr><th>a{}<th>b<tr><td>{}<td>c</table>"
    )
    extraction = _extract(places.replace("{}", text), stage)
    shown = extraction.markdown + extraction.title + "".join(extraction.metadata.values())
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", shown
    )
    assert not re.search("[\u3164\ufff9\U000e0000-\U000e0fff]|(?<![\u0600-\u18af])\u200d", shown)
    if text != "\u2028":
        assert extraction.hidden > 0


@pytest.mark.parametrize(
    "text", ["می‌خواهم", "क्‍ष", "👩‍👩‍👧", "❤️", "ශ්‍රී"], ids=["Persian", "Devanagari", "family", "heart", "Sinhala"]
)
def test_scripts_and_emoji_keep_their_joiners(text):
    assert text in _extract(f"<p>before {text} after</p>").markdown


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)",
        "\x01javascript:x", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:https://a.example/x", "ftp://a.example/",
        "https://user:secret@a.example/", "http://", "https://[::1", "//", "about:blank",
        "view-source:https://a.example",
        "javascript&colon;alert(1)", "x-y:z", "tel:1", "ws://a.example",
    ],
)  # fmt: skip
def test_a_link_to_anything_else_is_its_text(href):
    extraction = _extract(f'<p>before <a href="{href}">the link</a> after</p>')
    assert not extraction.links
    assert "before the link after" in extraction.markdown


@pytest.mark.parametrize(
    ("base", "href", "url"),
    [
        ("", "c", "https://site.example/a/c"),
        ("", "/c?d=e&amp;f=(g)#h", "https://site.example/c?d=e&f=%28g%29#h"),
        ("", "//other.example/x", "https://other.example/x"),
        ("", "\\\\other.example\\x", "https://other.example/x"),
        ("", "/with space/ü/&lt;b&gt;/`x`/$y$", "https://site.example/with%20space/%C3%BC/%3Cb%3E/%60x%60/%24y%24"),
        ("", "ht\ntps://a.exa\tmple/", "https://a.example/"),
        ("", "mailto:a@b.example", "mailto:a@b.example"),
        ("", "https://Bücher.example:8443/ü", "https://xn--bcher-kva.example:8443/%C3%BC"),
        ("", "?q", "https://site.example/a/b?q"),
        ("https://base.example/x/", "c", "https://base.example/x/c"),
        ("/x/", "c", "https://site.example/x/c"),
        ("javascript:alert(1)", "c", "https://site.example/a/c"),
        ("data:text/html,x", "c", "https://site.example/a/c"),
        ("//base.example", "c", "https://base.example/c"),
    ],
)  # fmt: skip
def test_links_are_absolute(base, href, url):
    tag = f'<base href="{base}">' if base else ""
    source = f'<!doctype html><head>{tag}</head><body>{FILLER}<p>A <a href="{href}">link</a>{FILLER}'
    extraction = extract_document(
        source.encode(), url="https://site.example/a/b", content_type="text/html", limits=Limits()
    )
    assert extraction.links[0].url == url
    assert render(extraction.markdown).find(".//a").get("href") == url


def test_a_link_within_the_page_is_its_text():
    assert not _extract('<p>x <a href="#y">within</a> <a href="/a/b#z">this page</a></p>').links


def test_marks_of_notes_start_no_link():
    mark = "<sup><a href='#fn1'>1</a></sup>"
    markdown = _extract(f"<p>x{mark}(javascript:alert(1)){mark}: y</p><ol><li id=fn1>note</ol>").markdown
    assert_inert(markdown)
    assert "[^1]" in markdown
