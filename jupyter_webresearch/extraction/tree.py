"""The one tree of a page: parsed once, with what readers don't see taken out, and what was learned about its nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree, html

from jupyter_webresearch.extraction.limits import RAW_TEXT, ink

__all__ = [
    "BLOCK",
    "HEADINGS",
    "Formula",
    "PageTree",
    "element_count",
    "element_text",
    "finder",
    "flatten",
    "ink_of",
    "parse",
    "remove",
    "tag_of",
    "tester",
    "text_length",
]

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

BLOCK = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "col", "colgroup", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option",
    "p", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
"""Elements that begin a new block of text."""

_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")


@dataclass(frozen=True)
class Formula:
    """A formula of the page as TeX."""

    tex: str
    display: bool


@dataclass
class PageTree:
    """A parsed page and what was found out about its nodes while it was standardised.

    What is known about a node is kept beside the tree, keyed by the node, so that no attribute or class name that a
    page chooses can pose as ours.

    Attributes
    ----------
    root, body
        The tree.
    formulas
        Elements that stand for a formula.
    languages
        Language word of ``pre`` elements.
    note_marks
        Elements that refer to a footnote, and the element that is its text.
    notes
        Elements that are the text of a footnote, and its label.
    hidden
        Number of hidden elements and comments that were removed.
    """

    root: etree._Element
    body: etree._Element
    formulas: dict[etree._Element, Formula] = field(default_factory=dict)
    languages: dict[etree._Element, str] = field(default_factory=dict)
    note_marks: dict[etree._Element, etree._Element] = field(default_factory=dict)
    notes: dict[etree._Element, str] = field(default_factory=dict)
    hidden: int = 0


def parse(source: str, *, for_article: bool = False) -> PageTree | None:
    """Parse a bounded HTML source; None when there is no element in it.

    Parameters
    ----------
    source
        Source that :func:`~jupyter_webresearch.extraction.limits.bound_source` has bounded.
    for_article
        Whether trafilatura will read the tree: it takes elements of :mod:`lxml.html` only; plain ones are made in half
        the time.
    """
    source = _XML_DECLARATION.sub("", source[:1000], count=1) + source[1000:]
    make = html.HTMLParser if for_article else etree.HTMLParser
    parser = make(encoding="utf-8", huge_tree=True, remove_pis=True)
    try:
        root = etree.fromstring(source.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return None
    if root is None:
        return None
    body = root.find("body")
    return PageTree(root, root if body is None else body)


def tag_of(element: etree._Element) -> str:
    """Return the element's tag, or an empty string for comments and the like."""
    tag = element.tag
    return tag if isinstance(tag, str) else ""


def element_text(element: etree._Element) -> str:
    """Return all text inside an element."""
    return "".join(map(str, element.itertext()))


_COUNT = etree.XPath("count(//*)")
_TEXT = etree.XPath("string()", smart_strings=False)
_LENGTH = etree.XPath("string-length()")


def element_count(root: etree._Element) -> int:
    """Return the number of elements of a tree."""
    count = _COUNT(root)
    return int(count) if isinstance(count, float) else 0


def text_length(element: etree._Element) -> int:
    """Return the number of characters of the text inside an element."""
    length = _LENGTH(element)
    return int(length) if isinstance(length, float) else 0


def ink_of(root: etree._Element) -> int:
    """Return the characters of a tree's text, without white space, scripts and the like."""
    text = _TEXT(root)
    total = ink(text) if isinstance(text, str) else 0
    for element in root.iter(*RAW_TEXT):
        total -= ink(element_text(element))
    return total


def flatten(page: PageTree, depth: int) -> int:
    """Make flat text of what is nested deeper than ``depth``, since the parser's own count can exceed ours.

    Parameters
    ----------
    page
        Changed in place.
    depth
        Levels of elements, the root being the first.

    Returns
    -------
    int
        The depth that was found, when it was more than ``depth``, else 0.
    """
    if not tester("/*" * (depth + 1))(page.root):
        return 0
    deepest = level = 0
    cut = []
    for event, element in etree.iterwalk(page.root, events=("start", "end")):
        if event == "end":
            level -= 1
            continue
        level += 1
        if level > deepest:
            deepest = level
        if level == depth and len(element):
            cut.append(element)
    for element in cut:
        text = " ".join(map(str, element.itertext(etree.Element)))
        for child in list(element):
            element.remove(child)
        element.text = text
    return deepest


def remove(element: etree._Element) -> None:
    """Take an element out of its tree and leave the text that follows it."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        previous = element.getprevious()
        if previous is not None:
            previous.tail = (previous.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
        element.tail = None
    parent.remove(element)


def finder(expression: str) -> Callable[[etree._Element], list[etree._Element]]:
    """Compile an XPath that selects elements."""
    # libxml2 steps through every node for "//name[...]", but not for this, which is the same where no position counts.
    path = etree.XPath(re.sub(r"(^|\|)//", r"\1/descendant::", expression))

    def find(element: etree._Element) -> list[etree._Element]:
        found = path(element)
        return [node for node in found if isinstance(node, etree._Element)] if isinstance(found, list) else []

    return find


def tester(expression: str) -> Callable[[etree._Element], bool]:
    """Compile an XPath that is true or false."""
    path = etree.XPath(f"boolean({expression})")
    return lambda element: path(element) is True
