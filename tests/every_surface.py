"""One world of local sites, and one request made in it through magic, routes and command line."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch import cli, engine
from jupyter_webresearch.commands.search import _request as search_request
from jupyter_webresearch.config import Settings
from jupyter_webresearch.config_loading import load_settings
from jupyter_webresearch.config_sources import command_line_config
from jupyter_webresearch.errors import CODES
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.server_client import search_json
from tests.server.running import ThreadServer
from tests.sites import Authority, Site
from tests.sites.network import PUBLIC, MappedDialler, StubResolver
from tests.sites.openai_api import ChatAPI, verdict
from tests.sites.proxy import Proxy

T = TypeVar("T")

HOST = "www.example.org"
CLOSED = "93.184.216.99"
RealEngine = engine.Engine


@dataclass(frozen=True)
class Scenario:
    """One request that ends with a code.

    Attributes
    ----------
    arguments
        As on the command line, the URL first; ``{proxy}`` and the like are filled in.
    settings
        As on the command line, without the dashes.
    before
        URLs read before by the same caller.
    operation
        ``fetch`` or ``search``: name of the command and the route, and of the magic behind ``web``.
    """

    arguments: tuple[str, ...]
    settings: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    seams: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[pytest.MonkeyPatch], None] = lambda patch: None
    operation: str = "fetch"


class Background:
    """A loop on a thread, for what has to answer while a test waits."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class World:
    """Sites, proxies and a model, all on loopback; public names lead to them."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        authority, interceptor = Authority(), Authority()
        self.site = stack.enter_context(Site())
        self.site.robots = "/rules"
        self.secure = stack.enter_context(Site(tls=authority.server(HOST)))
        self.model = stack.enter_context(ChatAPI())
        self.model.says = verdict("refuse", 0.9, "attack", "it looks like one")
        background = Background()
        stack.callback(background.close)
        routes = {f"{PUBLIC}:80": self.site.port, f"{PUBLIC}:443": self.site.port}
        self.proxies = {
            "failing": Proxy(),
            "demanding": Proxy(routes, credentials="me:word"),
            "intercepting": Proxy(routes, intercepting=interceptor.server(HOST)),
        }
        for proxy in self.proxies.values():
            background.run(proxy.__aenter__())
            stack.callback(lambda proxy=proxy: background.run(proxy.__aexit__()))
        self._client = authority.client

    def filled(self, text: str) -> str:
        """Fill in where things are."""
        places = {name: proxy.url for name, proxy in self.proxies.items()} | {"model": self.model.base}
        return functools.reduce(lambda done, place: done.replace(f"<{place[0]}>", place[1]), places.items(), text)

    def arguments(self, scenario: Scenario) -> list[str]:
        return [f"--{self.filled(setting)}" for setting in scenario.settings]

    def settings(self, scenario: Scenario) -> Settings:
        return load_settings(cli=command_line_config(self.arguments(scenario)), config_path=[], operator_path=[])

    def seams(self, scenario: Scenario, folder: Path) -> dict[str, Any]:
        ways = {(PUBLIC, 80): self.site.port, (PUBLIC, 443): self.secure.port}
        ways |= {("127.0.0.1", one.port): one.port for one in (*self.proxies.values(), self.model)}
        resolver = StubResolver({"nowhere.example.org": None, "closed.example.org": [CLOSED]})
        seams = {"resolver": resolver, "dialler": MappedDialler(ways), "interfaces": frozenset,
                 "own_ports": frozenset, "data_folder": folder / "journal"}  # fmt: skip
        if not any("intercepting" in setting for setting in scenario.settings):
            seams["ssl_context"] = self._client
        return {**seams, **scenario.seams}


@contextlib.contextmanager
def patched(scenario: Scenario) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        scenario.prepare(patch)
        yield patch


# ------------------------------------------------------------------ magic


def by_magic(world: World, scenario: Scenario, folder: Path, shell: InteractiveShell) -> str:
    """Return the code that the magic ends with."""
    with patched(scenario) as patch, loaded(world, scenario, folder, shell, patch):
        for url in scenario.before:
            shell.run_cell(f"%webfetch {url};").raise_error()
        is_fetch = scenario.operation == "fetch"  # a query is written without quotes
        line = " ".join(f"'{argument}'" if is_fetch else argument for argument in scenario.arguments)
        return code_of(shell.run_cell(f"%web{scenario.operation} {line}").error_in_exec)


@contextlib.contextmanager
def loaded(
    world: World, scenario: Scenario, folder: Path, shell: InteractiveShell, patch: pytest.MonkeyPatch
) -> Iterator[LocalClient]:
    """Have our magics read in this process, by a client of the scenario's own."""
    patch.chdir(folder)
    patch.setattr(engine, "Engine", functools.partial(RealEngine, **world.seams(scenario, folder)))
    client = LocalClient(world.settings(scenario))
    magics.load(shell, client, Settings())
    try:
        yield client
    finally:
        magics.unload(shell)
        client.close()


def code_of(error: BaseException | None) -> str:
    assert error is not None
    assert hasattr(error, "code"), repr(error)
    (shown,) = error._render_traceback_()  # type: ignore[attr-defined]
    assert f"[{error.code}]" in shown
    return str(error.code)


# ------------------------------------------------------------------ routes


def by_rest(world: World, scenario: Scenario, folder: Path, server: ThreadServer) -> str:
    """Return the code that a route answers with."""
    with patched(scenario), serving(world, scenario, folder, server):
        call = server.caller()
        for url in scenario.before:
            assert call("POST", "webresearch/fetch", {"url": url}).status == 200
        answer = call("POST", f"webresearch/{scenario.operation}", request_of(scenario))
        code = str(answer.json["code"])
        assert answer.status == CODES[code].status
        return code


@contextlib.contextmanager
def serving(world: World, scenario: Scenario, folder: Path, server: ThreadServer) -> Iterator[None]:
    """Have a running server work with a scenario's settings, by an engine that the next request makes."""
    extension = server.extension
    before = (extension._web_settings, extension.seams, extension._engine, extension._making)

    def change(settings: Settings, seams: dict[str, Any], made: Any, making: Any) -> None:
        extension._web_settings, extension.seams, extension._engine, extension._making = settings, seams, made, making

    server.on_loop(lambda: change(world.settings(scenario), world.seams(scenario, folder), None, None))
    try:
        yield
    finally:
        made = extension._engine
        server.on_loop(lambda: change(*before))
        if made is not None:
            made.close()


def request_of(scenario: Scenario) -> dict[str, Any]:
    """Return the JSON of what the command line would ask."""
    arguments = scenario.arguments
    if scenario.operation == "search":
        return search_json(search_request(cli._parser(frozenset()).parse_args(["search", *arguments])))
    read = cli._parser(frozenset()).parse_args(["fetch", *(a for a in arguments if not a.startswith("--max-bytes"))])
    request: dict[str, Any] = {"url": read.url, "offset": read.offset, "headers": [list(pair) for pair in read.header]}
    if read.method:
        request["method"] = read.method
    if read.data is not None:
        request |= {"body": read.data, "method": read.method or "POST"}
    few = [argument.partition("=")[2] for argument in arguments if argument.startswith("--max-bytes")]
    return {**request, **({"max_bytes": int(few[0])} if few else {})}


# ------------------------------------------------------------------ command line


def by_command_line(world: World, scenario: Scenario, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the code of the line that a command ends with."""
    with patched(scenario) as patch:
        for name in [name for name in os.environ if name.startswith("JUPYTER_") and name.endswith("_DIR")]:
            patch.setenv(name, str(folder / name))
        patch.setattr(engine, "Engine", functools.partial(RealEngine, **world.seams(scenario, folder)))
        settings = world.arguments(scenario)
        for url in scenario.before:
            assert cli.main(["fetch", url, *settings]) == 0
        return code_of_command(capsys, scenario.operation, *scenario.arguments, *settings)


def code_of_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    status = cli.main(list(arguments))
    said = capsys.readouterr().err
    match = re.fullmatch(r"(?:jupyter webresearch: warning: .*\n)*jupyter webresearch: ([a-z_]+): \S.*\n", said)
    assert match, said
    expected = {"bad_request": 2, "cancelled": 130}.get(match[1], 1)
    assert status == expected
    return match[1]
