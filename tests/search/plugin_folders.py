"""Plugins as folders, and what a registry needs to see them and nothing else."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jupyter_webresearch.config import WebSearch
from jupyter_webresearch.search.registry import FOLDER, Registry

GOOD = """
class Acme:
    name = "acme"
    def is_available(self):
        return True
    def search(self, query, limit=5):
        row = {"title": query, "url": "https://acme.example/1", "description": "Found.", "position": 1}
        return {"success": True, "data": {"web": [row]}}

def register(ctx):
    ctx.register_web_search_provider(Acme())
"""

MANIFEST = """
name: acme
version: 1.10
description: Searches Acme.
author: A. Author
kind: backend
provides_web_providers: [acme]
"""


class Home:
    """Jupyter's data and config folders of one user."""

    def __init__(self, root: Path) -> None:
        self.data, self.config = root / "data", root / "config"
        self.environ: dict[str, str] = {}

    def add(self, code: str = GOOD, manifest: str | None = MANIFEST, name: str = "acme") -> Path:
        """Write a plugin, with the permissions that an ordinary umask gives."""
        folder = self.data / FOLDER / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(textwrap.dedent(code), encoding="utf-8")
        if manifest is not None:
            (folder / "plugin.yaml").write_text(textwrap.dedent(manifest), encoding="utf-8")
        for path in (folder.parent.parent, folder.parent, folder):
            path.chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o644)
        return folder

    def registry(
        self,
        *,
        entry_points: Callable[[], Iterable[Any]] = list,
        load_seconds: float = 20.0,
        available_seconds: float = 20.0,
        **settings: Any,
    ) -> Registry:
        return Registry(
            WebSearch(**settings),
            environ=self.environ,
            data_folder=self.data,
            config_folder=self.config,
            entry_points=entry_points,
            load_seconds=load_seconds,
            available_seconds=available_seconds,
        )


def named(registry: Registry, name: str) -> Any:
    """Return the one row of a name."""
    (row,) = [row for row in registry.rows() if row.name == name]
    return row
