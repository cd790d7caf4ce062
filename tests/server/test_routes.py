"""The routes over real HTTP: who is let in, what is answered, and what an error looks like."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from typing import Any

import pytest

from jupyter_webresearch.errors import CODES, BadInput
from jupyter_webresearch.server.request_body import read_fetch
from tests.server.running import TOKEN, Caller, ThreadServer
from tests.sites import Site

NDJSON = {"Accept": "application/x-ndjson"}
PAGE = "http://www.example.org/article"
ROUTES = [
    ("POST", "hello"),
    ("POST", "fetch"),
    ("POST", "batch"),
    ("POST", "extract?url=https://example.org/"),
    ("POST", "check-url"),
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


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("route", "body", "named"),
    [
        ("fetch", b"", "JSON"),
        ("fetch", b"{", "JSON"),
        ("fetch", b"[" * 40_000, "JSON"),
        ("fetch", b"[]", "object"),
        ("fetch", {}, "url"),
        ("fetch", {"url": 1}, "url"),
        ("fetch", {"url": PAGE, "heders": []}, "heders"),
        ("fetch", {"url": PAGE, "headers": {"a": "b"}}, "headers"),
        ("fetch", {"url": PAGE, "headers": [["a"]]}, "headers"),
        ("fetch", {"url": PAGE, "offset": -1}, "offset"),
        ("fetch", {"url": PAGE, "offset": True}, "offset"),
        ("fetch", {"url": PAGE, "max_bytes": "9"}, "max_bytes"),
        ("fetch", {"url": PAGE, "raw": 1}, "raw"),
        ("fetch", {"url": PAGE, "body": "a", "body_base64": "YQ=="}, "body_base64"),
        ("fetch", {"url": PAGE, "body_base64": "!"}, "body_base64"),
        ("fetch", b'{"url": "http://e.org/", "body": "\\ud800"}', "body"),
        ("fetch", b'{"url": "http://e.org/", "url": "http://10.0.0.1/"}', "twice"),
        ("fetch", b'{"url": "http://e.org/", "\\u0075rl": "http://10.0.0.1/"}', "twice"),
        ("fetch", b'{"url": "http://e.org/", "offset": NaN}', "JSON"),
        ("fetch", b'{"url": "http://e.org/", "offset": -Infinity}', "JSON"),
        ("fetch", b'{"url": "http://e.org/", "offset": 1e400}', "offset"),
        ("fetch", b'{"url": "http://e.org/", "offset": ' + b"9" * 1_000_000 + b"}", "JSON"),
        ("fetch", b'{"url": "http://e.org/\xff"}', "UTF-8"),
        ("fetch", b'{"url": "http://e.org/\xed\xa0\x80"}', "UTF-8"),
        ("fetch", '{"url": "http://e.org/"}'.encode("utf-16"), "UTF-8"),
        ("fetch", b'{"a":' * 40_000, "JSON"),
        ("fetch", b'{"url": "http://e.org/", "headers": [' + b'["a", "b"],' * 400_000 + b"]}", "50000 values"),
        ("check-url", b'{"urls": [' + b"[]," * 2_000_000 + b"1]}", "50000 values"),
        ("check-url", b'{"urls": [' + b"1," * 60_000 + b"1]}", "50000 values"),
        ("batch", {"requests": PAGE}, "requests"),
        ("batch", {"requests": [PAGE]}, "requests[0]"),
        ("batch", {"requests": [{"url": PAGE}, {"uri": PAGE}]}, "requests[1].uri"),
        ("batch", {"requests": [], "more": 1}, "more"),
        ("batch", {"requests": [{"url": PAGE}] * 1001}, "1001"),
        ("check-url", {"urls": [None]}, "urls[0]"),
        ("check-url", {"url": []}, "url"),
        ("extract", b"text", "url"),
        ("extract?url=https://e.org/&typ=x", b"text", "typ"),
        ("extract?url=https://e.org/&url=https://f.org/", b"text", "url"),
        ("extract?url=%ff", b"text", "url"),
    ],
)
def test_what_is_not_understood_is_named(call: Caller, web: Site, route: str, body: Any, named: str) -> None:
    before = len(web.seen)
    answer = call("POST", f"webresearch/{route}", body)
    is_error(answer, 400, "bad_request")
    assert named in answer.json["message"]
    assert len(web.seen) == before


@pytest.mark.parametrize("escaped", [",[{" * 100_000, '\\"' * 100_000, "\\\\" * 100_000 + ",", "{" * 60_000 + '\\"'])
def test_marks_inside_of_text_are_no_values(escaped: str) -> None:
    body = f'{{"url": "https://example.org/", "body": "{escaped}"}}'.encode()
    assert read_fetch(body).body == json.loads(f'"{escaped}"').encode()


@pytest.mark.parametrize("body", [b'{"url":"' + b"," * 2_000_000, b'"\\' * 1_000_000 + b"," * 60_000])
def test_the_time_to_look_at_a_body_is_linear(body: bytes) -> None:
    started = time.process_time()
    with pytest.raises(BadInput):
        read_fetch(body)
    assert time.process_time() - started < 2  # quadratic takes hours


@pytest.mark.parametrize("route", ["fetch", "batch", "check-url", "extract?url=https://e.org/", "hello"])
def test_a_body_beyond_the_limit(call: Caller, route: str) -> None:
    is_error(call("POST", f"webresearch/{route}", bytes(12 * 1024 * 1024)), 413, "request_too_large")


def test_a_page_body_beyond_the_limit(call: Caller, web: Site) -> None:
    before = len(web.seen)
    body = {"url": PAGE, "method": "POST", "body": "x" * (1024 * 1024 + 1)}
    is_error(call("POST", "webresearch/fetch", body), 413, "request_too_large")
    assert len(web.seen) == before


@pytest.mark.parametrize("path", ["", "nowhere", "fetch/", "saved", "saved/../hello", "saved/xyz", "hello/x"])
def test_below_our_prefix_nothing_is_html(call: Caller, path: str) -> None:
    is_error(call("GET", f"webresearch/{path}"), 404, "not_found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_another_method(call: Caller, method: str) -> None:
    is_error(call(method, "webresearch/fetch"), 405, "bad_request")


def test_percent_signs_in_what_was_sent_are_shown_once(call: Caller) -> None:
    answer = call("POST", "webresearch/extract?url=%ff%25s%25", b"text")
    is_error(answer, 400, "bad_request")
    assert answer.json["message"].endswith("\\xff%s%'")


@pytest.mark.parametrize(
    ("accept", "lines"),
    [
        ("application/x-ndjson", True),
        ("Application/X-NDJSON; q=0.5, */*", True),
        ("text/html,application/x-ndjson", True),
        ("application/x-ndjson;q=0, */*", False),
        ("application/x-ndjson; q=0.000", False),
        ("*/*", False),
        ("application/x-ndjsonx", False),
        ("", False),
    ],
)
def test_lines_are_sent_to_who_takes_them(call: Caller, accept: str, lines: bool) -> None:
    answer = call("POST", "webresearch/fetch", {"url": "http://10.0.0.1/"}, {"Accept": accept})
    assert (answer.headers["content-type"] == NDJSON["Accept"]) is lines
    assert (answer.json["error"] if lines else answer.json)["code"] == "blocked_address"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x", "x"],
)
def test_a_content_type_opens_nothing(server: ThreadServer, content_type: str) -> None:
    """A form or script of another site can send these without asking first (Fetch standard, safelisted headers)."""
    by_cookie = server.caller()
    by_cookie("GET", "api/status")
    by_cookie.headers.clear()
    body = b'{"urls": []}'
    answer = by_cookie("POST", "webresearch/check-url", body, {"Content-Type": content_type})
    assert answer.status in (400, 403)
    assert answer.json["code"] in ("bad_request", "unauthorized")


def test_a_refusal_names_its_setting(call: Caller) -> None:
    answer = call("POST", "webresearch/fetch", {"url": "http://127.0.0.1/"})
    is_error(answer, 403, "blocked_address")
    assert answer.json["setting"] == "WebPolicy.allow_private_networks"


def test_the_servers_own_port_is_refused(server: ThreadServer) -> None:
    # Its port is not among those allowed either; the guard's own test has it allowed.
    engine = server.on_loop(server.extension.engine)
    assert server.app.port in engine.guard._own_ports()


def test_a_fault_of_ours_is_json_and_says_nothing(
    server: ThreadServer, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(url: str) -> None:
        raise ZeroDivisionError("secret detail")

    engine = server.on_loop(server.extension.engine)
    monkeypatch.setattr(engine, "check_url", fault)
    answer = call("POST", "webresearch/check-url", {"urls": ["x"]})
    is_error(answer, 500, "internal")
    assert b"secret detail" not in answer.body
    monkeypatch.setattr(engine, "fetch", lambda *_: (_ for _ in ()).throw(ZeroDivisionError("secret detail")))
    line = call("POST", "webresearch/fetch", {"url": PAGE}, NDJSON).lines[-1]
    assert line["error"]["code"] == "internal"
    assert "secret detail" not in str(line)


# ------------------------------------------------------------------ who hangs up, who asks again


@pytest.mark.parametrize(("route", "accept"), [("fetch", "*/*"), ("fetch", NDJSON["Accept"]), ("batch", "*/*")])
def test_hanging_up_cancels(server: ThreadServer, call: Caller, web: Site, route: str, accept: str) -> None:
    engine = server.on_loop(server.extension.engine)
    cancelled = threading.Event()
    count = 1 + sum(request.path == "/hang" for request in web.seen)
    name = "fetch_many" if route == "batch" else "fetch"
    real = getattr(engine, name)

    async def watched(*arguments: Any) -> Any:
        try:
            return await real(*arguments)
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
        arrived.result(10)
        connection.close()
        assert cancelled.wait(10)
    finally:
        delattr(engine, name)


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
