"""Real Jupyter servers: one on a thread of this process, whose engine's seams a test can reach, or one in a process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jupyter_client import BlockingKernelClient
from jupyter_server.serverapp import ServerApp

TOKEN = "the-master-token"
OTHER_EXTENSIONS = ("jupyterlab", "jupyter_lsp", "notebook_shim", "jupyter_server_terminals")


@dataclass
class Answer:
    """An HTTP answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


class Caller:
    """Calls a server as a browser or script would.

    ``connect`` makes connections; ``headers`` go with every request; cookies are kept.
    """

    def __init__(
        self, connect: Callable[[], http.client.HTTPConnection], base: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.connect = connect
        self.base = base
        self.headers = dict(headers or {})
        self.cookies: dict[str, str] = {}

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        connection = self.connect()
        try:
            response = self.send(connection, method, path, body, headers)
            answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
            for cookie in response.headers.get_all("Set-Cookie") or ():
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
            return answer
        finally:
            connection.close()

    def send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {**self.headers, **(headers or {})}
        if self.cookies:
            sent.setdefault("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        connection.request(method, self.base + path, data, {name: value for name, value in sent.items() if value})
        return connection.getresponse()

    def log_in(self, password: str) -> None:
        """Log in with a password, as the page does, and send XSRF tokens from then on."""
        self("GET", "login")
        xsrf = self.cookies["_xsrf"]
        form = f"password={password}&_xsrf={xsrf}".encode()
        answer = self("POST", "login", form, {"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status == 302
        self.headers["X-XSRFToken"] = xsrf


class Kernel:
    """A server's kernel, run code in through its own channels."""

    def __init__(self, kernel_id: str, runtime_dir: Path) -> None:
        self.id = kernel_id
        self.connection_file = runtime_dir / f"kernel-{kernel_id}.json"
        self.key = json.loads(self.connection_file.read_text())["key"].encode()
        self.client = BlockingKernelClient()
        self.client.load_connection_file(str(self.connection_file))
        self.client.start_channels()
        wait_for_kernel(self.client)

    def run(self, code: str) -> str:
        """Run a cell and return what it printed."""
        return self.finish(self.client.execute(code))

    def finish(self, message_id: str) -> str:
        """Wait for a cell and return what it printed; its error is raised."""
        printed = []
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream" and content["name"] == "stdout":
                printed.append(content["text"])
            elif kind == "error":
                raise AssertionError("\n".join(content["traceback"]))
            elif kind == "status" and content["execution_state"] == "idle":
                return "".join(printed)

    def close(self) -> None:
        self.client.stop_channels()


def wait_for_kernel(client: BlockingKernelClient) -> None:
    """Wait until a kernel answers; on a busy machine one that starts misses heartbeats and is taken for dead."""
    for _ in range(30):
        try:
            client.wait_for_ready(timeout=60)
        except RuntimeError as error:
            if "died" not in str(error):
                raise
        else:
            return
    raise AssertionError("the kernel did not start")


def start_kernel(call: Caller, runtime_dir: Path) -> Kernel:
    """Start a kernel without a session."""
    answer = call("POST", "api/kernels", {})
    assert answer.status == 201, answer.body
    return Kernel(answer.json["id"], runtime_dir)


def start_session(call: Caller, runtime_dir: Path, path: str) -> Kernel:
    """Start a kernel for a notebook."""
    body = {"path": path, "type": "notebook", "name": path, "kernel": {"name": "python3"}}
    answer = call("POST", "api/sessions", body)
    assert answer.status == 201, answer.body
    return Kernel(answer.json["kernel"]["id"], runtime_dir)


class JupyterFolders:
    """Jupyter's folders, all a test's own, as environment variables."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.config = folder / "config"
        self.data = folder / "data"
        self.runtime = folder / "runtime"
        for path in (self.root, self.config, self.data, self.runtime):
            path.mkdir(parents=True)
        self.environ = {
            "JUPYTER_CONFIG_DIR": str(self.config),
            "JUPYTER_DATA_DIR": str(self.data),
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            "IPYTHONDIR": str(folder / "ipython"),
        }
        others = {"ServerApp": {"jpserver_extensions": dict.fromkeys(OTHER_EXTENSIONS, False)}}
        (self.config / "jupyter_server_config.json").write_text(json.dumps(others))


class ThreadServer:
    """A ServerApp on a thread and loop of its own, with authentication enforced on every endpoint.

    Parameters
    ----------
    folder
        For Jupyter's folders.
    seams
        Keyword arguments of the Engine.
    arguments
        Command line.
    """

    def __init__(self, folder: Path, *, seams: Mapping[str, Any] | None = None, arguments: Sequence[str] = ()) -> None:
        self.folders = JupyterFolders(folder)
        self._seams = dict(seams or {})
        self._arguments = list(arguments)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._patch = pytest.MonkeyPatch()
        self._thread = threading.Thread(target=self._run, name="jupyter-server")

    def __enter__(self) -> ThreadServer:
        for name, value in self.folders.environ.items():
            self._patch.setenv(name, value)
        self._thread.start()
        assert self._ready.wait(60)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        self.app.io_loop.add_callback(self.app.stop)
        self._thread.join(60)
        self._patch.undo()
        ServerApp.clear_instance()

    def _run(self) -> None:
        try:
            asyncio.set_event_loop(asyncio.new_event_loop())
            ServerApp.clear_instance()
            self.app = ServerApp.instance(
                port=0, base_url="/user/a%40b/", open_browser=False, allow_root=True, log_level="ERROR",
                allow_unauthenticated_access=False, root_dir=str(self.folders.root),
                jpserver_extensions={"jupyter_webresearch": True},
            )  # fmt: skip
            self.app.init_signal = lambda: None
            arguments = [f"--IdentityProvider.token={TOKEN}", *self._arguments]
            self.app.initialize(arguments, find_extensions=False)
            self.extension = self.app.extension_manager.extension_points["webresearch"].app
            self.extension.seams.update(self._seams)
            started = self.extension._start_jupyter_server_extension

            async def and_then_ready(serverapp: Any) -> None:
                await started(serverapp)
                self._ready.set()

            self.extension._start_jupyter_server_extension = and_then_ready
            self.app.start()
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()
            loop = asyncio.get_event_loop()
            loop.close()

    def on_loop(self, function: Callable[[], Any]) -> Any:
        """Run a function, or what it returns if that is awaitable, on the server's loop."""

        async def call() -> Any:
            outcome = function()
            return await outcome if asyncio.iscoroutine(outcome) else outcome

        return asyncio.run_coroutine_threadsafe(call(), self.app.io_loop.asyncio_loop).result(60)

    def caller(self, token: str | None = TOKEN) -> Caller:
        headers = {"Authorization": f"token {token}"} if token else {}
        return Caller(
            lambda: http.client.HTTPConnection("127.0.0.1", self.app.port, timeout=60), self.app.base_url, headers
        )


class ServerProcess:
    """A server in a process of its own.

    Parameters
    ----------
    folder
        For Jupyter's folders.
    arguments
        Command line.
    command
        Executable in this environment.
    environ
        Added to the environment.
    prepare
        Called with the folders before the start.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        command: Sequence[str] = ("jupyter-server",),
        environ: Mapping[str, str] | None = None,
        prepare: Callable[[JupyterFolders], None] | None = None,
    ) -> None:
        self.folders = JupyterFolders(folder)
        if prepare is not None:
            prepare(self.folders)
        self._log = folder / "server.log"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY"))}
        executable = str(Path(sys.executable).parent / command[0])
        self._command = [executable, *command[1:], "--allow-root", "--no-browser",
                         f"--ServerApp.root_dir={self.folders.root}", "--ServerApp.allow_unauthenticated_access=False",
                         *arguments]  # fmt: skip
        self._environ = {**inherited, **self.folders.environ, **(environ or {})}

    def __enter__(self) -> ServerProcess:
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT, env=self._environ)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def wait_for(self, connect: Callable[[], socket.socket | http.client.HTTPConnection]) -> None:
        """Wait until something listens."""
        for _ in range(1800):
            assert self.process.poll() is None, self.log
            try:
                made = connect()
                if isinstance(made, http.client.HTTPConnection):
                    made.connect()
                made.close()
                return
            except OSError:
                time.sleep(0.05)  # a process that starts has no event to wait for
        raise AssertionError(self.log)


def free_port() -> int:
    """Return a port for a server that is started later: below those that the system hands out meanwhile."""
    while True:
        port = secrets.choice(range(11_000, 32_000))
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


def wait_until(reached: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what another process does."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if reached():
            return
        pause.wait(0.05)
    raise AssertionError("it did not happen")
