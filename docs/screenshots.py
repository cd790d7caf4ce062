"""Photograph the quickstart in JupyterLab: ``python docs/screenshots.py FOLDER``.

``docs/images/quickstart.png`` is one of these pictures. The others are for looking: light and dark, wide and narrow.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Page, async_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.ui.lab import Lab  # noqa: E402  # the tests are found only once the root is on the path

READY = "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"


async def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as temporary, Lab(Path(temporary) / "lab", []) as lab:
        shutil.copytree(ROOT / "notebooks", lab.notebooks, dirs_exist_ok=True)
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = await browser.new_page(viewport={"width": 1180, "height": 1000})
            await page.goto(lab.page("quickstart.ipynb"))
            await page.wait_for_function(READY)
            await _command(page, "notebook:run-all-cells")
            await page.wait_for_function(READY)
            await page.locator(".jp-OutputArea-output", has_text="example.org").last.wait_for()
            await page.evaluate("document.activeElement.blur()")
            for theme, width in (("Light", 1180), ("Dark", 1180), ("Light", 640), ("Dark", 640)):
                await _command(page, "apputils:change-theme", {"theme": f"JupyterLab {theme}"})
                await page.set_viewport_size({"width": width, "height": 1000})
                for cell in (2, 6, 10):
                    await page.locator(f".jp-Notebook .jp-Cell >> nth={cell}").scroll_into_view_if_needed()
                    await page.wait_for_timeout(500)  # the theme and the scrolling are drawn by then
                    await page.screenshot(path=folder / f"{theme.lower()}-{width}-{cell}.png")
            await browser.close()


async def _command(page: Page, name: str, arguments: dict[str, str] | None = None) -> None:
    await page.evaluate(
        "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)", [name, arguments or {}]
    )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(target))
