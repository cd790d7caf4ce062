"""Each code of the vocabulary is reached through magic, routes and command line, or there is a reason why not."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch.config import Settings, WebKernel
from jupyter_webresearch.errors import CODES
from jupyter_webresearch.fetching import Fetcher
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.discovering_client import DiscoveringClient
from tests.every_surface import (
    Scenario,
    World,
    by_command_line,
    by_magic,
    by_rest,
    code_of,
    code_of_command,
    loaded,
    patched,
    serving,
)
from tests.extraction import standin
from tests.kernel.test_magics import shell  # noqa: F401  # a fixture
from tests.server.running import ThreadServer

SITE, SECURE = "http://www.example.org", "https://www.example.org"
ARTICLE = f"{SITE}/article"


def behaving_as(page: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Have workers do what the page says; see tests/extraction/standin.py."""
    return lambda patch: patch.setattr("jupyter_webresearch.extraction.pool.worker_command", lambda: standin.COMMAND)


SCENARIOS = {
    "bad_request": Scenario((ARTICLE, "--max-bytes=1")),
    "invalid_url": Scenario(("http://user:word@www.example.org/",)),
    "request_too_large": Scenario((ARTICLE, "-d", "x" * 20), ("WebFetch.max_request_body=10",)),
    "blocked_method": Scenario((ARTICLE, "-X", "CONNECT")),
    "blocked_header": Scenario((ARTICLE, "-H", "Host: other.example")),
    "unsupported_scheme": Scenario(("ftp://www.example.org/",)),
    "blocked_host": Scenario(("http://localhost/",)),
    "blocked_port": Scenario(("http://www.example.org:25/",)),
    "blocked_address": Scenario(("http://10.0.0.1/",)),
    "disabled": Scenario((ARTICLE,), ("WebPolicy.enabled=False",)),
    "not_allowed": Scenario((ARTICLE,), ("WebPolicy.ceiling=['other.example']",)),
    "needs_approval": Scenario((ARTICLE,), ("WebPolicy.ask=prompt",)),
    "acting_not_allowed": Scenario((ARTICLE, "-X", "POST"), ("WebPolicy.write_methods=acting",)),
    "robots": Scenario((f"{SITE}/private",), ("WebPolicy.robots=full",)),
    "over_budget": Scenario((f"{ARTICLE}?two",), ("WebBudgets.site_per_minute=1",), before=(f"{ARTICLE}?one",)),
    "classifier": Scenario((ARTICLE,), ("WebClassifier.url=<model>", "WebClassifier.model=judge")),
    "insecure_redirect": Scenario((f"{SECURE}/redirect?to={SITE}/echo", "-H", "X-Key: word")),
    "redirect_refused": Scenario((f"{SITE}/redirect?code=307&to=http://other.example/echo", "-d", "x")),
    "too_many_redirects": Scenario((f"{SITE}/chain?n=7",)),
    "unresolved": Scenario(("http://nowhere.example.org/",)),
    "unreachable": Scenario(("http://closed.example.org/",)),
    "tls": Scenario(("https://wrong.example.net/",)),
    "timeout": Scenario((f"{SITE}/hang",), ("WebFetch.timeout=1",)),
    "bad_response": Scenario((f"{SITE}/raw?hex=00",)),
    "bad_encoding": Scenario((f"{SITE}/encoded?damage=plain",)),
    "headers_too_large": Scenario((f"{SITE}/headers",)),
    "provider_unavailable": Scenario(("tides", "--provider", "nosuch"), operation="search"),
    "search_failed": Scenario(("tides", "--provider", "wikipedia"), operation="search"),
    "http_status": Scenario((f"{SITE}/status?code=404",)),
    "rate_limited": Scenario((f"{SITE}/retry?after=700&code=429&times=99&key=codes",)),
    "proxy_failed": Scenario((ARTICLE,), ("WebPolicy.upstream_proxy=<failing>",)),
    "proxy_auth": Scenario((ARTICLE,), ("WebPolicy.upstream_proxy=<demanding>",)),
    "tls_intercepted": Scenario((f"{SECURE}/article",), ("WebPolicy.upstream_proxy=<intercepting>",)),
    "budget_unavailable": Scenario(
        (ARTICLE,), ("WebBudgets.storage=redis://127.0.0.1:1/0", "WebBudgets.site_per_minute=9")
    ),
    "journal_unavailable": Scenario(
        (ARTICLE,), ("WebJournal.required=True",), seams={"data_folder": Path(__file__) / "journal"}
    ),
    "credential_unavailable": Scenario(
        (f"{SECURE}/article",), ('WebPolicy.credentials={"www.example.org": {"source": "env:NOT_THERE"}}',)
    ),
    "too_large": Scenario((f"{SITE}/big?type=application/json&size=100000",), ("WebFetch.max_body=65536",)),
    "unsupported_content": Scenario((f"{SITE}/attachment",)),
    "no_text": Scenario((f"{SITE}/typed?type=text/html&body=",)),
    "too_complex": Scenario(
        (f"{SITE}/typed?type=text/html&body=memory",), ("WebExtraction.wall_time=2",), prepare=behaving_as("memory")
    ),
    "extraction_failed": Scenario((f"{SITE}/typed?type=text/html&body=exit",), prepare=behaving_as("exit")),
    "bad_offset": Scenario((ARTICLE, "--offset", "9999999")),
    "config": Scenario((ARTICLE,), ("WebPolicy.source_ipv4=203.0.113.77",)),
}
"""By code: a request that ends with it, whoever makes it."""

Here = Any
"""What a special way has at hand: ``world``, ``folder``, ``shell``, ``server``, ``capsys``."""


def dropped_by_magic(here: Here) -> str:
    scenario = Scenario((), ("WebFetch.store_size=1048576",))
    with patched(scenario) as patch, loaded(here.world, scenario, here.folder, here.shell, patch):
        here.shell.run_cell(f"page = %webfetch {SITE}/article?words=20000")
        for n in range(4):
            here.shell.run_cell(f"%webfetch {SITE}/big?type=text/plain&size=400000&n={n};")
        return code_of(here.shell.run_cell("page.next()").error_in_exec)


def dropped_by_rest(here: Here) -> str:
    scenario = Scenario((), ("WebFetch.store_size=1048576",))
    with serving(here.world, scenario, here.folder, here.server):
        call = here.server.caller()
        page = call("POST", "webresearch/fetch", {"url": f"{SITE}/article?words=20000"}).json
        for n in range(4):
            call("POST", "webresearch/fetch", {"url": f"{SITE}/big?type=text/plain&size=400000&n={n}"})
        again = {"url": page["url"], "record": page["record"]}
        return str(call("POST", "webresearch/fetch", again).json["code"])


def saved_by_magic(here: Here, path: str) -> str:
    (here.folder / "there.txt").write_text("mine")
    return by_magic(here.world, Scenario((ARTICLE, "--save", path)), here.folder, here.shell)


def saved_by_command(here: Here, path: str) -> str:
    (here.folder / "there.txt").write_text("mine")
    (here.folder / "link").symlink_to("/elsewhere")
    scenario = Scenario((ARTICLE, "--save", str(here.folder / path)))
    return by_command_line(here.world, scenario, here.folder, here.capsys)


@contextlib.contextmanager
def when_it_hangs(here: Here, act: Callable[[], object]) -> Iterator[None]:
    """Do something once a request hangs at the site."""
    site = here.world.site
    count = 1 + sum(request.path == "/hang" for request in site.seen)

    def wait() -> None:
        asyncio.run_coroutine_threadsafe(site.arrived("/hang", count), site._loop).result(60)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


def cancelled_by_magic(here: Here) -> str:
    scenario = Scenario(())
    with (
        patched(scenario) as patch,
        loaded(here.world, scenario, here.folder, here.shell, patch) as client,
        when_it_hangs(here, lambda: client.engine.drop_session(client.session_id)),
    ):
        return code_of(here.shell.run_cell(f"%webfetch {SITE}/hang").error_in_exec)


def cancelled_by_rest(here: Here) -> str:
    with serving(here.world, Scenario(()), here.folder, here.server):
        engine = here.server.on_loop(here.server.extension.engine)
        with when_it_hangs(here, lambda: engine.drop_session("token")):
            answer = here.server.caller()("POST", "webresearch/fetch", {"url": f"{SITE}/hang"})
        assert answer.status == 499
        return str(answer.json["code"])


def cancelled_by_command(here: Here) -> str:
    with when_it_hangs(here, _thread.interrupt_main):
        return by_command_line(here.world, Scenario((f"{SITE}/hang",)), here.folder, here.capsys)


def unauthorized_by_magic(here: Here) -> str:
    client = DiscoveringClient(Settings(kernel=WebKernel(local_mode="deny")), environ={})
    magics.load(here.shell, client, Settings())
    try:
        return code_of(here.shell.run_cell(f"%webfetch {ARTICLE}").error_in_exec)
    finally:
        magics.unload(here.shell)


def unauthorized_by_rest(here: Here) -> str:
    return str(here.server.caller(token=None)("POST", "webresearch/fetch", {"url": ARTICLE}).json["code"])


def unauthorized_by_command(here: Here) -> str:
    file = next(here.server.folders.runtime.glob("jpserver-*.json"))
    info = file.read_text()
    file.write_text(json.dumps({**json.loads(info), "token": "wrong"}))
    try:
        return code_of_command(here.capsys, "disable")
    finally:
        file.write_text(info)


def not_found_by_magic(here: Here) -> str:
    scenario = Scenario(())
    with patched(scenario) as patch, loaded(here.world, scenario, here.folder, here.shell, patch) as client:
        here.shell.run_cell(f"page = %webfetch {SITE}/article?words=20000")
        client.engine.drop_session(client.session_id)
        return code_of(here.shell.run_cell("page.next()").error_in_exec)


def not_found_by_rest(here: Here) -> str:
    return str(here.server.caller()("GET", "webresearch/nowhere").json["code"])


def not_found_by_command(here: Here) -> str:
    return code_of_command(here.capsys, "extract", str(here.folder / "nothing.html"), "--url", ARTICLE)


def faulty(patch: pytest.MonkeyPatch) -> None:
    def fault(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    patch.setattr(Fetcher, "fetch", fault)


FAULT = Scenario((ARTICLE,), prepare=faulty)


def internal_by_magic(here: Here) -> str:
    with patched(FAULT) as patch, loaded(here.world, FAULT, here.folder, here.shell, patch):
        outcome = here.shell.run_cell(f"%%webfetch\n{ARTICLE}")
        return str(outcome.result[0].code)


SPECIAL: dict[tuple[str, str], Callable[[Here], str]] = {
    ("body_dropped", "magic"): dropped_by_magic,
    ("body_dropped", "rest"): dropped_by_rest,
    ("save_refused", "magic"): lambda here: saved_by_magic(here, "../outside.txt"),
    ("save_refused", "cli"): lambda here: saved_by_command(here, "link"),
    ("file_exists", "magic"): lambda here: saved_by_magic(here, "there.txt"),
    ("file_exists", "cli"): lambda here: saved_by_command(here, "there.txt"),
    ("cancelled", "magic"): cancelled_by_magic,
    ("cancelled", "rest"): cancelled_by_rest,
    ("cancelled", "cli"): cancelled_by_command,
    ("unauthorized", "magic"): unauthorized_by_magic,
    ("unauthorized", "rest"): unauthorized_by_rest,
    ("unauthorized", "cli"): unauthorized_by_command,
    ("not_found", "magic"): not_found_by_magic,
    ("not_found", "rest"): not_found_by_rest,
    ("not_found", "cli"): not_found_by_command,
    ("internal", "magic"): internal_by_magic,
    ("internal", "rest"): lambda here: by_rest(
        here.world, Scenario((ARTICLE,), prepare=faulty), here.folder, here.server
    ),
    ("internal", "cli"): lambda here: by_command_line(
        here.world, Scenario((ARTICLE,), prepare=faulty), here.folder, here.capsys
    ),
}
"""Ways that differ from surface to surface."""

NOT_THERE = {
    ("blocked", "magic"): "only an agent's tool is told so little; a person sees the precise code",
    ("blocked", "rest"): "only an agent's tool is told so little; a person sees the precise code",
    ("blocked", "cli"): "only an agent's tool is told so little; a person sees the precise code",
    ("body_dropped", "cli"): "each command is a session of its own, which reads on in nothing",
    ("save_refused", "rest"): "the body is handed out; where it is written is the caller's affair",
    ("file_exists", "rest"): "the body is handed out; where it is written is the caller's affair",
}
"""Why a code can't come up at a surface."""

SURFACES = ("magic", "rest", "cli")
EVERY = [(code, surface) for code in CODES for surface in SURFACES]


def test_every_code_is_reached_or_has_a_reason() -> None:
    for code, surface in EVERY:
        ways = [code in SCENARIOS, (code, surface) in SPECIAL, (code, surface) in NOT_THERE]
        assert sum(ways) == 1, (code, surface)
    assert set(SCENARIOS) | {code for code, _ in [*SPECIAL, *NOT_THERE]} == set(CODES)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        yield World(stack)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    with ThreadServer(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


class _Here:
    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


@pytest.mark.parametrize(("code", "surface"), [each for each in EVERY if each not in NOT_THERE])
def test_a_code_is_reached(
    world: World,
    server: ThreadServer,
    shell: InteractiveShell,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    code: str,
    surface: str,
) -> None:
    here = _Here(world=world, server=server, shell=shell, folder=tmp_path, capsys=capsys)
    if (code, surface) in SPECIAL:
        assert SPECIAL[code, surface](here) == code
    elif surface == "magic":
        assert by_magic(world, SCENARIOS[code], tmp_path, shell) == code
    elif surface == "rest":
        assert by_rest(world, SCENARIOS[code], tmp_path, server) == code
    else:
        assert by_command_line(world, SCENARIOS[code], tmp_path, capsys) == code
