"""What the routes refuse, by which code, and that every error is JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.server.request_body import read_fetch
from tests.growth import grows_at_most
from tests.server.running import Caller, ThreadServer
from tests.server.test_routes import NDJSON, PAGE, is_error
from tests.sites import Site


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


@pytest.mark.parametrize(
    "made", [lambda n: b'{"url":"' + b"," * (2 * n), lambda n: b'"\\' * n + b"," * 60_000], ids=["commas", "escapes"]
)
def test_the_time_to_look_at_a_body_is_linear(made: Callable[[int], bytes]) -> None:
    def read(body: bytes) -> None:
        with contextlib.suppress(BadInput):
            read_fetch(body)

    with pytest.raises(BadInput):
        read_fetch(made(1_000_000))
    assert grows_at_most(30, read, made(100_000), made(1_000_000))


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
    assert server.app.port in engine._policy.guard._own_ports()


def test_a_fault_of_ours_is_json_and_says_nothing(
    server: ThreadServer, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: Any) -> None:
        raise ZeroDivisionError("secret detail")

    engine = server.on_loop(server.extension.engine)
    monkeypatch.setattr(engine, "check_url", fault)
    answer = call("POST", "webresearch/check-url", {"urls": ["x"]})
    is_error(answer, 500, "internal")
    assert b"secret detail" not in answer.body
    monkeypatch.setattr(engine, "fetch", lambda *_, **__: (_ for _ in ()).throw(ZeroDivisionError("secret detail")))
    line = call("POST", "webresearch/fetch", {"url": PAGE}, NDJSON).lines[-1]
    assert line["error"]["code"] == "internal"
    assert "secret detail" not in str(line)
