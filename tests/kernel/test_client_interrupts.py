"""Ctrl-C, or the stop button, ends every wait of a client, and what it waited for.

Every wait would last longer than a test may: one that the interrupt does not end fails the test.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.config import Settings, WebFetch
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.kernel import connection
from jupyter_webresearch.kernel.client import Client
from jupyter_webresearch.kernel.discovery import ServerAddress
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.server_client import ServerClient
from jupyter_webresearch.models import FetchRequest, Saved, Source
from jupyter_webresearch.page import Page
from jupyter_webresearch.search.question import SearchRequest
from tests.kernel.test_client_server import HELLO, IDENTITY, http_answer, length_of, told
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

LONG = 600.0  # seconds

Operation = Callable[[Client, str, Path], Any]
OPERATIONS: dict[str, Operation] = {
    "fetch": lambda client, url, _: client.fetch(FetchRequest(url)),
    "fetch_many": lambda client, url, _: client.fetch_many([FetchRequest(url), FetchRequest(url + "?2")]),
    "save": lambda client, url, folder: client.save(FetchRequest(url), folder, "new.bin"),
    "extract": lambda client, url, _: client.extract(b"x", url=url),
    "check_urls": lambda client, url, _: client.check_urls([url]),
    "search": lambda client, url, _: client.search(SearchRequest(url)),
    "search_many": lambda client, url, _: client.search_many([SearchRequest(url)]),
    "providers": lambda client, _, __: client.providers(),
}


def interrupt() -> None:
    """Do what the stop button does to a kernel."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HELLO_TIMEOUT", LONG)
    monkeypatch.setattr(connection, "HELLO_DEADLINE", LONG)


class SilentServer:
    """Proves itself and answers as told, then says nothing more: it interrupts the caller, who is waiting now."""

    def __init__(self, answers: list[Callable[[bytes], bytes]]) -> None:
        self._answers = answers
        self.hung_up = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self.address = ServerAddress("/", "127.0.0.1", self._listener.getsockname()[1])

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        request = b""
        while data := connection.recv(65536):
            request += data
            head, end, body = request.partition(b"\r\n\r\n")
            if not end or len(body) < length_of(head):
                continue
            if self._answers:
                connection.sendall(self._answers.pop(0)(request))
                request = b""
            if not self._answers:
                interrupt()
                with contextlib.suppress(ConnectionResetError):  # it left something unread
                    while connection.recv(65536):
                        pass
                self.hung_up.set()
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def proves_itself(request: bytes) -> bytes:
    return told(request, HELLO.replace(b'timeout": 5', b'timeout": 600'))


def says_nothing(_request: bytes) -> bytes:
    return b""


def begins(_request: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n" + b'{"phase": "queued"}\n'.ljust(20) + b"\r\n"


def has_saved(_request: bytes) -> bytes:
    source = Source("http://e.org/", "http://e.org/", "", "GET", 200)
    page = Page(
        "", "", "http://e.org/", 200, "image/png", "saved", source, saved=Saved("a", 9, "", "image/png", key="0")
    )
    return http_answer(json.dumps({"result": page.to_json()}).encode() + b"\n")


def sends_a_part(_request: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart"


@pytest.fixture
def silent() -> Iterator[Callable[..., SilentServer]]:
    made: list[SilentServer] = []

    def make(*answers: Callable[[bytes], bytes]) -> SilentServer:
        made.append(SilentServer(list(answers)))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("answers", [(says_nothing,), (proves_itself, says_nothing), (proves_itself, begins)])
def test_waiting_for_a_server(
    silent: Callable[..., SilentServer], tmp_path: Path, name: str, answers: tuple[Callable[[bytes], bytes], ...]
) -> None:
    server = silent(*answers)
    client = ServerClient(server.address, IDENTITY)
    with pytest.raises(KeyboardInterrupt):
        OPERATIONS[name](client, "http://www.example.org/", tmp_path)
    assert server.hung_up.wait(30)
    assert list(tmp_path.iterdir()) == []


def test_waiting_for_a_servers_octets(silent: Callable[..., SilentServer], tmp_path: Path) -> None:
    server = silent(proves_itself, has_saved, proves_itself, sends_a_part)
    client = ServerClient(server.address, IDENTITY)
    with pytest.raises(KeyboardInterrupt):
        client.save(FetchRequest("http://e.org/"), tmp_path)
    assert server.hung_up.wait(30)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["fetch", "fetch_many", "save"])
def test_waiting_for_this_process(site: Site, tmp_path: Path, name: str) -> None:
    engine = Engine(
        Settings(fetch=WebFetch(timeout=LONG, idle_timeout=120)),
        resolver=StubResolver(),
        dialler=MappedDialler(everything=site.port),
        interfaces=frozenset,
        own_ports=frozenset,
    )
    client = LocalClient(Settings(), engine=engine)
    arrived = asyncio.run_coroutine_threadsafe(site.arrived("/hang"), site._loop)
    arrived.add_done_callback(lambda _: interrupt())
    try:
        with pytest.raises(KeyboardInterrupt):
            OPERATIONS[name](client, "http://www.example.org/hang", tmp_path)
        assert list(tmp_path.iterdir()) == []
        assert client.fetch(FetchRequest("http://www.example.org/article")).status == 200
    finally:
        engine.close()
