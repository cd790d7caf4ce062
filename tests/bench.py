"""One engine, a session of it, and its journal."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.journal.reader import read_events
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.policy_change import PolicyChange
from tests.sites import Site

URL = "http://www.example.org/article"

CELL = Caller()


class Bench:
    """An engine, one session of it, and its journal."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.session = engine.session("kernel:one")

    def fetch(self, url: str = URL, caller: Caller = CELL, **arguments: Any) -> Page:
        return self.begin(url, caller, **arguments).result(60)

    def begin(self, url: str = URL, caller: Caller = CELL, **arguments: Any) -> concurrent.futures.Future[Page]:
        request = FetchRequest(url, **arguments)
        return self.engine.submit(self.engine.fetch(self.session, request, caller=caller))

    def fails(self, url: str = URL, caller: Caller = CELL, **arguments: Any) -> WebResearchError:
        with pytest.raises(WebResearchError) as caught:
            self.fetch(url, caller, **arguments)
        return caught.value

    @property
    def used(self) -> dict[str, float]:
        """What is used of each budget that is told, by its trait."""
        rows = self.engine.submit(self.engine.policy(self.session)).result(30)["budgets"]
        return {row["name"].removeprefix("WebBudgets."): row["used"] for row in rows}

    def change(self, **change: Any) -> dict[str, Any]:
        return self.engine.submit(self.engine.change_policy(self.session, PolicyChange(**change))).result(30)

    @property
    def events(self) -> list[dict[str, Any]]:
        return read_events(self.folder, limit=1000)


class Disk:
    """What an engine's journal writes to: it can be made to wait, and to be full."""

    def __init__(self, engine: Engine) -> None:
        file = engine._journal._file
        self._transaction = file.transaction
        file.transaction = self.transaction  # type: ignore[method-assign]
        self.reached = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.is_full = False

    def transaction(self, work: Callable[[sqlite3.Connection], Any], wait: float) -> Any:
        if not self.goes_on.is_set():
            self.reached.set()
        assert self.goes_on.wait(30)
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._transaction(work, wait)

    def hold(self) -> None:
        self.goes_on.clear()


def arrived(site: Site, path: str) -> None:
    assert site._loop is not None
    asyncio.run_coroutine_threadsafe(site.arrived(path), site._loop).result(30)


def outcomes(events: list[dict[str, Any]]) -> list[str]:
    return [event["outcome"] for event in events]
