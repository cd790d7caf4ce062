"""Which leaves of a page are the article: trafilatura chooses text, structure around it is repaired.

trafilatura decides better than anything else which text is the article, but flattens code, drops tables, headings and
formulas. So only its choice is used: its text is matched back onto the page's leaves, and the page's own tree is
rendered.
"""

from __future__ import annotations

import copy

import trafilatura
from lxml import etree

from jupyter_webresearch.extraction.align import mark_covered
from jupyter_webresearch.extraction.leaves import Leaves
from jupyter_webresearch.extraction.structure import repair
from jupyter_webresearch.extraction.tree import PageTree, finder

__all__ = ["drop_chrome", "prune", "select"]

_MAX_SIBLINGS = 800
_CROWDED = finder(f"//*[*[{_MAX_SIBLINGS + 1}]]")
_COVERED = 0.5  # share of a leaf's words that must have been chosen
_CHROME_AT_MOST = 0.3  # share of the page's words that must remain without navigation and footer
_SCRAP_WORDS = 40
_SCRAP_SHARE = 0.1  # of the page's words
_FOUND = 0.5  # share of the chosen text that must have been found in the page


def select(page: PageTree, leaves: Leaves, url: str) -> tuple[bool, str]:
    """Mark the leaves of the article with ``keep``.

    Parameters
    ----------
    page
        The tree.
    leaves
        Of that tree.
    url
        The page's own.

    Returns
    -------
    tuple[bool, str]
        Whether leaves were marked, and the article's text as trafilatura gives it, one block a line: some pages hold
        it only where readers don't see it (JSON-LD).
    """
    root, cut = _shortened(page)
    text = str(trafilatura.extract(root, url=url, include_comments=False, include_tables=True) or "")
    if not text:
        return False, ""
    total = mark_covered(leaves.all, text)
    for leaf in leaves.all:
        leaf.keep = bool(leaf.words) and leaf.covered >= _COVERED * len(leaf.words)
    kept = sum(len(leaf.words) for leaf in leaves.all if leaf.keep)
    if kept < _FOUND * total or not kept:
        return False, text
    _extend(leaves, cut)
    repair(page, leaves)
    return not _is_scrap(leaves), text


def _is_scrap(leaves: Leaves) -> bool:
    """Return whether what was chosen is too little to be what a page of that length is about."""
    chosen = sum(len(leaf.words) for leaf in leaves.all if leaf.keep)
    return chosen < _SCRAP_WORDS and chosen < _SCRAP_SHARE * sum(len(leaf.words) for leaf in leaves.all)


def _shortened(page: PageTree) -> tuple[etree._Element, dict[etree._Element, list[etree._Element]]]:
    """Return a tree in which no element has more than some hundred children, and the children that are not in it.

    trafilatura's time grows with the square of the siblings that it keeps (2.3.1: 10,000 paragraphs take seconds). The
    first some hundred are enough to decide on all.
    """
    crowded = _CROWDED(page.body)
    if not crowded:
        return page.root, {}
    cut = {element: list(element)[_MAX_SIBLINGS:] for element in crowded}
    root = copy.deepcopy(page.root)
    for element in _CROWDED(root):
        del element[_MAX_SIBLINGS:]
    return root, cut


def _extend(leaves: Leaves, cut: dict[etree._Element, list[etree._Element]]) -> None:
    """Keep the children that were cut off where most of the text of their elder siblings was chosen."""
    for parent, children in cut.items():
        unseen = set(children)
        rest, words, kept = [], 0, 0
        for i in leaves.range_of(parent):
            leaf = leaves.all[i]
            if any(node in unseen for node in (leaf.block, *leaf.block.iterancestors())):
                rest.append(leaf)
            else:
                words += len(leaf.words)
                kept += len(leaf.words) if leaf.keep else 0
        if kept >= _COVERED * words:
            for leaf in rest:
                leaf.keep = bool(leaf.words)


def drop_chrome(leaves: Leaves, body: etree._Element) -> None:
    """Mark every leaf of the page with ``keep`` but navigation and footer, unless those hold most of it.

    Parameters
    ----------
    leaves
        Of the whole page; their ``keep`` is set.
    body
        Element below which they lie.
    """
    if next(body.iter("nav", "footer"), None) is None:
        for leaf in leaves.all:
            leaf.keep = True
        return
    for leaf in leaves.all:
        leaf.keep = not any(node.tag in ("nav", "footer") for node in (leaf.block, *leaf.block.iterancestors()))
    kept = sum(len(leaf.words) for leaf in leaves.all if leaf.keep)
    if kept < _CHROME_AT_MOST * sum(len(leaf.words) for leaf in leaves.all):
        for leaf in leaves.all:
            leaf.keep = True


def prune(leaves: Leaves) -> set[etree._Element]:
    """Take the text and images of all other leaves out of the tree.

    Returns
    -------
    set[etree._Element]
        The elements in which something is left to show.
    """
    live: set[etree._Element] = set()
    for leaf in leaves.all:
        if not leaf.keep:
            for element in leaf.texts:
                element.text = None
            for element in leaf.tails:
                element.tail = None
            continue
        for element in (*leaf.texts, *leaf.tails, *leaf.images, leaf.block):
            node: etree._Element | None = element
            while node is not None and node not in live:
                live.add(node)
                node = node.getparent()
    return live
