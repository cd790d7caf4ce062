"""How a page stands in a notebook: contents, tables, the live line, the reading on."""

from __future__ import annotations

import json

import pytest

from tests.ui.conftest import Desk

pytestmark = [pytest.mark.ui, pytest.mark.asyncio(loop_scope="module")]

WIDE = "".join(f"<th>Column number {n}</th>" for n in range(40))
ROW = "".join(f"<td>{n} metres</td>" for n in range(40))
TEXT = "The harbour office keeps a table of the tides, and every morning somebody reads it out aloud. " * 3
TIDES = f"""<!DOCTYPE html><html><head><title>Tides</title></head><body><main><article><h1>Tides</h1>
<p>{TEXT}</p><h2>Page heading one</h2><p>{TEXT}</p><h3>Page heading two</h3><p>{TEXT}</p>
<table><tr>{WIDE}</tr><tr>{ROW}</tr></table><p>{TEXT} It costs $5 and then $6.</p></article></main></body></html>"""


async def test_headings_of_a_page_stay_out_of_the_contents_and_below_the_notebooks_own(desk: Desk) -> None:
    desk.site.serve("/tides", TIDES)
    await desk.open(
        "tides.ipynb",
        ["#md # Of the notebook\n\n## Also", "%load_ext jupyter_webresearch", f"%webfetch {desk.site.url('/tides')}"],
    )
    await desk.command("notebook:run-all-cells")
    output = desk.page.locator(".jp-OutputArea-output.jp-RenderedMarkdown")
    assert await output.locator("h4").all_inner_texts() == ["Page heading one"]
    assert await output.locator("h5").all_inner_texts() == ["Page heading two"]
    assert await output.locator("h1, h2, h3, [id]").count() == 0
    await desk.page.get_by_role("tab", name="Table of Contents").first.click()
    entries = desk.page.locator(".jp-TableOfContents .jp-tocItem-content")
    await entries.first.wait_for()
    assert await entries.all_inner_texts() == ["Of the notebook", "Also"]


async def test_a_wide_table_scrolls_in_itself(desk: Desk) -> None:
    sizes = await desk.page.evaluate(
        """() => {
          const output = document.querySelector('.jp-OutputArea-output.jp-RenderedMarkdown');
          const box = output.querySelector('table').parentElement;
          const before = box.scrollLeft;
          box.scrollLeft = 200;
          return [output.scrollWidth - output.clientWidth, box.scrollWidth - box.clientWidth, before, box.scrollLeft];
        }"""
    )
    assert sizes[0] <= 0
    assert sizes[1] > 500
    assert sizes[2:] == [0, 200]


async def test_prices_are_no_formulas(desk: Desk) -> None:
    output = desk.page.locator(".jp-OutputArea-output.jp-RenderedMarkdown")
    assert "It costs $5 and then $6." in await output.inner_text()
    assert await output.locator("mjx-container").count() == 0


async def test_the_live_line_is_replaced_and_goes(desk: Desk) -> None:
    url = desk.site.url("/gate")
    name = "live.ipynb"
    await desk.open(name, ["%load_ext jupyter_webresearch", "print('before')\n%webfetch " + url])
    await desk.run_by_hand(0)
    await desk.run_by_hand(1)
    outputs = desk.page.locator(".jp-Cell >> nth=1").locator(".jp-OutputArea-output")
    await outputs.filter(has_text="/gate … connecting").wait_for()
    assert await outputs.count() == 2
    desk.site.release()
    await outputs.filter(has_text="An article").wait_for()
    assert await outputs.filter(has_text="/gate …").count() == 0
    shown = [text for text in await outputs.all_inner_texts() if text.strip()]
    assert shown[0].strip() == "before"
    assert len(shown) == 2
    heights = await outputs.evaluate_all("nodes => nodes.map(n => n.getBoundingClientRect().height)")
    assert len([height for height in heights if height > 0]) == 2
    await desk.command("docmanager:save")
    cell = json.loads((desk.lab.notebooks / name).read_text())["cells"][1]
    assert "/gate …" not in json.dumps(cell["outputs"], ensure_ascii=False)
    assert [o["output_type"] for o in cell["outputs"] if o.get("data") != {}] == ["stream", "execute_result"]


async def test_an_error_is_one_line_of_text(desk: Desk) -> None:
    hostile = "http://10.0.0.1/<img src=x onerror=1>"
    await desk.open("error.ipynb", ["%load_ext jupyter_webresearch", f"%webfetch {hostile}", f"%webfetch '{hostile}'"])
    outputs = desk.page.locator(".jp-OutputArea-output")
    for cell in range(2):
        await desk.run_by_hand(cell)
    await outputs.filter(has_text="UsageError").wait_for()  # it would take a cell that waits already with it
    await desk.run_by_hand(2)
    await outputs.filter(has_text="[blocked_address]").wait_for()  # in place of the line that tells what is going on
    usage, refused = [text.strip() for text in await outputs.all_inner_texts() if text.strip()]
    assert usage == "UsageError: %webfetch takes one URL, not 3; many go into a %%webfetch cell, one a line"
    assert refused.startswith("Refused [blocked_address]: ")
    assert "\n" not in refused
    assert await outputs.locator("img").count() == 0
