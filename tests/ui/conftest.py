"""JupyterLab, Chromium and the sites that the tests of a module share."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page as BrowserPage
from playwright.async_api import async_playwright

from tests.sites import Site
from tests.ui import hostile
from tests.ui.lab import Lab

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass
class Desk:
    """A browser before JupyterLab."""

    lab: Lab
    site: Site
    canary: Site
    page: BrowserPage
    asked: list[str] = field(default_factory=list)

    async def open(self, name: str, cells: list[str]) -> None:
        """Write a notebook, open it and wait for its kernel."""
        self.lab.notebook(name, cells)
        await self.page.goto(self.lab.page(name))
        await self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        )

    async def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Run a command of JupyterLab and wait for it."""
        run = "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)"
        await self.page.evaluate(run, [name, arguments or {}])

    async def run_by_hand(self, cell: int) -> None:
        """Click into a cell and press Shift+Enter, as a user does."""
        editor = self.page.locator(f".jp-Notebook .jp-Cell >> nth={cell}").locator(".cm-content")
        await editor.scroll_into_view_if_needed()
        await editor.click()
        await self.page.keyboard.press("Shift+Enter")

    def elsewhere(self) -> list[str]:
        """Requests of the browser that went anywhere but to JupyterLab."""
        return [url for url in self.asked if not url.startswith((self.lab.url, "data:", "blob:"))]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """JupyterLab with the hostile pages within reach, and a canary that is not to be reached."""
    if CHROMIUM is None:
        missing = "no Chromium on this machine"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with Site() as site, Site() as canary, Lab(tmp_path_factory.mktemp("lab"), [site.port]) as lab:
        for path, (body, content_type) in hostile.pages(canary.url("")).items():
            site.serve(path, body, content_type)
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page(viewport={"width": 1300, "height": 1000})
            page.set_default_timeout(40_000)
            found = Desk(lab, site, canary, page)
            page.on("request", lambda request: found.asked.append(request.url))
            yield found
            await browser.close()
