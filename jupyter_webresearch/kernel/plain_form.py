"""Markdown of our own as lines for a terminal."""

from __future__ import annotations

import re
import unicodedata

from jupyter_webresearch.extraction.sanitise import clean
from jupyter_webresearch.kernel.blocks import split_blocks
from jupyter_webresearch.plain import plain_text

__all__ = ["filled", "grid", "wrapped"]

_HEADER, _TEXT = 20, 12  # columns that a header and a text keep where a table has to be made narrower

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
            blocks.append("\n".join(part for line in lines for part in filled(_plain(line), columns)))
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


def filled(line: str, columns: int) -> list[str]:
    """Wrap a line at its words; what follows stands under the text of its list item.

    Parameters
    ----------
    line
        Plain text.
    columns
        Width.
    """
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
    return grid(rows, columns)


def grid(rows: list[list[str]], columns: int) -> list[str]:
    """Return a table's rows, the first of which is its header, as lines of at most ``columns`` columns.

    Text is shortened to fit, a number never, and a header only when it is long. Columns that have no room are left out
    from the right, and the last line says how many.

    Parameters
    ----------
    rows
        Cells of plain text; short rows are filled up.
    columns
        Of the terminal, at least 1.
    """
    count = max((len(row) for row in rows), default=0)
    if not count:
        return []
    rows = [row + [""] * (count - len(row)) for row in rows]
    natural = [min(columns, max(width(row[i]) for row in rows)) for i in range(count)]
    least = [min(columns, max(_least(row[i], at == 0) for at, row in enumerate(rows))) for i in range(count)]
    shown = 1
    while shown < count and sum(least[: shown + 1]) + 2 * shown <= columns:
        shown += 1
    widths = natural[:shown]
    while sum(widths) + 2 * (shown - 1) > columns:  # narrow the widest of those that can be narrower
        widest = max((i for i in range(shown) if widths[i] > least[i]), key=widths.__getitem__)
        widths[widest] -= 1
    out = ["  ".join(_fit(cell, w) for cell, w in zip(row, widths, strict=False)).rstrip() for row in rows]
    out.insert(1, "  ".join("-" * w for w in widths))
    if shown < count:
        left = count - shown
        out.append(f"... {left} more column{'s' if left > 1 else ''}")
    return out


def _least(cell: str, header: bool) -> int:
    """Return the width below which a cell would say something else, or nothing."""
    return width(cell) if _is_number(cell) else min(width(cell), _HEADER if header else _TEXT)


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, an amount with its unit, or a date."""
    return len(cell) <= 30 and any(map(str.isdigit, cell)) and sum(map(str.isalpha, cell)) <= 4


def _fit(cell: str, columns: int) -> str:
    if width(cell) > columns:
        cell = _head(cell, columns - 1) + "…"
    return cell + " " * (columns - width(cell))
