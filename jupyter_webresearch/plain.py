"""Our own Markdown without its markup."""

from __future__ import annotations

import re

__all__ = ["plain_text"]

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*\)")


def plain_text(markdown: str) -> str:
    """Return what a reader sees of Markdown that :mod:`jupyter_webresearch.extract.markdown` wrote."""
    text = _LINK.sub(r"\1", markdown)
    text = _ESCAPE.sub(r"\1", text)
    return text.replace("&lt;", "<").replace("&amp;", "&")
