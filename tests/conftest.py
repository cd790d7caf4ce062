"""Fixtures for every folder: a site, and an engine whose public names lead to it."""

from __future__ import annotations

import gc
import os
import secrets
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.config import Settings, WebBudgets, WebExtraction, WebPolicy, environment_name, settings_of
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page
from tests.bench import Bench
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

HOST = "www.example.org"

NO_LIMITS = {name: 0 for name in settings_of(WebBudgets) if name.endswith(("_minute", "_day", "_total"))}
"""Budgets of an operator who sets none: one engine serves thousands of tests in a minute."""

ONE_WORKER = {environment_name(WebExtraction, "workers"): "1"}
"""Environment of engines that read a page or two: each worker costs half a second of a processor."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep garbage collections off the tests themselves: the walk over thousands of them took a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def jupyter_data_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep journal and shared budgets out of the developer's own folders, and tests out of each other's way.

    Tests of budgets and robots.txt set their own; servers and kernels in processes of their own have the defaults
    unless a test says otherwise.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", str(tmp_path_factory.mktemp("jupyter-data")))
        patch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path_factory.mktemp("jupyter-config")))
        for name, value in NO_LIMITS.items():
            patch.setenv(environment_name(WebBudgets, name), str(value))
        patch.setenv(environment_name(WebPolicy, "robots"), "off")
        for name, value in ONE_WORKER.items():
            patch.setenv(name, value)
        yield


def unlimited(settings: Settings) -> Settings:
    """Return settings without budgets and robots.txt, where they are the default."""
    given = {name: getattr(settings.policy, name) for name in settings_of(WebPolicy)}
    robots = "off" if given["robots"] == WebPolicy.robots.default_value else given["robots"]
    budgets = {name: getattr(settings.budgets, name) for name in settings_of(WebBudgets)}
    if budgets == {name: getattr(WebBudgets(), name) for name in budgets}:
        budgets |= NO_LIMITS
    return replace(settings, policy=WebPolicy(**{**given, "robots": robots}), budgets=WebBudgets(**budgets))


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let Ctrl-C be heard, by the processes that tests start too: whoever runs in the background is deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Other people's pages, which are not part of the project."""
    folder = os.environ.get("WEBRESEARCH_DATA")
    if not folder:
        pytest.skip("WEBRESEARCH_DATA is not set")
    return Path(folder)


@pytest.fixture
def site() -> Iterator[Site]:
    """A site on a thread of its own."""
    with Site() as running:
        yield running


EngineMaker = Callable[..., Engine]


@pytest.fixture
def make_engine(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineMaker]:
    """Return a maker of engines whose every public address leads to ``site``.

    They have one worker where the settings don't say how many; ``as_is`` keeps default budgets.
    """
    engines: list[Engine] = []

    def make(settings: Settings | None = None, *, as_is: bool = False, **seams: object) -> Engine:
        defaults: dict[str, object] = {
            "resolver": StubResolver(),
            "dialler": MappedDialler(everything=site.port),
            "interfaces": frozenset,
            "own_ports": frozenset,
            "data_folder": tmp_path_factory.mktemp("journal"),
        }
        settings = settings or Settings()
        if settings.extraction.workers == 0:
            given = {name: getattr(settings.extraction, name) for name in settings_of(WebExtraction)}
            settings = replace(settings, extraction=WebExtraction(**{**given, "workers": 1}))
        engine = Engine(settings if as_is else unlimited(settings), **{**defaults, **seams})
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.close()


BenchMaker = Callable[..., Bench]


@pytest.fixture
def bench(make_engine: EngineMaker, tmp_path: Path) -> BenchMaker:
    """Return a maker of benches, of classes of settings and of an engine's seams; the journal is in ``journal``."""

    def make(**given: Any) -> Bench:
        settings = {name: given.pop(name) for name in list(given) if name in Settings.__dataclass_fields__}
        folder = tmp_path / "journal"
        return Bench(make_engine(Settings(**settings), data_folder=folder, **given), folder)

    return make


@contextmanager
def only_worker(engine: Engine) -> Iterator[None]:
    """Keep the worker of an engine that has only one, as a page does that takes its time."""

    async def take() -> object:
        return await engine._pool._take(lambda _phase: None)

    async def give_back() -> None:
        engine._pool._give_back(slot)  # type: ignore[arg-type]

    engine.submit(engine.warm_up()).result(60)
    slot = engine.submit(take()).result(60)
    try:
        yield
    finally:
        engine.submit(give_back()).result(60)


class Reader:
    """One session of an engine, read synchronously; ``phases`` are those of the last call."""

    def __init__(self, engine: Engine, session_id: str = "test") -> None:
        self.engine = engine
        self.session = engine.session(session_id)
        self.phases: list[str] = []

    def fetch(self, path: str, *, host: str = HOST, scheme: str = "http", **arguments: object) -> Page:
        self.phases = []
        url = path if "://" in path else f"{scheme}://{host}{path}"
        request = FetchRequest(url, **arguments)  # type: ignore[arg-type]
        return self.engine.submit(self.engine.fetch(self.session, request, self.phases.append)).result(60)


@pytest.fixture(scope="session")
def shared_dialler() -> MappedDialler:
    """The way of :func:`shared_engine`; a test points it at its own site."""
    return MappedDialler()


@pytest.fixture(scope="session")
def shared_engine(shared_dialler: MappedDialler) -> Iterator[Engine]:
    """One engine with default settings: spawning workers for every test would take most of the time."""
    engine = Engine(
        unlimited(Settings()),
        resolver=StubResolver(),
        dialler=shared_dialler,
        interfaces=frozenset,
        own_ports=frozenset,
    )
    yield engine
    engine.close()


@pytest.fixture
def reader(shared_engine: Engine, shared_dialler: MappedDialler, site: Site) -> Iterator[Reader]:
    """A session of its own in an engine with default settings."""
    shared_dialler.everything = site.port
    reader = Reader(shared_engine, secrets.token_hex(4))
    yield reader
    shared_engine.drop_session(reader.session.id)
