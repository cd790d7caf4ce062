"""No address that a name resolves to is told: in no error, phase, Page, REST body, event, cell, terminal or log record.

Every way to end is walked through each of the surfaces with a resolver whose answers are known, through diallers that
name the address in what they raise, as the system's do. All that comes out is kept and searched for the answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import json
import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpcore
import pytest
from IPython.utils.capture import capture_output

from jupyter_webresearch import cli
from jupyter_webresearch.config import Settings, WebFetch
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.kernel import local_client, magics
from jupyter_webresearch.kernel.display import mimebundle
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.outcomes import Outcomes
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.resolver import SystemResolver
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.addresses import IPAddress
from tests.conftest import unlimited
from tests.server.running import Answer, ThreadServer
from tests.shells import bare_shell
from tests.sites import Site
from tests.sites.certificates import Authority
from tests.sites.network import MappedDialler

OWN = "203.0.114.77"
ANSWERS = {
    # Not to be dialled.
    "inside.example.org": ["10.11.12.13"],
    "inside6.example.org": ["fd12:3456:789a::17"],
    "mixed.example.org": ["93.184.216.50", "127.0.0.53"],
    "mapped.example.org": ["::ffff:10.9.8.7"],
    "carrier.example.org": ["100.77.66.55"],
    "vpn.example.org": ["198.18.77.66"],
    "metadata.example.org": ["169.254.169.254"],
    "own.example.org": [OWN],
    "zone.example.org": ["fe80::8765%eth7"],
    "many.example.org": [f"93.184.{n >> 8}.{n & 255}" for n in range(2000)],
    # Dialled.
    "www.example.org": ["93.184.216.34"],
    "both.example.org": ["2606:4700:abcd::1234", "93.184.216.35"],
    "closed.example.org": ["93.184.216.41", "2606:4700:abcd::41"],
    "silent.example.org": ["93.184.216.42"],
    "elsewhere.example.org": ["93.184.216.43"],
    "stranger.example.org": ["93.184.216.44"],
    "address.example.org": ["93.184.216.45"],
}
TOLD_BY_DNS = "10.53.53.53"  # the resolver's own address, in the text of its failure

# URL -> how it ends.
WAYS = {
    "http://www.example.org/article": "200",
    "http://both.example.org/plain": "200",
    "http://www.example.org/redirect?to=http://both.example.org/json": "200",
    "http://www.example.org/attachment": "unsupported_content",
    "http://www.example.org/status?code=404": "http_status",
    "http://www.example.org/retry?after=3600&times=1000": "rate_limited",
    "http://www.example.org/loop": "too_many_redirects",
    "http://www.example.org/raw?hex=00010203": "bad_response",
    "http://www.example.org/close": "bad_response",
    "http://www.example.org/reset?type=application/json": "unreachable",
    "http://www.example.org/hang": "timeout",
    "http://www.example.org/headers": "headers_too_large",
    "http://www.example.org/encodings?value=zstd": "bad_encoding",
    "http://www.example.org/big?size=11000000&type=application/json": "too_large",
    "http://www.example.org/typed?type=text/html&body=": "no_text",
    "http://www.example.org/redirect?to=http://inside.example.org/": "blocked_address",
    "http://www.example.org/redirect?to=http://inside6.example.org/": "blocked_address",
    "http://www.example.org/redirect?to=http://closed.example.org/": "unreachable",
    "http://www.example.org/redirect?to=http://nobody.example.org/": "unresolved",
    "http://www.example.org/redirect?to=https://stranger.example.org/": "tls",
    "http://inside.example.org/": "blocked_address",
    "http://inside6.example.org/": "blocked_address",
    "http://mixed.example.org/": "blocked_address",
    "http://mapped.example.org/": "blocked_address",
    "http://carrier.example.org/": "blocked_address",
    "http://vpn.example.org/": "blocked_address",
    "http://metadata.example.org/": "blocked_address",
    "http://own.example.org/": "blocked_address",
    "http://zone.example.org/": "blocked_address",
    "http://many.example.org/": "blocked_address",
    "http://elsewhere.example.org/": "blocked_address",
    "http://nobody.example.org/": "unresolved",
    "http://closed.example.org/": "unreachable",
    "http://silent.example.org/": "unreachable",
    "https://stranger.example.org/": "tls",
    "https://address.example.org/": "tls",
}
QUICK = {url: end for url, end in WAYS.items() if "hang" not in url and "silent" not in url}
LIMITS = {"timeout": 60.0, "idle_timeout": 2.0}  # silence is what some ways end in; nothing else may


def lookup(name: bytes, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
    """Answer as :func:`socket.getaddrinfo` does."""
    host = name.decode().removesuffix(".")
    if host not in ANSWERS:
        raise socket.gaierror(-2, f"Name or service not known by {TOLD_BY_DNS}")
    found: list[tuple[Any, ...]] = []
    for text in ANSWERS[host]:
        address, _, zone = text.partition("%")
        if ":" in address:
            found.append((socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 0, 0, zone and 7)))
        else:
            found.append((socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)))
    return found


class TellingDialler(MappedDialler):
    """Leads to the sites; what it raises names the address."""

    async def connect(self, address: IPAddress, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        host = next(host for host, answers in ANSWERS.items() if str(address) in answers)
        if host == "closed.example.org":
            self.dialled.append((str(address), port))
            refused = ConnectionRefusedError(111, f"Connect call failed ('{address}', {port})")
            if address.version == 4:
                raise refused
            raise httpcore.ConnectError(refused)
        if host == "silent.example.org":
            self.dialled.append((str(address), port))
            await asyncio.Event().wait()
        stream = await super().connect(address, port, timeout)
        if host == "elsewhere.example.org":
            self.streams[-1]._peer = ("93.184.216.99", port)
        return stream


class Told:
    """All that came out, by surface."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.codes: dict[str, dict[str, str]] = {}

    def add(self, surface: str, *things: Any) -> None:
        self.texts.setdefault(surface, []).extend(map(str, things))

    def ended(self, surface: str, url: str, code: str) -> None:
        self.codes.setdefault(surface, {})[url] = code

    def error(self, surface: str, error: WebResearchError) -> None:
        """Keep all that an error can show of itself and of what led to it."""
        self.add(surface, error, repr(error), error.args, json.dumps(error.to_json()), vars(error))
        self.add(surface, *traceback.format_exception(error), *error._render_traceback_())
        if error.page is not None:
            self.page(surface, error.page)

    def page(self, surface: str, page: Page) -> None:
        self.add(surface, page, repr(page), json.dumps(page.to_json()), page.source, vars(page), mimebundle(page))


class Records(logging.Handler):
    """Keeps every record of every logger, its traceback too."""

    def __init__(self, told: Told) -> None:
        super().__init__(logging.DEBUG)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        self._told.add("log", self.format(record), record.args)


@contextlib.contextmanager
def recording(told: Told) -> Iterator[None]:
    root, handler = logging.getLogger(), Records(told)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


@pytest.fixture(scope="module")
def seams() -> Iterator[Callable[[], dict[str, Any]]]:
    """Make what stands for the network, once for each engine."""
    authority, stranger = Authority(), Authority()
    with (
        Site() as site,
        Site(tls=stranger.server("stranger.example.org")) as unknown,
        Site(tls=authority.server("93.184.216.45")) as addressed,
    ):
        routes = {"93.184.216.44": unknown.port, "93.184.216.45": addressed.port}
        yield lambda: {
            "resolver": SystemResolver(60.0, lookup=lookup),
            "dialler": TellingDialler(routes, everything=site.port),
            "ssl_context": authority.client,
            "interfaces": lambda: frozenset({ip_address(OWN)}),
            "own_ports": frozenset,
        }


@pytest.fixture(scope="module")
def told(seams: Callable[[], dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Walk every way through every surface."""
    told = Told()
    with recording(told), pytest.MonkeyPatch.context() as patch:
        engine = Engine(unlimited(Settings(fetch=WebFetch(**LIMITS))), **seams())
        try:
            read_one_by_one(told, engine)
            read_as_batch(told, engine)
            read_in_cells(told, engine, tmp_path_factory.mktemp("ipython"), patch)
            read_on_the_command_line(told, engine, patch)
        finally:
            engine.close()
        read_over_rest(told, seams(), tmp_path_factory.mktemp("jupyter"))
    return told


def read_one_by_one(told: Told, engine: Engine) -> None:
    session = engine.session("one by one")

    def start(url: str) -> Any:
        return engine.submit(engine.fetch(session, FetchRequest(url), lambda phase: told.add("phases", url, phase)))

    for url, future in [(url, start(url)) for url in WAYS]:
        try:
            page = future.result(60)
        except WebResearchError as error:
            told.ended("engine", url, error.code)
            told.error("engine", error)
        else:
            told.ended("engine", url, str(page.status))
            told.page("engine", page)
        told.add("engine", engine.check_url(url), engine.check_url(url).to_json())


def read_as_batch(told: Told, engine: Engine) -> None:
    requests = [FetchRequest(url) for url in WAYS]
    work = engine.fetch_many(engine.session("batch"), requests, lambda index, phase: told.add("batch", index, phase))
    outcomes = engine.submit(work).result(60)
    for url, outcome in zip(WAYS, outcomes, strict=True):
        told.ended("batch", url, outcome.code if isinstance(outcome, WebResearchError) else str(outcome.status))
    shown = Outcomes(list(WAYS), outcomes)
    told.add("batch", shown, shown._repr_mimebundle_(), shown.errors)


def read_in_cells(told: Told, engine: Engine, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run the magics; keep what cells print, display and raise."""
    patch.setenv("IPYTHONDIR", str(folder))
    with bare_shell() as shell:
        magics.load(shell, LocalClient(Settings(), engine=engine))
        cells = [f"%webfetch {url}" for url in QUICK]
        for cell in [*cells, "%%webfetch\n" + "\n".join(WAYS)]:
            with capture_output() as captured:
                outcome = shell.run_cell(cell)
            told.add("cells", captured.stdout, captured.stderr, *(output.data for output in captured.outputs))
            told.add("cells", shell.display_formatter.format(outcome.result))
            if outcome.error_in_exec is not None:
                assert isinstance(outcome.error_in_exec, WebResearchError)
                told.error("cells", outcome.error_in_exec)
        for url, end in zip(WAYS, outcome.result, strict=True):
            told.ended("cells", url, end.code if isinstance(end, WebResearchError) else str(end.status))


def read_on_the_command_line(told: Told, engine: Engine, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(local_client, "LocalClient", functools.partial(LocalClient, engine=engine))
    for url, end in QUICK.items():
        # An error stands on standard error with --json too.
        for flags in [["--json"], []] if end == "200" else [["--json"]]:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = cli.main(["fetch", url, *flags])
            assert status == int(end != "200")
            told.add("command line", out.getvalue(), err.getvalue())
        told.ended("command line", url, err.getvalue().split(": ")[1] if status else "200")


def read_over_rest(told: Told, seams: dict[str, Any], folder: Path) -> None:
    arguments = [f"--WebFetch.{name}={value}" for name, value in LIMITS.items()]
    with ThreadServer(folder, seams=seams, arguments=arguments) as server:
        call = server.caller()

        def ask(url: str, accept: str) -> Answer:
            return call("POST", "webresearch/fetch", {"url": url}, {"Accept": accept})

        with ThreadPoolExecutor(8) as threads:
            plain = {url: threads.submit(ask, url, "application/json") for url in WAYS}
            streams = {url: threads.submit(ask, url, "application/x-ndjson") for url in WAYS}
        for url in WAYS:
            answer, stream = plain[url].result(), streams[url].result()
            told.add("rest", answer.body, answer.headers)
            told.add("ndjson", stream.body, stream.headers)
            told.ended("rest", url, str(answer.json.get("code", answer.json.get("status"))))
            last = stream.lines[-1]
            told.ended("ndjson", url, str(last["error"]["code"] if "error" in last else last["result"]["status"]))
        answer = call("POST", "webresearch/batch", {"requests": [{"url": url} for url in WAYS]})
        told.add("ndjson", answer.body)
        told.add("rest", call("POST", "webresearch/check-url", {"urls": list(WAYS)}).body)


SPELLINGS = sorted(
    {
        spelling
        for answers in (*ANSWERS.values(), [TOLD_BY_DNS, "93.184.216.99", "eth7"])
        for answer in answers[:50]
        for address in [answer.partition("%")[0]]
        for spelling in (
            [address]
            if address == "eth7"
            else [
                address,
                ip_address(address).exploded,
                str(int(ip_address(address))),
                ip_address(address).reverse_pointer,
            ]
        )
    }
)
SURFACES = ["engine", "batch", "cells", "command line", "rest", "ndjson"]


@pytest.mark.parametrize("surface", SURFACES)
def test_every_way_was_walked(told: Told, surface: str) -> None:
    assert told.codes[surface] == (QUICK if surface == "command line" else WAYS)


@pytest.mark.parametrize("surface", [*SURFACES, "phases", "log"])
def test_no_address_is_told(told: Told, surface: str) -> None:
    text = "\n".join(told.texts[surface])
    assert len(text) > 1000
    assert [spelling for spelling in SPELLINGS if spelling in text] == []


def test_what_is_searched_for_would_be_found() -> None:
    told = Told()
    inner = OSError(113, "No route to host: ('93.184.216.41', 80)")
    error = WebResearchError("unreachable", "no connection could be made")
    error.__cause__ = inner
    told.error("engine", error)
    assert any("93.184.216.41" in text for text in told.texts["engine"])
    with recording(told):
        logging.getLogger("httpcore.connection").debug("connect_tcp.started host=%r", "10.11.12.13")
    assert any("10.11.12.13" in text for text in told.texts["log"])
    assert {"93.184.216.41", "10.11.12.13", "fd12:3456:789a::17", TOLD_BY_DNS} <= set(SPELLINGS)
