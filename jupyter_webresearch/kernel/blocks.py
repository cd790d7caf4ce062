"""The blocks of our own Markdown, and where a text may be cut."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Block", "cut_at_block", "fence_opened_by", "split_blocks"]

# A fence may stand inside quotes and list items: "> - ```python".
_CONTAINER = r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*)*"
_FENCE = re.compile(rf"({_CONTAINER})(`{{3,}}(?=[^`]*$)|~{{3,}})(.*)$")


@dataclass(frozen=True)
class Block:
    """A block: its lines, where it begins in the text, and what it is.

    Attributes
    ----------
    kind
        ``fence``, ``table``, ``math`` (displayed), ``heading``, or ``text`` for paragraphs, lists and quotes.
    start, end
        Characters of the text: first of the block, and first behind its last line.
    """

    kind: str
    start: int
    end: int


def fence_opened_by(line: str) -> tuple[str, str, str] | None:
    """Return what stands before a fence that this line opens, the fence itself and its info string; or None."""
    match = _FENCE.match(line)
    return (match[1], match[2], match[3].strip()) if match else None


def closes(line: str, fence: str) -> bool:
    """Return whether a line closes a fence: at least as many of the same characters, and nothing else.

    Parameters
    ----------
    line
        A line inside the fence.
    fence
        The run of backticks or tildes that opened it.
    """
    bare = line.strip(" \t>")
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def split_blocks(markdown: str) -> list[Block]:
    """Split a text at the blank lines that stand outside of fences and displayed formulas."""
    blocks: list[Block] = []
    start: int | None = None
    kind = "text"
    fence = ""
    position = 0
    for line in markdown.splitlines(keepends=True):
        here, position = position, position + len(line)
        bare = line.strip()
        if fence:
            if closes(line.rstrip("\n"), fence):
                fence = ""
            continue
        if start is not None and kind == "math":
            if bare == "$$":
                blocks.append(Block(kind, start, position))
                start = None
            continue
        if not bare:
            if start is not None:
                blocks.append(Block(kind, start, here))
                start = None
            continue
        opened = fence_opened_by(line.rstrip("\n"))
        if start is None:
            start, kind = here, _kind_of(line, opened is not None)
        if opened is not None:
            fence = opened[1]
    if start is not None:
        blocks.append(Block(kind, start, len(markdown)))
    return blocks


def _kind_of(line: str, is_fence: bool) -> str:
    if is_fence:
        return "fence" if line[0] in "`~" else "text"
    if line.startswith("|"):
        return "table"
    if line.rstrip() == "$$":
        return "math"
    return "heading" if re.match(r"#{1,6} ", line) else "text"


def cut_at_block(markdown: str, most: int) -> int:
    """Return where to cut a text so that at most ``most`` characters are before it.

    The cut lies behind a block. Only where that would leave less than half of ``most`` is a block itself cut: behind a
    line, else behind a word, else anywhere.

    Parameters
    ----------
    markdown
        Text in our own Markdown.
    most
        Characters, at least 1.
    """
    if len(markdown) <= most:
        return len(markdown)
    blocks = split_blocks(markdown)
    fitting = [i for i, block in enumerate(blocks) if block.end <= most]
    # A heading without anything of its section is of no use at the end.
    while fitting and blocks[fitting[-1]].kind == "heading":
        fitting.pop()
    end = blocks[fitting[-1]].end if fitting else 0
    if end >= most // 2:
        return end
    for separator in ("\n", " "):
        at = markdown.rfind(separator, end + most // 10, most)
        if at > 0:
            return at + 1
    return most
