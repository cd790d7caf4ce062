"""Reading what callers of the routes send; whatever is not understood is refused by name."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.policy.policy_change import PolicyChange
from jupyter_webresearch.search.question import SearchRequest

__all__ = [
    "MAX_BATCH",
    "MAX_URLS",
    "MAX_VALUES",
    "read_batch",
    "read_change",
    "read_fetch",
    "read_search",
    "read_switch",
    "read_urls",
]

MAX_BATCH = 1000
"""Requests of one batch."""

MAX_URLS = 10_000
"""URLs of one check."""

MAX_VALUES = 50_000
"""Values of one body: json's decoder keeps the interpreter, and with it the server's loop, to itself while it runs."""

QUOTE = ord('"')
# What lies before a string or the mark of one more value; a string's inside, or a part of it if it has many escapes:
# no match takes long, so that other threads get their turn.
_BEFORE = re.compile(rb'[^",\[{]*')
_INSIDE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,4096}', re.DOTALL)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _headers(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in value
    )


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_SEARCH_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "query": (_text, "a string"),
    "providers": (_texts, "a list of strings"),
    "max_results": (lambda value: value is None or (_count(value) and value > 0), "a whole number from 1, or null"),
    "kind": (_text, "a string"),
    "since": (_text, "a string"),
    "site": (_text, "a string"),
    "fresh": (_flag, "true or false"),
}

_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "url": (_text, "a string"),
    "method": (_text, "a string"),
    "headers": (_headers, "a list of [name, value] pairs"),
    "body": (_text, "a string"),
    "body_base64": (_text, "a string"),
    "offset": (_count, "a whole number from 0"),
    "max_bytes": (_count, "a whole number from 0"),
    "raw": (_flag, "true or false"),
    "fresh": (_flag, "true or false"),
    "any_status": (_flag, "true or false"),
    "save": (_flag, "true or false"),
    "record": (_text, "a string"),
}


def read_fetch(body: bytes) -> FetchRequest:
    """Read the body of ``POST fetch``.

    Raises
    ------
    BadInput
        ``bad_request``, naming the member that is missing, unknown or of the wrong kind.
    """
    return _request(_object(body))


def read_batch(body: bytes) -> list[FetchRequest]:
    """Read the body of ``POST batch``; raises as :func:`read_fetch`."""
    items = _only_list(_object(body), "requests", MAX_BATCH)
    requests = []
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise _bad(f"requests[{index}] must be an object")
        requests.append(_request(item, f"requests[{index}]."))
    return requests


def read_search(body: bytes) -> SearchRequest:
    """Read the body of ``POST search``; raises as :func:`read_fetch`."""
    data = _object(body)
    _check(data, _SEARCH_FIELDS, "query")
    return SearchRequest(**{**data, "providers": tuple(data.get("providers", ()))})


def read_urls(body: bytes) -> list[str]:
    """Read the body of ``POST check-url``; raises as :func:`read_fetch`."""
    urls = _only_list(_object(body), "urls", MAX_URLS)
    for index, url in enumerate(urls):
        if not isinstance(url, str):
            raise _bad(f"urls[{index}] must be a string")
    return urls


def read_change(body: bytes) -> PolicyChange:
    """Read the body of ``POST policy``; raises as :func:`read_fetch`."""
    return PolicyChange.from_json(_object(body))


def read_switch(body: bytes) -> tuple[str | None, bool]:
    """Read the body of ``POST switch``: which operation, None for all, and whether it shall be on.

    Raises
    ------
    BadInput
        As :func:`read_fetch`.
    """
    data = _object(body)
    for key in data:
        if key not in ("operation", "enabled"):
            raise _bad(f"{key[:80]!r} is not known here")
    operation, enabled = data.get("operation"), data.get("enabled")
    if operation is not None and not isinstance(operation, str):
        raise _bad("operation must be a string or null")
    if not isinstance(enabled, bool):
        raise _bad("enabled must be true or false")
    return operation, enabled


def _object(body: bytes) -> dict[str, Any]:
    """Parse strictly (RFC 8259): UTF-8, no NaN, no name twice, of which callers and we might read another one."""
    if not _is_small(body):
        raise _bad(f"the request's body holds more than {MAX_VALUES} values")
    try:
        data = _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _bad("the request's body is not JSON, in UTF-8 and without a name twice") from None
    if not isinstance(data, dict):
        raise _bad("the request's body must be a JSON object")
    return data


def _is_small(body: bytes) -> bool:
    """Whether a body has few enough values, of which each but the first comes after a comma or bracket."""
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) <= MAX_VALUES:
        return True
    found = position = 0
    while (position := _end(_BEFORE, body, position)) < len(body):
        if body[position] == QUOTE:
            inside = position + 1
            while (position := _end(_INSIDE, body, inside)) > inside:
                inside = position
        else:
            found += 1
            if found > MAX_VALUES:
                return False
        position += 1
    return True


def _end(pattern: re.Pattern[bytes], body: bytes, position: int) -> int:
    match = pattern.match(body, position)
    return match.end() if match else position


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a name stands twice")
    return data


def _whole(digits: str) -> int:
    if len(digits) > 20:  # Python before 3.10.7 converts millions of digits, which takes minutes
        raise ValueError("this number is too long")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_whole, parse_constant=_no_constant)


def _only_list(data: dict[str, Any], name: str, most: int) -> list[Any]:
    for key in data:
        if key != name:
            raise _bad(f"{key[:80]!r} is not known here")
    items = data.get(name)
    if not isinstance(items, list):
        raise _bad(f"{name} must be a list")
    if len(items) > most:
        raise _bad(f"{name} holds {len(items)} entries; at most {most} go in one request")
    return items


def _request(data: dict[str, Any], where: str = "") -> FetchRequest:
    _check(data, _FIELDS, "url", where)
    if "body" in data and "body_base64" in data:
        raise _bad(f"{where}body and {where}body_base64 exclude each other")
    fields = {key: value for key, value in data.items() if key not in ("headers", "body", "body_base64")}
    return FetchRequest(
        **fields,
        headers=tuple((name, value) for name, value in data.get("headers", ())),
        body=_octets(data, where),
    )


def _check(
    data: dict[str, Any], fields: dict[str, tuple[Callable[[Any], bool], str]], needed: str, where: str = ""
) -> None:
    for key, value in data.items():
        if key not in fields:
            raise _bad(f"{(where + key)[:80]!r} is not known here")
        accepts, kind = fields[key]
        if not accepts(value):
            raise _bad(f"{where}{key} must be {kind}")
    if needed not in data:
        raise _bad(f"{where}{needed} is missing")


def _octets(data: dict[str, Any], where: str) -> bytes | None:
    if "body" in data:
        try:
            return str(data["body"]).encode()
        except UnicodeEncodeError:
            raise _bad(f"{where}body holds half of a surrogate pair") from None
    if "body_base64" in data:
        try:
            return base64.b64decode(data["body_base64"], validate=True)
        except (binascii.Error, ValueError):
            raise _bad(f"{where}body_base64 is not base64") from None
    return None


def _bad(message: str) -> BadInput:
    return BadInput("bad_request", message)
