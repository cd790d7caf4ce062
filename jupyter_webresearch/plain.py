"""Our own Markdown without its markup.

The dialect is what :mod:`jupyter_webresearch.extraction.markdown` writes. A text that was cut anywhere is read as far
as it goes: what is not markup of ours stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["plain_inline", "plain_text"]

_CONTAINER = re.compile(r"(?:[ ]*(?:>(?:[ ]|$)|- |\d{1,9}\. ))*[ ]*")
_QUOTE = re.compile(r">[ ]?")
_FENCE = re.compile(r"(`{3,})[^`]*$")
_HEADING = re.compile(r"#{1,6} +")
_NOTE = re.compile(r"\[\^([\w-]+)\]: ")
_DELIMITERS = re.compile(r"\|(?: --- \|)+")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_TOKEN = re.compile(
    r"""
    \\([!-/:-@\[-`{-~])             # 1 a backslash escape
    | &(lt|amp|\#9[123]);           # 2 an entity
    | (`+)                          # 3 a code span begins
    | \[\^([\w-]+)\]                # 4 the mark of a note
    | \]\([^()\s]*\) | \[ | \*+ | ~~ | \$
    """,
    re.VERBOSE,
)
_ENTITIES = {"lt": "<", "amp": "&", "#91": "[", "#92": "\\", "#93": "]"}


def plain_text(markdown: str) -> str:
    """Return what a reader sees: no markup, cells parted by tabs, code and formulas as they are.

    Marks of lists and quotes stay, as plain text has the same. Linear in the length of the text.
    """
    return "\n".join(_lines(markdown.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    fence = container = ""
    formula = False
    for line in lines:
        if fence:
            code = _inside(line, container)
            if code.strip() == fence:
                fence = ""
            else:
                yield code
            continue
        match = _CONTAINER.match(line)
        before = match.group() if match else ""
        rest = line[len(before) :]
        if rest.rstrip() == "$$":
            formula = not formula
            continue
        if formula:
            yield line
            continue
        opened = _FENCE.match(rest)
        if opened:
            fence, container = opened.group(1), before
        elif rest.startswith("|") and rest.endswith("|") and len(rest) > 1:
            if not _DELIMITERS.fullmatch(rest):
                yield before + "\t".join(plain_inline(cell.strip()) for cell in _CELL_EDGE.split(rest)[1:-1])
        else:
            yield before + _line(rest)


def _line(text: str) -> str:
    note = _NOTE.match(text)
    if note:
        return f"[{note.group(1)}] {plain_inline(text[note.end() :].removesuffix(' ↩'))}"
    heading = _HEADING.match(text)
    return plain_inline(text[heading.end() :] if heading else text.rstrip())


def _inside(line: str, container: str) -> str:
    """Return a line of code without the quote marks and the indentation of what it stands in."""
    position = 0
    for mark in container:
        if mark == ">":
            quote = _QUOTE.match(line, position)
            if quote is None:
                return line[position:]
            position = quote.start() + 1
        elif position < len(line) and line[position] == " ":
            position += 1
        else:
            break
    return line[position:]


def plain_inline(text: str) -> str:
    """Return one line of inline Markdown without its markup."""
    out: list[str] = []
    position = 0
    hopeless: set[int] = set()  # lengths of runs of backticks that nothing closes
    while match := _TOKEN.search(text, position):
        out.append(text[position : match.start()])
        position = match.end()
        escaped, entity, ticks, note = match.groups()
        if escaped:
            out.append(escaped)
        elif entity:
            out.append(_ENTITIES[entity])
        elif note:
            out.append(f"[{note}]")
        elif ticks:
            close = None if len(ticks) in hopeless else re.compile(f"(?<!`){ticks}(?!`)").search(text, position)
            if close is None:
                hopeless.add(len(ticks))
                out.append(ticks)
            else:
                out.append(_code(text[position : close.start()]))
                position = close.end()
    out.append(text[position:])
    return "".join(out)


def _code(code: str) -> str:
    padded = len(code) > 2 and code[0] == code[-1] == " " and "`" in (code[1], code[-2])
    return code[1:-1] if padded else code
