"""From the words that magics and Python callers use to what is asked of the engine."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.search.question import SearchRequest

__all__ = ["fetch_request", "search_request"]

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


def fetch_request(
    url: str,
    *,
    method: str | None = None,
    headers: Headers | None = None,
    data: str | bytes | None = None,
    json: Any = None,
    offset: int = 0,
    max_bytes: int | None = None,
    raw: bool = False,
    fresh: bool = False,
    any_status: bool = False,
    save: bool = False,
) -> FetchRequest:
    """Return the request that these words describe, as :func:`jupyter_webresearch.fetch` explains them.

    Raises
    ------
    BadInput
        ``bad_request`` when ``url`` is not text, or both ``data`` and ``json`` are given.
    """
    if not isinstance(url, str):
        raise BadInput("bad_request", f"a URL is text, not {type(url).__name__}")
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers or ())
    body = data.encode() if isinstance(data, str) else data
    if json is not None:
        if body is not None:
            raise BadInput("bad_request", "give data or json, not both")
        body = json_module.dumps(json, ensure_ascii=False).encode()
        if not any(name.lower() == "content-type" for name, _ in pairs):
            pairs.append(("Content-Type", "application/json"))
    return FetchRequest(
        url=url.strip(),
        method=(method or ("GET" if body is None else "POST")).upper(),
        headers=tuple((str(name), str(value)) for name, value in pairs),
        body=body,
        offset=offset,
        max_bytes=max_bytes,
        raw=raw,
        fresh=fresh,
        any_status=any_status,
        save=save,
    )


def search_request(
    query: str,
    *,
    providers: str | Iterable[str] = (),
    max_results: int | None = None,
    kind: str = "web",
    since: str | date = "",
    site: str = "",
    fresh: bool = False,
) -> SearchRequest:
    """Return the search that these words describe, as :func:`jupyter_webresearch.search` explains them.

    Raises
    ------
    BadInput
        ``bad_request`` when ``query`` is not text.
    """
    if not isinstance(query, str):
        raise BadInput("bad_request", f"a query is text, not {type(query).__name__}")
    names = providers.split(",") if isinstance(providers, str) else providers
    return SearchRequest(
        query=query.strip(),
        providers=tuple(name.strip() for name in names if name.strip()),
        max_results=max_results,
        kind=kind,
        since=since.isoformat()[:10] if isinstance(since, date) else since,
        site=site,
        fresh=fresh,
    )
