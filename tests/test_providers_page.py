"""The provider that docs/providers.md writes works as it stands there: as a folder, and as an installed package."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from jupyter_webresearch.search.question import Question
from tests.search.plugin_folders import Home, named

PAGE = Path(__file__).parent.parent / "docs" / "providers.md"
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
KEY = "k-7f3a"


class Time:
    seconds_left = 20.0


class Wiki(BaseHTTPRequestHandler):
    """The API that the page describes."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self.headers["Authorization"] != f"Bearer {KEY}":
            return self.send_error(401)
        if parts.path == "/text" and query["url"].endswith("/gone"):
            return self.send_error(404)
        hit = {"title": query.get("q"), "link": "https://wiki.corp.example/1", "abstract": f"of {query.get('n')}"}
        said = {"hits": [hit]} if parts.path == "/search" else {"title": "Page", "markdown": "# Page"}
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Keep test output quiet."""


@pytest.fixture
def wiki(monkeypatch):
    """The wiki, running, and its key in the environment."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Wiki)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("WIKI_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("WIKI_KEY", KEY)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Return the folder into which pip has installed the page's package, without a network."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    for name in ("pyproject.toml", "wiki_search/__init__.py"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(FILES[name])
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    command += ["--no-build-isolation", "--no-deps", "--no-compile", "--target", target, source]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PIP_USER": "0"})
    assert done.returncode == 0, done.stderr
    return target


async def use(registry):
    """Ask for a search and for pages, as the registry has chosen."""
    row = named(registry, "wiki")
    assert (row.obstacle, row.provider.display_name, row.abilities) == ("", "Company wiki", ("web", "extract"))
    (provider,) = registry.choose()
    answer = await provider.ask(Question("tides", limit=3), Time())
    (result,) = answer.results
    assert (result.title, result.url, result.snippet) == ("tides", "https://wiki.corp.example/1", "of 3")
    (reader,) = registry.choose(["wiki"], need="extract")
    urls = ["https://wiki.corp.example/1", "https://wiki.corp.example/gone"]
    page, gone = await reader.read(urls, Time())
    assert (page.title, page.markdown, page.error) == ("Page", "# Page", "")
    assert "404" in gone.error
    registry.close()
    return row


async def test_the_package_is_installed_found_and_asked(package, wiki, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(package))
    importlib.invalidate_caches()
    try:
        row = await use(Home(tmp_path).registry(entry_points=None, default_providers=[]))
    finally:
        sys.modules.pop("wiki_search", None)
    assert (row.origin, row.plugin.version) == ("entry point", "1.0")
    assert (row.plugin.description, row.plugin.author) == ("Searches the company's wiki.", "A. Author")


async def test_the_folder_is_found_and_asked_once_it_is_enabled(wiki, tmp_path):
    home = Home(tmp_path)
    home.add(FILES["wiki_search/__init__.py"], FILES["plugin.yaml"], name="wiki")
    assert "not enabled" in named(home.registry(), "wiki").obstacle
    row = await use(home.registry(enabled_plugins=["wiki"]))
    assert (row.origin, [variable.name for variable in row.plugin.requires]) == ("folder", ["WIKI_URL", "WIKI_KEY"])


async def test_what_is_kept_for_the_folder_is_enough(wiki, tmp_path, monkeypatch):
    home = Home(tmp_path)
    home.environ = os.environ
    home.add(FILES["wiki_search/__init__.py"], FILES["plugin.yaml"], name="wiki")
    registry = home.registry(enabled_plugins=["wiki"])
    registry.key_file.keep({name: os.environ[name] for name in ("WIKI_URL", "WIKI_KEY")})
    for name in ("WIKI_URL", "WIKI_KEY"):
        monkeypatch.delenv(name)
    await use(registry)
