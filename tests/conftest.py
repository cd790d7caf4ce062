"""Fixtures for every folder: a site, and an engine whose public names lead to it."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jupyter_webresearch.config import Settings
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

HOST = "www.example.org"


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
def make_engine(site: Site) -> Iterator[EngineMaker]:
    """Return a maker of engines whose every public address leads to ``site``."""
    engines: list[Engine] = []

    def make(settings: Settings | None = None, **seams: object) -> Engine:
        defaults: dict[str, object] = {
            "resolver": StubResolver(),
            "dialler": MappedDialler(everything=site.port),
            "interfaces": frozenset,
            "own_ports": frozenset,
        }
        engine = Engine(settings or Settings(), **{**defaults, **seams})  # type: ignore[arg-type]
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.close()


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
        Settings(), resolver=StubResolver(), dialler=shared_dialler, interfaces=frozenset, own_ports=frozenset
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
