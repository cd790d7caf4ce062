"""The encoding of bytes that nothing labels: strict UTF-8, else what their language and frequencies say."""

from __future__ import annotations

import re

from jupyter_webresearch.extraction.charset_labels import CODECS, canonical
from jupyter_webresearch.extraction.charset_prescan import declared_label

__all__ = ["detect"]

_FALLBACK = "windows-1252"
_SAMPLE = 16 * 1024  # bytes of text, without markup, that are judged
_SEARCHED = 256 * 1024  # bytes in which that text is looked for
_MARKUP = re.compile(rb"(?is)<(?:script|style)\b.{0,20000}?</(?:script|style)|<[^<>]*>|&#?\w{1,10};|[\x00-\x20]+")
_LANGUAGE = re.compile(rb"<html\b[^>]{0,300}?\blang\s*=\s*[\"']?([a-zA-Z]{2})")
_CUT = 3  # bytes that the last character of a cut body can lack

# What pages without a label in a language were written in (HTML Standard, table of locale defaults, and its rivals).
_BY_LANGUAGE = {
    **dict.fromkeys(("pl", "cs", "sk", "hu", "sl", "hr", "ro"), ("windows-1250", "iso-8859-2")),
    **dict.fromkeys(("ru", "bg", "uk", "be", "sr", "mk"), ("windows-1251", "koi8-r", "koi8-u", "iso-8859-5")),
    **dict.fromkeys(("de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "no", "fi", "is", "ca"), ("windows-1252",)),
    "el": ("windows-1253", "iso-8859-7"),
    "tr": ("windows-1254",),
    "he": ("windows-1255", "iso-8859-8"),
    **dict.fromkeys(("ar", "fa"), ("windows-1256", "iso-8859-6")),
    **dict.fromkeys(("lt", "lv", "et"), ("windows-1257", "iso-8859-13")),
    "vi": ("windows-1258",),
    "th": ("windows-874",),
    "ja": ("shift_jis", "euc-jp"),
    "zh": ("gb18030", "big5"),
    "ko": ("euc-kr",),
}
_LIKELY = (
    "windows-1252", "windows-1250", "iso-8859-2", "windows-1251", "koi8-r", "shift_jis", "euc-jp", "gb18030", "big5",
    "euc-kr", "windows-1253", "windows-1255", "windows-1256",
)  # fmt: skip
# Bytes that are letters of Central Europe in one encoding and signs (or controls) in the other.
_LATIN2_LETTERS = re.compile(rb"(?<=[a-zA-Z])[\xb1\xb6\xbc]|[\xb1\xb6\xbc](?=[a-z])")
_1250_LETTERS = re.compile(rb"[\xb9\x9c\x9f\x8a\x9a\x8e\x9e]")
_NAMES = {codec.replace("-", "_"): name for name, codec in reversed(CODECS.items())}


def detect(data: bytes) -> str:
    """Return the WHATWG name of the encoding that bytes without a label most likely have."""
    if b"\x1b$" in data and data.isascii():
        return "iso-2022-jp"
    if _is_utf8(data):
        return "utf-8"
    late = canonical(declared_label(data[:_SEARCHED]))
    if late and not late.startswith("utf"):
        return late
    text = _MARKUP.sub(b" ", data[:_SEARCHED])
    sample = _telling(text)
    language = _LANGUAGE.search(data[:4096])
    candidates = _BY_LANGUAGE.get(language.group(1).decode().lower(), _LIKELY) if language else _LIKELY
    best = _best(sample, candidates)
    if {"windows-1250", "iso-8859-2"} <= set(candidates) and best in ("windows-1250", "iso-8859-2"):
        latin2, windows = len(_LATIN2_LETTERS.findall(text)), len(_1250_LETTERS.findall(text))
        return "iso-8859-2" if latin2 > windows else "windows-1250"
    return best


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = error.start >= len(data) - _CUT and error.reason == "unexpected end of data"
        return cut and not data[: error.start].isascii()
    return True


def _telling(text: bytes) -> bytes:
    """Return the part of a text from where its first letters beyond ASCII are."""
    first = re.search(rb"[\x80-\xff]", text)
    start = max(0, first.start() - 200) if first else 0
    return text[start : start + _SAMPLE]


def _fits(sample: bytes, name: str) -> bool:
    try:
        sample.decode(CODECS[name])
    except UnicodeDecodeError:
        return False
    return True


def _best(sample: bytes, candidates: tuple[str, ...]) -> str:
    from charset_normalizer import from_bytes

    if len(candidates) == 1:
        return candidates[0]
    ends = [sample[: len(sample) - cut] for cut in range(_CUT + 1)]
    sample = max(ends, key=lambda end: sum(_fits(end, name) for name in candidates))
    found = from_bytes(sample, steps=5, chunk_size=1024, cp_isolation=[CODECS[name] for name in candidates]).best()
    if found is None:
        return candidates[0] if candidates is not _LIKELY else _FALLBACK
    return _NAMES.get(found.encoding.replace("-", "_"), _FALLBACK)
