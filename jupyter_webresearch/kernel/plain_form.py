"""Markdown of our own as lines for a terminal."""

from __future__ import annotations

import re
import unicodedata

from jupyter_webresearch.extract.sanitise import clean
from jupyter_webresearch.kernel.blocks import split_blocks
from jupyter_webresearch.plain import plain_text

__all__ = ["wrapped"]

_MARKER = re.compile(r"\s*(?:[-*+] |\d{1,9}[.)] |> ?)*\s*")
_CELL = re.compile(r"(?<!\\)\|")
_EMPHASIS = re.compile(r"(?<![\\*])\*{1,2}(?=\S)|(?<=[^\s\\*])\*{1,2}")


def wrapped(text: str, columns: int, *, source: bool = False) -> str:
    """Return a text in lines of at most ``columns`` columns.

    Parameters
    ----------
    text
        Our own Markdown, or a source text.
    columns
        Width; a wide character (UAX 11) counts two.
    source
        Whether the text is shown as it is, broken only where a line is too long.
    """
    text = clean(text)[0]
    if source:
        return "\n".join(part for line in text.split("\n") for part in _broken(line, columns))
    blocks = []
    for block in split_blocks(text):
        lines = text[block.start : block.end].strip("\n").split("\n")
        if block.kind == "fence":
            inner = lines[1:-1] if len(lines) > 1 and lines[-1].strip("`~") == "" else lines[1:]
            blocks.append("\n".join("    " + part for line in inner for part in _broken(line, columns - 4)))
        elif block.kind == "table":
            blocks.append("\n".join(_table(lines, columns)))
        else:
            blocks.append("\n".join(part for line in lines for part in _filled(_plain(line), columns)))
    return "\n\n".join(blocks)


def _plain(line: str) -> str:
    return plain_text(_EMPHASIS.sub("", line))


def width(text: str) -> int:
    """Return the columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _head(text: str, columns: int) -> str:
    """Return the longest beginning that fits, at least one character."""
    taken = 0
    for at, character in enumerate(text):
        taken += width(character)
        if taken > columns:
            return text[: max(1, at)]
    return text


def _broken(line: str, columns: int) -> list[str]:
    parts = []
    line = line.expandtabs(4).rstrip()
    while len(head := _head(line, columns)) < len(line):
        parts.append(head)
        line = line[len(head) :]
    return [*parts, line]


def _filled(line: str, columns: int) -> list[str]:
    """Wrap a line at its words; what follows stands under the text of its list item."""
    line = line.rstrip()
    marker = _MARKER.match(line)
    hang = " " * min(len(marker.group()) if marker else 0, columns // 2)
    lines = []
    while len(head := _head(line, columns)) < len(line):
        space = len(head) if line[len(head)] == " " else head.rfind(" ")
        if space > len(hang):
            head = head[:space]
        lines.append(head.rstrip())
        line = hang + line[len(head) :].lstrip()
    return [*lines, line]


def _table(lines: list[str], columns: int) -> list[str]:
    rows = [[_plain(cell).strip() for cell in _CELL.split(line.strip().strip("|"))] for line in lines]
    rows = [row for row in rows if any(cell.strip(":-") for cell in row) or not any(row)]
    count = max((len(row) for row in rows), default=0)
    if not count:
        return []
    rows = [row + [""] * (count - len(row)) for row in rows]
    widths = [max(width(row[i]) for row in rows) for i in range(count)]
    # Narrow the widest columns until the row fits; below three columns of text a table says nothing any more.
    while sum(widths) + 2 * (count - 1) > columns and max(widths) > 3:
        widths[widths.index(max(widths))] -= 1
    out = ["  ".join(_fit(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    out.insert(1, "  ".join("-" * w for w in widths))
    return [_head(line, columns) for line in out]


def _fit(cell: str, columns: int) -> str:
    if width(cell) > columns:
        cell = _head(cell, columns - 1) + "…"
    return cell + " " * (columns - width(cell))
