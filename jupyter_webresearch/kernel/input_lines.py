"""Cell lines that begin with our magics, kept from IPython's other syntax.

IPython takes a line that ends in ``?`` for a question about an object, and has no way to end a magic's line with the
``;`` that keeps a result from being shown. A URL may end in ``?``, and users expect the ``;``.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Sequence
from typing import Any

from IPython.core.inputtransformer2 import (
    TokenTransformBase,
    assemble_continued_line,
    find_end_of_continued_line,
)

from jupyter_webresearch.kernel import command_line, search_line

__all__ = ["MAGIC_NAMES", "MagicLine"]

MAGIC_NAMES = frozenset({"webfetch", "webresearch", "websearch"})

_HELP = re.compile(r"%\w+\s*\?{1,2}")


class MagicLine(TokenTransformBase):
    """Turns ``%webfetch ...`` and ``name = %webfetch ...`` into calls, before IPython sees a ``?`` at the end.

    ``%webfetch?`` and ``%webfetch??`` still ask for help. A final ``;`` becomes the ``;`` of the call, so that it means
    what it means after any expression.
    """

    priority = 1  # before IPython's own help syntax (5) where both begin at the same place

    def __init__(self, start: tuple[int, int], magic: tuple[int, int]) -> None:
        self.start_line, self.start_col = start[0] - 1, start[1]  # as IPython's own are numbered
        self._row, self._column = magic[0] - 1, magic[1]

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[Any]]) -> MagicLine | None:
        """Return the first line of tokens that is a call of ours, or None."""
        for line in tokens_by_line:
            tokens = [t for t in line if t.type not in (tokenize.INDENT, tokenize.DEDENT)]
            at = _magic_at(tokens)
            if at is not None:
                return cls(tokens[0].start, tokens[at].start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """Return the lines with the call in place of the magic.

        Raises
        ------
        SyntaxError
            When the line asks for help: IPython then tries its own syntax.
        """
        end = find_end_of_continued_line(lines, self._row)
        written = assemble_continued_line(lines, (self._row, self._column), end).strip()
        if _HELP.fullmatch(written):
            raise SyntaxError(written)
        name, _, arguments = re.sub(r"\s", " ", written[1:], count=1).partition(" ")
        read = search_line if name == "websearch" else command_line  # an apostrophe of a query is no quote
        arguments = read.without_comment(arguments)
        silent = arguments.endswith(";")
        arguments = arguments[:-1].rstrip() if silent else arguments
        before = lines[self._row][: self._column]
        call = f"get_ipython().run_line_magic({name!r}, {arguments.strip()!r}){';' if silent else ''}\n"
        return [*lines[: self._row], before + call, *lines[end + 1 :]]


def _magic_at(tokens: Sequence[Any]) -> int | None:
    """Return where in a line's tokens ``%name`` begins: at its start, or behind its first assignment."""
    if _names_us(tokens, 0):
        return 0
    depth = 0
    for index, token in enumerate(tokens):
        if token.string == "=" and depth == 0:
            return index + 1 if _names_us(tokens, index + 1) else None
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth = max(0, depth - 1)
    return None


def _names_us(tokens: Sequence[Any], at: int) -> bool:
    return (
        len(tokens) > at + 1
        and tokens[at].string == "%"
        and tokens[at + 1].string in MAGIC_NAMES
        and tokens[at].end == tokens[at + 1].start
    )
