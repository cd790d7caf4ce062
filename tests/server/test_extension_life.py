"""The extension's own life: an engine that can't be made at once, and what a stopped server leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path

import psutil
import pytest

from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.kernel.discovery import URL_VARIABLE
from tests.server.running import ThreadServer
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

ARTICLE = {"url": "http://www.example.org/article"}
HANG = {"url": "http://www.example.org/hang"}


def server_for(web: Site, folder: Path) -> ThreadServer:
    seams = {"resolver": StubResolver(), "dialler": MappedDialler(everything=web.port), "interfaces": frozenset}
    return ThreadServer(folder, seams=seams)


def test_an_engine_that_could_not_be_made_is_tried_again(
    web: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(_engine: Engine) -> None:
        raise RuntimeError("can't start new thread")

    with server_for(web, tmp_path) as server:
        call = server.caller()
        with monkeypatch.context() as patched:
            patched.setattr(Engine, "start", no_thread)
            for _ in range(2):
                assert call("POST", "webresearch/fetch", ARTICLE).json["code"] == "internal"
        assert call("POST", "webresearch/fetch", ARTICLE).status == 200


def test_a_server_stops_whose_engine_could_never_be_made(
    web: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "start", lambda _engine: 1 / 0)
    with server_for(web, tmp_path) as server:
        assert server.caller()("POST", "webresearch/fetch", ARTICLE).json["code"] == "internal"


@pytest.mark.parametrize(
    ("route", "body", "accept"),
    [
        ("fetch", HANG, "application/json"),
        ("fetch", HANG, "application/x-ndjson"),
        ("batch", {"requests": [HANG, ARTICLE]}, "*/*"),
    ],
    ids=["json", "lines", "batch"],
)
def test_stopping_while_something_runs(web: Site, tmp_path: Path, route: str, body: object, accept: str) -> None:
    before = sum(request.path == "/hang" for request in web.seen)
    threads = set(threading.enumerate())
    with server_for(web, tmp_path) as server:
        call = server.caller()
        call("POST", "webresearch/fetch", ARTICLE)  # so that there is something to leave behind
        connection = call.connect()
        connection.request(
            "POST", f"{call.base}webresearch/{route}", json.dumps(body).encode(), {**call.headers, "Accept": accept}
        )
        asyncio.run_coroutine_threadsafe(web.arrived("/hang", before + 1), web._loop).result(10)
    last = json.loads(connection.getresponse().read().splitlines()[-1])
    connection.close()
    assert last.get("error", last)["code"] == "cancelled"
    assert [t for t in set(threading.enumerate()) - threads if "webresearch" in t.name] == []
    assert [
        child for child in psutil.Process().children(recursive=True) if "extract" in " ".join(child.cmdline())
    ] == []
    with pytest.raises(Failed, match="stopping"):
        asyncio.run(server.extension.engine())


@pytest.mark.parametrize("found", [None, "http://127.0.0.1:1/outer/"])
def test_the_environment_is_left_as_it_was_found(
    web: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str | None
) -> None:
    """A server may run in another's terminal, or beside another in one process."""
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    if found is not None:
        monkeypatch.setenv(URL_VARIABLE, found)
    with server_for(web, tmp_path) as server:
        assert str(server.app.port) in os.environ[URL_VARIABLE]
    assert os.environ.get(URL_VARIABLE) == found


def test_another_servers_address_is_left_alone(web: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server_for(web, tmp_path):
        monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:1/later/")
    assert os.environ[URL_VARIABLE] == "http://127.0.0.1:1/later/"
