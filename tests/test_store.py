"""The store: what is put comes back, the oldest makes room, nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jupyter_webresearch.store import RECORD_OVERHEAD, Store


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_pieces_come_back(temporary: Path) -> None:
    store = Store(1000)
    assert store.put("a", {"body": b"one"}) == []
    assert store.put("a", {"auto": b"two"}) == []
    assert store.get("a", "body", "auto") == [b"one", b"two"]
    assert store.get("a", "body", "raw") is None
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    store.close()
    assert list(temporary.iterdir()) == []


def test_the_oldest_makes_room() -> None:
    store = Store(100 + 2 * RECORD_OVERHEAD)
    store.put("a", {"body": b"x" * 40})
    store.put("b", {"body": b"x" * 40})
    assert store.put("c", {"body": b"x" * 40}) == ["a"]
    assert store.get("a", "body") is None
    assert store.get("b", "body") == [b"x" * 40]
    assert store.put("d", {"body": b"x" * 100}) == ["b", "c"]
    store.close()


def test_a_record_larger_than_the_store_stays_until_the_next() -> None:
    store = Store(10)
    assert store.put("a", {"body": b"x" * 100}) == []
    assert store.get("a", "body") == [b"x" * 100]
    assert store.put("b", {"body": b"x"}) == ["a"]
    store.close()


def test_memory_serves_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    store = Store(100)
    assert store.put("a", {"body": b"x" * 60}) == []
    assert store.get("a", "body") == [b"x" * 60]
    assert store.put("b", {"body": b"y" * 60}) == ["a"]
    assert store.get("a", "body") is None
    assert store.get("b", "body") == [b"y" * 60]
    store.close()
    assert store.get("b", "body") is None


def test_folders_of_killed_processes_are_removed(temporary: Path) -> None:
    code = (
        "import os, tempfile; from jupyter_webresearch.store import Store; "
        f"tempfile.tempdir = {str(temporary)!r}; Store(100).put('a', dict(body=b'x')); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = temporary.iterdir()
    other = temporary / "jupyter-webresearch-notes"
    other.mkdir()
    store = Store(100)
    store.put("a", {"body": b"x"})
    names = {path.name for path in temporary.iterdir()}
    assert left.name not in names
    assert other.name in names
    assert any(name.startswith(f"jupyter-webresearch-{os.getpid()}-") for name in names)
    store.close()
