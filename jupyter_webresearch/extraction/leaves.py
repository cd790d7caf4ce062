"""The text of a tree as leaves: runs of inline content in document order, each below one block."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

from jupyter_webresearch.extraction.markdown import UNSEEN
from jupyter_webresearch.extraction.tree import BLOCK, PageTree

__all__ = ["Leaf", "Leaves", "collect", "words_of"]

_WORDS = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text, as selection and alignment count them."""
    return _WORDS.findall(text)


@dataclass(slots=True)
class Leaf:
    """One run of inline content.

    Attributes
    ----------
    block
        The block element that it lies in.
    words
        Its words.
    texts, tails
        Elements whose text, or whose tail, belongs to it.
    images
        Images in it.
    linked
        How many of its words lie in links.
    covered
        How many of its words the selection chose.
    keep
        Whether it is part of what is shown.
    """

    block: etree._Element
    words: list[str] = field(default_factory=list)
    texts: list[etree._Element] = field(default_factory=list)
    tails: list[etree._Element] = field(default_factory=list)
    images: list[etree._Element] = field(default_factory=list)
    linked: int = 0
    covered: int = 0
    keep: bool = False

    @property
    def only_links(self) -> bool:
        """Whether every word of it is part of a link."""
        return bool(self.words) and self.linked == len(self.words)


@dataclass
class Leaves:
    """All leaves of a page, and which of them lie in each block (a range, since leaves are in order)."""

    all: list[Leaf] = field(default_factory=list)
    within: dict[etree._Element, range] = field(default_factory=dict)

    def range_of(self, element: etree._Element) -> range:
        """Return the indexes of the leaves in the block that an element is or lies in."""
        block: etree._Element | None = element
        while block is not None and block not in self.within:
            block = block.getparent()
        return range(len(self.all)) if block is None else self.within[block]


def collect(page: PageTree) -> Leaves:
    """Collect the leaves of a page's body."""
    return _Collector(page).run()


class _Collector:
    def __init__(self, page: PageTree) -> None:
        self.page = page
        self.leaves = Leaves()
        self.current: Leaf | None = None

    def run(self) -> Leaves:
        self._walk(self.page.body, self.page.body, False)
        self.leaves.within[self.page.body] = range(len(self.leaves.all))
        return self.leaves

    def _walk(self, element: etree._Element, block: etree._Element, linked: bool) -> None:
        """Add what lies inside an element; ``block`` is the nearest block around it, or itself."""
        if element.text:
            self._add(element.text, block, linked, element, True)
        for child in element:
            tag = child.tag
            if isinstance(tag, str) and tag not in UNSEEN:
                if tag in BLOCK:
                    self.current = None
                    first = len(self.leaves.all)
                    self._walk(child, child, linked)
                    self.current = None
                    self.leaves.within[child] = range(first, len(self.leaves.all))
                elif tag == "img":
                    self._leaf(block).images.append(child)
                else:
                    self._walk(child, block, linked or tag == "a")
            if child.tail:
                self._add(child.tail, block, linked, child, False)

    def _leaf(self, block: etree._Element) -> Leaf:
        if self.current is None:
            self.current = Leaf(block)
            self.leaves.all.append(self.current)
        return self.current

    def _add(self, text: str, block: etree._Element, linked: bool, element: etree._Element, inside: bool) -> None:
        if text.isspace():
            return
        leaf = self._leaf(block)
        (leaf.texts if inside else leaf.tails).append(element)
        words = _WORDS.findall(text)
        leaf.words += words
        if linked:
            leaf.linked += len(words)
