"""What subscribers of a server's events are told of the journal."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import tornado.httpclient
import tornado.websocket
import yaml
from jsonschema import ValidationError
from jupyter_events import EventLogger

import jupyter_webresearch.server
from jupyter_webresearch.caller import Caller
from jupyter_webresearch.errors import CODES
from jupyter_webresearch.journal.event import KINDS, Event, Outcome
from jupyter_webresearch.server import event_stream
from jupyter_webresearch.server.event_stream import APPROVAL, OPERATION, POLICY, emit, register
from tests.journal.writing import event
from tests.server.running import TOKEN, ThreadServer
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

SCHEMAS = {
    schema["$id"]: schema
    for path in (Path(jupyter_webresearch.server.__file__).parent / "events").glob("*.yaml")
    for schema in [yaml.safe_load(path.read_text("utf-8"))]
}
SECRET = "s3cr3tValue"
FULL = event(
    "0a1b", kind="search", session="kernel:1", channel="tool", kernel="1", notebook="a/b.ipynb", arguments="f" * 64,
    method="POST", url=f"https://u:{SECRET}@example.org/?token={SECRET}", status=200, bytes=12, seconds=0.25, cost=0.01,
    spent=0.02, final_url=f"https://example.org/#{SECRET}", score=0.0, category="other", source="live", risk="write",
    code="robots", reason="Disallow: /words-of-a-site", setting="WebPolicy.robots", title="words of a page",
    excerpt="words of a page", provider="p", query=f"Bearer {SECRET}", results=0, scope="s",
)  # fmt: skip


class Subscriber:
    """A real EventLogger that writes to a string."""

    def __init__(self) -> None:
        self.written = io.StringIO()
        handler = logging.StreamHandler(self.written)
        self.logger = EventLogger(handlers=[handler])
        register(self.logger)

    @property
    def heard(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written.getvalue().splitlines()]

    async def tell(self, *events: Event) -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        for each in events:
            emit(self.logger, loop, each)
        told = asyncio.Event()
        loop.call_soon_threadsafe(told.set)
        await told.wait()
        return self.heard


async def test_an_operation_is_told_without_text_of_a_page_or_secrets() -> None:
    subscriber = Subscriber()
    (heard,) = await subscriber.tell(FULL)
    assert heard.pop("__schema__") == OPERATION
    told = {name: value for name, value in heard.items() if not name.startswith("__") and name != "taskName"}
    same = {name: getattr(FULL, name) for name in SCHEMAS[OPERATION]["properties"]}
    assert told == {
        **same,
        "url": "https://example.org/?token=REDACTED",
        "final_url": "https://example.org/",
        "reason": CODES["robots"].meaning,
        "query": "Bearer REDACTED",
    }
    written = subscriber.written.getvalue()
    assert SECRET not in written
    assert "words of a page" not in written
    assert "words-of-a-site" not in written


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcome", get_args(Outcome))
async def test_every_kind_and_outcome_is_told(kind: str, outcome: str, caplog: pytest.LogCaptureFixture) -> None:
    if kind in ("approval", "policy") and outcome == "started":
        return
    heard = await Subscriber().tell(event("a", outcome, kind=kind, scope="s"))
    expected = {"approval": APPROVAL, "policy": POLICY}.get(kind, OPERATION)
    assert [(one["__schema__"], one["outcome"]) for one in heard] == [(expected, outcome)]


@pytest.mark.parametrize("code", [*CODES, "", "of a later version"])
async def test_a_reason_is_told_in_our_own_words(code: str) -> None:
    (heard,) = await Subscriber().tell(event("a", "refused", code=code, reason="words of a model"))
    assert heard["reason"] == (CODES[code].meaning if code in CODES else "")


@pytest.mark.parametrize("risk", ["read", "act"])
@pytest.mark.parametrize("entry", ["internet:unrestricted", "*.example.org", "example.org", "xn--bcher-kva.example"])
async def test_an_approval_says_what_was_granted(entry: str, risk: str) -> None:
    (heard,) = await Subscriber().tell(event("a", "completed", kind="approval", url=entry, risk=risk, scope="s"))
    assert (heard["url"], heard["risk"], heard["scope"]) == (entry, risk, "s")


def test_the_schemas_say_what_is_told() -> None:
    assert set(SCHEMAS) == {OPERATION, APPROVAL, POLICY}
    for schema_id, schema in SCHEMAS.items():
        assert schema_id.endswith("/v1")
        assert (schema["version"], schema["personal-data"]) == ("1", True)
        assert schema["title"]
        assert schema["description"]
        assert schema["additionalProperties"] is False
        assert set(schema["properties"]) == set(event_stream._TOLD[schema_id])
        assert set(schema["properties"]) <= {field.name for field in fields(Event)} - {"title", "excerpt"}
        for name, definition in schema["properties"].items():
            assert definition["description"]
            for number, value in enumerate(definition.get("enum", ()), 1):
                assert f"{number}. {value}\n" in definition["description"], name
    operation = SCHEMAS[OPERATION]["properties"]
    assert set(operation["kind"]["enum"]) == set(KINDS) - {"approval", "policy"}
    assert set(operation["outcome"]["enum"]) == set(get_args(Outcome))
    assert set(operation["channel"]["enum"]) == set(get_args(get_type_hints(Caller)["channel"]))


@pytest.mark.parametrize("name", ["title", "excerpt", "body"])
def test_a_schema_lets_no_text_of_a_page_through(name: str) -> None:
    subscriber = Subscriber()
    required = {
        "operation": "a",
        "outcome": "completed",
        "kind": "fetch",
        "time": "2026-12-01T10:00:00Z",
        "risk": "read",
    }
    assert subscriber.logger.emit(schema_id=OPERATION, data=required) is not None
    with pytest.raises(ValidationError):
        subscriber.logger.emit(schema_id=OPERATION, data={**required, name: "words"})


def test_registering_twice_does_nothing() -> None:
    subscriber = Subscriber()
    register(subscriber.logger)
    assert len(subscriber.logger.schemas.schema_ids) == 3


async def test_nothing_that_goes_wrong_reaches_who_tells() -> None:
    class Broken:
        def emit(self, **_: Any) -> None:
            raise RuntimeError("a fault")

    ended = asyncio.new_event_loop()
    ended.close()
    emit(Broken(), ended, FULL)
    emit(Broken(), asyncio.get_running_loop(), FULL)
    emit(Broken(), asyncio.get_running_loop(), None)  # type: ignore[arg-type]
    await asyncio.sleep(0)


def test_a_servers_subscribers_get_what_any_thread_tells(tmp_path: Path) -> None:
    async def hear(server: ThreadServer) -> list[dict[str, Any]]:
        server.on_loop(lambda: register(server.app.event_logger))
        url = f"ws://127.0.0.1:{server.app.port}{server.app.base_url}api/events/subscribe"
        request = tornado.httpclient.HTTPRequest(url, headers={"Authorization": f"token {TOKEN}"})
        subscriber = await tornado.websocket.websocket_connect(request)
        loop = server.app.io_loop.asyncio_loop
        # Once the server has the listener; its own loop may be behind.
        listeners = server.app.event_logger._modified_listeners[OPERATION]
        while not listeners:
            await asyncio.sleep(0.01)
        for each in (event("a", "started"), FULL, event("b", kind="policy", scope="s")):
            await asyncio.to_thread(emit, server.app.event_logger, loop, each)
        heard = [json.loads(await asyncio.wait_for(subscriber.read_message(), 30)) for _ in range(3)]
        subscriber.close()
        while await asyncio.wait_for(subscriber.read_message(), 30) is not None:  # until its socket is closed
            pass
        return heard

    with ThreadServer(tmp_path) as server:
        heard = asyncio.run(hear(server))
    assert {(one["schema_id"], one["operation"]) for one in heard} == {
        (OPERATION, "a"),
        (OPERATION, "0a1b"),
        (POLICY, "b"),
    }
    assert SECRET not in str(heard)


def test_a_fetch_is_told_to_who_listens_to_the_server(tmp_path: Path) -> None:
    with Site() as site:
        seams = {"resolver": StubResolver(), "dialler": MappedDialler(everything=site.port), "interfaces": frozenset}
        with ThreadServer(tmp_path, seams=seams) as server:
            heard: list[dict[str, Any]] = []
            both = threading.Event()

            async def listen(logger: Any, schema_id: str, data: dict[str, Any]) -> None:
                heard.append(data)
                if len(heard) == 2:
                    both.set()

            server.app.event_logger.add_listener(schema_id=OPERATION, listener=listen)
            answer = server.caller()(
                "POST", "webresearch/fetch", {"url": "http://www.example.org/article?token=abcdefgh"}
            )
            assert answer.status == 200
            assert both.wait(30)
    assert [data["outcome"] for data in heard] == ["started", "completed"]
    assert "abcdefgh" not in json.dumps(heard)
    assert not {"title", "excerpt"} & set(heard[1])
