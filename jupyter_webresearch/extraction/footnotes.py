"""Footnotes: which links are references to a note, and where the note's text is."""

from __future__ import annotations

import re

from lxml import etree

from jupyter_webresearch.extraction.tree import PageTree, element_text, finder, remove

__all__ = ["standardise"]

_FRAGMENT_LINKS = finder("//a[contains(@href,'#')]")
_TARGETS = finder("//*[@id]|//*[@name]")
_NOTE_LINKS = finder(".//a[contains(@href,'#')]")
_LABEL = re.compile(r"\d{1,3}|[a-z]|[*†‡]")
_HINT = re.compile(r"foot|fn|note|ref|cite|sdfoot", re.IGNORECASE)
_BACK = re.compile(r"[\s\u21a9\u2191^\ufe0e\u2934\u21b5\[\]]*")
_INLINE = frozenset({"a", "sup", "span", "b", "strong", "em", "i"})
_NOTE_BLOCKS = frozenset({"li", "p", "div", "dd", "aside", "td"})
_LONGEST_NOTE = 3000
_PUNCTUATION = "[]().:"


def standardise(page: PageTree) -> None:
    """Record references and notes in ``page.note_marks`` and ``page.notes``; links back are removed."""
    links = _FRAGMENT_LINKS(page.root)
    if not links:
        return
    targets: dict[str, etree._Element] = {}
    for element in _TARGETS(page.body):
        for value in (element.get("id"), element.get("name")):
            if value:
                targets.setdefault(value, element)
    blocks: dict[etree._Element, etree._Element | None] = {}
    labels: dict[etree._Element, str] = {}
    taken: set[str] = set()
    for link in links:
        label = _bare(link)
        fragment = (link.get("href") or "").partition("#")[2]
        target = targets.get(fragment)
        if target is None or not _LABEL.fullmatch(label) or not _looks_like_reference(link, fragment):
            continue
        if target not in blocks:
            blocks[target] = _block_of(target)
        block = blocks[target]
        if block is None or any(ancestor is block for ancestor in link.iterancestors()):
            continue
        if block not in page.notes:
            page.notes[block] = _unique(label, taken)
        parent = link.getparent()
        mark = parent if parent is not None and parent.tag == "sup" and _bare(parent) == label else link
        page.note_marks[mark] = block
        labels[block] = label
    for block, label in labels.items():
        _remove_links_back(block, label)


def _unique(label: str, taken: set[str]) -> str:
    """Return a label of its own for a note: pages number each chapter's notes from 1, or use symbols."""
    base = label if label.isalnum() else "note"
    unique, count = base, 1
    while unique in taken:
        count += 1
        unique = f"{base}-{count}"
    taken.add(unique)
    return unique


def _bare(element: etree._Element) -> str:
    return element_text(element).strip().strip(_PUNCTUATION)


def _looks_like_reference(link: etree._Element, fragment: str) -> bool:
    parent = link.getparent()
    if (parent is not None and parent.tag == "sup") or link.find("sup") is not None:
        return True
    names = (fragment, link.get("class") or "", link.get("id") or "", link.get("role") or "")
    return any(_HINT.search(name) for name in names)


def _block_of(target: etree._Element) -> etree._Element | None:
    """Return the block that holds the text of a note, if it is one of a note's size."""
    block: etree._Element | None = target
    while block is not None and block.tag in _INLINE:
        block = block.getparent()
    if block is None or block.tag not in _NOTE_BLOCKS or len(element_text(block)) > _LONGEST_NOTE:
        return None
    return block


def _remove_links_back(block: etree._Element, label: str) -> None:
    for link in _NOTE_LINKS(block):
        text = element_text(link)
        if _BACK.fullmatch(text) or text.strip().strip(_PUNCTUATION) == label:
            parent = link.getparent()
            remove(link)
            if parent is not None and parent.tag == "sup" and not element_text(parent).strip():
                remove(parent)
