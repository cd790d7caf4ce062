"""What a table of a page looks like when it is shown by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.cell_markdown import as_table
from jupyter_webresearch.kernel.display import settings
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, literal
from jupyter_webresearch.kernel.plain_form import grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_webresearch.models import Table

__all__ = ["mimebundle"]

_CELL = 1000  # characters


def mimebundle(table: Table) -> dict[str, str]:
    """Return a table's display forms.

    Returns
    -------
    dict
        ``text/markdown``, inert, and ``text/plain``: the caption, and as many rows as fit in ``WebDisplay.max_chars``
        characters, and how many there are besides.
    """
    header = [one_line(name, _CELL) for name in table.header]
    rows = list(_fitting(table.rows, settings().max_chars))
    left = len(table.rows) - len(rows)
    caption = one_line(table.caption, _CELL)
    more = f"... {left:,} more row{'s' if left > 1 else ''}; all are in .rows and .df of this Table" if left else ""
    markdown = [f"**{literal(caption)}**" * bool(caption), as_table(header, rows), literal(more)]
    plain = [caption, "\n".join(grid([header, *rows], settings().columns)), more]
    inner = "\n\n".join(part for part in markdown if part)
    return {
        "text/markdown": f"{OPEN}\n\n{inner}\n\n{CLOSE}",
        "text/plain": "\n\n".join(part for part in plain if part) or repr(table),
    }


def _fitting(rows: Iterable[tuple[str, ...]], most: int) -> Iterator[list[str]]:
    """Yield the first row, and the next ones as long as all together have at most ``most`` characters."""
    taken = 0
    for at, row in enumerate(rows):
        cells = [one_line(cell, _CELL) for cell in row]
        taken += sum(map(len, cells)) + 3 * len(cells)
        if at and taken > most:
            return
        yield cells
