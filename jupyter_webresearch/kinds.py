"""Which media types are read as text, and what becomes of one that is too large.

The names are essences (type/subtype, lower case) as in the WHATWG MIME Sniffing Standard.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["Kind", "kind_of", "overflow_of"]

Kind = Literal["html", "text", "markdown", "json", "xml", "csv"]

_HTML = {"text/html", "application/xhtml+xml"}
_MARKDOWN = {"text/markdown", "text/x-markdown"}
_CSV = {"text/csv", "text/tab-separated-values", "application/csv"}
_JSON = {
    "application/json",
    "text/json",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-ipynb+json",
}
_XML = {"application/xml", "text/xml", "application/rss+xml", "application/atom+xml"}
_TEXT = {
    "application/javascript",
    "application/ecmascript",
    "application/x-javascript",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/sql",
    "application/x-sh",
    "application/x-tex",
    "application/x-bibtex",
    "application/x-research-info-systems",
}
# Endless by design: reading one as text would wait for the deadline and call what came by then a page.
_STREAMS = {"text/event-stream"}


def kind_of(essence: str) -> Kind | None:
    """Return how a media type is read, or None when it is not shown as text."""
    if essence in _STREAMS:
        return None
    if essence in _HTML:
        return "html"
    if essence in _MARKDOWN:
        return "markdown"
    if essence in _CSV:
        return "csv"
    if essence in _JSON or essence.endswith("+json"):
        return "json"
    # An SVG picture is XML too, but its text is not what a reader wants of it: it is an image, and is saved as one.
    if essence in _XML or (essence.endswith("+xml") and not essence.startswith("image/")):
        return "xml"
    if essence.startswith("text/") or essence in _TEXT:
        return "text"
    return None


def overflow_of(kind: Kind) -> Literal["truncate", "error"]:
    """Return what becomes of a body over the limit: JSON and XML can't be cut without breaking them."""
    return "error" if kind in ("json", "xml") else "truncate"
