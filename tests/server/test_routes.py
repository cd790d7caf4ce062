"""The routes over real HTTP: who is let in, what is answered, and what an error looks like."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import socket
import threading
from typing import Any

import pytest

from jupyter_webresearch.errors import CODES
from tests.server.running import TOKEN, Caller, ThreadServer, wait_until
from tests.sites import Site

NDJSON = {"Accept": "application/x-ndjson"}
PAGE = "http://www.example.org/article"
ROUTES = [
    ("POST", "hello"),
    ("POST", "fetch"),
    ("POST", "batch"),
    ("POST", "extract?url=https://example.org/"),
    ("POST", "check-url"),
    ("GET", "operations"),
    ("GET", "policy"),
    ("POST", "policy"),
    ("POST", "switch"),
    ("GET", "journal"),
    ("GET", "saved/0123"),
    ("GET", "nowhere"),
    ("GET", ""),
]


def is_error(answer: Any, status: int, code: str) -> None:
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json["code"] == code
    assert answer.json["message"]
    assert answer.json["reason"] == CODES[code].meaning


# ------------------------------------------------------------------ who is let in


@pytest.mark.parametrize(("method", "route"), ROUTES)
@pytest.mark.parametrize(
    "authorization",
    ["", "token wrong", "Bearer wrong", "JupyterKernel", "JupyterKernel a:1:b:c", "jupyterkernel x", "Basic YTpi"],
)
def test_nobody_else_is_let_in(server: ThreadServer, method: str, route: str, authorization: str) -> None:
    call = server.caller(token=None)
    is_error(
        call(method, f"webresearch/{route}", b"{}" if method == "POST" else None, {"Authorization": authorization}),
        403,
        "unauthorized",
    )


def test_a_cookie_needs_the_xsrf_token(server: ThreadServer) -> None:
    by_cookie = server.caller()
    by_cookie("GET", "api/status")  # a token login leaves a cookie
    xsrf = by_cookie("GET", "webresearch/nowhere").status
    assert xsrf == 404
    by_cookie.headers.clear()
    is_error(by_cookie("POST", "webresearch/check-url", {"urls": []}), 403, "unauthorized")
    is_error(by_cookie("POST", "webresearch/check-url", {"urls": []}, {"X-XSRFToken": "wrong"}), 403, "unauthorized")
    by_cookie.cookies["_xsrf"] = "0123456789abcdef"
    is_error(by_cookie("POST", "webresearch/check-url", {"urls": []}, {"X-XSRFToken": "x"}), 403, "unauthorized")


def test_another_origin_is_not_let_in(server: ThreadServer) -> None:
    by_cookie = server.caller()
    by_cookie("GET", "api/status")
    by_cookie.headers.clear()
    answer = by_cookie("POST", "webresearch/check-url", {"urls": []}, {"Origin": "https://evil.example"})
    assert answer.status in (403, 404)
    assert answer.json["code"] in ("unauthorized", "not_found")


def test_another_host_name_is_not_served(call: Caller) -> None:
    is_error(call("POST", "webresearch/check-url", {"urls": []}, {"Host": "rebound.example"}), 403, "unauthorized")


class OnlyReading:
    """Stands for an operator's Authorizer; records what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        self.asked.append((action, resource))
        return action == "read"


def test_the_authorizer_is_asked_for_each_verb(server: ThreadServer, call: Caller) -> None:
    settings = server.app.web_app.settings
    before, mine = settings["authorizer"], OnlyReading()
    settings["authorizer"] = mine
    try:
        is_error(call("POST", "webresearch/check-url", {"urls": []}), 403, "unauthorized")
        is_error(call("GET", "webresearch/saved/00"), 404, "not_found")
        is_error(call("POST", "webresearch/hello"), 403, "unauthorized")
    finally:
        settings["authorizer"] = before
    assert mine.asked == [("write", "webresearch"), ("read", "webresearch"), ("write", "webresearch")]


# ------------------------------------------------------------------ what is answered


def test_hello(call: Caller) -> None:
    answer = call("POST", "webresearch/hello")
    assert answer.json["session"] == "token"
    assert answer.json["timeout"] == 30
    assert "x-webresearch-server" not in answer.headers


def test_fetch(call: Caller) -> None:
    page = call("POST", "webresearch/fetch", {"url": PAGE}).json
    assert (page["url"], page["status"], page["kind"]) == (PAGE, 200, "html")
    assert page["markdown"]


def test_fetch_streams_its_phases(call: Caller) -> None:
    answer = call("POST", "webresearch/fetch", {"url": PAGE, "fresh": True}, NDJSON)
    assert answer.headers["content-type"] == "application/x-ndjson"
    *phases, last = answer.lines
    assert [line["phase"] for line in phases][-2:] == ["receiving", "extracting"]
    assert last["result"]["url"] == PAGE


def test_a_phase_arrives_before_the_page_does(call: Caller, web: Site) -> None:
    connection = call.connect()
    response = call.send(connection, "POST", "webresearch/fetch", {"url": "http://www.example.org/gate"}, NDJSON)
    phases = []
    while "receiving" not in phases and "connecting" not in phases:
        phases.append(json.loads(response.readline())["phase"])
    web.release()
    assert json.loads(response.read().splitlines()[-1])["result"]["status"] == 200
    connection.close()


def test_what_was_sent_arrives(call: Caller, web: Site) -> None:
    body = {
        "url": "http://www.example.org/echo",
        "method": "post",
        "headers": [["X-A", "1"], ["X-A", "2"]],
        "body_base64": base64.b64encode(b"\0\xff").decode(),
        "any_status": True,
    }
    assert call("POST", "webresearch/fetch", body).status in (200, 415)
    seen = web.seen[-1]
    assert (seen.method, seen.body) == ("POST", b"\0\xff")
    assert [value for name, value in seen.headers if name == "X-A"] == ["1", "2"]


def test_a_status_error_carries_its_page(call: Caller) -> None:
    body = {"url": "http://www.example.org/status?code=404"}
    answer = call("POST", "webresearch/fetch", body)
    is_error(answer, 502, "http_status")
    assert answer.json["page"]["status"] == 404
    assert call("POST", "webresearch/fetch", body, NDJSON).lines[-1]["error"]["page"]["status"] == 404


def test_batch(call: Caller) -> None:
    urls = [PAGE, "http://10.0.0.1/", "http://www.example.org/json"]
    lines = call("POST", "webresearch/batch", {"requests": [{"url": url} for url in urls]}).lines
    assert lines[-1] == {"result": "done"}
    outcomes = sorted((line for line in lines if "index" in line and "phase" not in line), key=lambda x: x["index"])
    assert [line["index"] for line in outcomes] == [0, 1, 2]
    assert outcomes[0]["result"]["url"] == PAGE
    assert outcomes[1]["error"]["code"] == "blocked_address"
    assert outcomes[2]["result"]["kind"] == "json"


def test_a_batch_delivers_what_is_done_while_the_rest_is_read(call: Caller, web: Site) -> None:
    connection = call.connect()
    urls = ["http://www.example.org/hang?batch", f"{PAGE}?batch", "http://10.0.0.1/"]
    with call.send(connection, "POST", "webresearch/batch", {"requests": [{"url": url} for url in urls]}) as response:
        done: dict[int, Any] = {}
        while len(done) < 2:
            line = json.loads(response.readline())
            if "phase" not in line:
                done[line["index"]] = line
    connection.close()
    assert done[1]["result"]["status"] == 200
    assert done[2]["error"]["code"] == "blocked_address"


def test_a_batch_waits_for_who_reads_slowly(server: ThreadServer, call: Caller) -> None:
    engine = server.on_loop(server.extension.engine)
    count, pending, most = 80, 0, 0
    full = threading.Event()
    real = engine.fetch_many

    async def watched(session: Any, requests: Any, tell: Any, deliver: Any, caller: Any) -> Any:
        async def count_while_it_waits(index: int, outcome: Any) -> None:
            nonlocal pending, most
            pending += 1
            most = max(most, pending)
            if pending == engine.settings.fetch.batch_concurrency:
                full.set()
            await deliver(index, outcome)
            pending -= 1

        return await real(session, requests, tell, count_while_it_waits, caller)

    urls = [f"http://h{n}.example.org/big?type=text/plain&size=150000" for n in range(count)]
    body = {"requests": [{"url": url, "max_bytes": 131_072, "raw": True} for url in urls]}
    engine.fetch_many = watched
    try:
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", server.app.port))
            connection = call.connect()
            connection.sock = slow
            with call.send(connection, "POST", "webresearch/batch", body) as response:
                assert full.wait(30)
                assert call("POST", "webresearch/fetch", {"url": PAGE}).status == 200
                lines = [json.loads(line) for line in response.read().splitlines()]
    finally:
        del engine.fetch_many
    assert sum("result" in line and "index" in line for line in lines) == count
    assert (most, pending) == (engine.settings.fetch.batch_concurrency, 0)


def test_extract(call: Caller, web: Site) -> None:
    before = len(web.seen)
    data = b"<title>T</title><p>Of tides and of the moon, <a href=/m>which</a> moves them.</p>"
    answer = call("POST", "webresearch/extract?url=https://example.org/x&content_type=text/html", data)
    assert answer.json["source"]["url"] == "https://example.org/x"
    assert "the moon" in answer.json["text"]
    assert len(web.seen) == before


def test_check_url_sends_nothing(server: ThreadServer, call: Caller) -> None:
    resolver = server.extension.seams["resolver"]
    before = len(resolver.asked)
    urls = ["https://example.org/", "http://169.254.169.254/", "gopher://example.org/"]
    verdicts = call("POST", "webresearch/check-url", {"urls": urls}).json["verdicts"]
    assert [v["url"] for v in verdicts] == urls
    assert [v["verdict"] for v in verdicts] == ["allowed", "refused", "refused"]
    assert len(resolver.asked) == before


def test_a_saved_body_is_taken_once_and_by_its_session_only(server: ThreadServer, call: Caller) -> None:
    page = call(
        "POST", "webresearch/fetch", {"url": "http://www.example.org/typed?type=image/png&body=PNG", "save": True}
    ).json
    key = page["saved"]["key"]
    stranger = server.caller(token=None)
    is_error(stranger("GET", f"webresearch/saved/{key}"), 403, "unauthorized")
    answer = call("GET", f"webresearch/saved/{key}")
    assert answer.body == b"PNG"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    is_error(call("GET", f"webresearch/saved/{key}"), 404, "not_found")


# ------------------------------------------------------------------ who hangs up, who asks again


@pytest.mark.parametrize(("route", "accept"), [("fetch", "*/*"), ("fetch", NDJSON["Accept"]), ("batch", "*/*")])
def test_hanging_up_cancels(server: ThreadServer, call: Caller, web: Site, route: str, accept: str) -> None:
    engine = server.on_loop(server.extension.engine)
    cancelled = threading.Event()
    count = 1 + sum(request.path == "/hang" for request in web.seen)
    name = "fetch_many" if route == "batch" else "fetch"
    real = getattr(engine, name)

    async def watched(*arguments: Any, **named: Any) -> Any:
        try:
            return await real(*arguments, **named)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    setattr(engine, name, watched)
    try:
        url = {"url": f"http://www.example.org/hang?{route}{len(accept)}"}
        connection = call.connect()
        body = {"requests": [url]} if route == "batch" else url
        connection.request(
            "POST", f"{call.base}webresearch/{route}", json.dumps(body).encode(), {**call.headers, "Accept": accept}
        )
        arrived = asyncio.run_coroutine_threadsafe(web.arrived("/hang", count), web._loop)
        arrived.result(30)
        connection.close()
        assert cancelled.wait(30)
    finally:
        delattr(engine, name)


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("fetch", {"url": "http://www.example.org/hang?gone"}),
        ("batch", {"requests": [{"url": "http://www.example.org/hang?gone"}, {"url": PAGE}]}),
        ("extract?url=https://e.org/&content_type=text/plain", b"word " * 500_000),
        ("check-url", {"urls": ["https://example.org/"] * 5000}),
    ],
    ids=lambda value: value.partition("?")[0] if isinstance(value, str) else "",
)
@pytest.mark.parametrize("accept", ["*/*", NDJSON["Accept"]])
def test_who_has_hung_up_is_no_fault(
    server: ThreadServer, call: Caller, caplog: pytest.LogCaptureFixture, route: str, body: Any, accept: str
) -> None:
    engine = server.on_loop(server.extension.engine)
    before = server.on_loop(tasks) | engine.submit(tasks()).result(30)
    server.app.log.addHandler(caplog.handler)
    try:
        connection = call.connect()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", f"{call.base}webresearch/{route}", data, {**call.headers, "Accept": accept})
        server.on_loop(lambda: asyncio.sleep(0))  # so that it has begun
        connection.close()
        wait_until(lambda: server.on_loop(tasks) <= before and engine.submit(tasks()).result(30) <= before)
    finally:
        server.app.log.removeHandler(caplog.handler)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def tasks() -> set[asyncio.Task[Any] | None]:
    return asyncio.all_tasks() - {asyncio.current_task()}


def test_each_holder_of_a_cookie_has_a_session(server: ThreadServer) -> None:
    holder = server.caller()
    assert holder("POST", "webresearch/hello").json["session"] == "token"
    holder.headers = {}
    sessions = set()
    for _ in range(2):
        holder("GET", f"?token={TOKEN}")
        holder.headers = {"X-XSRFToken": holder.cookies.get("_xsrf", "")}
        sessions.add(holder("POST", "webresearch/hello").json["session"])
    assert len(sessions) == 1
    assert sessions.pop().startswith("user:")
