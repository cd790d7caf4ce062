"""Markup stripped without any tree: the text of a page of any size, depth or damage, in linear time."""

from __future__ import annotations

import html
import re

__all__ = ["paragraphs_of"]

# Content that no reader sees. An end tag that never comes means: up to the end (HTML Standard, script data state),
# except of an element that would hold markup.
_UNSEEN = re.compile(r"<(script|style|template|noscript|title|svg|iframe|object)(?=[\s/>])|<!--", re.IGNORECASE)
_ENDS = {
    name: re.compile(f"</{name}(?=[\\s/>])[^<>]*>?", re.IGNORECASE)
    for name in ("script", "style", "template", "noscript", "title", "svg", "iframe", "object")
}
_MARKUP = frozenset({"template", "noscript", "svg", "object"})
_BREAK = re.compile(
    r"</?(?:p|div|br|li|ul|ol|dl|dt|dd|tr|table|h[1-6]|pre|blockquote|section|article|header|footer|main|nav|aside|form|"
    r"figure|figcaption|hr|option|address|details|summary)(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
_CELL = re.compile(r"</?(?:td|th)(?=[\s/>])[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*(?:>|\Z)")
_NO_CHARACTER = re.compile(r"&#(?:[xX][0-9a-fA-F]{9,}|[0-9]{9,});?")
_SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")  # all that is not a single space already


def paragraphs_of(source: str) -> list[str]:
    """Return the text of an HTML source as lines without markup, entities resolved, empty ones left out."""
    text = _seen(source)
    text = _SPACES.sub(" ", text.replace("\n", " ").replace("\r", " "))
    text = _TAG.sub("", _CELL.sub(" ", _BREAK.sub("\n", text)))
    for entity, character in (("&nbsp;", " "), ("&quot;", '"'), ("&#39;", "'"), ("&gt;", ">"), ("&lt;", "<")):
        text = text.replace(entity, character)
    if "&" in text:
        # Python refuses to read thousands of digits; no character has a number of more than seven.
        text = html.unescape(_NO_CHARACTER.sub("\ufffd", text))
    return [line for line in map(str.strip, text.split("\n")) if line]


def _seen(source: str) -> str:
    pieces = []
    unclosed: set[str] = set()
    position = 0
    while True:
        match = _UNSEEN.search(source, position)
        if match is None:
            pieces.append(source[position:])
            return "".join(pieces)
        pieces.append(source[position : match.start()])
        name = (match.group(1) or "").lower()
        if name in unclosed:
            end = -1
        elif name:
            end_match = _ENDS[name].search(source, match.end())
            end = end_match.end() if end_match else -1
        else:
            end = source.find("-->", match.end())
            end = end + 3 if end >= 0 else -1
        if end < 0 and name not in _MARKUP:
            return "".join(pieces)
        if end < 0:
            unclosed.add(name)
            pieces.append(match.group())
            end = match.end()
        position = end
