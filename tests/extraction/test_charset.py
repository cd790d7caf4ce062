"""Bytes to text: BOM, header, declaration, detection, in this order and by the Encoding Standard's labels."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path

import pytest

from jupyter_webresearch.extraction.charset import decode
from jupyter_webresearch.extraction.charset_labels import CODECS, canonical
from jupyter_webresearch.extraction.document import Limits, extract_document
from jupyter_webresearch.models import Charset

DATA = os.environ.get("WEBRESEARCH_DATA")
PAGES = json.loads((Path(DATA) / "encodings" / "manifest.json").read_text("utf-8")) if DATA else {}
needs_data = pytest.mark.skipif(not DATA, reason="WEBRESEARCH_DATA is not set")

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Правительство объявило о новых мерах поддержки."
JAPANESE = "日本語の文章です。これは文字コードの判定のための例文であり、ひらがなとカタカナと漢字を含みます。"
CHINESE = "这是一个用于检测编码的中文句子，包含许多常用汉字。我们希望它能够被正确识别。"
TAIWANESE = "這是一個用於檢測編碼的中文句子，包含許多常用漢字。我們希望它能夠被正確識別。"
KOREAN = "이것은 인코딩을 감지하기 위한 한국어 문장입니다. 우리는 그것이 올바르게 인식되기를 바랍니다."
POLISH = "Zażółć gęślą jaźń. Wyrównana sezonowo stopa bezrobocia była najniższa w Polsce."
GREEK = "Αυτή είναι μια ελληνική πρόταση για την ανίχνευση της κωδικοποίησης κειμένου."
GERMAN = "Die Größe der Übung ändert sich über Nacht, sagt der Bürgermeister."

TEXTS = [
    ("gbk", "gbk", "zh", CHINESE),
    ("gb18030", "gb18030", "zh", CHINESE),
    ("big5", "big5hkscs", "zh", TAIWANESE),
    ("shift_jis", "cp932", "ja", JAPANESE),
    ("euc-jp", "euc_jp", "ja", JAPANESE),
    ("iso-2022-jp", "iso2022_jp", "ja", JAPANESE),
    ("euc-kr", "cp949", "ko", KOREAN),
    ("windows-1251", "cp1251", "ru", RUSSIAN),
    ("koi8-r", "koi8-r", "ru", RUSSIAN),
    ("windows-1250", "cp1250", "pl", POLISH),
    ("iso-8859-2", "iso8859-2", "pl", POLISH),
    ("windows-1253", "cp1253", "el", GREEK),
    ("windows-1252", "cp1252", "de", GERMAN),
    ("utf-8", "utf-8", "de", GERMAN),
]
by_name = pytest.mark.parametrize(("name", "codec", "language", "text"), TEXTS, ids=[row[0] for row in TEXTS])


@by_name
def test_the_header_decides(name, codec, language, text):
    assert decode(text.encode(codec), name.upper()) == (text, Charset(name, "header"))


@by_name
def test_a_meta_decides(name, codec, language, text):
    source = f'<html><head><meta charset="{name}"></head><body>{text}'
    assert decode(source.encode(codec)) == (source, Charset(name, "meta"))


@by_name
def test_undeclared_text_is_detected(name, codec, language, text):
    source = f"<html lang={language}><title>x</title><style>a{{}}</style><body>" + f"<p>{text}</p>" * 3
    assert text in decode(source.encode(codec))[0]


@by_name
def test_a_character_cut_at_the_end_costs_only_itself(name, codec, language, text):
    data = f"<html lang={language}>{text * 3}".encode(codec)
    for label in (name, ""):
        cut = decode(data[:-1], label)[0]
        assert text in cut
        assert len(cut) <= len(f"<html lang={language}>") + 3 * len(text) + 1


@pytest.mark.parametrize(
    ("data", "header", "name", "origin"),
    [
        (b"\xef\xbb\xbfx", "big5", "utf-8", "bom"),
        ("\ufeffx".encode("utf-16-le"), "utf-8", "utf-16le", "bom"),
        ("\ufeffx".encode("utf-16-be"), "", "utf-16be", "bom"),
        (b"<meta charset=big5>", "koi8-r", "koi8-r", "header"),
        (b"<meta charset=big5>", "no-such-label", "big5", "meta"),
        (b"<meta charset=big5>", "", "big5", "meta"),
        (b"<p>plain", "", "utf-8", "detected"),
        ("<p>plain text".encode("utf-16-le"), "", "utf-16le", "detected"),
        ("<p>plain text".encode("utf-16-be"), "", "utf-16be", "detected"),
        # A declaration that can be read as ASCII is not in UTF-16.
        (b"<meta charset=utf-16>x\xc3\xa9", "", "utf-8", "meta"),
        (b"<meta charset=gb2312>", "", "gbk", "meta"),
        (b"<meta charset=iso-8859-1>", "", "windows-1252", "meta"),
        (b"<meta charset=' latin1 '>", "", "windows-1252", "meta"),
        (b"<META HTTP-EQUIV='Content-Type' CONTENT='text/html; CharSet = \"EUC-JP\"'>", "", "euc-jp", "meta"),
        (b"<meta content='text/html; charset=koi8-r' http-equiv=content-type>", "", "koi8-r", "meta"),
        (b"<meta content='text/html; charset=koi8-r' name=x>", "", "utf-8", "detected"),
        (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "", "koi8-r", "meta"),
        (b"<!--><meta charset=koi8-r>", "", "koi8-r", "meta"),
        (b"<!-- <meta charset=big5>", "", "utf-8", "detected"),
        (b"<a title='<meta charset=big5>'>", "", "utf-8", "detected"),
        (b"<metadata charset=big5>", "", "utf-8", "detected"),
        (b"<meta charset=x><meta charset=big5>", "", "utf-8", "detected"),
        (b"<?xml version='1.0' encoding='windows-1251'?>", "", "windows-1251", "meta"),
        (b" " * 1030 + b"<meta charset=big5>", "", "utf-8", "detected"),
        (b"", "", "utf-8", "detected"),
        (b"<meta charset=", "", "utf-8", "detected"),
    ],
)
def test_the_order_of_who_says_so(data, header, name, origin):
    assert decode(data, header)[1] == Charset(name, origin)


@pytest.mark.parametrize(
    "label",
    [
        "utf-7", "unicode_escape", "raw_unicode_escape", "punycode", "idna", "undefined", "zip", "base64", "hex",
        "rot13", "bz2", "quopri", "uu", "mbcs", "oem", "utf-32", "cp037", "cp500", "utf_8_sig", "palmos", "charmap",
        "hz", "iso-2022-kr", "iso-2022-cn", "replacement", "x" * 1_000_000, "", " ", "\0", "utf-8\0", "ütf-8",
    ],
)  # fmt: skip
def test_no_codec_of_python_can_be_named(label):
    text, charset = decode(b"+ADw-script+AD4- \\x3cscript\\x3e", label)
    assert charset == Charset("utf-8", "detected")
    assert text == "+ADw-script+AD4- \\x3cscript\\x3e"


def test_every_label_leads_to_a_codec():
    assert all(b"a".decode(codec) for name, codec in CODECS.items() if not name.startswith("utf-16"))
    assert {canonical(name) for name in CODECS} == set(CODECS)


@pytest.mark.parametrize("name", CODECS)
def test_any_bytes_decode_without_error(name):
    text, _ = decode(bytes(range(256)) * 40 + b"\x1b$B\x1b\x80", name)
    assert text.encode("utf-8")


def test_as_is_kinds_ignore_meta():
    extraction = extract_document(
        b"<meta charset=big5>\xc3\xa9", url="https://e.example/", content_type="text/plain", limits=Limits()
    )
    assert extraction.charset == Charset("utf-8", "detected")
    assert extraction.markdown.endswith("é")


def _plain(text):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


@needs_data
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
@pytest.mark.parametrize("name", PAGES)
def test_real_pages(name, declared):
    data = (Path(DATA) / "encodings" / name).read_bytes()
    if not declared:
        data = re.sub(rb"(?i)(charset|encoding)\s*=\s*[\"']?[\w:\-]+", b"", data)
    text, charset = decode(data)
    assert charset.name == PAGES[name]["encoding"]
    assert "\ufffd" not in text
    # Ruby glosses stand inside the words of the Japanese page.
    found = [words for words in PAGES[name]["with"] if _plain(words) in _plain(re.sub(r"<rt>.*?</rt>", "", text))]
    assert len(found) == len(PAGES[name]["with"])


def test_only_a_leading_byte_order_mark_is_one():
    for data, label in (("a\ufeffb\ufeff".encode(), "utf-8"), ("\ufeffa\ufeffb\ufeff".encode(), "utf-8")):
        assert decode(data, label)[0] == "a\ufeffb\ufeff"
