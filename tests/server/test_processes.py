"""Servers in processes of their own: with a password, over https, on a Unix socket, under JupyterHub; and no start."""

from __future__ import annotations

import http.client
import http.server
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.server.running import Caller, JupyterFolders, ServerProcess, free_port, start_kernel, start_session
from tests.sites import Site

WHO = """
from jupyter_webresearch.kernel.client import connect
import jupyter_webresearch as web, os
client = connect().client
print(type(client).__name__, client.hello()["session"], client.address.url)
"""
PASSWORD = "open sesame".replace(" ", "-")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self.sock.connect(str(self.path))
        except OSError:
            self.sock.close()
            raise


def reads_through_its_server(
    call: Caller, server: ServerProcess, web: Site, url: str, *, session: bool = False
) -> None:
    """Start a kernel, have it find its server at ``url``, prove itself and read a page through it."""
    runtime = server.folders.runtime
    kernel = start_session(call, runtime, "a.ipynb") if session else start_kernel(call, runtime)
    try:
        assert kernel.run(WHO).split() == ["ServerClient", f"kernel:{kernel.id}", url], server.log
        read = f"print(web.fetch({web.url('/article')!r}).status)"
        assert kernel.run(read).strip() == "200"
    finally:
        kernel.close()


@pytest.fixture
def guard_arguments(web: Site) -> tuple[str, ...]:
    """Widen the guard on the command line, as an operator would, so that the site on loopback can be read."""
    return (
        "--WebPolicy.allow_private_networks=['127.0.0.0/8']",
        f"--WebPolicy.allowed_ports=[{web.port}]",
    )


def test_with_a_password_only(tmp_path: Path, web: Site, guard_arguments: tuple[str, ...]) -> None:
    from jupyter_server.auth.security import passwd

    port = free_port()
    hashed = passwd(PASSWORD, "sha256")
    # A proxy that answers nothing must not matter on the way to loopback.
    environ = {
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }
    arguments = (f"--port={port}", "--IdentityProvider.token=", f"--PasswordIdentityProvider.hashed_password={hashed}")
    with ServerProcess(tmp_path, *arguments, *guard_arguments, environ=environ) as server:
        call = Caller(lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=60), "/")
        server.wait_for(call.connect)
        assert call("POST", "webresearch/hello").status == 403
        call.log_in(PASSWORD)
        assert call("POST", "webresearch/hello").status == 200
        reads_through_its_server(call, server, web, f"http://127.0.0.1:{port}/")


def test_over_https(tmp_path: Path, web: Site, guard_arguments: tuple[str, ...]) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("jupyter.example.org")  # the name of the public host, not of loopback
    (tmp_path / "key.pem").write_bytes(certificate.private_key_pem.bytes())
    (tmp_path / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    context.check_hostname = False
    port = free_port()
    arguments = (
        f"--port={port}",
        "--IdentityProvider.token=t",
        f"--certfile={tmp_path}/cert.pem",
        f"--keyfile={tmp_path}/key.pem",
    )
    with ServerProcess(tmp_path / "jupyter", *arguments, "--ServerApp.ip=0.0.0.0", *guard_arguments) as server:
        call = Caller(
            lambda: http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context),
            "/",
            {"Authorization": "token t"},
        )
        server.wait_for(call.connect)
        reads_through_its_server(call, server, web, f"https://127.0.0.1:{port}/", session=True)


def test_on_a_unix_socket(tmp_path: Path, web: Site, guard_arguments: tuple[str, ...]) -> None:
    path = tmp_path / "a b.sock"
    arguments = (f"--ServerApp.sock={path}", "--IdentityProvider.token=t", "--ServerApp.base_url=/deep/base")
    with ServerProcess(tmp_path / "jupyter", *arguments, *guard_arguments) as server:
        call = Caller(lambda: UnixConnection(path), "/deep/base/", {"Authorization": "token t"})
        server.wait_for(call.connect)
        url = "http+unix://" + str(path).replace("/", "%2F").replace(" ", "%20") + "/deep/base/"
        reads_through_its_server(call, server, web, url)


# ------------------------------------------------------------------ JupyterHub


class StubHub(http.server.BaseHTTPRequestHandler):
    """What a single-user server asks of its Hub."""

    USER = {
        "kind": "user",
        "name": "a@b",
        "admin": False,
        "groups": [],
        "scopes": ["access:servers!server=a@b/", "access:servers!user=a@b"],
    }
    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        authorization = self.headers.get("Authorization", "")
        type(self).asked.append((self.path, authorization))
        if self.path.rstrip("/") == "/hub/api":
            self.answer(200, {"version": "5.0.0"})
        elif self.path.startswith("/hub/api/user") and "user-token" in authorization:
            self.answer(200, self.USER)
        else:
            self.answer(403, {"message": "no"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200, {})

    def answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-JupyterHub-Version", "5.0.0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@contextmanager
def stub_hub() -> Iterator[tuple[int, list[tuple[str, str]]]]:
    StubHub.asked = []
    hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), StubHub)
    thread = threading.Thread(target=hub.serve_forever)
    thread.start()
    try:
        yield hub.server_port, StubHub.asked
    finally:
        hub.shutdown()
        thread.join()
        hub.server_close()


def test_under_jupyterhub(tmp_path: Path, web: Site, guard_arguments: tuple[str, ...]) -> None:
    port = free_port()
    with stub_hub() as (hub, asked):
        environ = {
            "JUPYTERHUB_API_TOKEN": "server-token",
            "JUPYTERHUB_API_URL": f"http://127.0.0.1:{hub}/hub/api",
            "JUPYTERHUB_ACTIVITY_URL": f"http://127.0.0.1:{hub}/hub/api/users/a%40b/activity",
            "JUPYTERHUB_BASE_URL": "/",
            "JUPYTERHUB_CLIENT_ID": "jupyterhub-user-a%40b",
            "JUPYTERHUB_HOST": "",
            "JUPYTERHUB_OAUTH_CALLBACK_URL": "/user/a%40b/oauth_callback",
            "JUPYTERHUB_OAUTH_ACCESS_SCOPES": '["access:servers!server=a@b/", "access:servers!user=a@b"]',
            "JUPYTERHUB_OAUTH_SCOPES": '["access:servers!server=a@b/", "access:servers!user=a@b"]',
            "JUPYTERHUB_SERVICE_PREFIX": "/user/a%40b/",
            "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:{port}/user/a%40b/",
            "JUPYTERHUB_USER": "a@b",
            "JUPYTERHUB_SERVER_NAME": "",
        }
        with ServerProcess(tmp_path, *guard_arguments, command=("jupyterhub-singleuser",), environ=environ) as server:
            call = Caller(
                lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=60),
                "/user/a%40b/",
                {"Authorization": "token user-token"},
            )
            server.wait_for(call.connect)
            assert call("POST", "webresearch/hello").json["session"] == "user:a@b"
            kernel = start_kernel(call, server.folders.runtime)
            before = len(asked)
            assert kernel.run(WHO).split() == [
                "ServerClient",
                f"kernel:{kernel.id}",
                f"http://127.0.0.1:{port}/user/a%40b/",
            ]
            assert kernel.run(f"print(web.fetch({web.url('/article')!r}).status)").strip() == "200"
            assert asked[before:] == []  # the Hub is not bothered with kernels
            # The Hub's own word for where the server is serves as well.
            other = (
                "del os.environ['JUPYTER_WEBRESEARCH_URL']; connect().close(); print(type(connect().client).__name__)"
            )
            assert kernel.run(other).strip() == "ServerClient"
            kernel.close()
            wrong = Caller(call.connect, call.base, {"Authorization": "token wrong"})
            assert wrong("POST", "webresearch/hello").json["code"] == "unauthorized"


# ------------------------------------------------------------------ no start, and a light one


@pytest.mark.parametrize(
    ("arguments", "config", "said"),
    [
        (["--WebFetch.max_redirects=11"], "", ["WebFetch.max_redirects", "0 to 10"]),
        (["--WebPolicy.source_ipv4=192.0.2.7"], "", ["WebPolicy.source_ipv4", "192.0.2.7"]),
        (["--WebPolicy.ca_bundle=/nowhere/authorities.pem"], "", ["WebPolicy.ca_bundle", "No such file"]),
        (
            [],
            "c.WebPolicy.extra_blocked = ['example.org']",
            ["WebPolicy.extra_blocked", "jupyter_webresearch_config.py"],
        ),
    ],
    ids=["out of range", "no address of this machine", "no such bundle", "where kernels don't read it"],
)
def test_a_setting_that_can_not_be_used_stops_the_start(
    tmp_path: Path, arguments: list[str], config: str, said: list[str]
) -> None:
    def put(folders: JupyterFolders) -> None:
        (folders.config / "jupyter_server_config.py").write_text(config)

    with ServerProcess(tmp_path, f"--port={free_port()}", *arguments, prepare=put) as server:
        assert server.process.wait(60) == 1
        line = next(line for line in server.log.splitlines() if "Web Research can't start" in line)
        assert all(word in line for word in said)
        assert "Traceback" not in server.log
        assert "is running at" not in server.log


IMPORT = """
import sys
import jupyter_server.serverapp, jupyter_server.extension.application
before = set(sys.modules)
import jupyter_webresearch
jupyter_webresearch._jupyter_server_extension_points()
print(*sorted(set(sys.modules) - before))
"""


def test_the_import_brings_nothing_heavy() -> None:
    """What an import takes is what it loads: no package that the server has not loaded already, no engine."""
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    packages = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert packages == {"jupyter_webresearch"}
    assert not {"jupyter_webresearch.engine", "jupyter_webresearch.extraction", "jupyter_webresearch.net"} & set(loaded)
    assert len(loaded) < 100
