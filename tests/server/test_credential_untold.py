"""A planted credential reaches its site, and nothing else: not the notebook, answers, errors, journal or events."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.running import Caller, Kernel, ThreadServer, start_session
from tests.sites import Authority, Site
from tests.sites.network import PUBLIC, MappedDialler, StubResolver

HOST = "www.example.org"
SECRET = "planted-7f3a9c51e2d84b60"
FORMS = (SECRET, base64.b64encode(SECRET.encode()).decode().rstrip("="), SECRET[::-1])
TABLE = {HOST: {"name": "planted", "source": "env:PLANTED"}}

READ = f"""
from IPython import get_ipython
import jupyter_webresearch as web, json
get_ipython().run_line_magic("load_ext", "jupyter_webresearch")
told = []
page = web.fetch("https://{HOST}/echo")
told += [page.markdown, repr(page), json.dumps(page.to_json()), str(page._repr_mimebundle_())]
raw = web.fetch("https://{HOST}/echo?raw", raw=True)
told.append(raw.markdown)
saved = web.fetch("https://{HOST}/echo?saved", save="echo.json", force=True)
told.append(open("echo.json").read())
try:
    web.fetch("https://{HOST}/status?code=404")
except web.WebResearchError as error:
    told += [repr(error), json.dumps(error.to_json())]
told += [json.dumps(web.get_policy()), str(web.read_journal())]
print("\\n".join(told))
"""


@pytest.fixture
def secure() -> Iterator[Site]:
    authority = Authority()
    with Site(tls=authority.server(HOST)) as site:
        site.authority = authority  # type: ignore[attr-defined]
        yield site


@pytest.fixture
def server(secure: Site, tmp_path: Path) -> Iterator[ThreadServer]:
    seams: dict[str, Any] = {
        "resolver": StubResolver(),
        "dialler": MappedDialler({(PUBLIC, 443): secure.port}),
        "interfaces": frozenset,
        "ssl_context": secure.authority.client,  # type: ignore[attr-defined]
        "environ": {"PLANTED": SECRET},
    }
    arguments = [f"--WebPolicy.credentials={json.dumps(TABLE)}"]
    with ThreadServer(tmp_path, seams=seams, arguments=arguments) as running:
        yield running


@pytest.fixture
def kernel(server: ThreadServer) -> Iterator[Kernel]:
    started = start_session(server.caller(), server.folders.runtime, "work.ipynb")
    yield started
    started.close()


def nowhere(text: str, where: str) -> None:
    for form in FORMS:
        assert form not in text, where


def test_it_is_sent_and_never_told(
    server: ThreadServer, secure: Site, kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secure.serve("/echo-headers", "text", "text/plain", headers={"X-Echo": SECRET})
    told = kernel.run(READ)
    assert {request.header("Authorization") for request in secure.seen} == {f"Bearer {SECRET}"}
    assert told.count("credential:planted") >= 4, "what the site sent back shows the name"
    nowhere(told, "notebook")
    call: Caller = server.caller()
    for path in ("echo", "echo-headers", "status?code=404"):
        answer = call("POST", "webresearch/fetch", {"url": f"https://{HOST}/{path}", "any_status": True})
        nowhere(answer.body.decode() + str(answer.headers), f"REST {path}")
    for route in ("webresearch/policy", "webresearch/journal"):
        nowhere(call("GET", route).body.decode(), route)
    nowhere(caplog.text, "log")
    files = [path for path in server.folders.data.rglob("*") if path.is_file()]
    assert any(path.name == "journal.sqlite" for path in files)
    for path in [*files, *server.folders.root.rglob("*.json")]:
        for form in FORMS:
            assert form.encode() not in path.read_bytes(), path
