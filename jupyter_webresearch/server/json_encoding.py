"""Large JSON without holding up the event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.page import Page
from jupyter_webresearch.search.response import SearchResponse

__all__ = ["encode", "encode_in_thread"]

SLICE = 1000
"""List entries that are encoded without a break: json's encoder keeps the interpreter to itself while it runs."""


def encode(value: Any) -> bytes:
    """Return compact JSON as UTF-8, of a Page, an error or a response its JSON form.

    Long lists are encoded slice by slice, so that other threads get their turn.
    """
    return "".join(_parts(value)).encode("utf-8", "backslashreplace")


async def encode_in_thread(value: Any) -> bytes:
    """Do as :func:`encode` on a thread."""
    return await asyncio.to_thread(encode, value)


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, (Page, WebResearchError, SearchResponse)):
        yield from _parts(value.to_json())
    elif isinstance(value, Mapping):
        yield "{"
        for index, (key, item) in enumerate(value.items()):
            yield f"{',' if index else ''}{_dump(str(key))}:"
            yield from _parts(item)
        yield "}"
    elif isinstance(value, list | tuple) and len(value) > SLICE:
        yield "["
        for start in range(0, len(value), SLICE):
            yield f"{',' if start else ''}{_dump(value[start : start + SLICE])[1:-1]}"
        yield "]"
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        yield "["
        for index, item in enumerate(value):
            yield "," if index else ""
            yield from _parts(item)
        yield "]"
    else:
        yield _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
