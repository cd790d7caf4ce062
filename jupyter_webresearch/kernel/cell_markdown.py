"""Text as the Markdown of a cell's output: headings demoted, tables in boxes of their own, nothing alive."""

from __future__ import annotations

import re

from jupyter_webresearch.extract.escape import fence_for
from jupyter_webresearch.extract.sanitise import clean
from jupyter_webresearch.kernel.blocks import closes, fence_opened_by
from jupyter_webresearch.kernel.inert import guard_inline, language_word

__all__ = ["as_cell", "as_fence"]

TOP = 4  # the level that a page's highest heading gets: a notebook's own are rarely below 3
# JupyterLab lists headings of outputs in its table of contents unless their element has this class. Written as HTML, a
# heading also gets no id: the id would be the page's choice.
_HEADING = '<h{0} class="jp-toc-ignore">'
_BOX = '<div style="overflow-x: auto">'
_HEADING_LINE = re.compile(r"([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*)*)(#{1,6})[ \t]+(.*)$")


def as_cell(markdown: str) -> str:
    """Return our own Markdown in the form for a cell.

    Parameters
    ----------
    markdown
        In the dialect of :mod:`jupyter_webresearch.extract.markdown`, cut anywhere.
    """
    lines = clean(markdown)[0].split("\n")
    shift = TOP - min((level for level in _levels(lines)), default=TOP)
    out: list[str] = []
    run: list[str] = []  # lines that are guarded together, since spans may go over line ends
    table = False
    fence = before = ""

    def flush() -> None:
        if run:
            out.append(guard_inline("\n".join(run)))
            run.clear()

    for line in lines:
        if fence:
            out.append(line)
            if closes(line, fence):
                fence = ""
            continue
        is_row = line.startswith("|")
        if is_row != table:
            flush()
            out.append(f"{_BOX}\n" if is_row else f"\n{CLOSE_BOX}\n")
            table = is_row
        opened = fence_opened_by(line)
        heading = None if opened or is_row else _HEADING_LINE.match(line)
        if opened:
            flush()
            before, fence, info = opened
            out.append(f"{before}{fence}{language_word(info)}")
        elif heading:
            flush()
            out.extend(_heading(heading[1], len(heading[2]) + shift, heading[3]))
        else:
            run.append(line)
    flush()
    if fence:  # the text was cut inside
        out.append(re.sub(r"[^ \t>]", " ", before) + fence)
    if table:
        out.append(f"\n{CLOSE_BOX}")
    return "\n".join(out)


CLOSE_BOX = "</div>"


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


def _heading(before: str, level: int, text: str) -> list[str]:
    level = min(6, max(TOP, level))
    after = re.sub(r"[^ \t>]", " ", before)  # the quote or list item goes on in the lines that follow
    return [f"{before}{_HEADING.format(level)}", after, after + guard_inline(text), after, f"{after}</h{level}>", after]


def as_fence(text: str, language: str) -> str:
    """Return a source text in a fence longer than any run of backticks inside."""
    text = clean(text)[0].rstrip("\n")
    fence = fence_for(text)
    return f"{fence}{language_word(language)}\n{text}\n{fence}"
