"""Both sides of the limits, and pages that are nothing but a bomb, through real workers."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_webresearch.config import WebExtraction
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.extraction.pool import ExtractionPool

TOO_LARGE = "limits: too large to look for the article in it"


async def extract(*bodies, **settings):
    pool = ExtractionPool(WebExtraction(**settings))
    try:
        await pool.start()
        return await asyncio.gather(
            *(
                pool.extract(body.encode(), url="https://example.org/", content_type="text/html", charset_label="utf-8")
                for body in bodies
            ),
            return_exceptions=True,
        )
    finally:
        await pool.close()


async def rendered(body):
    """Extract a page in as much time as it takes."""
    (page,) = await extract(body, wall_time=60.0)
    return page


@pytest.mark.parametrize(
    ("count", "notes"),
    [(200_000, (TOO_LARGE,)), (200_001, ("limits: elements 200,000 of 200,001", TOO_LARGE))],
)
async def test_elements(count, notes):
    page = await rendered("".join(f"<p>word{i}" for i in range(count)))
    assert (page.extractor, page.limits) == ("page", notes)
    assert page.markdown == "\n\n".join(f"word{i}" for i in range(200_000))


@pytest.mark.parametrize(
    ("rows", "cell", "cells"),
    [(10_000, "<td>c{}", 100_000), (10_001, "<td>c{}", 100_010), (1000, "<td colspan=10>c{}", 100_000),
     (1001, "<td colspan=10>c{}", 100_100)],
)  # fmt: skip
async def test_cells(rows, cell, cells):
    row = "<tr>" + "".join(cell.format(n) for n in range(10))
    page = await rendered(f"<p>Words.</p><table>{row * rows}</table>")
    cut = ("limits: cells 100,000 of " + f"{cells:,}",) if cells > 100_000 else ()
    assert page.extractor == "page"
    assert page.limits == (*cut, TOO_LARGE)
    (table,) = page.tables
    assert len(table.header) == 100_000 // min(rows, 100_000 // len(table.header))
    assert (len(table.rows) + 1) * len(table.header) == 100_000
    assert (table.rows[-1][0], table.rows[-1][-1]) == ("c0", "c9")


MIB = 1024 * 1024
FULL_SIZE = {
    "less-than": "<" * 3_000_000,
    "entities": "&amp;" * 2_000_000,
    "declarations": "<!" * (9 * MIB // 2),
    "backslashes": "\\" * (9 * MIB),
    "stars": "*" * (9 * MIB),
    "addresses": "a@" * (9 * MIB // 2),
}


async def test_of_a_bomb_at_full_size_there_is_text_in_the_time_that_a_user_has():
    left = dict(FULL_SIZE)
    for _ in range(3):  # others may share this machine
        bodies = (f"<p>seven herons stand by the river</p><p>{bomb}</p>" for bomb in left.values())
        for name, page in zip(tuple(left), await extract(*bodies), strict=True):
            if isinstance(page, Failed) and page.code == "too_complex":
                continue
            assert page.markdown.startswith("seven herons stand by the river"), name
            del left[name]
        if not left:
            break
    assert list(left) == []
