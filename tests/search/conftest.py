"""Fixtures for searches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.search.plugin_folders import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Jupyter's folders of a user who has nothing yet."""
    return Home(tmp_path)
