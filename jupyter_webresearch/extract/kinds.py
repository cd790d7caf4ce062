"""Which kind of text a media type is."""

from __future__ import annotations

__all__ = ["kind_of"]

_KINDS = {
    "text/html": "html", "application/xhtml+xml": "html", "application/xhtml": "html",
    "application/json": "json", "text/json": "json", "application/x-ndjson": "text", "application/jsonl": "text",
    "application/xml": "xml", "text/xml": "xml",
    "text/csv": "csv", "application/csv": "csv", "text/tab-separated-values": "csv",
    "text/markdown": "markdown", "text/x-markdown": "markdown",
    "application/yaml": "text", "application/x-yaml": "text", "application/toml": "text",
    "application/javascript": "text", "application/x-javascript": "text", "application/ecmascript": "text",
    "application/x-sh": "text", "application/sql": "text", "application/x-tex": "text", "application/x-latex": "text",
    "application/x-bibtex": "text", "application/x-research-info-systems": "text",
}  # fmt: skip


def kind_of(content_type: str) -> str | None:
    """Return ``html``, ``json``, ``xml``, ``csv``, ``markdown`` or ``text`` for a media type, or None.

    Parameters
    ----------
    content_type
        A Content-Type value; parameters are ignored. An empty one is None.
    """
    essence = content_type.partition(";")[0].strip().lower()
    kind = _KINDS.get(essence)
    if kind:
        return kind
    if essence.endswith("+json"):
        return "json"
    if essence.endswith("+xml"):
        return "xml"
    return "text" if essence.startswith("text/") else None
