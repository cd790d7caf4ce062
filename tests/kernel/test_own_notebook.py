"""What a process without a server knows of its notebook, and heeds."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_webresearch.config import Settings
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.own_notebook import OwnNotebook
from jupyter_webresearch.models import FetchRequest
from tests.conftest import EngineMaker
from tests.sites import Site

PAGE, OTHER = "http://www.example.org/article", "http://other.example/article"


class VSCode:
    """A shell as VS Code's kernels have it, and the file of its notebook."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.shell = SimpleNamespace(user_ns={"__vsc_ipynb_file__": str(file)})

    def write(self, webresearch: Any) -> None:
        self.put(json.dumps({"cells": [], "metadata": {"webresearch": webresearch}, "nbformat": 4}))

    def put(self, text: str) -> None:
        before = self.file.stat().st_mtime_ns if self.file.exists() else 0
        self.file.write_text(text)
        while self.file.stat().st_mtime_ns == before:
            self.file.touch()


@pytest.fixture
def vscode(tmp_path: Path) -> VSCode:
    return VSCode(tmp_path / "a notebook.ipynb")


@pytest.fixture
def client(vscode: VSCode, make_engine: EngineMaker) -> LocalClient:
    return LocalClient(Settings(), engine=make_engine(), shell=vscode.shell)


def code(client: LocalClient, url: str) -> str:
    try:
        client.fetch(FetchRequest(url))
    except WebResearchError as error:
        return error.code
    return "read"


def test_the_file_that_vscode_names_narrows(vscode: VSCode, client: LocalClient, site: Site) -> None:
    assert code(client, PAGE) == "read"  # not saved yet
    vscode.write({"allow": ["other.example"], "task": "tides"})
    assert (code(client, PAGE), code(client, OTHER)) == ("not_allowed", "read")
    assert client.policy()["task"] == "tides"
    assert [verdict.code for verdict in client.check_urls([PAGE, OTHER])] == ["not_allowed", "ok"]
    vscode.write({"allow": ["www.example.org"]})
    assert (code(client, PAGE), code(client, OTHER)) == ("read", "not_allowed")
    vscode.file.unlink()  # while it is renamed, or for good: the last known holds
    assert (code(client, PAGE), code(client, OTHER)) == ("read", "not_allowed")


def test_a_file_that_can_not_be_read(vscode: VSCode, client: LocalClient, site: Site) -> None:
    vscode.put("{")
    assert code(client, PAGE) == "config"
    vscode.write({"allow": ["other.example"]})
    assert code(client, PAGE) == "not_allowed"
    vscode.put("{")
    assert (code(client, PAGE), code(client, OTHER)) == ("not_allowed", "read")
    assert site.paths() == ["/article"]


def test_the_journal_names_the_notebook(vscode: VSCode, client: LocalClient) -> None:
    assert code(client, PAGE) == "read"
    assert {event["notebook"] for event in client.events(kind="fetch")} == {str(vscode.file)}


@pytest.mark.parametrize(
    ("shell", "name"),
    [
        (None, ""),
        (SimpleNamespace(user_ns={}), "sub/a.ipynb"),
        (SimpleNamespace(user_ns={"__vsc_ipynb_file__": 5}), "sub/a.ipynb"),
        (SimpleNamespace(user_ns={"__vsc_ipynb_file__": "/x/b.ipynb"}), "/x/b.ipynb"),
    ],
)
def test_where_the_name_comes_from(shell: Any, name: str) -> None:
    notebook = OwnNotebook(shell, {"JPY_SESSION_NAME": "sub/a.ipynb"})
    assert (notebook.name, notebook.kernel) == (name, "")


def test_a_path_below_a_folder_that_is_not_known_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    VSCode(tmp_path / "a.ipynb").write({"allow": []})
    notebook = OwnNotebook(SimpleNamespace(user_ns={}), {"JPY_SESSION_NAME": "a.ipynb"})
    assert notebook.ask().allow is None
