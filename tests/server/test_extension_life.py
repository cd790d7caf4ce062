"""The extension's own life: an engine that can't be made at once, and what a stopped server leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path

import psutil
import pytest
from traitlets.config import Config, Configurable
from traitlets.config.loader import DeferredConfigString

from jupyter_webresearch.config import WebDisplay, WebKernel, settings_of
from jupyter_webresearch.config_sources import environment_level
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.kernel.discovery import URL_VARIABLE
from jupyter_webresearch.server.exported_settings import exported_settings
from tests.server.running import ThreadServer, start_kernel
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


async def current_thread() -> threading.Thread:
    return threading.current_thread()


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
    with server_for(web, tmp_path) as server:
        call = server.caller()
        call("POST", "webresearch/fetch", ARTICLE)  # so that there is something to leave behind
        engine = server.on_loop(server.extension.engine)
        thread = engine.submit(current_thread()).result(30)
        workers = [psutil.Process(pid) for pid in engine._pool.pids]
        connection = call.connect()
        connection.request(
            "POST", f"{call.base}webresearch/{route}", json.dumps(body).encode(), {**call.headers, "Accept": accept}
        )
        asyncio.run_coroutine_threadsafe(web.arrived("/hang", before + 1), web._loop).result(30)
    last = json.loads(connection.getresponse().read().splitlines()[-1])
    connection.close()
    assert last.get("error", last)["code"] == "cancelled"
    assert not thread.is_alive()
    assert [thread for thread in engine._pool._threads._threads if thread.is_alive()] == []
    assert workers
    assert [worker for worker in workers if worker.is_running()] == []
    assert engine._pool.pids == ()
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


@pytest.mark.parametrize("found", [None, "500"])
def test_what_the_command_line_sets_for_kernels_reaches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str | None
) -> None:
    variable = "JUPYTER_WEBRESEARCH_WEBDISPLAY_MAX_CHARS"
    monkeypatch.delenv(variable, raising=False)
    if found is not None:
        monkeypatch.setenv(variable, found)
    arguments = ["--WebDisplay.max_chars=300", "--WebKernel.local_mode=warn", "--WebFetch.timeout=9"]
    with ThreadServer(tmp_path, arguments=arguments) as server:
        kernel = start_kernel(server.caller(), server.folders.runtime)
        try:
            printed = kernel.run(
                "from jupyter_webresearch.config_loading import load_settings; now = load_settings()\n"
                "print(now.display.max_chars, now.display.columns, now.kernel.local_mode, now.fetch.timeout)"
            )
        finally:
            kernel.close()
    assert printed.split() == ["300", "100", "warn", "30.0"]
    assert os.environ.get(variable) == found


@pytest.mark.parametrize("cls", [WebDisplay, WebKernel], ids=lambda cls: cls.__name__)
def test_every_setting_of_kernels_is_handed_on_as_it_is_read(cls: type[Configurable]) -> None:
    for name, trait in settings_of(cls).items():
        value = trait.metadata["choices"][-1] if "choices" in trait.metadata else trait.metadata["range"][0]
        given = exported_settings(
            Config({cls.__name__: {name: DeferredConfigString(str(value))}, "WebFetch": {"timeout": 9}})
        )
        assert environment_level(given).values == {f"{cls.__name__}.{name}": value}
    assert exported_settings(Config()) == {}


def test_another_servers_address_is_left_alone(web: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server_for(web, tmp_path):
        monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:1/later/")
    assert os.environ[URL_VARIABLE] == "http://127.0.0.1:1/later/"
