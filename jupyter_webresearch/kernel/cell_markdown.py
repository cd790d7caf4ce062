"""Text as the Markdown of a cell's output: headings demoted, tables in boxes of their own, nothing alive."""

from __future__ import annotations

import re
from itertools import takewhile

from jupyter_webresearch.extraction.escape import fence_for
from jupyter_webresearch.extraction.sanitise import clean
from jupyter_webresearch.kernel.blocks import closes, fence_opened_by
from jupyter_webresearch.kernel.heading import heading
from jupyter_webresearch.kernel.inert import entities, guard_inline, language_word, literal

__all__ = ["as_cell", "as_fence", "as_table"]

TOP = 4  # the level that a page's highest heading gets: a notebook's own are rarely below 3
_TABLE_BOX = '<div style="overflow-x: auto">'
_CODE_BOX = '<div style="margin-bottom: 1em">'  # JupyterLab leaves no space below code
_END = "</div>"
_HEADING_LINE = re.compile(r"([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*)*)(#{1,6})[ \t]+(.*)$")


def as_cell(markdown: str) -> str:
    """Return our own Markdown in the form for a cell.

    Parameters
    ----------
    markdown
        In the dialect of :mod:`jupyter_webresearch.extraction.markdown`, cut anywhere.
    """
    lines = clean(markdown)[0].split("\n")
    shift = TOP - min(_levels(lines), default=TOP)
    out: list[str] = []
    run: list[str] = []  # lines that are guarded together, since spans may go over line ends
    table = False

    def flush() -> None:
        if run:
            out.append(guard_inline("\n".join(run)))
            run.clear()

    rest = iter(lines)
    for line in rest:
        is_row = line.startswith("|")
        if is_row != table:
            flush()
            out.extend([_TABLE_BOX, ""] if is_row else ["", _END, ""])
            table = is_row
        opened = fence_opened_by(line)
        found = None if opened or is_row else _HEADING_LINE.match(line)
        if opened:
            flush()
            before, fence, info = opened
            code = list(takewhile(lambda line, fence=fence: not closes(line, fence), rest))  # type: ignore[misc]
            out.extend(_nested_code(before, code) if before else _code(info, code))
        elif found:
            flush()
            level = min(6, max(TOP, len(found[2]) + shift))
            out.extend([found[1] + heading(found[3], level), _continued(found[1])])
        else:
            run.append(line)
    flush()
    if table:
        out.extend(["", _END])
    return "\n".join(out)


def _code(info: str, lines: list[str]) -> list[str]:
    return [_CODE_BOX, "", as_fence("\n".join(lines), info), "", _END, ""]


def _nested_code(before: str, lines: list[str]) -> list[str]:
    """Return code inside of quotes and lists as HTML: whether it is a fence there, parsers don't agree."""
    prefix = _continued(before)
    code = [entities(re.sub(rf"^[ \t>]{{0,{len(before)}}}", "", line)) for line in lines]
    first, *others = code or [""]
    return [f"{before}<pre><code>{first}", *(prefix + line for line in others), f"{prefix}</code></pre>", prefix]


def _continued(before: str) -> str:
    """Return what stands before the lines that follow the first of a list item or quote."""
    return re.sub(r"[^ \t>]", " ", before)


def _levels(lines: list[str]) -> list[int]:
    levels: list[int] = []
    fence = ""
    for line in lines:
        if fence:
            fence = "" if closes(line, fence) else fence
        elif opened := fence_opened_by(line):
            fence = opened[1]
        elif match := _HEADING_LINE.match(line):
            levels.append(len(match[2]))
    return levels


def as_table(header: list[str], rows: list[list[str]]) -> str:
    """Return cells of plain text as a table in a box of its own; each row is as long as the header.

    Parameters
    ----------
    header
        One cell a column.
    rows
        Cells of plain text.
    """
    lines = [header, ["---"] * len(header), *rows]
    written = [
        "| " + " | ".join(cell if at == 1 else literal(cell) for cell in row) + " |" for at, row in enumerate(lines)
    ]
    return "\n".join([_TABLE_BOX, "", *written, "", _END])


def as_fence(text: str, language: str) -> str:
    """Return a source text in a fence longer than any run of backticks inside.

    Parameters
    ----------
    text
        Any text; control and invisible characters are removed.
    language
        Language word behind the opening fence, or an empty string.
    """
    text = clean(text)[0].rstrip("\n")
    fence = fence_for(text)
    return f"{fence}{language_word(language)}\n{text}\n{fence}"
