"""Work done by the kernel's Jupyter server."""

from __future__ import annotations

import base64
import http.client
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.kernel.cancellation import Cancellation
from jupyter_webresearch.kernel.client import Client, OnEvent, ignore_event, ignore_phase
from jupyter_webresearch.kernel.connection import NOT_UNDERSTOOD, ProvenConnection
from jupyter_webresearch.kernel.discovery import ServerAddress
from jupyter_webresearch.kernel.proof import KernelIdentity
from jupyter_webresearch.kernel.saving import SaveTarget
from jupyter_webresearch.models import FetchRequest, OnPhase, Verdict
from jupyter_webresearch.page import Page
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.search.response import SearchResponse

if TYPE_CHECKING:
    from jupyter_webresearch.policy.policy_change import PolicyChange

__all__ = ["ServerClient"]

GRACE = 15.0
"""Seconds of silence beyond the server's own deadline after which it is given up."""

BATCH = 1000
URLS = 10_000
PORTION = 128 * 1024
"""Requests, URLs and bytes of JSON that are sent at once; the server takes no more (``server/request_body.py``)."""

CHUNK = 256 * 1024
NDJSON = "application/x-ndjson"


class ServerClient(Client):
    """Calls one server over HTTP with the kernel's proof; every call is one connection that begins with ``hello``.

    Parameters
    ----------
    address
        Where the server is.
    identity
        Who this kernel is.
    wall_time
        The clock.

    Raises
    ------
    ServerLost
        From every operation, when the server did not prove itself and therefore was not asked anything.
    """

    def __init__(
        self, address: ServerAddress, identity: KernelIdentity, *, wall_time: Callable[[], float] = time.time
    ) -> None:
        self.address = address
        self.identity = identity
        self._wall_time = wall_time

    def hello(self) -> dict[str, Any]:
        """Exchange proofs and return what the server says of itself."""
        with self._connection() as connection:
            return connection.open()

    def fetch(
        self,
        request: FetchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Read one URL; see :meth:`Client.fetch`."""
        body = json.dumps(request_json(request)).encode()
        with self._talk(cancellation) as (connection, hello):
            timeout = hello["save_timeout" if request.save else "timeout"] + GRACE
            response = _ask(connection, "POST", "fetch", body, _json_headers(), timeout=timeout)
            page = self._page(response, on_phase, request)
        return self.attach(page, request)

    def fetch_many(
        self,
        requests: Sequence[FetchRequest],
        on_event: OnEvent = ignore_event,
        *,
        cancellation: Cancellation | None = None,
    ) -> list[Page | WebResearchError]:
        """Read many URLs; see :meth:`Client.fetch_many`."""
        outcomes: dict[int, Page | WebResearchError] = {}
        for start, portion in _portions([request_json(request) for request in requests], BATCH):
            body = b'{"requests": %s}' % portion
            with self._talk(cancellation) as (connection, hello):
                response = _ask(connection, "POST", "batch", body, _json_headers(), timeout=hello["timeout"] + GRACE)
                for line in _lines(response):
                    if "index" not in line:
                        if "error" in line:
                            raise _error(line)
                        break
                    index = _place(line, start, len(requests))
                    if "phase" in line:
                        on_event(index, line["phase"])
                    elif "error" in line:
                        outcomes[index] = self.attach_error(_error(line), requests[index])
                    else:
                        outcomes[index] = self.attach(_page(line), requests[index])
        if len(outcomes) != len(requests):
            raise Failed("unreachable", "the Jupyter server broke off the answer; try again")
        return [outcomes[index] for index in range(len(requests))]

    def extract(
        self,
        data: bytes,
        *,
        url: str,
        content_type: str | None = None,
        on_phase: OnPhase = ignore_phase,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Make a Page of bytes; see :meth:`Client.extract`."""
        query = {"url": url} if content_type is None else {"url": url, "content_type": content_type}
        headers = {"Content-Type": "application/octet-stream", "Accept": NDJSON}
        with self._talk(cancellation) as (connection, hello):
            route = f"extract?{urlencode(query)}"
            sent = data[
                : hello["max_body"] + 1
            ]  # what lies beyond would be cut anyway; one octet more tells that it was
            response = _ask(connection, "POST", route, sent, headers, timeout=hello["timeout"] + GRACE)
            page = self._page(response, on_phase, FetchRequest(url))
        return page if len(sent) == len(data) else replace(page, announced_bytes=len(data))

    def check_urls(self, urls: Sequence[str]) -> list[Verdict]:
        """Return verdicts; see :meth:`Client.check_urls`."""
        verdicts: list[Verdict] = []
        for _, portion in _portions(urls, URLS):
            answer = self._exchange("POST", "check-url", b'{"urls": %s}' % portion)
            with _understanding():
                verdicts += [Verdict(**verdict) for verdict in answer["verdicts"]]
        return verdicts

    def save(
        self,
        request: FetchRequest,
        folder: str | os.PathLike[str],
        name: str | None = None,
        force: bool = False,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Stream a body to a file; see :meth:`Client.save`."""
        request = replace(request, save=True)
        with SaveTarget(folder, name, force) as target:
            page = self.fetch(request, on_phase, cancellation=cancellation)
            if page.saved is None:  # an answer that is not kept, e.g. a status that any_status lets through
                return page
            saved = page.saved
            with self._talk(cancellation) as (connection, hello):
                response = _ask(connection, "GET", f"saved/{saved.key}", timeout=hello["timeout"])
                if response.status != 200:
                    _answer(response)
                saved = target.write(saved, _chunks(response))
        return replace(page, saved=saved)

    def search(
        self,
        request: SearchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> SearchResponse:
        """Search; see :meth:`Client.search`."""
        body = json.dumps(search_json(request)).encode()
        with self._talk(cancellation) as (connection, hello):
            timeout = hello["search_timeout"] + GRACE
            response = _ask(connection, "POST", "search", body, _json_headers(), timeout=timeout)
            line = _last(response, on_phase)
        with _understanding():
            found = SearchResponse.from_json(line["result"])
        return self.attach_response(found)

    def providers(self) -> list[dict[str, Any]]:
        """Return the search providers; see :meth:`Client.providers`."""
        answer = self._exchange("GET", "providers")
        with _understanding():
            return [dict(provider) for provider in answer["providers"]]

    def operations(self) -> tuple[str, ...]:
        """Return what is on; see :meth:`Client.operations`."""
        with self._talk(None) as (_, hello), _understanding():
            return tuple(map(str, hello["operations"]))

    def policy(self) -> dict[str, Any]:
        """Return what bounds this session; see :meth:`Client.policy`."""
        return self._exchange("GET", "policy")

    def change_policy(self, change: PolicyChange) -> dict[str, Any]:
        """Change what this session asks; see :meth:`Client.change_policy`."""
        return self._exchange("POST", "policy", json.dumps(change.to_json()).encode())

    def events(self, **filters: Any) -> list[dict[str, Any]]:
        """Return events of the journal; see :meth:`Client.events`."""
        query = urlencode({name: _written(value) for name, value in filters.items()})
        answer = self._exchange("GET", f"journal?{query}" if query else "journal")
        with _understanding():
            return [dict(event) for event in answer["events"]]

    def close(self) -> None:
        """Nothing is kept open between calls."""

    def _connection(self) -> ProvenConnection:
        return ProvenConnection(self.address, self.identity, wall_time=self._wall_time)

    @contextmanager
    def _talk(self, cancellation: Cancellation | None) -> Iterator[tuple[ProvenConnection, dict[str, Any]]]:
        """Open a proven connection for one exchange; whatever ends the block closes it."""
        with self._connection() as connection, (cancellation or Cancellation()).stopping_with(connection.abort):
            yield connection, connection.open()

    def _exchange(self, method: str, route: str, body: bytes = b"") -> dict[str, Any]:
        """Ask once, and return the JSON object that is the answer."""
        with self._talk(None) as (connection, hello):
            response = _ask(connection, method, route, body, _json_headers(), timeout=hello["timeout"] + GRACE)
            return _answer(response)

    def _page(self, response: http.client.HTTPResponse, on_phase: OnPhase, request: FetchRequest) -> Page:
        try:
            return _page(_last(response, on_phase))
        except WebResearchError as error:
            raise self.attach_error(error, request) from error.__cause__


def request_json(request: FetchRequest) -> dict[str, Any]:
    """Return the REST form of a request: what differs from the defaults."""
    default = FetchRequest(request.url)
    data: dict[str, Any] = {"url": request.url}
    for key in ("method", "offset", "max_bytes", "raw", "fresh", "any_status", "save", "record"):
        value = getattr(request, key)
        if value != getattr(default, key):
            data[key] = value
    if request.headers:
        data["headers"] = [list(header) for header in request.headers]
    if request.body is not None:
        data["body_base64"] = base64.b64encode(request.body).decode()
    return data


def search_json(request: SearchRequest) -> dict[str, Any]:
    """Return the REST form of a search: what differs from the defaults."""
    default = SearchRequest(request.query)
    differing = {key: value for key, value in vars(request).items() if value != getattr(default, key)}
    return {"query": request.query, **differing}


def _written(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _portions(values: Sequence[Any], most: int) -> Iterator[tuple[int, bytes]]:
    """Yield JSON lists that the server takes at once, each with the place of its first value among all."""
    encoded = [json.dumps(value).encode() for value in values]
    start = 0
    while start < len(encoded):
        end, size = start + 1, len(encoded[start])
        while end < min(len(encoded), start + most) and size + len(encoded[end]) <= PORTION:
            size += len(encoded[end])
            end += 1
        yield start, b"[%s]" % b",".join(encoded[start:end])
        start = end


def _place(line: dict[str, Any], start: int, count: int) -> int:
    with _understanding():
        return start + range(count - start).index(line["index"])


def _json_headers() -> dict[str, str]:
    return {"Content-Type": "application/json", "Accept": f"{NDJSON}, application/json"}


@contextmanager
def _understanding() -> Iterator[None]:
    """Turn a connection that breaks, and an answer that is not what it should be, into one error.

    Only what the server sends is read inside, never a caller's function called: its errors are its own.
    """
    try:
        yield
    except (OSError, http.client.HTTPException, *NOT_UNDERSTOOD) as error:
        raise Failed("unreachable", "the Jupyter server broke off the answer; try again") from error


def _ask(
    connection: ProvenConnection,
    method: str,
    route: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    *,
    timeout: float,
) -> http.client.HTTPResponse:
    with _understanding():
        return connection.request(method, route, body, headers, timeout=timeout)


def _lines(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """Yield the objects of an NDJSON answer to its end; an answer that is an error raises it."""
    if response.status != 200:
        _answer(response)
    while True:
        with _understanding():
            text = response.readline()
            line = dict(json.loads(text)) if text else None
        if line is None:
            return
        yield line


def _last(response: http.client.HTTPResponse, on_phase: OnPhase) -> dict[str, Any]:
    """Read phases off an NDJSON answer, and return the line that holds the result, or raise the error that it is."""
    for line in _lines(response):
        if "phase" in line:
            on_phase(line["phase"])
        elif "error" in line:
            raise _error(line)
        else:
            return line
    raise Failed("unreachable", "the Jupyter server broke off the answer; try again")


def _answer(response: http.client.HTTPResponse) -> dict[str, Any]:
    """Return a JSON answer, or raise the error that it is."""
    with _understanding():
        body = dict(json.loads(response.read()))
    if response.status != 200:
        raise _error({"error": body})
    return body


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        with _understanding():
            chunk = response.read(CHUNK)
        if not chunk:
            return
        yield chunk


def _page(line: dict[str, Any]) -> Page:
    with _understanding():
        return Page.from_json(line["result"])


def _error(line: dict[str, Any]) -> WebResearchError:
    with _understanding():
        return WebResearchError.from_json(line["error"])
