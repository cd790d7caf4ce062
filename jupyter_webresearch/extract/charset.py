"""How a body is decoded, and what said so: BOM, then HTTP header, then ``<meta>``, then detection.

The order is the HTML Standard's ("determining the character encoding"); labels are read by the Encoding Standard's
table only. Decoding never fails: what does not belong becomes U+FFFD.
"""

from __future__ import annotations

import re

from jupyter_webresearch.extract.charset_labels import CODECS, canonical
from jupyter_webresearch.models import Charset

__all__ = ["decode"]

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_PRESCAN = 1024
_DETECT = 64 * 1024


def decode(data: bytes, header_label: str = "", *, markup: bool = True) -> tuple[str, Charset]:
    """Decode a body.

    Parameters
    ----------
    data
        The body's bytes; may be cut anywhere.
    header_label
        The charset parameter of the Content-Type header, or an empty string.
    markup
        Whether ``<meta>`` and an XML declaration may speak.

    Returns
    -------
    tuple[str, Charset]
        The text without BOM, and the encoding's WHATWG name with its origin: ``bom``, ``header``, ``meta`` or
        ``detected``.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decoded(data[len(bom) :], encoding, "bom")
    labelled = canonical(header_label)
    if labelled:
        return _decoded(data, labelled, "header")
    wide = _utf16_pattern(data)
    if wide:
        return _decoded(data, wide, "detected")
    declared = prescan(data) if markup else None
    if declared:
        return _decoded(data, declared, "meta")
    return _decoded(data, _detect(data), "detected")


def _decoded(data: bytes, encoding: str, origin: str) -> tuple[str, Charset]:
    return data.decode(CODECS[encoding], "replace"), Charset(encoding, origin)


_META = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)


def prescan(data: bytes) -> str | None:
    """Return the encoding that a ``<meta>`` in the first 1,024 bytes names, or None."""
    match = _META.search(data[:_PRESCAN])
    name = canonical(match.group(1).decode("ascii", "replace")) if match else None
    return "utf-8" if name and name.startswith("utf-16") else name


def _utf16_pattern(data: bytes) -> str | None:
    head = data[:512]
    if len(head) < 8:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if odd > 0.7 * half and even < 0.1 * half:
        return "utf-16le"
    if even > 0.7 * half and odd < 0.1 * half:
        return "utf-16be"
    return None


def _detect(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3:
            return "utf-8"
    else:
        return "utf-8"
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_DETECT], steps=5, chunk_size=512, threshold=0.2).best()
    return (canonical(best.encoding.replace("_", "-")) if best else None) or "windows-1252"
