"""Frames and answers: what goes in comes out, and nothing else is believed."""

from __future__ import annotations

import io
import json

import pytest

from jupyter_webresearch.extraction.frames import (
    FrameError,
    answer_lines,
    decode_lines,
    encode_lines,
    read_extraction,
    read_frame,
    write_frame,
)
from jupyter_webresearch.models import Charset, Extraction, Link, Table

EXTRACTION = Extraction(
    kind="html",
    markdown="# Ü\u2028 中文 \U0001f600\n\nx",
    title='a "quoted"\nand\ttabbed \u2028 title',
    metadata={"site": "e.org", "author": "É\x85"},
    links=(Link("a", "https://e.org/"), Link("中", "mailto:a@e.org")),
    tables=(
        Table(("h", "i"), (("1", "2"), ("3", "4")), "caption"),
        Table((), (), ""),
        Table(("one",), tuple((str(n),) for n in range(50_000)), "long"),
    ),
    extractor="article",
    kept_share=0.25,
    hidden=7,
    charset=Charset("gbk", "meta"),
    limits=("limits: cells 1 of 2",),
)


def there_and_back(header, body, limit=10**9, step=None):
    stream = io.BytesIO()
    write_frame((lambda part: stream.write(part[:step])) if step else stream.write, header, body)
    stream.seek(0)
    frame = read_frame((lambda size: stream.read(min(size, step))) if step else stream.read, limit)
    assert stream.read() == b""
    return frame


@pytest.mark.parametrize("step", [None, 1, 3, 4096])
@pytest.mark.parametrize(("header", "body"), [(b"", b""), (b"h", b""), (b"", b"b"), (b"head\n", b"body" * 5000)])
def test_a_frame_arrives_in_any_pieces(header, body, step):
    assert there_and_back(header, body, step=step) == (header, body)


def test_an_extraction_survives_in_full():
    header, body = there_and_back(encode_lines(*answer_lines(EXTRACTION)), EXTRACTION.markdown.encode())
    assert read_extraction(decode_lines(header), body) == EXTRACTION


def test_no_line_is_long_enough_to_hold_the_interpreter():
    large = Extraction("html", "", links=tuple(Link(f"link {n}", f"https://example.org/{n}") for n in range(100_000)))
    lines = encode_lines(*answer_lines(large), *answer_lines(EXTRACTION)).split(b"\n")
    assert max(map(len, lines)) < 256 * 1024


def test_what_utf_8_can_not_hold_is_replaced():
    header = encode_lines(*answer_lines(Extraction("html", "", title="a\ud800b")))
    assert read_extraction(decode_lines(header), b"").title == "a?b"


def test_limit_and_end_of_a_stream():
    assert there_and_back(b"1234", b"5678", limit=8) == (b"1234", b"5678")
    with pytest.raises(FrameError):
        there_and_back(b"1234", b"5678", limit=7)
    stream = io.BytesIO()
    write_frame(stream.write, b"1234", b"5678")
    whole = stream.getvalue()
    assert read_frame(io.BytesIO(b"").read, 100) is None
    for cut in range(1, len(whole)):
        with pytest.raises(EOFError):
            read_frame(io.BytesIO(whole[:cut]).read, 100)


def test_an_announced_length_costs_no_memory():
    asked = []

    def read(size):
        asked.append(size)
        return b"\xff\xff\xff\x00" * 2 if len(asked) == 1 else b""

    with pytest.raises(EOFError):
        read_frame(read, 2**40)
    assert max(asked) <= 1024 * 1024


VALID = list(answer_lines(EXTRACTION))


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [{}],
        *([{**VALID[0], name: value}] for name, value in (
            ("kind", "exe"), ("kind", None), ("title", 1), ("title", None), ("metadata", []), ("metadata", {"a": 1}),
            ("extractor", []), ("kept_share", "x"), ("kept_share", 1.5), ("kept_share", -0.1),
            ("kept_share", float("nan")), ("kept_share", float("inf")), ("kept_share", None), ("hidden", -1),
            ("hidden", "x"), ("hidden", float("inf")), ("charset", "utf-8"), ("charset", ["utf-8"]),
            ("charset", {"name": "x"}), ("limits", "x"), ("limits", [1]),
        )),
        *([{k: v for k, v in VALID[0].items() if k != name}] for name in VALID[0]),
        *([VALID[0], line] for line in (
            {}, {"links": 1}, {"links": [["a"]]}, {"links": [["a", "b", "c"]]}, {"links": [["a", 1]]},
            {"links": {"a": "b"}}, {"rows": [["1"]]}, {"table": ["a"]}, {"table": "a", "caption": ""},
            {"table": ["a"], "caption": 1},
        )),
        [VALID[0], {"table": ["a"], "caption": ""}, {"rows": [["1", "2"]]}],
        [VALID[0], {"table": ["a"], "caption": ""}, {"rows": [[1]]}],
        [VALID[0], {"table": ["a"], "caption": ""}, {"rows": "x"}],
    ],
    ids=lambda lines: json.dumps(lines)[:80],
)  # fmt: skip
def test_an_answer_that_is_not_one_is_not_believed(lines):
    with pytest.raises(FrameError):
        read_extraction(iter(lines), b"")


@pytest.mark.parametrize("body", [b"\xff", b"\xed\xa0\x80", b"\xc0\xaf"])
def test_markdown_that_is_not_utf_8_is_not_believed(body):
    with pytest.raises(FrameError):
        read_extraction(iter(VALID), body)


@pytest.mark.parametrize(
    "header", [b"x", b"[]", b"1", b'"a"', b"null", b"{", b"{}\n\n{}", b"\xff", b"[" * 100_000, b'{"a":NaN}x']
)
def test_a_header_that_is_not_one_is_not_believed(header):
    with pytest.raises(FrameError):
        list(decode_lines(header))
