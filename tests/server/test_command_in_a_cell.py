"""`!jupyter webresearch fetch` in a cell, where kernels may read through their server only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.running import Kernel, ThreadServer, start_kernel
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

COMMAND = Path(sys.executable).parent / "jupyter-webresearch"


@pytest.fixture(scope="module")
def kernel(web: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel of a server under ``deny``."""
    seams = {"resolver": StubResolver(), "dialler": MappedDialler(everything=web.port), "interfaces": frozenset}
    arguments = ["--WebKernel.local_mode=deny"]
    with ThreadServer(tmp_path_factory.mktemp("jupyter"), seams=seams, arguments=arguments) as server:
        started = start_kernel(server.caller(), server.folders.runtime)
        yield started
        started.close()


def in_a_cell(kernel: Kernel, web: Site, before: str = "") -> str:
    opened = f"--WebPolicy.allow_private_networks=127.0.0.1/32 --WebPolicy.allowed_ports={web.port}"
    return kernel.run(f"!{before} {COMMAND} fetch -q {web.url('/plain?cell')} {opened} 2>&1")


def test_the_command_is_refused_and_the_magic_reads(kernel: Kernel, web: Site) -> None:
    kernel.run("%load_ext jupyter_webresearch")
    assert "unauthorized: a kernel started this command" in in_a_cell(kernel, web)
    assert not [request for request in web.seen if request.path == "/plain?cell"]
    read = "page = %webfetch http://www.example.org/article\nprint(page.status)"
    assert kernel.run(read).split()[-1] == "200"


def test_what_takes_the_marks_of_a_kernel_away_is_not_stopped(kernel: Kernel, web: Site) -> None:
    """As docs/operators.md says; a test that fails here means that the page may promise more."""
    out = in_a_cell(kernel, web, "env -u JPY_PARENT_PID -u JPY_SESSION_NAME")
    assert "unauthorized" not in out
    assert [request for request in web.seen if request.path.startswith("/plain")]
