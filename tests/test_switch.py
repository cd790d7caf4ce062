"""What is switched off is nowhere to be found: magics, command line and routes, one test for each switch."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch import cli, socket_owner
from jupyter_webresearch.config import OPERATIONS, Settings, WebPolicy
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.input_lines import MAGIC_NAMES
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.server.handlers import ROUTES
from jupyter_webresearch.surfaces import SURFACES
from tests.kernel.test_magics import completions, shell  # noqa: F401  # a fixture
from tests.server.running import Caller, ThreadServer, wait_until
from tests.server.test_routes import NDJSON, PAGE, is_error
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

SWITCHES = {operation: {"disabled_operations": [operation]} for operation in OPERATIONS} | {"all": {"enabled": False}}

ALWAYS_MAGICS = {"webresearch"}
ALWAYS_COMMANDS = {"extract", "check-url", "policy", "disable", "enable", "config", "doctor", "journal"}
ALWAYS_ROUTES = {"hello", "extract", "check-url", "operations", "policy", "switch", "journal"}

ROUTE_CALLS: dict[str, tuple[str, str, Any]] = {
    "fetch": ("POST", "fetch", {"url": PAGE}),
    "batch": ("POST", "batch", {"requests": [{"url": PAGE}]}),
    "saved": ("GET", "saved/0123", None),
    "search": ("POST", "search", {"query": "tides"}),
    "providers": ("GET", "providers", None),
}


def off_by(switch: str) -> tuple[str, ...]:
    return OPERATIONS if switch == "all" else (switch,)


def names_of(operation: str) -> set[str]:
    """Return every name under which an operation could be found."""
    surface = SURFACES.get(operation)
    more = () if surface is None else (*surface.magics, *surface.subcommands, *surface.commands, *surface.routes)
    return {operation, *more}


def found(operation: str, listing: str) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", listing) for name in names_of(operation))


# ------------------------------------------------------------------ the table holds all there is


def test_every_magic_command_and_route_has_its_place() -> None:
    magics_there = {name for surface in SURFACES.values() for name in surface.magics}
    assert magics_there | ALWAYS_MAGICS == MAGIC_NAMES
    commands_there = {name for surface in SURFACES.values() for name in surface.commands}
    parser = cli._parser(frozenset())
    (choices,) = [action.choices for action in parser._actions if action.choices]
    assert commands_there <= set(choices) <= commands_there | ALWAYS_COMMANDS
    routes_there = {name for surface in SURFACES.values() for name in surface.routes}
    served = {re.match(r"/webresearch/([\w-]+)", pattern)[1] for pattern, _ in ROUTES[:-1]}  # type: ignore[index]
    assert served == routes_there | ALWAYS_ROUTES
    assert set(ROUTE_CALLS) == routes_there
    assert set(SURFACES) <= set(OPERATIONS)


# ------------------------------------------------------------------ nowhere to be found


@pytest.fixture
def magics_listing(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:  # noqa: F811
    """Return a function that returns what a kernel lists: magics, our help, what a TAB offers."""

    def listing(**policy: Any) -> str:
        settings = Settings(policy=WebPolicy(**policy))
        magics.load(shell, LocalClient(settings), settings)
        listed = [name for kind in shell.magics_manager.lsmagic().values() for name in kind if name.startswith("web")]
        offered = completions(shell, "%web") | completions(shell, "%webresearch ")
        capsys.readouterr()
        shell.run_line_magic("webresearch", "help")
        magics.unload(shell)
        return "\n".join([*listed, *offered, capsys.readouterr().out])

    return listing


@pytest.fixture
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("JUPYTER")]:
        monkeypatch.delenv(name)
    for name in ("CONFIG", "RUNTIME", "DATA"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name))


def arguments_of(policy: dict[str, Any]) -> list[str]:
    return [f"--WebPolicy.{name}={value}" for name, value in policy.items()]


@pytest.mark.parametrize("switch", SWITCHES)
def test_no_magic_lists_what_is_off(magics_listing: Callable[..., str], switch: str) -> None:
    for policy, off in (({}, ()), (SWITCHES[switch], off_by(switch))):
        listing = magics_listing(**policy)
        for operation in OPERATIONS:
            assert found(operation, listing) is (operation in SURFACES and operation not in off)


@pytest.mark.usefixtures("no_configuration")
@pytest.mark.parametrize("switch", SWITCHES)
def test_no_command_lists_what_is_off(capsys: pytest.CaptureFixture[str], switch: str) -> None:
    for policy, off in (({}, ()), (SWITCHES[switch], off_by(switch))):
        assert cli.main(["--help", *arguments_of(policy)]) == 0
        commands = capsys.readouterr().out.partition("positional arguments")[2]
        for operation in OPERATIONS:
            assert found(operation, commands) is (operation in SURFACES and operation not in off)
    hidden = [name for operation in off_by(switch) if operation in SURFACES for name in SURFACES[operation].commands]
    for command in hidden:
        for arguments in ([command, "--help"], [command, PAGE], [command]):
            assert cli.main([*arguments, *arguments_of(SWITCHES[switch])]) == 1
            assert capsys.readouterr().err.startswith("jupyter webresearch: disabled: ")


@contextmanager
def server_with(folder: Path, site: Site, policy: dict[str, Any]) -> Iterator[ThreadServer]:
    seams = {"resolver": StubResolver(), "dialler": MappedDialler(everything=site.port), "interfaces": frozenset}
    with ThreadServer(folder, seams=seams, arguments=arguments_of(policy)) as server:
        yield server


@pytest.mark.parametrize("switch", SWITCHES)
def test_no_route_serves_what_is_off(tmp_path: Path, site: Site, switch: str) -> None:
    with server_with(tmp_path, site, SWITCHES[switch]) as server:
        call = server.caller()
        asked = (("POST", "hello"), ("GET", "policy"), ("GET", "operations"))
        told = [call(verb, f"webresearch/{route}").json["operations"] for verb, route in asked]
        assert told == [[name for name in SURFACES if name not in off_by(switch)]] * 3
        routes = {name: operation for operation, surface in SURFACES.items() for name in surface.routes}
        for name, operation in routes.items():
            if operation in off_by(switch):
                assert_disabled(call, *ROUTE_CALLS[name])
        assert site.connections == 0


def assert_disabled(call: Caller, method: str, route: str, body: Any) -> None:
    answer = call(method, f"webresearch/{route}", body)
    if answer.headers["content-type"] == NDJSON["Accept"]:  # a batch: each of its requests
        assert {line["error"]["code"] for line in answer.lines if "error" in line} == {"disabled"}
        assert not any("index" in line and "result" in line for line in answer.lines)
    else:
        is_error(answer, 403, "disabled")


# ------------------------------------------------------------------ the commands, on a running server


@pytest.fixture
def server(tmp_path: Path, site: Site) -> Iterator[ThreadServer]:
    with server_with(tmp_path / "jupyter", site, {}) as running:
        yield running


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs a command in the environment of the server's user."""
    for name in ("JUPYTERHUB_SERVICE_URL", "JUPYTERHUB_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.main(list(arguments))
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_running_server_is_switched_at_once(server: ThreadServer, site: Site, run: Any) -> None:
    call = server.caller()
    address = f"http://localhost:{server.app.port}/user/a%40b/"
    assert call("POST", "webresearch/fetch", {"url": PAGE}).status == 200
    assert run("disable", "fetch") == (0, f"{address}\toff: fetch; on: search\n", "")
    is_error(call("POST", "webresearch/fetch", {"url": PAGE}), 403, "disabled")
    assert run("enable") == (0, f"{address}\ton: fetch, search\n", "")
    assert call("POST", "webresearch/fetch", {"url": PAGE}).status == 200
    assert run("disable") == (0, f"{address}\toff: everything\n", "")
    assert call("GET", "webresearch/operations").json == {"operations": []}


def test_what_runs_is_cancelled(server: ThreadServer, site: Site, run: Any) -> None:
    call = server.caller()
    connection = call.connect()
    response = call.send(connection, "POST", "webresearch/fetch", {"url": "http://www.example.org/hang"}, NDJSON)
    wait_until(lambda: "/hang" in site.paths())
    assert run("disable")[0] == 0
    last = json.loads(response.read().splitlines()[-1])
    connection.close()
    assert last["error"]["code"] in ("cancelled", "disabled")


def test_what_a_setting_keeps_off_stays_off(tmp_path: Path, site: Site, run: Any) -> None:
    with server_with(tmp_path, site, {"disabled_operations": ["fetch"]}) as server:
        status, out, err = run("enable", "fetch")
        assert status == 1
        assert out == ""
        assert err.startswith(f"jupyter webresearch: disabled: http://localhost:{server.app.port}/")
        assert err.count("\n") == 1
        assert "WebPolicy.disabled_operations" in err
        is_error(server.caller()("POST", "webresearch/fetch", {"url": PAGE}), 403, "disabled")


def test_what_is_no_operation_is_said(server: ThreadServer, run: Any) -> None:
    status, out, err = run("disable", "everything")
    assert (status, out) == (2, "")
    assert err == "jupyter webresearch: bad_request: 'everything' is none of fetch, search, image, browser\n"
    assert server.caller()("GET", "webresearch/operations").json == {"operations": ["fetch", "search"]}


def test_each_command_has_a_help_of_its_own(run: Any) -> None:
    for command, other in (("enable", "disable"), ("disable", "enable")):
        told = run(command, "--help")[1]
        assert f"jupyter webresearch {command} fetch" in told
        assert f"jupyter webresearch {other}" not in told


@pytest.mark.usefixtures("no_configuration")
def test_without_a_server_the_settings_are_named(run: Any) -> None:
    status, out, err = run("disable")
    assert (status, out) == (1, "")
    assert err.startswith("jupyter webresearch: not_found: no Jupyter server of yours")
    assert "WebPolicy.enabled" in err
    assert "WebPolicy.disabled_operations" in err


def test_each_server_is_asked_with_its_own_token_and_in_a_header_only(
    server: ThreadServer, run: Any, impostor: Callable[[], tuple[int, bytes]]
) -> None:
    runtime = server.folders.runtime
    info = json.loads(next(runtime.glob("jpserver-*.json")).read_text())
    others = {"gone": {"port": 1}, "other": {"port": impostor()[0], "base_url": "/", "token": "planted"}}
    for name, changed in others.items():
        (runtime / f"jpserver-{name}.json").write_text(json.dumps({**info, **changed}))
    status, out, err = run("disable")
    assert status == 1
    assert err.count("unreachable") == 2
    assert out.endswith("\toff: everything\n")
    request_line, *headers = impostor()[1].decode().split("\r\n")
    assert request_line == "POST /webresearch/switch HTTP/1.1"
    assert "Authorization: token planted" in headers
    assert info["token"] not in out + err + impostor()[1].decode()
    assert "planted" not in out + err


@pytest.mark.parametrize(("token", "said"), [("wrong", "unauthorized"), ("", "gives its user no token")])
def test_who_is_not_let_in_learns_it(server: ThreadServer, run: Any, token: str, said: str) -> None:
    file = next(server.folders.runtime.glob("jpserver-*.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "token": token}))
    status, _, err = run("disable")
    assert status == 1
    assert err.startswith("jupyter webresearch: unauthorized: ")
    assert said in err
    assert server.caller()("GET", "webresearch/operations").json == {"operations": ["fetch", "search"]}


def test_a_hub_lets_its_user_in_by_its_own_token(
    server: ThreadServer, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in server.folders.runtime.glob("jpserver-*.json"):
        file.unlink()
    monkeypatch.setenv("JUPYTERHUB_SERVICE_URL", f"http://0.0.0.0:{server.app.port}")
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/a%40b/")
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", server.app.identity_provider.token)
    assert run("disable", "fetch")[0] == 0
    assert server.caller()("GET", "webresearch/operations").json == {"operations": ["search"]}


@pytest.fixture
def impostor() -> Iterator[Callable[[], tuple[int, bytes]]]:
    """Listen as a server would; return its port, and what it has been told once whoever connected has hung up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        told: list[bytes] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        told.append(connection.recv(65536))
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{'operations': []}")

        thread = threading.Thread(target=serve)
        thread.start()
        yield lambda: (listener.getsockname()[1], b"".join(told))
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(30)


@pytest.mark.usefixtures("no_configuration")
@pytest.mark.parametrize("where", ["hub", "file"])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose process listens")
def test_another_users_process_is_told_no_token(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, impostor: Any, where: str
) -> None:
    """Where a server has crashed, whoever takes its port would get what opens the next one, or the Hub."""
    port, _ = impostor()
    if where == "hub":
        monkeypatch.setenv("JUPYTERHUB_SERVICE_URL", f"http://127.0.0.1:{port}/user/a/")
        monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "planted")
    else:
        info = {"hostname": "localhost", "port": port, "base_url": "/", "token": "planted", "pid": os.getpid()}
        (tmp_path / "RUNTIME").mkdir()
        (tmp_path / "RUNTIME" / "jpserver-1.json").write_text(json.dumps(info))
    belongs_to = socket_owner.belongs_to
    monkeypatch.setattr(socket_owner, "belongs_to", lambda user, sock: belongs_to(user + 1, sock))
    for command in ("disable", "enable"):
        status, _, err = run(command)
        assert status == 1
        assert "not a process of yours" in err
        assert err.startswith("jupyter webresearch: unauthorized: ")
    assert impostor()[1] == b""


# ------------------------------------------------------------------ calls


def test_a_call_of_what_is_off_says_so() -> None:
    from jupyter_webresearch.models import FetchRequest

    client = LocalClient(Settings(policy=WebPolicy(enabled=False)))
    with pytest.raises(Refused) as caught:
        client.fetch(FetchRequest(PAGE))
    assert (caught.value.code, caught.value.setting) == ("disabled", "WebPolicy.enabled")
    assert client.operations() == ()
    client.close()
