"""Content types as declared and as seen."""

from __future__ import annotations

import codecs

import pytest

from jupyter_webresearch.net.content_type import is_textual, needs_sniffing, parse_content_type, sniff

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("value", "essence", "label"),
    [
        ("text/html", "text/html", ""),
        ("Text/HTML;Charset=UTF-8", "text/html", "UTF-8"),
        ('text/html; charset="gbk"', "text/html", "gbk"),
        ("text/html; charset='gbk'", "text/html", "gbk"),
        (r'text/html; charset="g\bk"', "text/html", "gbk"),
        ("text/html;charset=", "text/html", ""),
        ('text/html; charset=""', "text/html", ""),
        ("text/html; charset=gbk; charset=utf-8", "text/html", "gbk"),
        ("text/html; a=b; charset = utf-8", "text/html", ""),
        ('text/html; a=";charset=x"; charset=utf-8', "text/html", "utf-8"),
        (" text/html ; charset=utf-8 ", "text/html", "utf-8"),
        ("text/html; charset=" + "u" * 100, "text/html", ""),
        ("text/html; charset=utf-8" + "x" * 10_000, "text/html", ""),
        ("application/vnd.a+json;v=1", "application/vnd.a+json", ""),
        ("", "", ""),
        ("html", "", ""),
        ("text/", "", ""),
        ("/html", "", ""),
        ("text html", "", ""),
        ("text/html text/plain", "", ""),
        ("text/html, text/plain", "", ""),
        ("tëxt/html", "", ""),
        ("*/*", "*/*", ""),
        (";charset=utf-8", "", ""),
    ],
)
def test_parsing(value: str, essence: str, label: str) -> None:
    assert parse_content_type(value) == (essence, label)


TAGS = ["!DOCTYPE html", "html", "HEAD", "script", "iframe", "h1", "div", "font", "table", "a", "style"]
TAGS += ["title", "b", "body", "br", "p"]


@pytest.mark.parametrize(
    ("prefix", "kind"),
    [
        *((f"<{tag}>".encode(), "text/html") for tag in TAGS),
        *((f" \n\t<{tag} a=b>".encode(), "text/html") for tag in TAGS),
        *((f"<{tag}x>".encode(), "text/plain") for tag in TAGS),
        (b"<!-- comment -->", "text/html"),
        (codecs.BOM_UTF8 + b"<html>", "text/html"),
        (codecs.BOM_UTF16_LE + "<html>".encode("utf-16-le"), "text/html"),
        (codecs.BOM_UTF16_BE + "<html>".encode("utf-16-be"), "text/html"),
        ("<html><head><title>".encode("utf-16-le"), "text/html"),
        ("<html><head><title>".encode("utf-16-be"), "text/html"),
        ("Plain words and more.".encode("utf-16-le"), "text/plain"),
        (b'<?xml version="1.0"?><rss>', "text/xml"),
        (b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml"),
        (b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC>', "application/xhtml+xml"),
        (b'{"a": 1}', "application/json"),
        (b"{}", "application/json"),
        (b"  [1, 2]", "application/json"),
        (b'["a"', "application/json"),
        (b"[]", "application/json"),
        (b"[true", "application/json"),
        (b"[link](url)", "text/plain"),
        (b"{not json", "text/plain"),
        (b"[trueish]", "text/plain"),
        (b"a,b\n1,2\n", "text/plain"),
        (b"", "text/plain"),
        (" é".encode("latin-1"), "text/plain"),
        ("中文".encode("gbk"), "text/plain"),
        ("日本語".encode("iso-2022-jp"), "text/plain"),
        (b"%PDF-1.7\n", "application/pdf"),
        (PNG, "image/png"),
        (b"GIF89a..", "image/gif"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b\x08\0", "application/gzip"),
        (b"\0\0\0\0", "application/octet-stream"),
        (b"text\x00text", "application/octet-stream"),
        (b"\x7fELF\x02\x01\x01", "application/octet-stream"),
        (bytes(range(256)), "application/octet-stream"),
        (b"x" * 600 + b"\0", "text/plain"),
    ],
)
@pytest.mark.parametrize("declared", ["", "application/octet-stream", "*/*", "unknown/unknown"])
def test_sniffing_what_is_not_declared(prefix: bytes, kind: str, declared: str) -> None:
    assert needs_sniffing(declared)
    assert sniff(prefix, declared) == kind


@pytest.mark.parametrize(
    ("prefix", "label", "kind"),
    [
        (b"<html><script>", "", "text/plain"),
        (b'{"a": 1}', "", "text/plain"),
        (b"words", "", "text/plain"),
        (b"\0\1\2\3", "", "application/octet-stream"),
        (b"\0a\0b", "utf-16be", "text/plain"),
        (PNG, "", "image/png"),
        (b"%PDF-1.4", "utf-8", "application/pdf"),
    ],
)
def test_text_stays_text_unless_it_is_none(prefix: bytes, label: str, kind: str) -> None:
    assert needs_sniffing("text/plain")
    assert sniff(prefix, "text/plain", label) == kind


@pytest.mark.parametrize("declared", ["text/html", "application/json", "image/png", "text/csv"])
def test_a_declared_type_is_believed(declared: str) -> None:
    assert not needs_sniffing(declared)


@pytest.mark.parametrize(
    ("essence", "textual"),
    [
        ("text/html", True),
        ("application/xml", True),
        ("application/ld+json", True),
        ("application/json", True),
        ("image/png", False),
        ("application/zip", False),
        ("", False),
    ],
)
def test_textual(essence: str, textual: bool) -> None:
    assert is_textual(essence) is textual
