"""The client and who pretends to be its server: no URL goes where the kernel's key is not known."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from jupyter_webresearch.config import Settings, WebKernel
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.kernel import client as client_module
from jupyter_webresearch.kernel import connection
from jupyter_webresearch.kernel.cancellation import Cancellation
from jupyter_webresearch.kernel.client import Client, ServerLost
from jupyter_webresearch.kernel.connection import PROTOCOL
from jupyter_webresearch.kernel.discovering_client import DiscoveringClient
from jupyter_webresearch.kernel.discovery import ServerAddress
from jupyter_webresearch.kernel.proof import SERVER_HEADER, KernelIdentity, Proof, server_signature
from jupyter_webresearch.kernel.server_client import BATCH, PORTION, URLS, ServerClient
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.server.request_body import MAX_BATCH, MAX_URLS, MAX_VALUES

IDENTITY = KernelIdentity("kernel-id", b"k" * 32)
REQUEST = FetchRequest("https://secret.example/path")
HELLO = json.dumps(
    {
        "protocol": PROTOCOL,
        "version": "1",
        "session": "s",
        "timeout": 5,
        "save_timeout": 5,
        "search_timeout": 5,
        "max_body": 9,
        "operations": ["fetch"],
    }
).encode()


class Impostor:
    """Listens on loopback and answers each request with what ``answer`` makes of it; keeps all it received."""

    def __init__(self, answer: Callable[[bytes], bytes | None]) -> None:
        self.received = b""
        self.asked = threading.Event()
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self.address = ServerAddress("/", "127.0.0.1", self._listener.getsockname()[1])

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connection = connection
            with connection:
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        request = b""
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                self.received += data
                request += data
                head, _, body = request.partition(b"\r\n\r\n")
                if b"\r\n\r\n" not in request or len(body) < length_of(head):
                    continue
                self.asked.set()
                answer = self._answer(request)
                request = b""
                if answer is None:
                    return
                connection.sendall(answer)

    def close(self) -> None:
        """Hang up; all that was sent has been received by then."""
        with contextlib.suppress(OSError):  # it has been closed already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def length_of(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


def proof_in(request: bytes) -> Proof:
    line = next(line for line in request.split(b"\r\n") if line.startswith(b"Authorization: "))
    proof = Proof.parse(line.split(b": ", 1)[1].decode())
    assert proof is not None
    return proof


def http_answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers])
    return head.encode() + b"\r\n\r\n" + body


def told(request: bytes, hello: bytes) -> bytes:
    return http_answer(hello, f"{SERVER_HEADER}: {server_signature(IDENTITY.key, proof_in(request).nonce)}")


def honest(request: bytes) -> bytes:
    return told(request, HELLO)


@pytest.fixture
def impostor() -> Iterator[Callable[..., Impostor]]:
    made: list[Impostor] = []

    def make(answer: Callable[[bytes], bytes | None]) -> Impostor:
        made.append(Impostor(answer))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: http_answer(HELLO),
        lambda _: http_answer(HELLO, f"{SERVER_HEADER}: {'0' * 64}"),
        lambda request: http_answer(HELLO, f"{SERVER_HEADER}: {server_signature(b'other', proof_in(request).nonce)}"),
        lambda _: http_answer(HELLO, f"{SERVER_HEADER}: {server_signature(IDENTITY.key, 'another nonce')}"),
        lambda request: http_answer(HELLO, f"{SERVER_HEADER}: {proof_in(request).signature}"),
        lambda request: honest(request).replace(b"200 OK", b"403 Forbidden"),
        lambda request: honest(request).replace(b"200 OK", b"404 Not Found"),
        lambda request: honest(request).replace(b'"protocol": 1', b'"protocol": 2'),
        lambda request: honest(request).replace(HELLO, b"x" * len(HELLO)),
        lambda request: honest(request).replace(HELLO, b"[" + b" " * (len(HELLO) - 2) + b"]"),
        lambda request: honest(request).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        lambda _: http_answer(b"", "Location: /login", status="302 Found"),
        lambda request: told(request, b"[" * 60_000),
        lambda request: told(request, b'{"protocol": 1}'),
        lambda request: told(request, HELLO.replace(b'"timeout": 5', b'"timeout": 1e400')),
        lambda request: told(request, HELLO.replace(b'"timeout": 5', b'"timeout": NaN')),
        lambda request: told(request, HELLO.replace(b'"timeout": 5', b'"timeout": -5')),
        lambda request: told(request, HELLO.replace(b'"timeout": 5', b'"timeout": []')),
        lambda request: told(request, HELLO.replace(b'"max_body": 9', b'"max_body": "9"')),
        lambda request: told(request, HELLO.replace(b'"max_body": 9', b'"max_body": -9')),
        lambda request: told(request, HELLO.replace(b'"protocol": 1', b'"protocol": ' + b"1" * 5000)),
        lambda request: told(request, HELLO + b" " * 70_000),
        lambda request: honest(request).replace(b"\r\n\r\n", b"\r\nX: " + b"x" * 70_000 + b"\r\n\r\n"),
        lambda request: honest(request).replace(b"\r\n\r\n", b"\r\nX: y" * 200 + b"\r\n\r\n"),
        lambda request: honest(request).replace(b"Content-Length: ", b"Content-Length: -"),
        lambda request: honest(request).replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 99999999999999999999 OK"),
        lambda _: b"SSH-2.0-OpenSSH_9.0\r\n",
        lambda _: None,
    ],
    ids=[
        "no proof", "zeros", "other key", "old proof", "echo", "403", "404", "protocol", "no json", "list", "closes",
        "login", "nested", "no times", "endless", "not a number", "negative", "list of times", "text", "negative body",
        "digits", "long", "long header", "many headers", "negative length", "long status", "ssh", "hangs up",
    ],
)  # fmt: skip
def test_who_can_not_prove_itself_learns_no_url(
    impostor: Callable[..., Impostor], answer: Callable[[bytes], bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HELLO_TIMEOUT", 1.0)
    server = impostor(answer)
    with pytest.raises(ServerLost):
        ServerClient(server.address, IDENTITY).fetch(REQUEST)
    assert server.asked.wait(30)
    server.close()
    assert b"hello" in server.received
    assert b"secret.example" not in server.received
    assert IDENTITY.key not in server.received


def test_who_answers_an_octet_at_a_time_is_not_waited_for(
    impostor: Callable[..., Impostor], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = impostor(lambda _: None)
    hung_up = threading.Event()

    def drip(request: bytes) -> None:
        with contextlib.suppress(OSError):
            while True:
                server.connection.sendall(b"H")
                hung_up.wait(0.05)
        hung_up.set()

    server._answer = drip
    for deadline in (0.5, 5, 30):  # a busy machine may not have begun to drip by the first
        monkeypatch.setattr(connection, "HELLO_DEADLINE", deadline)
        with pytest.raises(ServerLost):  # otherwise the line would be too long after an hour
            ServerClient(server.address, IDENTITY).fetch(REQUEST)
        if server.asked.is_set():
            break
    assert hung_up.wait(30)


@pytest.mark.parametrize("port", [65536, 2**40, -1])
def test_an_impossible_port_is_no_server(port: int) -> None:
    with pytest.raises(ServerLost):
        ServerClient(ServerAddress("/", "127.0.0.1", port), IDENTITY).fetch(REQUEST)


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and doesn't listen
        with pytest.raises(ServerLost):
            ServerClient(ServerAddress("/", "127.0.0.1", taken.getsockname()[1]), IDENTITY).fetch(REQUEST)


def test_each_connection_is_proven_anew(impostor: Callable[..., Impostor]) -> None:
    server = impostor(lambda request: honest(request) if b"hello" in request else None)
    for _ in range(2):
        with pytest.raises(Failed) as caught:
            ServerClient(server.address, IDENTITY).fetch(REQUEST)
        assert caught.value.code == "unreachable"
    assert server.received.count(b"POST /webresearch/hello") == server.received.count(b"POST /webresearch/fetch") == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{",
        b"[]\n",
        b'{"phase": "queued"}\n',
        b'{"result": {}}\n',
        b'{"error": 1}\n',
        b'{"index": 0, "result": {}}\n{"result": "done"}\n',
        b'{"index": -1, "phase": "queued"}\n',
        b'{"index": 1, "phase": "queued"}\n',
        b'{"index": "0", "phase": "queued"}\n',
        b"[" * 60_000 + b"\n",
        b"\xff\n",
    ],
)
@pytest.mark.parametrize("operation", ["fetch", "fetch_many", "check_urls", "extract", "search", "providers"])
def test_a_broken_answer_is_one_clear_error(impostor: Callable[..., Impostor], answer: bytes, operation: str) -> None:
    server = impostor(lambda request: honest(request) if b"hello" in request else http_answer(answer))
    client = ServerClient(server.address, IDENTITY)
    with pytest.raises(Failed) as caught:
        if operation == "fetch":
            client.fetch(REQUEST)
        elif operation == "fetch_many":
            client.fetch_many([REQUEST])
        elif operation == "check_urls":
            client.check_urls(["x"])
        elif operation == "search":
            client.search(SearchRequest("tides"))
        elif operation == "providers":
            client.providers()
        else:
            client.extract(b"x", url="https://example.org/")
    assert caught.value.code == "unreachable"


def test_an_error_of_the_callers_is_not_the_servers(impostor: Callable[..., Impostor]) -> None:
    server = impostor(lambda request: honest(request) if b"hello" in request else http_answer(b'{"phase": "queued"}\n'))

    def broken(_phase: str) -> None:
        raise ValueError("the display's own")

    with pytest.raises(ValueError, match="the display's own"):
        ServerClient(server.address, IDENTITY).fetch(REQUEST, broken)


def test_cancelling_from_another_thread(impostor: Callable[..., Impostor]) -> None:
    asked = threading.Event()
    hung_up = threading.Event()

    def answer(request: bytes) -> bytes:
        if b"hello" in request:
            return honest(request)
        asked.set()
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    server = impostor(answer)
    cancellation = Cancellation()
    outcome: list[object] = []

    def call() -> None:
        try:
            ServerClient(server.address, IDENTITY).fetch(REQUEST, cancellation=cancellation)
        except Failed as error:
            outcome.append(error.code)
        hung_up.set()

    thread = threading.Thread(target=call)
    thread.start()
    assert asked.wait(30)
    cancellation.cancel()
    assert hung_up.wait(30)
    thread.join()
    assert outcome == ["cancelled"]
    with pytest.raises(Failed, match="interrupted"):
        ServerClient(server.address, IDENTITY).fetch(REQUEST, cancellation=cancellation)


def echo(request: bytes) -> bytes:
    """Answer a batch with an error for each request that names it, the last first; a check with the URLs."""
    if b"/webresearch/hello" in request:
        return honest(request)
    asked = json.loads(request.partition(b"\r\n\r\n")[2])
    if "urls" in asked:
        verdicts = [{"url": url, "verdict": "allowed", "code": "ok", "reason": ""} for url in asked["urls"]]
        return http_answer(json.dumps({"verdicts": verdicts}).encode())
    lines = [
        json.dumps({"index": index, "error": {"code": "timeout", "message": one["url"]}})
        for index, one in enumerate(asked["requests"])
    ]
    return http_answer("\n".join([*reversed(lines), '{"result": "done"}', ""]).encode())


@pytest.mark.parametrize("length", [10, 1000, 2000])
@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2500])
def test_more_than_the_server_takes_at_once(impostor: Callable[..., Impostor], count: int, length: int) -> None:
    server = impostor(echo)
    client = ServerClient(server.address, IDENTITY)
    urls = [f"https://example.org/{n:07}/".ljust(length, "x") for n in range(min(count, 200_000 // length))]
    events: list[tuple[int, str]] = []
    outcomes = client.fetch_many([FetchRequest(url) for url in urls], lambda *event: events.append(event))
    assert [str(outcome) for outcome in outcomes] == urls
    assert [verdict.url for verdict in client.check_urls(urls)] == urls
    for request in server.received.split(b"POST /webresearch/")[1:]:
        assert length_of(request.partition(b"\r\n\r\n")[0]) <= PORTION + 100


def test_what_is_sent_at_once_is_what_the_server_takes() -> None:
    assert (BATCH, URLS) == (MAX_BATCH, MAX_URLS)
    assert PORTION / len('"",') < MAX_VALUES


class Lost(client_module.Client):
    """A client whose server has gone."""

    calls = 0

    def fetch(self, *_: object, **__: object) -> object:  # type: ignore[override]
        type(self).calls += 1
        raise ServerLost

    fetch_many = extract = check_urls = save = fetch  # type: ignore[assignment]
    operations = policy = change_policy = events = search = providers = fetch  # type: ignore[assignment]

    def close(self) -> None:
        pass


def test_a_lost_server_is_looked_for_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    client = DiscoveringClient(Settings())
    monkeypatch.setattr(client, "_find_server", Lost)
    monkeypatch.setattr(Lost, "calls", 0)
    with pytest.raises(Failed) as caught:
        client.fetch(REQUEST)
    assert caught.value.code == "unreachable"
    assert Lost.calls == 2


def test_a_lost_server_is_made_up_for_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    client = DiscoveringClient(Settings())
    finds = [Lost(), None]
    monkeypatch.setattr(client, "_find_server", lambda: finds.pop(0))
    assert [verdict.code for verdict in client.check_urls(["http://10.0.0.1/"])] == ["blocked_address"]
    client.close()


def test_where_there_was_a_server_one_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    client = DiscoveringClient(Settings())
    finds = [Lost(), None, None, Lost()]
    monkeypatch.setattr(client, "_find_server", lambda: finds.pop(0))
    for _ in range(2):
        assert [verdict.code for verdict in client.check_urls(["http://10.0.0.1/"])] == ["blocked_address"]
    assert isinstance(client.client, Lost)
    client.close()


def test_where_there_never_was_one_none_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    client = DiscoveringClient(Settings())
    finds: list[Lost | None] = [None]
    monkeypatch.setattr(client, "_find_server", lambda: finds.pop(0))
    for _ in range(2):
        client.check_urls(["http://10.0.0.1/"])
    client.close()


def test_calls_on_several_threads_find_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    client = DiscoveringClient(Settings())
    together = threading.Barrier(8)

    def find() -> None:
        time.sleep(0.02)  # as long as another thread needs to come here, too

    monkeypatch.setattr(client, "_find_server", find)

    def call() -> Client:
        together.wait()
        return client.client

    with ThreadPoolExecutor(8) as threads:
        found = {id(future.result()) for future in [threads.submit(call) for _ in range(8)]}
    assert len(found) == 1
    client.close()


def test_where_work_in_this_process_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    client = DiscoveringClient(Settings(kernel=WebKernel(local_mode="deny")), environ={})
    with pytest.raises(Refused) as caught:
        client.check_urls(["https://example.org/"])
    assert (caught.value.code, caught.value.setting) == ("unauthorized", "WebKernel.local_mode")
