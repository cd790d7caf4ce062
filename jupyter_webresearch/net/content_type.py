"""What kind of content an answer holds: by its Content-Type, else by its first bytes."""

from __future__ import annotations

import codecs
import re

__all__ = ["SNIFF_BYTES", "is_textual", "needs_sniffing", "parse_content_type", "sniff"]

SNIFF_BYTES = 512
"""Decoded bytes that sniffing looks at."""

_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_ESSENCE = re.compile(rf"[ \t]*({_NAME}/{_NAME})[ \t]*(?:;|$)")
_PARAMETER = re.compile(rf';[ \t]*({_NAME})=(?:"((?:[^"\\]|\\.)*)"|([^;]*))')
_MAX_FIELD = 1024
_MAX_LABEL = 40

# Types that say nothing, and text/plain, which servers also put on files whose type they don't know.
_UNKNOWN = frozenset(
    {
        "",
        "*/*",
        "application/octet-stream",
        "application/unknown",
        "application/x-unknown",
        "binary/octet-stream",
        "content/unknown",
        "unknown/unknown",
    }
)

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

# WHATWG mimesniff, 7.1: the tags with which a page may begin, each followed by a space or ">".
_HTML = re.compile(
    r"<(?:(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)(?=[\s>])|!--)",
    re.IGNORECASE,
)
_XML = re.compile(r"<\?xml(?=[\s?])", re.IGNORECASE)
_XHTML = re.compile(r"<html[\s>]|<!doctype html", re.IGNORECASE)
# Ours: the beginning of a JSON object or array.
_JSON = re.compile(r"\{\s*(?:\"|\}\s*$)|\[\s*(?:[\"{\[\-0-9]|true\b|false\b|null\b|\]\s*$)")
_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
)
_BINARY_TYPE = "application/octet-stream"
# WHATWG mimesniff, 3: bytes that no text holds.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def parse_content_type(value: str) -> tuple[str, str]:
    """Read a Content-Type field (RFC 9110, 8.3).

    Parameters
    ----------
    value
        The field as sent; may be empty or malformed.

    Returns
    -------
    essence : str
        ``type/subtype`` in lower case, or an empty string.
    charset_label : str
        The first ``charset`` parameter, unquoted, or an empty string. It is a label, to be looked up in the WHATWG
        table and nowhere else.
    """
    value = value[:_MAX_FIELD]
    match = _ESSENCE.match(value)
    if match is None:
        return "", ""
    label = ""
    for name, quoted, plain in _PARAMETER.findall(value):
        if name.lower() == "charset":
            label = (re.sub(r"\\(.)", r"\1", quoted) or plain).strip(" \t'\"")
            break
    return match[1].lower(), label if len(label) <= _MAX_LABEL else ""


def needs_sniffing(essence: str) -> bool:
    """Return whether a declared type says too little to go by, so that the first bytes decide."""
    return essence in _UNKNOWN or essence == "text/plain"


def is_textual(essence: str) -> bool:
    """Return whether bytes of this type are meant to be read as text."""
    return essence.startswith("text/") or essence.endswith(("+xml", "+json", "/xml", "/json", "/x-ndjson"))


def sniff(prefix: bytes, essence: str = "", charset_label: str = "") -> str:
    """Decide on the type of an answer whose declared one :func:`needs_sniffing`.

    Parameters
    ----------
    prefix
        The first decoded bytes, up to :data:`SNIFF_BYTES`.
    essence, charset_label
        As declared.

    Returns
    -------
    str
        ``text/html``, ``application/xhtml+xml``, ``text/xml``, ``application/json``, ``text/plain``, the type of a
        well-known signature, or ``application/octet-stream``. What is declared ``text/plain`` stays so unless its
        bytes are binary: a page's source shown as text must not be rendered.

    Notes
    -----
    The tags and the binary bytes are those of the WHATWG MIME Sniffing Standard; JSON is our addition.
    """
    prefix = prefix[:SNIFF_BYTES]
    for magic, found in _SIGNATURES:
        if prefix.startswith(magic):
            return found
    text = _as_text(prefix)
    if essence == "text/plain":
        return essence if text is not None or charset_label else _BINARY_TYPE
    if text is None:
        return _BINARY_TYPE
    start = text.lstrip(" \t\r\n\f")
    if _HTML.match(start):
        return "text/html"
    if _XML.match(start):
        return "application/xhtml+xml" if _XHTML.search(start) else "text/xml"
    return "application/json" if _JSON.match(start) else "text/plain"


def _as_text(prefix: bytes) -> str | None:
    """Return the prefix as text, or None if it holds bytes that no text holds."""
    for bom, codec in _BOMS:
        if prefix.startswith(bom):
            return prefix[len(bom) :].decode(codec, "replace")
    codec = _utf16_without_bom(prefix)
    if codec:
        return prefix.decode(codec, "replace")
    return None if _BINARY.search(prefix) else prefix.decode("latin-1")


def _utf16_without_bom(prefix: bytes) -> str:
    """Name the UTF-16 form whose NUL pattern the prefix has: Latin text has one in every other byte."""
    even, odd = prefix[0::2].count(0), prefix[1::2].count(0)
    most = len(prefix) // 2
    if len(prefix) >= 8 and max(even, odd) >= 0.7 * most and min(even, odd) == 0:
        return "utf-16-be" if even else "utf-16-le"
    return ""
