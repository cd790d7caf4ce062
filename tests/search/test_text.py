"""Plain text from providers: nothing of the markup, all of the words, in linear time."""

from __future__ import annotations

import tracemalloc

import pytest

from jupyter_webresearch.search import text as module
from jupyter_webresearch.search.text import plain


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("<span class=searchmatch>Python</span> is a <b>language</b>", "Python is a language"),
        ("<p>one</p><p>two</p>three<br/>four", "one two three four"),
        ("H<sub>2</sub>O and E=mc<sup>2</sup>", "H2O and E=mc2"),
        ('<span title="a>b">seen</span>', "seen"),
        ("<a href=x\n title='y'>seen</a>", "seen"),
        ("<img src=x onerror=alert(1)>seen<script>alert(1)</script><style>p{}</style>", "seen"),
        ("<!-- hidden -->seen<!-- a --> <!-- b -->", "seen"),
        ("<![CDATA[seen]]>", "seen"),
        ("<jats:title>Abstract</jats:title><jats:p>A <jats:italic>b</jats:italic>c</jats:p>", "Abstract A bc"),
        ("<mml:math><mml:mi>x</mml:mi><mml:mo>+</mml:mo><mml:mn>1</mml:mn></mml:math>", "x+1"),
        ("<jats:tex-math>$x$</jats:tex-math> <mml:math><mml:mi>x</mml:mi></mml:math>", "x"),
        ("<jats:tex-math>$x$</jats:tex-math> follows", "$x$ follows"),
        ("Science &amp; Nature &#8211; &#x3b1;&nbsp;&lt;b&gt;", "Science & Nature – α <b>"),
        ("&amp;lt; is undone once", "&lt; is undone once"),
        ("R&D at AT&T; ?a=1&copy=2", "R&D at AT&T; ?a=1&copy=2"),
    ],
)
def test_markup_goes(sent: str, expected: str) -> None:
    assert plain(sent) == expected


@pytest.mark.parametrize(
    "sent",
    ["a < b and c > d", "if p <a and b> q", "List<String>", "<https://example.org>", "x <y@z.org>", "a <b"],
)
def test_what_only_looks_like_a_tag_stays(sent: str) -> None:
    assert plain(sent) == sent


def test_white_space_is_one_space_and_nothing_hidden_stays() -> None:
    assert plain(" a\n\tb\xa0 c\u2028d ") == "a b c d"
    assert plain("a\x00\x1b[31mb\u202ec\u200bd&#x202e;e&#27;f") == "a[31mbcdef"
    assert plain("<scr\u200bipt>x</script>y") == "y"
    assert plain("\ud800a").encode() == "\ufffda".encode()


@pytest.mark.parametrize("value", [None, 3, ["a"], {"a": 1}, b"a", True])
def test_what_is_no_text_gives_none(value: object) -> None:
    assert plain(value) == ""


def test_it_is_bounded() -> None:
    assert plain("word " * 1000, 12) == "word word w…"
    assert len(plain("x" * 5000)) == 1000
    assert plain("x" * 12, 12) == "x" * 12


@pytest.mark.parametrize(
    "part",
    ["<", "<!--", "<script>", '<a b="', "<a b='\"", "<a b=", "<a ", "<tex-math>", "<annotation>", "&", " "],
)
def test_hostile_text_takes_linear_time(part: str) -> None:
    # Within the test's time-out: with quadratic patterns it would take hours.
    assert isinstance(plain(part * (400_000 // len(part)), 25_000), str)


def test_what_lies_beyond_the_limit_is_not_read() -> None:
    sent = "a" * 50_000_000
    tracemalloc.start()
    try:
        assert len(plain(sent, 100)) == 100
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_names_are_told_apart() -> None:
    assert not module._INLINE & module._BLOCK
