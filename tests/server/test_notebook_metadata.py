"""What a notebook's metadata ask narrows its runs: real server, real kernel, real files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from tests.server.running import Caller, Kernel, ThreadServer, start_kernel, start_session
from tests.server.test_policy_routes import by_kernel
from tests.server.test_routes import PAGE, is_error

OTHER = "http://other.example/article"


def write(path: Path, webresearch: Any = None, **metadata: Any) -> None:
    """Write a notebook as Jupyter does, its time of saving never the same."""
    if webresearch is not None:
        metadata["webresearch"] = webresearch
    before = path.stat().st_mtime_ns if path.exists() else 0
    notebook = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook))
    while path.stat().st_mtime_ns == before:
        path.touch()


@pytest.fixture
def notebook(server: ThreadServer, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A notebook of this test's own, in a folder."""
    path = server.folders.root / "sub" / f"{request.node.name.split('[')[0]}.ipynb"
    path.parent.mkdir(exist_ok=True)
    write(path)
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def kernel(server: ThreadServer, notebook: Path) -> Iterator[Kernel]:
    """The notebook's kernel."""
    kernel = start_session(server.caller(), server.folders.runtime, f"sub/{notebook.name}")
    yield kernel
    kernel.close()
    server.caller()("DELETE", f"api/kernels/{kernel.id}")


def codes(server: ThreadServer, kernel: Kernel, *urls: str) -> list[str]:
    answers = [by_kernel(server, kernel, "POST", "fetch", {"url": url}) for url in urls]
    return [answer.json.get("code", "read") for answer in answers]


def asks_of(server: ThreadServer, kernel: Kernel) -> Any:
    return by_kernel(server, kernel, "GET", "policy").json


def test_metadata_narrow_every_run(server: ThreadServer, kernel: Kernel, notebook: Path) -> None:
    assert codes(server, kernel, PAGE, OTHER) == ["read", "read"]
    write(notebook, {"allow": ["other.example"], "task": "tides"})
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    assert asks_of(server, kernel)["task"] == "tides"
    kernel.run("import jupyter_webresearch as web")
    code = f"try:\n    web.fetch({PAGE!r})\nexcept web.Refused as error:\n    print(error.code)"
    assert kernel.run(code).strip() == "not_allowed"
    write(notebook)
    assert codes(server, kernel, PAGE) == ["read"]


def test_a_session_replaces_what_metadata_ask(server: ThreadServer, kernel: Kernel, notebook: Path) -> None:
    write(notebook, {"allow": []})
    assert codes(server, kernel, PAGE) == ["not_allowed"]
    kernel.run("%load_ext jupyter_webresearch")
    assert kernel.run("%webresearch allow www.example.org").strip() == "this session reads: www.example.org"
    assert codes(server, kernel, PAGE, OTHER) == ["read", "not_allowed"]


def test_asks_outlive_a_restart(server: ThreadServer, call: Caller, kernel: Kernel) -> None:
    kernel.run("import jupyter_webresearch as web; web.allow('other.example')")
    assert call("POST", f"api/kernels/{kernel.id}/restart", {}).status == 200
    kernel.client.wait_for_ready(timeout=60)
    server.on_loop(server.extension.life.sweep)
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]


def test_a_renamed_notebook_stays_bound(server: ThreadServer, call: Caller, kernel: Kernel, notebook: Path) -> None:
    write(notebook, {"allow": ["other.example"]})
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    (*_, last) = by_kernel(server, kernel, "GET", "journal").json["events"]
    assert last["notebook"] == f"sub/{notebook.name}"
    renamed = f"sub/renamed-{notebook.name}"
    assert call("PATCH", f"api/contents/sub/{notebook.name}", {"path": renamed}).status == 200
    session = next(one for one in call("GET", "api/sessions").json if one["kernel"]["id"] == kernel.id)
    assert call("PATCH", f"api/sessions/{session['id']}", {"path": renamed}).status == 200
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    (*_, last) = by_kernel(server, kernel, "GET", "journal").json["events"]
    assert last["notebook"] == renamed, "asked anew for each operation"
    write(server.folders.root / renamed, {"allow": ["www.example.org"]})
    assert codes(server, kernel, PAGE, OTHER) == ["read", "not_allowed"]


def test_what_can_not_be_read_narrows(server: ThreadServer, kernel: Kernel, notebook: Path) -> None:
    write(notebook, {"allow": "www.example.org", "more": 1})
    assert codes(server, kernel, PAGE) == ["not_allowed"]
    faults = {row["entry"] for row in asks_of(server, kernel)["notebook"]["faults"]}
    assert faults == {"allow", "more"}


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, '{"metadata": []}', "\xff"], ids=str.__len__)
def test_a_notebook_that_can_not_be_read(server: ThreadServer, kernel: Kernel, notebook: Path, text: str) -> None:
    notebook.write_bytes(text.encode("latin-1"))
    answer = by_kernel(server, kernel, "POST", "fetch", {"url": PAGE})
    is_error(answer, 500, "config")
    assert notebook.name in answer.json["message"]
    write(notebook, {"allow": ["other.example"]})
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    notebook.write_bytes(text.encode("latin-1"))  # the last known holds
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    assert by_kernel(server, kernel, "POST", "check-url", {"urls": [PAGE]}).status == 200


def test_an_empty_notebook_narrows_nothing(server: ThreadServer, kernel: Kernel, notebook: Path) -> None:
    write(notebook, {"allow": []})
    assert codes(server, kernel, PAGE) == ["not_allowed"]
    notebook.write_text(" \n")
    assert codes(server, kernel, PAGE) == ["read"]


def test_a_notebook_that_was_never_saved_narrows_nothing(server: ThreadServer, kernel: Kernel, notebook: Path) -> None:
    notebook.unlink()
    assert codes(server, kernel, PAGE) == ["read"]


def test_a_notebook_that_is_gone_asks_what_it_last_did(
    server: ThreadServer, call: Caller, kernel: Kernel, notebook: Path
) -> None:
    """A file moves before its session does, and what runs meanwhile is to be bound as before and after."""
    write(notebook, {"allow": ["other.example"]})
    assert codes(server, kernel, PAGE) == ["not_allowed"]
    hidden = notebook.parent / ".hidden"
    hidden.mkdir(exist_ok=True)
    moved = notebook.rename(hidden / notebook.name)
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    moved.rename(notebook)
    assert call("PATCH", f"api/contents/sub/{notebook.name}", {"path": f"sub/moved-{notebook.name}"}).status == 200
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    notebook.with_name(f"moved-{notebook.name}").unlink()
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]


def test_of_two_notebooks_of_one_kernel_both_bind(
    server: ThreadServer, call: Caller, kernel: Kernel, notebook: Path
) -> None:
    second = notebook.with_name(f"second-{notebook.name}")
    body = {"path": f"sub/{second.name}", "type": "notebook", "name": second.name, "kernel": {"id": kernel.id}}
    write(second)
    assert call("POST", "api/sessions", body).status == 201
    third = "http://third.example/article"
    for one, other in ((notebook, second), (second, notebook)):
        write(one, {"allow": ["www.example.org", "other.example"]})
        write(other)
        assert codes(server, kernel, PAGE, OTHER, third) == ["read", "read", "not_allowed"]
        write(other, {"allow": ["other.example", "third.example"], "search": False})
        assert codes(server, kernel, PAGE, OTHER, third) == ["not_allowed", "read", "not_allowed"]
        assert asks_of(server, kernel)["search"] is False


def test_a_kernel_without_a_session_has_no_notebook(server: ThreadServer) -> None:
    kernel = start_kernel(server.caller(), server.folders.runtime)
    assert codes(server, kernel, PAGE) == ["read"]
    assert asks_of(server, kernel)["notebook"]["is_set"] is False
    kernel.close()


def test_a_file_is_read_when_it_was_saved(
    server: ThreadServer, kernel: Kernel, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    get = server.app.contents_manager.get

    def counted(path: str, content: bool = True, **more: Any) -> Any:
        read.append(content)
        return get(path, content=content, **more)

    monkeypatch.setattr(server.app.contents_manager, "get", counted)
    write(notebook, {"allow": ["www.example.org"]})
    assert codes(server, kernel, PAGE, PAGE, PAGE) == ["read"] * 3
    assert read == [False, True, False, False]


def test_another_contents_manager_makes_its_own_notebooks(
    server: ThreadServer, kernel: Kernel, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As managers do whose notebooks are Markdown or scripts."""
    get = server.app.contents_manager.get

    async def converting(path: str, content: bool = True, type: str | None = None, **more: Any) -> Any:
        if content and type == "file":
            return {"content": "---\ntitle: no JSON\n---\n"}
        return await get(path, content=content, type=type, **more)

    monkeypatch.setattr(server.app.contents_manager, "get", converting)
    write(notebook, {"allow": ["other.example"]})
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]


def test_a_session_manager_that_fails_fails_nothing(
    server: ThreadServer, kernel: Kernel, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notebook, {"allow": ["other.example"]})
    assert codes(server, kernel, PAGE) == ["not_allowed"]

    async def failing(**_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(server.app.session_manager, "list_sessions", failing)
    monkeypatch.setattr("jupyter_webresearch.server.notebook_of_kernel._log.disabled", True)
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]


@pytest.mark.parametrize("hangs", [False, True], ids=["fails", "hangs"])
@pytest.mark.parametrize("manager", ["session_manager", "contents_manager"])
def test_a_manager_that_does_not_answer_narrows(
    server: ThreadServer,
    kernel: Kernel,
    notebook: Path,
    monkeypatch: pytest.MonkeyPatch,
    manager: str,
    hangs: bool,
) -> None:
    """What it can't say might have been less; and nobody waits for it for ever, though it can't be cancelled."""
    over = threading.Event()

    async def answering(*_: Any, **__: Any) -> Any:
        if hangs:
            await anyio.to_thread.run_sync(over.wait, 60)
        raise ZeroDivisionError

    write(notebook, {"allow": ["other.example"]})
    name = "list_sessions" if manager == "session_manager" else "get"
    monkeypatch.setattr("jupyter_webresearch.server.notebook_of_kernel._log.disabled", True)
    for asking in (server.extension.notebooks, server.extension.metadata):
        monkeypatch.setattr(asking, "_patience", 0.2)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(getattr(server.app, manager), name, answering)
            for url in (PAGE, OTHER):
                is_error(by_kernel(server, kernel, "POST", "fetch", {"url": url}), 500, "config")
            assert by_kernel(server, kernel, "GET", "policy").json["code"] == "config"
        over.set()
        assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
    finally:
        over.set()


def test_a_manager_that_knows_no_time_of_saving_is_asked_each_time(
    server: ThreadServer, kernel: Kernel, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = server.app.contents_manager.get

    async def timeless(*arguments: Any, **named: Any) -> Any:
        return {**await get(*arguments, **named), "last_modified": None}

    monkeypatch.setattr(server.app.contents_manager, "get", timeless)
    write(notebook, {"allow": ["www.example.org"]})
    assert codes(server, kernel, PAGE) == ["read"]
    write(notebook, {"allow": ["other.example"]})
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]


def test_a_console_on_the_same_kernel_is_not_its_notebook(
    server: ThreadServer, call: Caller, kernel: Kernel, notebook: Path
) -> None:
    write(notebook, {"allow": ["other.example"]})
    body = {"path": "console-1", "type": "console", "name": "console", "kernel": {"id": kernel.id}}
    assert call("POST", "api/sessions", body).status == 201
    assert codes(server, kernel, PAGE, OTHER) == ["not_allowed", "read"]
