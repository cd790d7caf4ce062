"""What a page may cost: limits, and the one linear pass over the source that enforces them before any tree exists.

libxml2 is quadratic in the attributes of one element, drops text below about 255 levels without a word, and a tree of a
million elements costs seconds. So the source is cut first: elements and attributes beyond their limit are left out,
nesting beyond its limit loses its tags but keeps its text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

__all__ = ["CELL_SPANS", "VOID", "Limits", "bound_source", "limit_note"]

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

# Void elements that libxml2 (2.14) takes for containers, so that one nests in another.
_EMPTY_BY_US = frozenset({"bgsound", "command", "embed", "keygen", "source", "track"})

# An end tag closes nothing beyond one of the stronger elements (libxml2's priorities, weakest first).
_STRENGTH = ("div", "td", "th", "tr", "tbody", "thead", "tfoot", "table", "head", "body", "html")

_STRONGER = {name: _STRENGTH[i + 1 :] for i, name in enumerate(_STRENGTH)}

# Elements that end when the same one begins, so that a list of unclosed ones does not count as nesting.
_SELF_CLOSING = frozenset({
    "p", "li", "dt", "dd", "tr", "td", "th", "option", "optgroup", "thead", "tbody", "tfoot", "a", "rp", "rt",
})  # fmt: skip

# After "=" a quote opens a value; elsewhere it is an ordinary character. The branches exclude each other, so a failing
# match costs one pass over the rest; _scan allows few of those.
_TAG = re.compile(
    r"<(/?)([a-zA-Z][^\s/>]*)([^>=]*(?:=(?:\s*\"[^\"]*\"|\s*'[^']*'|(?!\s*[\"']))[^>=]*)*)>",
)
# For what is left when quotes don't pair: a tag ends at the next ">".
_LOOSE_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)>")
_RAW_ENDS = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in RAW_TEXT}
_ATTRIBUTE = re.compile(r"[^\s/>=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?")
_START = re.compile(r"<[a-zA-Z]")
_MAX_UNTERMINATED = 8


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


def limit_note(what: str, kept: int, total: int) -> str:
    """Return the line a Page shows when something was cut, e.g. ``limits: elements 200,000 of 1,000,000``."""
    return f"limits: {what} {kept:,} of {total:,}"


def bound_source(source: str, limits: Limits) -> tuple[str, tuple[str, ...]]:
    """Cut an HTML source down to its limits.

    Parameters
    ----------
    source
        Decoded HTML.
    limits
        The limits.

    Returns
    -------
    tuple[str, tuple[str, ...]]
        The bounded source (the same object when nothing was cut) and a note for each limit that was met.
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

    def run(self) -> tuple[str, tuple[str, ...]]:
        source = self.source
        last = source.rfind(">")
        tokens = unterminated = position = 0
        while 0 <= (start := source.find("<", position)) < last:
            tokens += 1
            match = _TAG.match(source, start) if unterminated < _MAX_UNTERMINATED else _LOOSE_TAG.match(source, start)
            if match is None:
                position, failed = self._other(start)
                unterminated += failed
                continue
            position = match.end()
            closing, name, rest = match.groups()
            if self.elements + (not closing) > self.limits.max_elements or tokens > 4 * self.limits.max_elements:
                self.all_elements = self.elements + len(_START.findall(source, start))
                self._drop(start, len(source))
                break
            name = name.lower()
            if closing:
                kept = self._end(name)
            else:
                self.elements += 1
                kept = self._start(name, rest)
                if name in RAW_TEXT:
                    position = self._end_of_raw(name, position)
            if not kept or name == "wbr":
                self._drop(start, position, "" if kept else " ")
            elif name in _EMPTY_BY_US and not closing and not rest.endswith("/"):
                self._drop(position, position, f"</{name}>")
            elif len(rest) > 2 * self.limits.max_attributes:
                self._bound_attributes(match)
        self.pieces.append(source[self.copied :])
        return "".join(self.pieces) if self.copied else source, self._notes()

    def _start(self, name: str, rest: str) -> bool:
        """Note a start tag; return whether it is within the nesting that is read."""
        stack = self.stack
        within = len(stack) < self.limits.max_depth
        if name in VOID or name in RAW_TEXT or (rest.endswith("/") and (self.places["svg"] or self.places["math"])):
            return within or name == "br"
        if name in _SELF_CLOSING and stack and stack[-1] == name:
            self.places[stack.pop()].pop()
        self.places[name].append(len(stack))
        stack.append(name)
        if len(stack) <= self.limits.max_depth:
            return True
        self.deepest = max(self.deepest, len(stack))
        return False

    def _end(self, name: str) -> bool:
        """Note an end tag; return whether what it ends was read."""
        stack, places = self.stack, self.places
        if stack and stack[-1] == name:
            places[stack.pop()].pop()
        elif places[name]:
            place = places[name][-1]
            if not any(places[other] and places[other][-1] > place for other in _STRONGER.get(name, _STRENGTH)):
                while len(stack) > place:
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
