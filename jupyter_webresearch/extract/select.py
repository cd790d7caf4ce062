"""Which text of a page is the article."""

from __future__ import annotations

import trafilatura

from jupyter_webresearch.extract.tree import PageTree

__all__ = ["main_text"]


def main_text(page: PageTree, url: str) -> str:
    """Return the article's text as trafilatura chooses it, one block a line, or an empty string."""
    text = trafilatura.extract(page.root, url=url, include_comments=False, include_tables=True)
    return str(text or "")
