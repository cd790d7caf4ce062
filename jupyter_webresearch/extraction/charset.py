"""How a body is decoded, and what said so: BOM, then HTTP header, then ``<meta>``, then detection.

The order is the HTML Standard's ("determining the character encoding"); labels are read by the Encoding Standard's
table only. Decoding never fails: what does not belong becomes U+FFFD.
"""

from __future__ import annotations

from jupyter_webresearch.extraction.charset_detection import detect
from jupyter_webresearch.extraction.charset_labels import CODECS, canonical
from jupyter_webresearch.extraction.charset_prescan import declared_label
from jupyter_webresearch.models import Charset

__all__ = ["decode"]

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_PRESCAN = 1024  # bytes in which a declaration counts (HTML Standard, "prescan a byte stream")


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
    labelled = canonical(header_label[:100])
    if labelled:
        return _decoded(data, labelled, "header")
    wide = _wide(data)
    if wide:
        return _decoded(data, wide, "detected")
    declared = canonical(declared_label(data[:_PRESCAN])) if markup else None
    if declared:
        # A declaration that could be read as ASCII can't be in UTF-16 (HTML Standard, prescan, last steps).
        return _decoded(data, "utf-8" if declared.startswith("utf-16") else declared, "meta")
    return _decoded(data, detect(data), "detected")


def _decoded(data: bytes, encoding: str, origin: str) -> tuple[str, Charset]:
    return data.decode(CODECS[encoding], "replace").removeprefix("\ufeff"), Charset(encoding, origin)


def _wide(data: bytes) -> str | None:
    """Return UTF-16 in the byte order that the zero bytes of Latin text show, if they do."""
    head = data[:512]
    half = len(head) // 2
    if half < 4:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 0.7 * half and even < 0.1 * half:
        return "utf-16le"
    if even > 0.7 * half and odd < 0.1 * half:
        return "utf-16be"
    return None
