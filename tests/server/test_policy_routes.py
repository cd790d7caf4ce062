"""The routes of policy, switch and journal, for users and for kernels."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tornado.web import HTTPError

from jupyter_webresearch.errors import Failed, Refused, WebResearchError
from jupyter_webresearch.kernel.proof import KernelIdentity, derive_key
from jupyter_webresearch.server import handlers, session_life
from tests.server.running import TOKEN, Answer, Caller, Kernel, ThreadServer, start_kernel, start_session
from tests.server.test_openapi import check
from tests.server.test_routes import PAGE, is_error
from tests.sites import Site

HOST = "www.example.org"


@pytest.fixture(scope="module")
def kernel(server: ThreadServer) -> Iterator[Kernel]:
    """A kernel of a notebook."""
    kernel = start_session(server.caller(), server.folders.runtime, "policy.ipynb")
    yield kernel
    kernel.close()


@pytest.fixture(autouse=True)
def as_before(server: ThreadServer, call: Caller) -> Iterator[None]:
    """Leave operations on and asks forgotten."""
    yield
    call("POST", "webresearch/switch", {"enabled": True})
    call("POST", "webresearch/policy", {"reset": True})


def by_kernel(server: ThreadServer, kernel: Kernel, method: str, route: str, value: Any = None) -> Answer:
    """Call with a kernel's proof."""
    body = b"" if value is None else json.dumps(value).encode()
    who = KernelIdentity(kernel.id, derive_key(kernel.key, kernel.id))
    proof = who.prove(method, f"{server.app.base_url}webresearch/{route}", body, time.time())
    return server.caller(token=None)(method, f"webresearch/{route}", body, {"Authorization": proof.header})


# ------------------------------------------------------------------ policy


def test_the_policy_is_told(call: Caller) -> None:
    answer = call("GET", "webresearch/policy")
    assert answer.status == 200
    check("Policy", answer.json)
    assert answer.json["ceiling"]["reach"] == "internet:unrestricted"
    assert answer.json["operations"] == ["fetch", "search"]


def test_a_change_holds_for_the_caller_alone(server: ThreadServer, call: Caller, kernel: Kernel) -> None:
    changed = call("POST", "webresearch/policy", {"allow": ["other.example"]})
    assert changed.status == 200
    check("Policy", changed.json)
    assert changed.json["ask"]["reach"] == "other.example"
    is_error(call("POST", "webresearch/fetch", {"url": PAGE}), 403, "not_allowed")
    assert by_kernel(server, kernel, "POST", "fetch", {"url": PAGE}).status == 200
    assert call("GET", "webresearch/policy").json == changed.json


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        {"alow": []},
        {"allow": "a.example"},
        {"allow": [1]},
        {"only": 1},
        {"act": "none"},
        {"task": 5},
        {"allow": ["*"]},
        {"deny": ["*.a.example"]},
    ],
    ids=str,
)
def test_a_change_that_is_not_understood_changes_nothing(call: Caller, body: Any) -> None:
    before = call("GET", "webresearch/policy").json
    is_error(call("POST", "webresearch/policy", body), 400, "bad_request")
    assert call("GET", "webresearch/policy").json == before


# ------------------------------------------------------------------ switch


def test_operations_are_what_is_on(server: ThreadServer, call: Caller, kernel: Kernel, web: Site) -> None:
    assert call("GET", "webresearch/operations").json == {"operations": ["fetch", "search"]}
    off = call("POST", "webresearch/switch", {"operation": "fetch", "enabled": False})
    assert (off.status, off.json) == (200, {"operations": ["search"]})
    check("Operations", off.json)
    before = web.connections
    assert call("GET", "webresearch/operations").json == {"operations": ["search"]}
    assert call("POST", "webresearch/hello").json["operations"] == ["search"]
    for answer in (
        call("POST", "webresearch/fetch", {"url": PAGE}),
        call("GET", "webresearch/saved/0123"),
        by_kernel(server, kernel, "POST", "fetch", {"url": PAGE}),
    ):
        is_error(answer, 403, "disabled")
    lines = call("POST", "webresearch/batch", {"requests": [{"url": PAGE}]}).lines
    (line,) = [line for line in lines if "error" in line]
    assert line["error"]["code"] == "disabled"
    assert web.connections == before
    assert call("POST", "webresearch/switch", {"operation": None, "enabled": True}).json == {
        "operations": ["fetch", "search"]
    }
    assert call("POST", "webresearch/fetch", {"url": f"{PAGE}?on-again"}).status == 200


def test_a_kernel_switches_nothing(server: ThreadServer, call: Caller, kernel: Kernel) -> None:
    for enabled in (False, True):
        answer = by_kernel(server, kernel, "POST", "switch", {"enabled": enabled})
        is_error(answer, 403, "unauthorized")
    assert call("GET", "webresearch/operations").json == {"operations": ["fetch", "search"]}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"enabled": "no"},
        {"operation": 1, "enabled": True},
        {"operation": "everything", "enabled": False},
        {"enabled": True, "more": 1},
    ],
    ids=str,
)
def test_a_switch_that_is_not_understood_switches_nothing(call: Caller, body: Any) -> None:
    is_error(call("POST", "webresearch/switch", body), 400, "bad_request")
    assert call("GET", "webresearch/operations").json == {"operations": ["fetch", "search"]}


# ------------------------------------------------------------------ journal


def test_a_user_sees_all_a_kernel_its_own(server: ThreadServer, call: Caller, kernel: Kernel) -> None:
    other = start_kernel(server.caller(), server.folders.runtime)
    try:
        for asking in (kernel, other):
            assert by_kernel(server, asking, "POST", "fetch", {"url": f"{PAGE}?of={asking.id}"}).status == 200
        own = by_kernel(server, kernel, "GET", f"journal?kernel={other.id}&limit=100")
        assert own.status == 200
        assert own.json["events"] == []
        events = by_kernel(server, kernel, "GET", "journal").json["events"]
        assert {event["kernel"] for event in events} == {kernel.id}
        assert {event["notebook"] for event in events} == {"policy.ipynb"}
        assert {event["channel"] for event in events} == {"kernel"}
        every = call("GET", "webresearch/journal?kind=fetch&outcome=completed").json["events"]
        assert {kernel.id, other.id} <= {event["kernel"] for event in every}
        for event in every:
            check("Event", event)
    finally:
        other.close()


def test_a_users_events_are_marked(call: Caller) -> None:
    call("POST", "webresearch/fetch", {"url": f"{PAGE}?by-rest"})
    (*_, last) = call("GET", "webresearch/journal?limit=1").json["events"]
    assert (last["channel"], last["kernel"], last["notebook"], last["outcome"]) == ("rest", "", "", "completed")
    assert call("GET", f"webresearch/journal?after={last['number']}").json["events"] == []
    since = call("GET", f"webresearch/journal?since={last['time'].replace('+', '%2B')}").json["events"]
    assert last in since


def test_an_answer_has_the_newest_hundred_unless_more_are_asked_for(call: Caller) -> None:
    call("POST", "webresearch/batch", {"requests": [{"url": "http://10.0.0.1/"}] * 60})
    every = call("GET", "webresearch/journal?limit=10000").json["events"]
    assert len(every) > 100
    assert call("GET", "webresearch/journal").json["events"] == every[-100:]


def test_who_changed_the_policy_or_switched_is_on_record(server: ThreadServer, call: Caller, kernel: Kernel) -> None:
    def last() -> tuple[str, str, str]:
        event = call("GET", "webresearch/journal?limit=1").json["events"][0]
        return event["kind"], event["channel"], event["kernel"]

    call("POST", "webresearch/policy", {"allow": ["other.example"]})
    assert last() == ("approval", "rest", "")
    by_kernel(server, kernel, "POST", "policy", {"task": "tides"})
    assert last() == ("policy", "kernel", kernel.id)
    call("POST", "webresearch/switch", {"enabled": True})
    assert last() == ("policy", "rest", "")


def test_jupyters_own_queries_are_no_filters(server: ThreadServer) -> None:
    answer = server.caller(token=None)("GET", f"webresearch/journal?token={TOKEN}&_xsrf=x&no_track_activity=1&limit=1")
    assert (answer.status, len(answer.json["events"])) == (200, 1)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=99999",
        "limit=x",
        "limit=1&limit=2",
        "kind=fetches",
        "outcome=done",
        "after=yesterday",
        "since=2026-01-01T00:00:00",
        "since=x",
        "kernel=a/b",
        "session=x",
    ],
)
def test_filters_that_are_not_understood(call: Caller, query: str) -> None:
    answer = call("GET", f"webresearch/journal?{query}")
    is_error(answer, 400, "bad_request")
    assert query.split("=")[0] in answer.json["message"]


# ------------------------------------------------------------------ who may, and when again


def test_the_authorizer_is_asked(server: ThreadServer, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def is_authorized(_handler: Any, _user: Any, action: str, resource: str) -> bool:
        asked.append((action, resource))
        return action == "read"

    monkeypatch.setattr(server.app.authorizer, "is_authorized", is_authorized)
    assert call("GET", "webresearch/policy").status == 200
    for route in ("policy", "switch"):
        is_error(call("POST", f"webresearch/{route}", {"enabled": False}), 403, "unauthorized")
    assert asked == [("read", "webresearch"), ("write", "webresearch"), ("write", "webresearch")]
    monkeypatch.undo()
    assert call("GET", "webresearch/operations").json == {"operations": ["fetch", "search"]}


def test_users_make_room_for_each_other(call: Caller, web: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{PAGE}?of-a-user"
    before = len(web.seen)
    for most, requests in ((64, 1), (64, 1), (0, 2)):
        monkeypatch.setattr(session_life, "MAX_USERS", most)
        assert call("POST", "webresearch/fetch", {"url": url}).status == 200
        assert len(web.seen) - before == requests


def test_when_to_ask_again_is_a_header_too(call: Caller) -> None:
    url = "http://www.example.org/retry?after=700&code=429&times=1&key=header"
    answer = call("POST", "webresearch/fetch", {"url": url})
    is_error(answer, 429, "rate_limited")
    assert int(answer.headers["retry-after"]) == math.ceil(answer.json["retry_after"])


@pytest.mark.parametrize(
    ("error", "phrase", "after"),
    [
        (Failed("rate_limited", "wait", retry_after=1.2), "Too Many Requests", "2"),
        (Refused("robots", "wait", retry_after=1.2), "Forbidden", None),
        (Failed("cancelled", "ended"), "cancelled", None),
        (Failed("config", "planted for the operator"), "Internal Server Error", None),
    ],
    ids=["to wait", "not to wait", "no status of HTTP", "the operator's"],
)
def test_an_error_is_an_answer_and_no_fault(
    server: ThreadServer,
    call: Caller,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: WebResearchError,
    phrase: str,
    after: str | None,
) -> None:
    def failing(_body: bytes) -> None:
        raise error

    records: list[logging.LogRecord] = []
    monkeypatch.setattr(handlers, "read_fetch", failing)
    monkeypatch.setattr(server.app.log, "handle", records.append)
    connection = call.connect()
    answer = call.send(connection, "POST", "webresearch/fetch", {"url": PAGE})
    assert (answer.reason, answer.getheader("Retry-After")) == (phrase, after)
    assert answer.read()
    connection.close()
    told = [record.getMessage() for record in records if record.levelno >= logging.ERROR and not record.exc_info]
    assert not any(record.exc_info for record in (*records, *caplog.records))
    assert any(error.message in line for line in told) is (error.code == "config")


def test_what_jupyter_says_of_a_fault_is_not_told(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_body: bytes) -> None:
        raise HTTPError(500, "%s can't be read", "/home/user/planted")

    monkeypatch.setattr(handlers, "read_fetch", failing)
    answer = call("POST", "webresearch/fetch", {"url": PAGE})
    is_error(answer, 500, "internal")
    assert b"planted" not in answer.body
