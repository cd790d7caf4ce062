"""What a page may cost: limits, and the one linear pass over the source that enforces them before any tree exists.

libxml2 is quadratic in the attributes of one element, drops text below about 255 levels without a word, and a tree of a
million elements costs seconds. So the source is cut first: elements and attributes beyond their limit are left out,
nesting beyond its limit loses its tags but keeps its text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from jupyter_webresearch.extraction.implied_ends import (
    CLOSED_BY_PARSER,
    CLOSED_BY_US,
    ENDING,
    LIST_ITEMS,
    PASSED_IN_LISTS,
    PHRASING,
    TABLE_LIMITS,
    TABLE_PARTS,
    TABLE_SCOPE,
)

__all__ = [
    "CELL_SPANS",
    "RAW_TEXT",
    "VOID",
    "Bounded",
    "Limits",
    "TooLargeForArticle",
    "bound_source",
    "ink",
    "limit_note",
]

CELL_SPANS = (1000, 65534)
"""Largest colspan and rowspan (HTML Standard, "forming a table")."""

VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
"""Elements without content or end tag (HTML Standard, "void elements", with the obsolete ones)."""

# Elements whose content the tokenizer reads as text up to their own end tag.
RAW_TEXT = frozenset({
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
})  # fmt: skip

_CHILDLESS = VOID | RAW_TEXT

# Void elements that libxml2 (2.14) takes for containers, so that one nests in another.
_EMPTY_BY_US = frozenset({"bgsound", "command", "embed", "keygen", "source", "track"})

# An end tag closes nothing beyond one of the stronger elements (libxml2's priorities, weakest first).
_STRENGTH = ("div", "td", "th", "tr", "tbody", "thead", "tfoot", "table", "head", "body", "html")

_STRONGER = {name: _STRENGTH[i + 1 :] for i, name in enumerate(_STRENGTH)}

# After "=" a quote opens a value; elsewhere it is an ordinary character. The branches exclude each other, so a failing
# match costs one pass over the rest; _scan allows few of those.
_TAG = re.compile(
    r"<(/?)([a-zA-Z][^\s/>]*)([^>=]*(?:=(?:\s*\"[^\"]*\"|\s*'[^']*'|(?!\s*[\"']))[^>=]*)*)>",
)
# For what is left when quotes don't pair: a tag ends at the next ">".
_LOOSE_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)>")
_RAW_ENDS = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in RAW_TEXT}
_ATTRIBUTE = re.compile(r"[^\s/>=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?")
_REFERENCE = re.compile(r"&#?\w{1,32};?")
_START = re.compile(r"<[a-zA-Z]")
_MAX_UNTERMINATED = 8
_ONCE = frozenset({"html", "head", "body"})
_LOOK_BACK = 16  # open elements among which the one that ends is looked for


@dataclass(frozen=True)
class Limits:
    """What of one page is read.

    Attributes
    ----------
    max_elements
        Elements of a page.
    max_depth
        Nesting; what lies deeper becomes flat text.
    max_attributes
        Attributes of one element.
    max_cells
        Table cells of a page, spans expanded.
    """

    max_elements: int = 200_000
    max_depth: int = 200
    max_attributes: int = 500
    max_cells: int = 100_000


class TooLargeForArticle(Exception):
    """The article is not looked for in a page of that size; its other stages give all of it."""


def limit_note(what: str, kept: int, total: int) -> str:
    """Return the line a Page shows when something was cut, e.g. ``limits: elements 200,000 of 1,000,000``.

    Parameters
    ----------
    what
        In the plural.
    kept, total
        How many are there now, and were.
    """
    return f"limits: {what} {kept:,} of {total:,}"


def ink(text: str) -> int:
    """Return the number of characters that are not white space."""
    return len(text) if not text else sum(map(len, text.split()))


class Bounded(NamedTuple):
    """A bounded source (the same object when nothing was cut), a note for each limit met, and the characters of text.

    ``ink`` counts what lies between the tags, white space and character references left out, so that a tree which holds
    less of it has lost text.
    """

    source: str
    notes: tuple[str, ...]
    ink: int


def bound_source(source: str, limits: Limits) -> Bounded:
    """Cut an HTML source down to its limits.

    Parameters
    ----------
    source
        Decoded HTML.
    limits
        The limits.

    Returns
    -------
    Bounded
        What is left, and what was seen on the way.
    """
    return _Scan(source, limits).run()


class _Scan:
    """State of the pass: what is open, what was cut, and the pieces that stay."""

    def __init__(self, source: str, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.stack: list[str] = []
        self.places: defaultdict[str, list[int]] = defaultdict(list)  # where in the stack each name is
        self.pieces: list[str] = []
        self.copied = 0
        self.elements = 0
        self.all_elements = 0
        self.deepest = 0
        self.most_attributes = 0
        self.texts: list[str] = []

    def run(self) -> Bounded:
        source, stack, places, texts = self.source, self.stack, self.places, self.texts
        max_elements, long = self.limits.max_elements, 2 * self.limits.max_attributes
        last = source.rfind(">")
        find, match_tag = source.find, _TAG.match
        tokens = unterminated = position = elements = 0
        while 0 <= (start := find("<", position)) < last:
            tokens += 1
            if start > position:
                texts.append(source[position:start])
            match = match_tag(source, start)
            if match is None:
                position, failed = self._other(start)
                if position == start + 1:
                    texts.append("<")
                unterminated += failed
                if unterminated >= _MAX_UNTERMINATED:
                    match_tag = _LOOSE_TAG.match
                continue
            closing, name, rest = match.groups()
            if (elements >= max_elements and not closing) or tokens > 4 * max_elements:
                self.all_elements = elements + len(_START.findall(source, start))
                self._drop(start, len(source))
                position = len(source)
                break
            position = match.end()
            name = name.lower()
            if closing:
                if stack and stack[-1] == name and name not in _ONCE:
                    places[stack.pop()].pop()
                    kept = len(stack) < self.limits.max_depth
                else:
                    # What follows the end of the body belongs to it all the same; the parser would stop there.
                    kept = name not in ("body", "html") and self._end(name, start)
            else:
                elements += 1
                if stack and name in ENDING:
                    self._imply_ends(name, start)
                kept = self._start(name, rest)
                if name in RAW_TEXT:
                    position = self._end_of_raw(name, position)
            if not kept or name == "wbr":
                self._drop(start, position, "" if kept else " ")
            elif name in _EMPTY_BY_US and not closing and not rest.endswith("/"):
                self._drop(position, position, f"</{name}>")
            elif len(rest) > long:
                self._bound_attributes(match)
        self.elements = elements
        self.pieces.append(source[self.copied :])
        if last < position or "<" not in source[position:]:
            self.texts.append(source[position:])
        text = "".join(self.texts)
        seen = ink(text) - sum(map(len, _REFERENCE.findall(text)) if "&" in text else ())
        return Bounded("".join(self.pieces) if self.copied else source, self._notes(), seen)

    def _imply_ends(self, name: str, start: int) -> None:
        """End what a start tag ends without an end tag: as the parser does, or by one that is written for it."""
        stack, places = self.stack, self.places
        closed = CLOSED_BY_PARSER.get(name)
        if closed:
            while stack and stack[-1] in closed:
                places[stack.pop()].pop()
        ends = CLOSED_BY_US.get(name)
        if not ends or not any(map(places.get, ends)):
            return
        found = len(stack)
        if name in TABLE_PARTS:
            outer = max(places[limit][-1] if places[limit] else -1 for limit in TABLE_LIMITS)
            found = min((places[end][-1] for end in ends if places[end] and places[end][-1] > outer), default=found)
        else:
            passed = PASSED_IN_LISTS if name in LIST_ITEMS else PHRASING
            for place in range(len(stack) - 1, max(-1, len(stack) - 1 - _LOOK_BACK), -1):
                if stack[place] in ends:
                    found = place
                elif stack[place] not in passed or stack[place] == "a":
                    break
        self._close(found, start)

    def _close(self, place: int, start: int) -> None:
        """End the open elements from ``place`` on by end tags written before ``start``."""
        stack, places = self.stack, self.places
        tags = []
        while len(stack) > place:
            open_name = stack.pop()
            places[open_name].pop()
            if len(stack) < self.limits.max_depth:
                tags.append(f"</{open_name}>")
        if tags:
            self._drop(start, start, "".join(tags))

    def _start(self, name: str, rest: str) -> bool:
        """Note a start tag; return whether it is within the nesting that is read."""
        stack = self.stack
        within = len(stack) < self.limits.max_depth
        if name in _CHILDLESS or (rest.endswith("/") and (self.places["svg"] or self.places["math"])):
            return within or name == "br"
        if name in _ONCE and self.places[name]:
            return False
        self.places[name].append(len(stack))
        stack.append(name)
        if len(stack) <= self.limits.max_depth:
            return True
        self.deepest = max(self.deepest, len(stack))
        return False

    def _end(self, name: str, start: int) -> bool:
        """Note an end tag; return whether what it ends was read."""
        stack, places = self.stack, self.places
        if stack and stack[-1] == name:
            places[stack.pop()].pop()
        elif places[name]:
            place = places[name][-1]
            if not any(places[other] and places[other][-1] > place for other in _STRONGER.get(name, _STRENGTH)):
                while len(stack) > place:
                    places[stack.pop()].pop()
            elif (
                name not in PHRASING
                and name != "head"
                and not any(places[part] and places[part][-1] > place for part in TABLE_SCOPE)
            ):
                # Only the parser stops at a block in between (HTML Standard, 13.2.6.4.7, "an end tag whose tag name").
                self._close(place + 1, start)
                places[stack.pop()].pop()
        return len(stack) < self.limits.max_depth

    def _notes(self) -> tuple[str, ...]:
        limits = self.limits
        cut = (
            ("elements", self.elements, self.all_elements),
            ("nesting", limits.max_depth, self.deepest),
            ("attributes of one element", limits.max_attributes, self.most_attributes),
        )
        return tuple(limit_note(what, kept, total) for what, kept, total in cut if total)

    def _drop(self, start: int, end: int, instead: str = "") -> None:
        """Leave source[start:end] out of the result."""
        self.pieces.append(self.source[self.copied : start])
        if instead:
            self.pieces.append(instead)
        self.copied = end

    def _other(self, start: int) -> tuple[int, bool]:
        """Return where reading goes on after a "<" that begins no complete tag, and whether a tag was unterminated."""
        source = self.source
        if source.startswith("<!--", start):
            end = source.find("-->", start + 4)
            return (len(source) if end < 0 else end + 3), False
        if source.startswith(("<!", "<?"), start):
            end = source.find(">", start)
            return (len(source) if end < 0 else end + 1), False
        return start + 1, _START.match(source, start) is not None or source.startswith("</", start)

    def _end_of_raw(self, name: str, position: int) -> int:
        """Return where the end tag of a raw text element begins."""
        match = _RAW_ENDS[name].search(self.source, position)
        return match.start() if match else len(self.source)

    def _bound_attributes(self, match: re.Match[str]) -> None:
        rest = match.group(3)
        limit = self.limits.max_attributes
        count = 0
        cut = 0
        for attribute in _ATTRIBUTE.finditer(rest):
            count += 1
            if count == limit:
                cut = attribute.end()
        if count > limit:
            self.most_attributes = max(self.most_attributes, count)
            self._drop(match.start(3) + cut, match.end(3))
