"""Inline Markdown: emphasis, code and formulas within a run of text."""

from __future__ import annotations

import re
import unicodedata

from jupyter_webresearch.extract.escape import code_span
from jupyter_webresearch.extract.tex import markdown_tex
from jupyter_webresearch.extract.tree import Formula

__all__ = ["CODE", "STYLES", "code", "finish", "formula", "one_line_math", "split_display"]

CODE = frozenset({"code", "tt", "kbd", "samp"})

# Emphasis is written with control characters first (text holds none by then) and becomes stars only where CommonMark's
# rules of flanking let it work, so that no page shows stray stars.
STYLES = {
    **dict.fromkeys(("strong", "b"), ("\x01", "\x02")),
    **dict.fromkeys(("em", "i"), ("\x03", "\x04")),
    **dict.fromkeys(("del", "s", "strike"), ("\x05", "\x06")),
}
_MARKS = {"\x01": "**", "\x02": "**", "\x03": "*", "\x04": "*", "\x05": "~~", "\x06": "~~"}
_OPENS = {"\x01": "\x02", "\x03": "\x04", "\x05": "\x06"}
_MARK = re.compile("[\x01-\x06]")
_MOVE_IN = re.compile("([\x01\x03\x05]+)([ \n]+)")
_MOVE_OUT = re.compile("([ \n]+)([\x02\x04\x06]+)")
_NOTHING = re.compile("\x01\x02|\x03\x04|\x05\x06|\x02\x01|\x04\x03|\x06\x05")
_SPACES = re.compile(r"[^\S\n]+")
_BREAKS = re.compile(r" ?\n[ \n]*")
_DISPLAY = "\x07"


def code(text: str) -> str:
    """Return a code span, or nothing for nothing."""
    return code_span(text) if text else ""


def formula(value: Formula) -> str:
    """Return a formula; a display one marks itself so that :func:`split_display` finds it."""
    if value.display:
        return f"{_DISPLAY}$$\n{markdown_tex(value.tex)}\n$${_DISPLAY}"
    return f"${markdown_tex(value.tex)}$"


def split_display(text: str) -> list[str]:
    """Split a finished run at its display formulas."""
    return [part.strip() for part in text.split(_DISPLAY)]


def one_line_math(text: str) -> str:
    """Turn display formulas into inline ones, for cells and headings."""
    if _DISPLAY not in text:
        return text
    parts = text.split(_DISPLAY)
    return "".join(f" ${p.strip('$').strip()}$ " if i % 2 else p for i, p in enumerate(parts))


def finish(text: str, *, keep_edges: bool = False) -> str:
    """Collapse white space and settle emphasis in a run of inline text."""
    if _DISPLAY not in text:
        text = _BREAKS.sub("\n", _SPACES.sub(" ", text))
        if not keep_edges:
            text = text.strip()
    if _MARK.search(text) is None:
        return text
    for _ in range(3):
        text = _MOVE_OUT.sub(r"\2\1", _MOVE_IN.sub(r"\2\1", text))
        text, count = _NOTHING.subn("", text)
        if not count:
            break
    return _settle(_BREAKS.sub("\n", _SPACES.sub(" ", text)))


def _settle(text: str) -> str:
    """Replace marks by stars where they open and close, drop them where they can't."""
    stack: list[tuple[str, int]] = []
    drop: set[int] = set()
    keep: set[int] = set()
    for match in _MARK.finditer(text):
        mark, at = match.group(), match.start()
        if mark in _OPENS:
            if any(mark == other for other, _ in stack):
                drop.add(at)
                stack.append(("", at))
            else:
                stack.append((mark, at))
        elif stack:
            opening, start = stack.pop()
            if opening and _OPENS[opening] == mark and _works(text, start, at):
                keep.update((start, at))
    return _MARK.sub(lambda m: _MARKS[m.group()] if m.start() in keep else "", text)


def _works(text: str, start: int, end: int) -> bool:
    """Return whether CommonMark lets a run at ``start`` open and one at ``end`` close (0.31.2, 6.2)."""
    if "\n" in text[start:end]:
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
