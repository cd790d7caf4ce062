"""Search over real HTTP: for users and kernels, with phases and without, and as openapi.yaml describes it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_webresearch.kernel.proof import KernelIdentity, derive_key
from jupyter_webresearch.search.answer import ERROR_KINDS
from jupyter_webresearch.search.question import KINDS, SearchRequest
from jupyter_webresearch.search.response import Result, SearchResponse
from jupyter_webresearch.server.request_body import _SEARCH_FIELDS, read_search
from tests.search.own_instance import ARTICLE, OwnInstance
from tests.server.running import Answer, Caller, Kernel, ThreadServer, start_kernel, wait_until
from tests.server.test_openapi import SCHEMAS, check
from tests.server.test_routes import NDJSON, is_error
from tests.sites import Site
from tests.sites.network import StubResolver


@pytest.fixture(scope="module")
def instance() -> Iterator[OwnInstance]:
    with OwnInstance() as api:
        yield api


@pytest.fixture(scope="module")
def server(web: Site, instance: OwnInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    seams = {"resolver": StubResolver(), "interfaces": frozenset, **instance.seams(web.port)}
    with ThreadServer(tmp_path_factory.mktemp("jupyter"), seams=seams) as running:
        yield running


@pytest.fixture(scope="module")
def kernel(server: ThreadServer) -> Iterator[Kernel]:
    kernel = start_kernel(server.caller(), server.folders.runtime)
    kernel.run("import jupyter_webresearch as web\nfrom jupyter_webresearch.kernel.client import connect")
    yield kernel
    kernel.close()


def by_kernel(server: ThreadServer, kernel: Kernel, method: str, route: str, value: Any = None) -> Answer:
    """Call with a kernel's proof."""
    body = b"" if value is None else json.dumps(value).encode()
    who = KernelIdentity(kernel.id, derive_key(kernel.key, kernel.id))
    proof = who.prove(method, f"{server.app.base_url}webresearch/{route}", body, time.time())
    return server.caller(token=None)(method, f"webresearch/{route}", body, {"Authorization": proof.header})


# ------------------------------------------------------------------ searching


@pytest.mark.parametrize("kind", KINDS)
def test_a_search(call: Caller, kind: str) -> None:
    answer = call("POST", "webresearch/search", {"query": '"spring" tides', "kind": kind})
    assert answer.status == 200
    check("SearchResponse", answer.json)
    assert answer.json["query"] == '"spring" tides'
    assert answer.json["results"][0]["number"] == 1
    assert SearchResponse.from_json(answer.json).answered[0].provider == "searxng"


def test_everything_that_can_be_asked_is_heeded(call: Caller, instance: OwnInstance) -> None:
    body = {
        "query": "tides", "providers": ["searxng"], "max_results": 1, "kind": "web", "since": "7d",
        "site": "example.org", "fresh": True,
    }  # fmt: skip
    assert set(body) == set(_SEARCH_FIELDS)
    before = len(instance.asked)
    answer = call("POST", "webresearch/search", body)
    check("SearchResponse", answer.json)
    assert len(answer.json["results"]) <= 1
    (asked,) = instance.asked[before:]
    assert "example.org" in str(asked.query)
    assert asked.parameter("time_range") == "week"


def test_phases_come_before_the_result(call: Caller) -> None:
    answer = call("POST", "webresearch/search", {"query": "tides in lines"}, NDJSON)
    assert answer.status == 200
    assert answer.headers["content-type"] == NDJSON["Accept"]
    for line in answer.lines:
        check("SearchLine", line)
    *phases, last = answer.lines
    assert {"phase": "receiving"} in phases
    assert last["result"]["results"][0]["url"] == ARTICLE
    (line,) = [line for line in call("POST", "webresearch/search", {"query": " "}, NDJSON).lines if "error" in line]
    check("SearchLine", line)
    assert line["error"]["code"] == "bad_request"


def test_nobody_answers(call: Caller) -> None:
    is_error(call("POST", "webresearch/search", {"query": "(down)"}), 502, "search_failed")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": 1},
        {"query": ""},
        {"query": "tides", "providers": "searxng"},
        {"query": "tides", "providers": [1]},
        {"query": "tides", "max_results": 0},
        {"query": "tides", "max_results": True},
        {"query": "tides", "max_results": "5"},
        {"query": "tides", "kind": "videos"},
        {"query": "tides", "since": "yesterday"},
        {"query": "tides", "since": None},
        {"query": "tides", "site": "a b"},
        {"query": "tides", "fresh": 1},
        {"query": "tides", "limit": 5},
        [],
        b"{",
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused(call: Caller, instance: OwnInstance, body: Any) -> None:
    before = len(instance.asked)
    is_error(call("POST", "webresearch/search", body), 400, "bad_request")
    assert len(instance.asked) == before


def test_a_provider_that_is_not_there(call: Caller) -> None:
    answer = call("POST", "webresearch/search", {"query": "tides", "providers": ["nosuch"]})
    is_error(answer, 400, "provider_unavailable")


def test_hanging_up_ends_the_search(server: ThreadServer, call: Caller, instance: OwnInstance) -> None:
    connection = call.connect()
    call.send(connection, "POST", "webresearch/search", {"query": "(hang)"}, NDJSON).readline()
    wait_until(lambda: "(hang)" in instance.queries)
    connection.close()
    ended = [{"outcome": "failed", "code": "cancelled"}]

    def last() -> list[dict[str, Any]]:
        events = call("GET", "webresearch/journal?kind=search&limit=1").json["events"]
        return [{name: event[name] for name in ("outcome", "code")} for event in events]

    wait_until(lambda: last() == ended)


# ------------------------------------------------------------------ who asks


@pytest.mark.parametrize(("method", "route"), [("POST", "search"), ("GET", "providers")])
@pytest.mark.parametrize("authorization", ["", "token wrong", "JupyterKernel a:1:b:c"])
def test_nobody_else_is_let_in(
    server: ThreadServer, instance: OwnInstance, method: str, route: str, authorization: str
) -> None:
    before = len(instance.asked)
    body = {"query": "tides"} if method == "POST" else None
    answer = server.caller(token=None)(method, f"webresearch/{route}", body, {"Authorization": authorization})
    is_error(answer, 403, "unauthorized")
    assert len(instance.asked) == before


def test_a_kernel_searches_by_its_proof(server: ThreadServer, kernel: Kernel) -> None:
    check("SearchResponse", by_kernel(server, kernel, "POST", "search", {"query": "tides of a kernel"}).json)
    check("Providers", by_kernel(server, kernel, "GET", "providers").json)


def test_from_a_cell_to_the_page_of_a_result(kernel: Kernel, call: Caller, instance: OwnInstance) -> None:
    code = """
found = web.search("tides in a cell")
print(len(found), found.results[0].fetch().title, found.results[1].number, sep="|")
print(type(connect().client).__name__)
try:
    web.search("(down) in a cell")
except web.WebResearchError as error:
    print(error.code)
print([row["name"] for row in connect().providers() if row["configured"]][0])
import sys
heavy = ("jupyter_server", "httpx", "httpcore", "lxml", "pandas", "jupyter_webresearch.engine")
print([name for name in heavy if name in sys.modules])
"""
    assert kernel.run(code).splitlines() == ["2|An article|2", "ServerClient", "search_failed", "searxng", "[]"]
    events = call("GET", f"webresearch/journal?kernel={kernel.id}").json["events"]
    assert {"search", "fetch"} <= {event["kind"] for event in events}
    for event in events:
        check("Event", event)


def test_many_from_a_cell(kernel: Kernel) -> None:
    kernel.run("%load_ext jupyter_webresearch")
    kernel.run("%%websearch --into many;\none tide\nit is (down)\ntwo tides")
    assert kernel.run("print(repr(many))").startswith("2 of 3 queries answered, 1 not")


# ------------------------------------------------------------------ providers


def test_the_providers(call: Caller) -> None:
    answer = call("GET", "webresearch/providers")
    assert answer.status == 200
    check("Providers", answer.json)
    rows = {row["name"]: row for row in answer.json["providers"]}
    assert rows["searxng"]["configured"] is True
    assert rows["brave"]["configured"] is False
    assert rows["brave"]["missing"]


def test_what_is_off_is_not_told(call: Caller) -> None:
    assert call("POST", "webresearch/switch", {"operation": "search", "enabled": False}).json["operations"] == ["fetch"]
    try:
        is_error(call("GET", "webresearch/providers"), 403, "disabled")
        is_error(call("POST", "webresearch/search", {"query": "tides"}), 403, "disabled")
    finally:
        call("POST", "webresearch/switch", {"operation": "search", "enabled": True})


# ------------------------------------------------------------------ the description


def test_names_and_defaults() -> None:
    described = SCHEMAS["SearchRequest"]["properties"]
    default = SearchRequest("")
    assert set(described) == set(_SEARCH_FIELDS) == set(SearchRequest.__dataclass_fields__)
    for name, schema in described.items():
        if name != "query":
            value = getattr(default, name)
            assert schema["default"] == (list(value) if isinstance(value, tuple) else value), name
    assert described["kind"]["enum"] == list(KINDS)
    assert read_search(b'{"query": "x"}') == SearchRequest("x")
    assert set(SCHEMAS["SearchResponse"]["properties"]) == set(SearchResponse.__dataclass_fields__)
    assert set(SCHEMAS["Result"]["properties"]) == set(Result.__dataclass_fields__) - {"fetcher"}
    failed = SCHEMAS["SearchResponse"]["properties"]["failed"]["items"]["properties"]
    assert failed["kind"]["enum"] == list(ERROR_KINDS)
