"""Which leaves of a page are the article: trafilatura chooses text, structure around it is repaired.

trafilatura decides better than anything else which text is the article, but flattens code, drops tables, headings and
formulas. So only its choice is used: its text is matched back onto the page's leaves, and the page's own tree is
rendered.
"""

from __future__ import annotations

from dataclasses import dataclass

import trafilatura
from lxml import etree

from jupyter_webresearch.extract.align import mark_covered
from jupyter_webresearch.extract.leaves import Leaves
from jupyter_webresearch.extract.structure import repair
from jupyter_webresearch.extract.tree import PageTree

__all__ = ["Selection", "drop_chrome", "prune", "select"]

_COVERED = 0.5  # share of a leaf's words that must have been chosen
_CHROME_AT_MOST = 0.3  # share of the page's words that must remain without navigation and footer
_FOUND = 0.5  # share of the chosen text that must have been found in the page


@dataclass(frozen=True)
class Selection:
    """What of a page was chosen.

    Attributes
    ----------
    found
        Whether leaves were marked; if not, ``text`` is all there is.
    text
        The article's text as trafilatura gave it, one block a line; empty when there is no article.
    """

    found: bool
    text: str


def select(page: PageTree, leaves: Leaves, url: str) -> Selection:
    """Mark the leaves of the article with ``keep``."""
    text = str(trafilatura.extract(page.root, url=url, include_comments=False, include_tables=True) or "")
    if not text:
        return Selection(False, "")
    total = mark_covered(leaves.all, text)
    for leaf in leaves.all:
        leaf.keep = bool(leaf.words) and leaf.covered >= _COVERED * len(leaf.words)
    kept = sum(len(leaf.words) for leaf in leaves.all if leaf.keep)
    if kept < _FOUND * total or not kept:
        return Selection(False, text)
    repair(page, leaves)
    return Selection(True, text)


def drop_chrome(leaves: Leaves) -> None:
    """Mark every leaf of the page with ``keep`` but navigation and footer, unless those hold most of it."""
    for leaf in leaves.all:
        leaf.keep = not any(node.tag in ("nav", "footer") for node in (leaf.block, *leaf.block.iterancestors()))
    kept = sum(len(leaf.words) for leaf in leaves.all if leaf.keep)
    if kept < _CHROME_AT_MOST * sum(len(leaf.words) for leaf in leaves.all):
        for leaf in leaves.all:
            leaf.keep = True


def prune(leaves: Leaves) -> None:
    """Take the text and images of all other leaves out of the tree."""
    for leaf in leaves.all:
        if leaf.keep:
            continue
        for element in leaf.texts:
            element.text = None
        for element in leaf.tails:
            element.tail = None
        for image in leaf.images:
            parent: etree._Element | None = image.getparent()
            if parent is not None:
                image.tag = "source"
