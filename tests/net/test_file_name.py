"""The name that a site gives a file."""

from __future__ import annotations

import pytest

from jupyter_webresearch.net.file_name import offered_name
from tests.growth import grows_at_most

URL = "https://example.org/papers/the%20paper.pdf?download=1"
FROM_URL = "the paper.pdf"

NAMES = {
    "": FROM_URL,
    "attachment": FROM_URL,
    "attachment;": FROM_URL,
    "filename=a.txt": FROM_URL,
    "attachment; filename=a.txt": "a.txt",
    "attachment;filename=a.txt": "a.txt",
    "attachment; FileName = a.txt ; size=1": "a.txt",
    'attachment; filename="a b;c.txt"; size=1': "a b;c.txt",
    r'attachment; filename="a\"b\\c"': 'a"b\\c',
    'attachment; filename=""': FROM_URL,
    'attachment; filename="unclosed': '"unclosed',
    "attachment; filename=a.txt; filename=b.txt": "a.txt",
    'attachment; filename="../../etc/passwd"': "../../etc/passwd",
    "inline; filename*=UTF-8''na%C3%AFve.txt": "naïve.txt",
    "inline; filename*=utf-8'en'%e2%82%ac%20rates; filename=EURO": "€ rates",
    "inline; filename*=iso-8859-1''na%EFve.txt": "naïve.txt",
    "inline; filename*=utf-8''%ff%fe": "\ufffd\ufffd",
    "inline; filename*=utf-8''": FROM_URL,
    "inline; filename*=x; filename=a.txt": "a.txt",
    "inline; filename*=a'b'; filename=a.txt": "a.txt",
    "inline; filename*0=a; filename*1=b": FROM_URL,
    "inline; filename*1*=x; filename*0=y; filename*=z": FROM_URL,
    "inline; filename*99999999999999999999*=x": FROM_URL,
}
# Names of Python's codecs, which the server must not choose among.
CODECS = [
    "undefined",
    "idna",
    "punycode",
    "utf-7",
    "unicode_escape",
    "rot13",
    "zip",
    "hex",
    "utf-16",
    "cp037",
    "x" * 900,
]


@pytest.mark.parametrize("field", NAMES)
def test_names(field: str) -> None:
    assert offered_name(field, URL) == NAMES[field]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("value", ["+ADw-", r"\x41", "%c3%a4", "xn--a", "%00"])
def test_no_codec_but_the_two_of_the_standard_is_used(codec: str, value: str) -> None:
    assert offered_name(f"attachment; filename*={codec}''{value}", URL) == FROM_URL


@pytest.mark.parametrize("url", ["https://example.org", "https://example.org/", "https://example.org/?a=b/c.txt"])
def test_there_may_be_none(url: str) -> None:
    assert offered_name("", url) == ""


@pytest.mark.parametrize(
    "unit", ['"', "\\", ";a=b", ";filename*0*=a", ';a="', ';a="\\', ";", " ", ";a", "=", "filename"]
)
def test_the_longest_field_takes_no_longer_than_a_long_one(unit: str) -> None:
    short, long = ("attachment; filename=" + unit * (size // len(unit)) for size in (6000, 60_000))
    assert grows_at_most(10, lambda field: offered_name(field, URL), short, long, floor=0.0005)
