"""What a page may cost: limits, and the one linear pass over the source that enforces them before any tree exists.

libxml2 is quadratic in the attributes of one element, drops text below about 255 levels without a word, and a tree of a
million elements costs seconds. So the source is cut first: elements and attributes beyond their limit are left out,
nesting beyond its limit loses its tags but keeps its text.
"""

from __future__ import annotations

import re
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

# Elements that end when the same one begins, so that a list of unclosed ones does not count as nesting.
_SELF_CLOSING = frozenset({
    "p", "li", "dt", "dd", "tr", "td", "th", "option", "optgroup", "thead", "tbody", "tfoot", "a", "rp", "rt",
})  # fmt: skip

# After "=" a quote opens a value; elsewhere it is an ordinary character. The branches exclude each other, so a failing
# match costs one pass over the rest; _scan allows few of those.
_TAG = re.compile(
    r"<(/?)([a-zA-Z][^\s/>]*)([^>=]*(?:=(?:\s*\"[^\"]*\"|\s*'[^']*'|(?!\s*[\"']))[^>=]*)*)>",
)
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
        self.open: list[str] = []
        self.open_count: dict[str, int] = {}
        self.pieces: list[str] = []
        self.copied = 0
        self.deepest = 0
        self.most_attributes = 0

    def run(self) -> tuple[str, tuple[str, ...]]:
        source, limits = self.source, self.limits
        notes = []
        elements = tags = unterminated = position = 0
        last = source.rfind(">")
        total_elements = 0
        depth_limit = limits.max_depth
        stack, counts = self.open, self.open_count
        while True:
            start = source.find("<", position)
            if start < 0 or start > last:
                break
            match = _TAG.match(source, start) if unterminated < _MAX_UNTERMINATED else _LOOSE_TAG.match(source, start)
            if match is None:
                position, failed = self._other(start)
                unterminated += failed
                continue
            position = match.end()
            closing, name, rest = match.groups()
            tags += 1
            name = name.lower()
            if closing:
                if tags > 4 * limits.max_elements:
                    total_elements = elements + len(_START.findall(source, position))
                    self._drop(start, len(source))
                    break
                if counts.get(name):
                    while True:
                        top = stack.pop()
                        counts[top] -= 1
                        if top == name:
                            break
                    if len(stack) >= depth_limit:
                        self._drop(start, position, " ")
                elif len(stack) >= depth_limit:
                    self._drop(start, position, " ")
                continue
            elements += 1
            if elements > limits.max_elements:
                total_elements = elements + len(_START.findall(source, position))
                self._drop(start, len(source))
                break
            if len(rest) > 2 * limits.max_attributes:
                self._bound_attributes(match)
            if name in VOID or (rest.endswith("/") and name not in RAW_TEXT and self._foreign()):
                if len(stack) >= depth_limit and name != "br":
                    self._drop(start, position, " ")
                continue
            if name in RAW_TEXT or name == "plaintext":
                position = self._end_of_raw(name, position)
                if len(stack) >= depth_limit:
                    self._drop(start, position, " ")
                continue
            if name in _SELF_CLOSING and stack and stack[-1] == name:
                stack.pop()
                counts[name] -= 1
            stack.append(name)
            counts[name] = counts.get(name, 0) + 1
            if len(stack) > depth_limit:
                self.deepest = max(self.deepest, len(stack))
                self._drop(start, position, " ")
        if total_elements:
            notes.append(limit_note("elements", min(elements, limits.max_elements), total_elements))
        if self.deepest:
            notes.append(limit_note("nesting", depth_limit, self.deepest))
        if self.most_attributes:
            notes.append(limit_note("attributes of one element", limits.max_attributes, self.most_attributes))
        if not self.copied:
            return source, tuple(notes)
        self.pieces.append(source[self.copied :])
        return "".join(self.pieces), tuple(notes)

    def _foreign(self) -> bool:
        return bool(self.open_count.get("svg") or self.open_count.get("math"))

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
        match = _raw_end(name).search(self.source, position)
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


_LOOSE_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)>")
_RAW_ENDS = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in RAW_TEXT}
_NEVER = re.compile(r"(?!)")


def _raw_end(name: str) -> re.Pattern[str]:
    return _RAW_ENDS.get(name, _NEVER)
