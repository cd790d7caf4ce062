"""A local server that speaks a provider's API, strictly: what the real one refuses, it refuses in the same words."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio.lowlevel

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.net.endpoint import EndpointAdmission, endpoint_settings
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.policy.urls import parse_url
from jupyter_webresearch.search.service import Service

MODES = ("ok", "empty", "bad_key", "quota", "rate_limited", "down", "malformed", "missing_list", "slow")
"""What every provider is tested for; a provider without keys leaves out those that are about keys."""


@dataclass(frozen=True)
class Asked:
    """One request as it came; header names in lower case, the query in order."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def parameter(self, name: str) -> str | None:
        return next((value for key, value in self.query if key == name), None)


@dataclass(frozen=True)
class Said:
    """One answer; a body that is no bytes is sent as JSON."""

    status: int
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class LocalAPI(ABC):
    """A server on loopback, as a context manager.

    Attributes
    ----------
    mode
        One of :data:`MODES`: what it plays, until a test changes it.
    asked
        All requests.
    """

    def __init__(self, mode: str = "ok") -> None:
        self.mode = mode
        self.asked: list[Asked] = []
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @abstractmethod
    def answer(self, asked: Asked) -> Said:
        """Answer as the real service does in the present mode; 404 or whatever it says for a wrong request."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> LocalAPI:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def service(self, *, path: str = "", seconds: float = 10.0) -> Service:
        """Return a service whose base URL is this server, for use on the running loop; waits take no time."""
        settings, clock = endpoint_settings(WebFetch(), seconds), SystemClock()
        retriever = Retriever(GuardedTransport(settings), settings, clock, sleep=_no_time)
        admission = EndpointAdmission(parse_url(self.url), "")
        deadline = clock.monotonic() + seconds
        return Service(retriever, admission, self.url + path, clock, deadline=deadline, sleep=_no_time)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._speak()

            def do_POST(self) -> None:
                self._speak()

            def _speak(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                query = tuple(parse_qsl(parts.query, keep_blank_values=True))
                asked = Asked(self.command, parts.path, query, headers, body)
                api.asked.append(asked)
                if api.mode == "slow":
                    api.released.wait(60)
                    return
                said = api.answer(asked)
                data = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
                self.send_response(said.status)
                for name, value in {"Content-Type": "application/json", **said.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Keep test output quiet."""

        return Handler


async def _no_time(_seconds: float) -> None:
    await anyio.lowlevel.checkpoint()
