"""Runs of inline Markdown: white space, emphasis, code, formulas and note marks, settled once a run is complete.

While a run grows, what is not text is marked by control characters, which text no longer holds by then: what may stand
beside a mark is only known at the end.
"""

from __future__ import annotations

import re
import unicodedata

from jupyter_webresearch.extraction.escape import code_span
from jupyter_webresearch.extraction.tex import markdown_tex
from jupyter_webresearch.extraction.tree import Formula

__all__ = ["CODE", "MARKED", "STYLES", "code", "finish", "formula", "note_mark", "one_line_math", "split_display"]

CODE = frozenset({"code", "tt", "kbd", "samp"})

STYLES = {
    **dict.fromkeys(("strong", "b"), ("\x01", "\x02")),
    **dict.fromkeys(("em", "i"), ("\x03", "\x04")),
    **dict.fromkeys(("del", "s", "strike"), ("\x05", "\x06")),
}
MARKED = re.compile("[\x01-\x0f]|[^\\S ]|  ")
"""What :func:`finish` has something to do about, beyond spaces at the ends."""

_MARKS = {"\x01": "**", "\x02": "**", "\x03": "*", "\x04": "*", "\x05": "~~", "\x06": "~~"}
_CLOSES = {"\x01": "\x02", "\x03": "\x04", "\x05": "\x06"}
_MARK = re.compile("[\x01-\x06]")
_NOTHING = re.compile("\x01[ \n]*\x02|\x03[ \n]*\x04|\x05[ \n]*\x06|\x02\x01|\x04\x03|\x06\x05")
_MOVE_OUT_LEFT = re.compile("([\x01\x03\x05]+)([ \n]+)")
_MOVE_OUT_RIGHT = re.compile("([ \n]+)([\x02\x04\x06]+)")
_SPACES = re.compile(r"[^\S\n]+")
_BREAKS = re.compile(r" ?\n[ \n]*")
_DISPLAY = "\x07"
_EDGE = "\x0e"
# In Markdown without footnotes "[^1](" begins a link and "[^1]:" a definition.
_NOTE = re.compile("\x0f([\\w-]+)\x0f(?:([(:])|)")
_PASSES = 3


def code(text: str) -> str:
    """Return a code span, or nothing for nothing."""
    return f"{_EDGE}{code_span(text)}{_EDGE}" if text else ""


def formula(value: Formula) -> str:
    """Return a formula; a displayed one marks itself so that :func:`split_display` finds it."""
    tex = markdown_tex(value.tex)
    return f"{_DISPLAY}$$\n{tex}\n$${_DISPLAY}" if value.display else f"{_EDGE}${tex}${_EDGE}"


def note_mark(label: str) -> str:
    """Return the mark of a footnote."""
    return f"\x0f{label}\x0f"


def split_display(text: str) -> list[str]:
    """Split a finished run at its displayed formulas."""
    return [part.strip() for part in text.split(_DISPLAY)]


def one_line_math(text: str) -> str:
    """Turn displayed formulas of a finished run into inline ones, for cells and headings."""
    if _DISPLAY not in text:
        return text
    parts = text.split(_DISPLAY)
    return "".join(f" ${part[3:-3]}$ " if i % 2 else part for i, part in enumerate(parts))


def finish(text: str) -> str:
    """Collapse white space and settle what was marked in a run of inline text."""
    text = _BREAKS.sub("\n", _SPACES.sub(" ", text))
    if _EDGE in text:
        text = text.replace(_EDGE * 2, " ").replace(_EDGE, "")
    if "\x0f" in text:
        text = _NOTE.sub(lambda m: f"[^{m[1]}]" + (f"\\{m[2]}" if m[2] else ""), text)
    if _MARK.search(text) is not None:
        for _ in range(_PASSES):
            text, count = _NOTHING.subn("", _MOVE_OUT_RIGHT.sub(r"\2\1", _MOVE_OUT_LEFT.sub(r"\2\1", text)))
            if not count:
                break
        text = _BREAKS.sub("\n", _SPACES.sub(" ", _settle(text)))
    return text.strip(" \n")


def _settle(text: str) -> str:
    """Replace marks by stars where CommonMark lets them open and close, and drop the others."""
    stack: list[tuple[str, int]] = []
    keep: set[int] = set()
    for match in _MARK.finditer(text):
        mark, at = match.group(), match.start()
        if mark in _CLOSES:
            inside = any(mark == other for other, _ in stack)
            stack.append(("" if inside else mark, at))
        elif stack:
            opening, start = stack.pop()
            if opening and _CLOSES[opening] == mark and _works(text, start, at, keep):
                keep.update((start, at))
    return _MARK.sub(lambda match: _MARKS[match.group()] if match.start() in keep else "", text)


def _works(text: str, start: int, end: int, kept: set[int]) -> bool:
    """Return whether a run of stars at ``start`` opens and one at ``end`` closes (CommonMark 0.31.2, 6.2)."""
    if "\n" in text[start:end] or (start - 1 in kept and text[start - 1] in "\x02\x04\x06"):
        return False
    before, first = _neighbour(text, start, -1), _neighbour(text, start, 1)
    last, after = _neighbour(text, end, -1), _neighbour(text, end, 1)
    opens = not first.isspace() and (not _punctuation(first) or before.isspace() or _punctuation(before))
    closes = not last.isspace() and (not _punctuation(last) or after.isspace() or _punctuation(after))
    return opens and closes


def _neighbour(text: str, at: int, step: int) -> str:
    at += step
    while 0 <= at < len(text) and text[at] in _MARKS:
        at += step
    return text[at] if 0 <= at < len(text) else " "


def _punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
