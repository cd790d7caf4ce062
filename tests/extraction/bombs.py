"""Pages made to hurt whoever reads them: small forms that still trigger what the large ones do.

Each holds the sentence :data:`WORDS` where a reader would see it, so that a test can tell a correct result from an
empty one. Run as a program it writes them to a folder: ``python -m tests.extraction.bombs FOLDER``.
"""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WORDS = "seven herons stand by the river"
PARAGRAPH = f"<p>{WORDS}</p>"
MIB = 1024 * 1024


@dataclass(frozen=True)
class Bomb:
    """A hostile body and how it is labelled.

    ``words`` tells whether :data:`WORDS` can be read in it; without words the only right end is ``no_text``.
    """

    name: str
    body: Callable[[], bytes]
    content_type: str = "text/html"
    charset_label: str = "utf-8"
    words: bool = True


def _page(inner: str, before: str = PARAGRAPH, after: str = PARAGRAPH) -> bytes:
    head = "<!doctype html><html><head><title>Bomb</title></head><body>"
    return f"{head}{before}{inner}{after}</body></html>".encode()


def _attributes(count: int) -> str:
    return "<div " + " ".join(f"a{n}=1" for n in range(count)) + f">{WORDS}</div>"


def _misnested() -> str:
    tags = random.Random(7).choices(("b", "i", "a href=x", "p", "table", "td", "font", "nobr", "div"), k=20_000)
    return "".join(f"<{tag}>x" if n % 3 else f"</{tag.split()[0]}>" for n, tag in enumerate(tags))


def _repeat(unit: str, size: int, opening: str = "", closing: str = "") -> bytes:
    pieces, length, number = [], 0, 0
    while length < size:
        pieces.append(unit.format(number))
        length += len(pieces[-1])
        number += 1
    return _page(opening + "".join(pieces) + closing)


def link_dense(size: int) -> bytes:
    """Return a page of that many bytes that is nearly all links."""
    unit = '<p><a href="/page?id={0}&amp;q=x">link number {0}</a> and <a href="//other.example/{0}">another</a></p>\n'
    return _repeat(unit, size)


def table_dense(size: int) -> bytes:
    """Return a page of that many bytes that is nearly all table cells."""
    cells = "".join(f"<td>cell {{0}}.{n}</td>" for n in range(8))
    return _repeat(f"<tr>{cells}</tr>\n", size, "<table>", "</table>")


def nested(depth: int, tag: str = "div") -> bytes:
    """Return a page whose words lie that deep."""
    return _page(f"<{tag}>" * depth + PARAGRAPH + f"</{tag}>" * depth, before="", after="")


_LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    + "".join(f'<!ENTITY {chr(c + 1)} "{f"&{chr(c)};" * 10}">' for c in range(ord("b"), ord("k")))
    + "]>"
)

BOMBS = (
    # Decompressed bombs, as they reach the extraction: cut at some size.
    Bomb("B1-zeros", lambda: bytes(2 * MIB), words=False),
    Bomb("B1-spaces", lambda: PARAGRAPH.encode() + b" " * (4 * MIB)),
    Bomb("B1-one-letter", lambda: PARAGRAPH.encode() + b"a" * (2 * MIB)),
    Bomb("B4-gzip-as-html", lambda: PARAGRAPH.encode() + gzip.compress(random.Random(7).randbytes(MIB // 4))),
    Bomb("B6-pattern", lambda: PARAGRAPH.encode() + b"<p>spam</p>" * (MIB // 11)),
    # 4.6
    Bomb("H1-100k-attributes", lambda: _page(_attributes(100_000))),
    Bomb("H1-300k-attributes", lambda: _page(_attributes(300_000))),
    Bomb("H1-unclosed-tag", lambda: _page("<div " + " ".join(f"a{n}=1" for n in range(100_000)), after="")),
    Bomb("H1-attribute-quotes", lambda: _page("<div a='" + '<b c="' * 100_000, after="")),
    Bomb("H2-1000-deep", lambda: nested(1000)),
    Bomb("H2-100k-deep", lambda: nested(100_000)),
    Bomb("H2-50k-deep-open", lambda: _page("<div>" * 50_000 + PARAGRAPH, before="", after="")),
    Bomb("H2-30k-spans", lambda: nested(30_000, "span")),
    Bomb("H2-30k-blockquotes", lambda: nested(30_000, "blockquote")),
    Bomb("H2-50k-svg", lambda: _page("<svg>" + "<g>" * 50_000 + "</g>" * 50_000 + "</svg>")),
    Bomb("H3-50k-lists", lambda: _page("<ul><li>x" * 50_000)),
    Bomb("H3-100k-options", lambda: _page("<select>" + "<option>x" * 100_000 + "</select>")),
    Bomb("H4-250k-paragraphs", lambda: _page("<p>x" * 250_000)),
    Bomb("H5-100k-links", lambda: _page("<a href=/x>y</a> " * 100_000)),
    Bomb("H6-foster-parents", lambda: _page("<table>" + "<b>x" * 50_000 + "</table>")),
    Bomb("H6-spans", lambda: _page("<table><tr><td rowspan=65534 colspan=1000>x</td><td>y</td></tr><tr><td>z</table>")),
    Bomb("H6-many-spans", lambda: _page("<table>" + "<tr>" + "<td rowspan=65534 colspan=1000>x" * 2000 + "</table>")),
    Bomb(
        "H6-long-cell-spanned", lambda: _page(f"<table><tr><td rowspan=65534 colspan=1000>{'long ' * 50_000}</table>")
    ),
    Bomb("H6-10k-tables", lambda: _page("<table><tr><td>" * 10_000)),
    Bomb("H7-misnested", lambda: _page("<b><p>x" * 20_000)),
    Bomb("H7-unclosed-links", lambda: _page("<a href=/x>y" * 20_000)),
    Bomb("H7-random", lambda: _page(_misnested())),
    Bomb("H8-500k-entities", lambda: _page("<p>" + "&amp;" * 500_000 + "</p>")),
    Bomb("H8-unterminated-ampersands", lambda: _page("<p>" + "&" * 500_000 + "</p>")),
    Bomb("H8-numeric-entity", lambda: _page("<p>&#" + "9" * 1_000_000 + ";</p>")),
    Bomb("H8-long-attribute", lambda: _page("<p title='" + "x" * (4 * MIB) + "'>y</p>")),
    Bomb("H8-long-comment", lambda: _page("<!--" + "x" * (4 * MIB) + "-->")),
    Bomb("H8-comment-dashes", lambda: _page("<!--" + "-" * (4 * MIB) + "-->")),
    Bomb("H8-open-comments", lambda: _page("<!--" * 500_000, after="")),
    Bomb("H8-500k-less-than", lambda: _page("<" * 500_000)),
    Bomb("H8-nuls", lambda: _page("<p>" + "\0" * 1_000_000 + "</p>")),
    Bomb("H8-laughs", lambda: (_LAUGHS + f"<html><body><p>&k;</p>{PARAGRAPH}</body></html>").encode()),
    Bomb(
        "H8-laughs-xhtml",
        lambda: (_LAUGHS + f"<html><body>{PARAGRAPH}</body></html>").encode(),
        "application/xhtml+xml",
    ),
    Bomb("H8-laughs-xml", lambda: (_LAUGHS + f"<a>{WORDS} &k;</a>").encode(), "application/xml"),
    Bomb("H9-comment-only", lambda: b"<!-- nothing -->", words=False),
    Bomb("H9-empty", lambda: b"", words=False),
    Bomb("H9-markup-only", lambda: b"<html><body><div><br></div><hr></body></html>", words=False),
    Bomb("H9-scripts-only", lambda: b"<html><body><div id=root></div><script>render('words')</script>", words=False),
    *(
        Bomb(f"H10-{name}", lambda unit=unit, count=count: _page(f"<p>{unit * count}</p>"))
        for name, unit, count in (
            ("spaces", " ", 2_000_000),
            ("brackets", "[", 200_000),
            ("stars", "*", 200_000),
            ("pipes", "|", 200_000),
            ("backticks", "`", 200_000),
            ("dollars", "$", 200_000),
            ("underscores", "a_", 100_000),
            ("tabs", "\t x", 100_000),
            ("at-signs", "a@", 100_000),
            ("www", "www.", 100_000),
            ("schemes", "http://", 50_000),
            ("dashes", "-", 300_000),
            ("zero-width", "\u200b", 300_000),
            ("bidi", "\u202e", 300_000),
            ("combining", "e\u0301\u0301", 200_000),
        )
    ),
    Bomb("H10-newlines-in-pre", lambda: _page("<pre>" + "\n" * (3 * MIB) + "x</pre>")),
    Bomb("H10-backticks-in-pre", lambda: _page("<pre>" + "`" * 300_000 + "</pre>")),
    Bomb("H10-pipes-in-cells", lambda: _page("<table>" + "<tr><td>" + "|" * 200_000 + "</td></tr></table>")),
    Bomb("H12-base-javascript", lambda: _page("<base href='javascript:alert(1)//'><a href=x>y</a>")),
    Bomb("H12-base-elsewhere", lambda: _page("<base href='//evil.example/'><a href=x>y</a>")),
    Bomb("H12-to-loopback", lambda: _page("<a href='//127.0.0.1/x'>y</a><a href='java\tscript:alert(1)'>z</a>")),
    # 4.7
    Bomb("C2-utf16-bom", lambda: ("\ufeff" + _page("").decode()).encode("utf-16-le"), charset_label=""),
    Bomb("C2-utf32", lambda: _page("").decode().encode("utf-32-le"), charset_label=""),
    Bomb("C3-utf-7", lambda: _page("+ADw-script+AD4-"), charset_label="utf-7"),
    Bomb("C3-unicode-escape", lambda: _page("\\x3cscript\\x3e"), charset_label="unicode_escape"),
    Bomb("C3-zip", lambda: _page(""), charset_label="zip"),
    Bomb("C3-idna", lambda: _page(""), charset_label="idna"),
    Bomb("C4-iso-2022-jp-escapes", lambda: _page("\x1b$B" * 100_000 + "\x1b(B"), charset_label="iso-2022-jp"),
    Bomb("C4-gbk-cut", lambda: _page("<p>中文</p>").decode().encode("gbk") + b"\x81", charset_label="gbk"),
    Bomb("C4-invalid-utf-8", lambda: _page("") + b"\xc0\xaf\xed\xa0\x80\xff" * 100_000),
    Bomb("C5-long-label", lambda: _page(""), charset_label="x" * 1_000_000),
)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for bomb in BOMBS:
        (folder / f"{bomb.name}.html").write_bytes(bomb.body())
