"""The Python API: what the magics do, as functions.

Each function blocks and works anywhere, a notebook cell included, because the work is done on a thread and loop of its
own. Each has a twin, its name with an ``a`` in front, to be awaited; cancelling the awaiting task ends the work.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.kernel.request import fetch_request

if TYPE_CHECKING:
    from datetime import datetime

    from jupyter_webresearch.kernel.cancellation import Cancellation
    from jupyter_webresearch.kernel.client import Client
    from jupyter_webresearch.kernel.outcomes import Outcomes
    from jupyter_webresearch.models import FetchRequest, Verdict
    from jupyter_webresearch.page import Page
    from jupyter_webresearch.policy.policy_change import PolicyChange

__all__ = [
    "aallow",
    "acheck_url",
    "aextract",
    "afetch",
    "afetch_many",
    "aget_policy",
    "allow",
    "aread_journal",
    "check_url",
    "extract",
    "fetch",
    "fetch_many",
    "get_policy",
    "read_journal",
]

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


def fetch(
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
    save: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Page:
    """Read one URL.

    Parameters
    ----------
    url
        Absolute http(s) URL; a bare host is read over https.
    method
        Any HTTP method but CONNECT and TRACE. GET when omitted, or POST when there is a body.
    headers
        Request headers, as a mapping or as pairs in order.
    data
        Request body: bytes, or text, sent as UTF-8. At most ``WebFetch.max_request_body`` bytes.
    json
        Instead of ``data``, a value sent as JSON.
    offset
        Character of the text at which to begin; the page is not downloaded again for it.
    max_bytes
        Most bytes of text (UTF-8) in the Page; ``WebFetch.max_bytes`` when omitted, at most 128 KiB.
    raw
        Give the decoded source instead of the article.
    fresh
        Ask the site again, even if the page was read a moment ago.
    any_status
        Return a Page for every status, where else a GET or HEAD raises ``http_status`` for one that is not 2xx.
    save
        Write the body to this path, inside the working folder, instead of reading it as text; a folder takes the name
        that the site gives.
    force
        Write over an existing file.

    Returns
    -------
    Page
        The article as Markdown, or what the kind of content allows; see :class:`Page`.

    Raises
    ------
    WebResearchError
        :class:`BadInput` when an argument can't be read, :class:`Refused` when the policy decides against it,
        :class:`Failed` when network, site or extraction give no result. Its ``code`` names the case.
    """
    request = _request(url, method, headers, data, json, offset, max_bytes, raw, fresh, any_status, save)
    return _fetch(_client(), request, save, force)


async def afetch(
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
    save: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Page:
    """Read one URL, awaited; as :func:`fetch`."""
    request = _request(url, method, headers, data, json, offset, max_bytes, raw, fresh, any_status, save)
    client = _client()
    return await client.in_thread(lambda cancellation: _fetch(client, request, save, force, cancellation))


def fetch_many(
    urls: Iterable[str],
    *,
    headers: Headers | None = None,
    max_bytes: int | None = None,
    raw: bool = False,
    fresh: bool = False,
    any_status: bool = False,
) -> Outcomes:
    """Read many URLs, a few at once and fewer to one host.

    Parameters
    ----------
    urls
        What to read; each is sent the same headers.
    headers, max_bytes, raw, fresh, any_status
        As for :func:`fetch`.

    Returns
    -------
    Outcomes
        A list: for each URL, in order, its Page, or the :class:`WebResearchError` in its place. Nothing is raised for a
        single URL.
    """
    from jupyter_webresearch.kernel.outcomes import Outcomes

    asked = list(urls)
    requests = _requests(asked, headers, max_bytes, raw, fresh, any_status)
    return Outcomes(asked, _client().fetch_many(requests))


async def afetch_many(
    urls: Iterable[str],
    *,
    headers: Headers | None = None,
    max_bytes: int | None = None,
    raw: bool = False,
    fresh: bool = False,
    any_status: bool = False,
) -> Outcomes:
    """Read many URLs, awaited; as :func:`fetch_many`."""
    from jupyter_webresearch.kernel.outcomes import Outcomes

    asked = list(urls)
    requests = _requests(asked, headers, max_bytes, raw, fresh, any_status)
    client = _client()
    outcomes = await client.in_thread(lambda cancellation: client.fetch_many(requests, cancellation=cancellation))
    return Outcomes(asked, outcomes)


def extract(data: bytes | str, *, url: str, content_type: str | None = None) -> Page:
    """Make a Page of bytes at hand; nothing is sent.

    Parameters
    ----------
    data
        The body, as it came; text is taken as UTF-8, whatever charset it names itself.
    url
        Absolute URL that it came from: relative links are resolved against it.
    content_type
        As in the HTTP header, e.g. ``text/html; charset=big5``; recognised from the bytes when omitted.

    Raises
    ------
    WebResearchError
        ``invalid_url``, ``unsupported_content``, ``too_large``, ``no_text``, ``too_complex`` or ``extraction_failed``.
    TypeError
        When ``data`` is neither bytes nor text.
    """
    return _client().extract(_as_bytes(data), url=url, content_type=content_type)


async def aextract(data: bytes | str, *, url: str, content_type: str | None = None) -> Page:
    """Make a Page of bytes at hand, awaited; as :func:`extract`."""
    client, body = _client(), _as_bytes(data)
    return await client.in_thread(
        lambda cancellation: client.extract(body, url=url, content_type=content_type, cancellation=cancellation)
    )


def check_url(url: str) -> Verdict:
    """Return what the policy says of a URL, before any DNS query or packet.

    Returns
    -------
    Verdict
        ``verdict`` is ``"allowed"`` or ``"refused"``, with ``code`` and ``reason``. An allowed name may still be
        refused later, when it resolves to an address that is not public.
    """
    return _client().check_urls([url])[0]


async def acheck_url(url: str) -> Verdict:
    """Return what the policy says of a URL, awaited; as :func:`check_url`."""
    client = _client()
    return await client.in_thread(lambda _cancellation: client.check_urls([url])[0])


def get_policy() -> dict[str, Any]:
    """Return what bounds this session: both lists, what each entry covers, what was dropped, budgets and the rest."""
    return _client().policy()


async def aget_policy() -> dict[str, Any]:
    """Return what bounds this session, awaited; as :func:`get_policy`."""
    client = _client()
    return await client.in_thread(lambda _cancellation: client.policy())


def allow(*hosts: str, only: bool = False, reset: bool = False) -> dict[str, Any]:
    """Ask for hosts that this session may read, inside the operator's ceiling.

    Parameters
    ----------
    *hosts
        ``example.com`` (that host), ``*.example.com`` (the host and every name below it) or ``internet:unrestricted``
        (anywhere public).
    only
        These hosts instead of those asked for before.
    reset
        Forget first which hosts the session asked for and what was answered about others, so that the notebook's
        metadata and ``WebPolicy.ask`` hold again.

    Returns
    -------
    dict
        As :func:`get_policy`, after the change.

    Raises
    ------
    WebResearchError
        ``not_allowed`` when all of it lies outside the ceiling, ``bad_request`` when nothing of it can be read.
    """
    return _client().change_policy(_change(hosts, only, reset))


async def aallow(*hosts: str, only: bool = False, reset: bool = False) -> dict[str, Any]:
    """Ask for hosts that this session may read, awaited; as :func:`allow`."""
    client, change = _client(), _change(hosts, only, reset)
    return await client.in_thread(lambda _cancellation: client.change_policy(change))


def read_journal(
    *,
    limit: int = 100,
    kind: str | None = None,
    outcome: str | None = None,
    after: int | None = None,
    since: datetime | None = None,
) -> list[dict[str, Any]]:
    """Return what this session has done, each event as a dict, the newest last; ``%webresearch journal`` makes a table.

    Parameters
    ----------
    limit
        Most events, the newest of all; at most 10,000.
    kind
        ``fetch``, ``search``, ``image``, ``browser``, ``extract``, ``approval`` or ``policy``.
    outcome
        ``started``, ``completed``, ``refused`` or ``failed``.
    after
        Events with a greater ``number``.
    since
        Events from this time on; it has a time zone.
    """
    return _client().events(**_filters(limit, kind, outcome, after, since))


async def aread_journal(
    *,
    limit: int = 100,
    kind: str | None = None,
    outcome: str | None = None,
    after: int | None = None,
    since: datetime | None = None,
) -> list[dict[str, Any]]:
    """Return what this session has done, awaited; as :func:`read_journal`."""
    client, filters = _client(), _filters(limit, kind, outcome, after, since)
    return await client.in_thread(lambda _cancellation: client.events(**filters))


def _change(hosts: tuple[str, ...], only: bool, reset: bool) -> PolicyChange:
    from jupyter_webresearch.policy.policy_change import PolicyChange

    return PolicyChange.from_json({"allow": list(hosts), "only": only, "reset": reset})


def _filters(
    limit: int, kind: str | None, outcome: str | None, after: int | None, since: datetime | None
) -> dict[str, Any]:
    given = {"limit": limit, "kind": kind, "outcome": outcome, "after": after, "since": since}
    return {name: value for name, value in given.items() if value is not None}


def _as_bytes(data: bytes | str) -> bytes:
    """Return a body; text gets a byte order mark, which goes before any other word on the encoding (WHATWG)."""
    if isinstance(data, str):
        return codecs.BOM_UTF8 + data.removeprefix("\ufeff").encode("utf-8", "replace")
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise TypeError(f"data is bytes, or text as str, not {type(data).__name__}")


def _client() -> Client:
    from jupyter_webresearch.kernel.client import connect

    return connect()


def _request(
    url: str,
    method: str | None,
    headers: Headers | None,
    data: str | bytes | None,
    json: Any,
    offset: int,
    max_bytes: int | None,
    raw: bool,
    fresh: bool,
    any_status: bool,
    save: str | os.PathLike[str] | None,
) -> FetchRequest:
    return fetch_request(
        url,
        method=method,
        headers=headers,
        data=data,
        json=json,
        offset=offset,
        max_bytes=max_bytes,
        raw=raw,
        fresh=fresh,
        any_status=any_status,
        save=save is not None,
    )


def _requests(
    urls: list[str], headers: Headers | None, max_bytes: int | None, raw: bool, fresh: bool, any_status: bool
) -> list[FetchRequest]:
    return [
        fetch_request(url, headers=headers, max_bytes=max_bytes, raw=raw, fresh=fresh, any_status=any_status)
        for url in urls
    ]


def _fetch(
    client: Client,
    request: FetchRequest,
    save: str | os.PathLike[str] | None,
    force: bool,
    cancellation: Cancellation | None = None,
) -> Page:
    if save is None:
        return client.fetch(request, cancellation=cancellation)
    return client.save(request, Path.cwd(), os.fspath(save) or None, force, cancellation=cancellation)
