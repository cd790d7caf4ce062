"""Tables as rectangles: spans expanded, clamped, and counted against the page's cells."""

from __future__ import annotations

from lxml import etree

from jupyter_webresearch.extraction.limits import CELL_SPANS
from jupyter_webresearch.extraction.tree import element_text, finder

__all__ = ["CELLS", "ROW_GROUPS", "CellBudget", "Grid", "grid_of", "is_data_table", "rows_of", "spanned_area"]

ROW_GROUPS = ("tbody", "thead", "tfoot")
CELLS = ("td", "th")

_SPANNED = finder("//td[@colspan or @rowspan]|//th[@colspan or @rowspan]")

Grid = list[list["etree._Element | None"]]
"""Rows of cells; a spanned position holds the cell that covers it, an empty one None."""


class CellBudget:
    """The cells that a page may still fill, and how many it asked for."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.wanted = 0


def rows_of(table: etree._Element) -> list[etree._Element]:
    """Return the rows of a table, those of tables inside it left out."""
    rows = []
    for child in table:
        if child.tag == "tr":
            rows.append(child)
        elif child.tag in ROW_GROUPS:
            rows.extend(row for row in child if row.tag == "tr")
    return rows


def is_data_table(table: etree._Element) -> bool:
    """Return whether a table holds data, rather than laying out a page."""
    if table.get("role") in ("presentation", "none") or table.find(".//table") is not None:
        return False
    rows = rows_of(table)
    columns = max((sum(cell.tag in CELLS for cell in row) for row in rows), default=0)
    if table.find(".//th") is not None or table.find("caption") is not None:
        return len(rows) * columns >= 2
    if len(rows) < 2 or columns < 2:
        return False
    cells = [cell for row in rows for cell in row if cell.tag == "td"]
    return sum(len(element_text(cell)) > 400 for cell in cells) <= 0.2 * len(cells)


def grid_of(table: etree._Element, budget: CellBudget) -> Grid:
    """Lay the cells of a table out as a rectangle (HTML Standard, "forming a table").

    Cells that the page's budget has no room for are left out and counted in ``budget.wanted``.

    Parameters
    ----------
    table
        A ``table`` element.
    budget
        Of the whole page; what is laid out is taken from it.
    """
    grid: Grid = []
    carried: dict[int, tuple[etree._Element, int]] = {}
    room = budget.limit - budget.used
    for row in rows_of(table):
        line: list[etree._Element | None] = []
        column = 0
        following: dict[int, tuple[etree._Element, int]] = {}
        cells = [cell for cell in row if cell.tag in CELLS]
        for cell in [*cells, None]:
            while column in carried:
                above, left = carried.pop(column)
                if len(line) < room:
                    line.append(above)
                if left > 1:
                    following[column] = (above, left - 1)
                column += 1
                budget.wanted += 1
            if cell is None:
                break
            width, height = _span(cell, "colspan", CELL_SPANS[0]), _span(cell, "rowspan", CELL_SPANS[1])
            for _ in range(width):
                budget.wanted += 1
                if len(line) < room:
                    line.append(cell)
                    if height > 1:
                        following[column] = (cell, height - 1)
                column += 1
        for column in sorted(carried):
            above, left = carried[column]
            line.extend([None] * (min(column, room) - len(line)))
            if len(line) < room:
                line.append(above)
            budget.wanted += 1
            if left > 1:
                following[column] = (above, left - 1)
        carried = following
        room -= len(line)
        budget.used += len(line)
        if line:
            grid.append(line)
    width = max(map(len, grid), default=0)
    if width * len(grid) > budget.limit:
        width = max(1, budget.limit // len(grid))
    return [(line + [None] * (width - len(line)))[:width] for line in grid]


def spanned_area(root: etree._Element) -> int:
    """Return the number of positions that the cells with a colspan or rowspan ask for."""
    return sum(_span(cell, "colspan", CELL_SPANS[0]) * _span(cell, "rowspan", CELL_SPANS[1]) for cell in _SPANNED(root))


def _span(cell: etree._Element, name: str, limit: int) -> int:
    value = (cell.get(name) or "1").strip()[:20]
    if not (value.isascii() and value.isdigit()):
        return 1
    return min(max(int(value), 1), limit)
