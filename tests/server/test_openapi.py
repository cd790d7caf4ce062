"""The description of the routes against the routes, and real answers against its schemas."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from tornado.web import RequestHandler

import jupyter_webresearch
from jupyter_webresearch.errors import CODES, WebResearchError
from jupyter_webresearch.models import PHASES, FetchRequest
from jupyter_webresearch.server.handlers import ROUTES, UnknownHandler
from jupyter_webresearch.server.request_body import _FIELDS, MAX_BATCH, MAX_URLS
from tests.server.running import Caller

SPEC: dict[str, Any] = yaml.safe_load(files(jupyter_webresearch).joinpath("server/openapi.yaml").read_text("utf-8"))
SCHEMAS = SPEC["components"]["schemas"]
PAGE = "http://www.example.org/article"
NDJSON = {"Accept": "application/x-ndjson"}


def check(name: str, value: Any) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": SPEC["components"]}
    Draft202012Validator(schema).validate(value)


def test_routes_and_verbs() -> None:
    described = {path: set(item) - {"parameters"} for path, item in SPEC["paths"].items()}
    real = {}
    for pattern, handler in ROUTES:
        if handler is UnknownHandler:
            continue
        verbs = {
            verb
            for verb in ("get", "head", "post", "put", "patch", "delete")
            if getattr(handler, verb) is not getattr(RequestHandler, verb)
        }
        real[re.sub(r"\(.*\)", "{key}", pattern)] = verbs
    assert described == real


def test_operations_answer_errors_and_have_ids() -> None:
    operations = [operation for item in SPEC["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Error"}


def test_schemas_are_schemas() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


def test_names_of_requests() -> None:
    described = SCHEMAS["FetchRequest"]["properties"]
    assert set(described) == set(_FIELDS) == set(FetchRequest.__dataclass_fields__) | {"body_base64"}
    default = FetchRequest("")
    assert {k: v["default"] for k, v in described.items() if "default" in v} == {
        k: getattr(default, k) for k, v in described.items() if "default" in v
    }
    batch = SPEC["paths"]["/webresearch/batch"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert batch["properties"]["requests"]["maxItems"] == MAX_BATCH
    urls = SPEC["paths"]["/webresearch/check-url"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert urls["properties"]["urls"]["maxItems"] == MAX_URLS
    assert SCHEMAS["Phase"]["enum"] == list(PHASES)


@pytest.mark.parametrize("code", CODES)
def test_every_error_is_described(code: str) -> None:
    check("Error", WebResearchError(code, "x", retry_after=1.5).to_json())


@pytest.mark.parametrize(
    "path",
    [
        "/article",
        "/json",
        "/csv",
        "/xml",
        "/markdown",
        "/plain",
        "/redirect?to=/article",
        "/big?size=11000000&type=text/plain",
        "/charset?codec=gbk",
    ],
)
def test_pages(call: Caller, path: str) -> None:
    answer = call("POST", "webresearch/fetch", {"url": f"http://www.example.org{path}"})
    assert answer.status == 200
    check("Page", answer.json)


def test_answers(call: Caller) -> None:
    check("Hello", call("POST", "webresearch/hello").json)
    check("Verdicts", call("POST", "webresearch/check-url", {"urls": [PAGE, "http://10.1.2.3/"]}).json)
    data = b"<p>Of tides and of the moon that moves them, and of the sun.</p>"
    check("Page", call("POST", "webresearch/extract?url=https://example.org/", data).json)
    for line in call("POST", "webresearch/extract?url=https://example.org/", data, NDJSON).lines:
        check("Line", line)
    save = {"url": "http://www.example.org/attachment?name=a.bin", "save": True}
    page = call("POST", "webresearch/fetch", save).json
    check("Page", page)
    assert page["saved"]["name"] == "a.bin"
    bad = [
        call("GET", "webresearch/nowhere"),
        call("GET", "webresearch/fetch"),
        call("POST", "webresearch/fetch", {"url": "ftp://example.org/"}),
        call("POST", "webresearch/fetch", {"url": "http://www.example.org/status?code=500"}),
    ]
    for answer in bad:
        check("Error", answer.json)


def test_lines(call: Caller) -> None:
    for url in (PAGE + "?again", "http://www.example.org/status?code=500", "http://10.0.0.1/"):
        for line in call("POST", "webresearch/fetch", {"url": url}, NDJSON).lines:
            check("Line", line)
    body = {"requests": [{"url": PAGE + "?b"}, {"url": "http://10.0.0.1/"}]}
    for line in call("POST", "webresearch/batch", body).lines:
        check("BatchLine", line)
