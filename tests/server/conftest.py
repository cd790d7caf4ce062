"""A server on a thread, shared by the tests of a module; its engine's public names lead to a site on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.running import Caller, ThreadServer
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver


@pytest.fixture(scope="module")
def web() -> Iterator[Site]:
    """The site that every public name leads to."""
    with Site() as site:
        yield site


@pytest.fixture(scope="module")
def server(web: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    """A running server."""
    seams = {"resolver": StubResolver(), "dialler": MappedDialler(everything=web.port), "interfaces": frozenset}
    with ThreadServer(tmp_path_factory.mktemp("jupyter"), seams=seams) as running:
        yield running


@pytest.fixture
def call(server: ThreadServer) -> Caller:
    """Calls the server as the holder of its token."""
    return server.caller()
