"""A provider's HTTP service: requests to its base URL through the one transport, and what its answers mean at first.

Keys go into headers, never into a URL; where a service takes its key in a query or body only, what is recorded and told
leaves it out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NoReturn
from urllib.parse import urlencode

import anyio
import anyio.to_thread

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.answer import Disposition
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.policy.admission import Admission
from jupyter_webresearch.search.answer import ErrorKind, ProviderError

__all__ = ["Reply", "Service"]

MAX_ANSWER = 4 * 1024 * 1024
"""Decoded bytes of one answer."""

LARGE = 64 * 1024
"""Bytes from which JSON is parsed on a thread."""

RETRIED = frozenset({429, 502, 503, 504})
"""Statuses after which the same request is sent once more, if the wait is short."""

LONGEST_WAIT = 5.0
"""Seconds that are waited for before asking once more."""

_AFTER = re.compile(r"retry after (\d{1,6})\s*s", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """One answer.

    Attributes
    ----------
    status
        Of HTTP.
    headers
        Lower-case names; of several values the first.
    body
        Decoded octets.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    async def json(self) -> Any:
        """Return the body as JSON.

        Raises
        ------
        ProviderError
            ``bad_payload``.
        """
        try:
            if len(self.body) < LARGE:
                return _parsed(self.body)
            return await anyio.to_thread.run_sync(_parsed, self.body, abandon_on_cancel=True)
        except (ValueError, RecursionError):
            raise ProviderError("bad_payload", "the answer is not JSON", http_status=self.status) from None

    @property
    def retry_after(self) -> float | None:
        """Seconds that the service asks to wait: by header, by ``retry_after_seconds``, or in words."""
        text = self.headers.get("retry-after", "")
        if re.fullmatch(r"[0-9]{1,9}", text):
            return float(text)
        head = self.body[:4096].decode("utf-8", "replace")
        found = re.search(r'"retry_after(?:_seconds)?"\s*:\s*([0-9]{1,9}(?:\.[0-9]{1,3})?)', head) or _AFTER.search(
            head
        )
        return float(found[1]) if found else None


class Service:
    """Asks one provider's API. Used on the engine's loop only.

    Parameters
    ----------
    retriever
        Through which requests go: no redirect is followed.
    admission
        Lets out requests to the provider's origin, and nothing else.
    base_url
        To which paths are added.
    clock
        Time.
    deadline
        By which all calls are over, on the clock's monotonic scale.
    sleep
        Waits before a request is sent once more.
    """

    def __init__(
        self,
        retriever: Retriever,
        admission: Admission,
        base_url: str,
        clock: Clock,
        *,
        deadline: float,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        self._retriever = retriever
        self._admission = admission
        self._base = base_url.rstrip("/")
        self._clock = clock
        self._sleep = sleep
        self.deadline = deadline

    @property
    def today(self) -> date:
        """The present day, in UTC."""
        return self._clock.now().date()

    async def pause(self, seconds: float) -> bool:
        """Wait before it is asked again how far a job is; False, and at once, where the deadline comes first."""
        if self._clock.monotonic() + seconds >= self.deadline:
            return False
        await self._sleep(seconds)
        return True

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - self._clock.monotonic())

    async def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        final: Callable[[Reply], bool] | None = None,
    ) -> Reply:
        """Send a GET.

        Parameters
        ----------
        path
            Added to the base URL; begins with a slash.
        query
            Parameters in order.
        headers
            Of the request, a key among them.
        final
            Tells of an answer after which the request would be sent once more that it would be the same again, such
            as a quota that is used up.

        Raises
        ------
        ProviderError
            ``timeout``, ``unreachable``, ``bad_payload``; a status is the caller's to judge, see :meth:`check`.
        """
        return await self._ask("GET", f"{path}?{urlencode(query)}" if query else path, headers or {}, None, final)

    async def post(
        self,
        path: str,
        payload: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        final: Callable[[Reply], bool] | None = None,
    ) -> Reply:
        """Send a POST with JSON; raises as :meth:`get`.

        Parameters
        ----------
        path
            Added to the base URL; begins with a slash.
        payload
            The body.
        headers
            Of the request, a key among them.
        final
            As of :meth:`get`.
        """
        body = json.dumps(payload, ensure_ascii=False).encode()
        return await self._ask("POST", path, {"Content-Type": "application/json", **(headers or {})}, body, final)

    async def _ask(
        self,
        method: Literal["GET", "POST"],
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        final: Callable[[Reply], bool] | None,
    ) -> Reply:
        fields = (("Accept", "application/json"), *headers.items())
        if any(name.lower() == "accept" for name in headers):
            fields = tuple(headers.items())
        request = FetchRequest(self._base + path, method, fields, body)
        reply = await self._once(request)
        wait = self._wait(reply)
        if wait is None or (final is not None and final(reply)):
            return reply
        await self._sleep(wait)
        return await self._once(request)

    def _wait(self, reply: Reply) -> float | None:
        """Return the seconds after which to ask once more, or None."""
        if reply.status not in RETRIED:
            return None
        wait = reply.retry_after if reply.retry_after is not None else 1.0
        return wait if wait <= LONGEST_WAIT and wait + 2 < self.seconds_left else None

    async def _once(self, request: FetchRequest) -> Reply:
        try:
            got = await self._retriever.retrieve(
                request,
                admission=self._admission,
                on_phase=lambda _phase: None,
                deadline=self.deadline,
                accept=lambda _head: Disposition(MAX_ANSWER, "error", setting=""),
                retry=False,  # whether it is worth it, the body tells
            )
        except WebResearchError as error:
            raise _unanswered(error) from None
        headers: dict[str, str] = {}
        for name, value in got.head.headers:
            headers.setdefault(name, value)
        return Reply(got.head.status, headers, got.body)

    @staticmethod
    def check(reply: Reply, kinds: Mapping[int, ErrorKind] | None = None, *, message: str = "", code: str = "") -> None:
        """Raise for every status but 2xx.

        Parameters
        ----------
        reply
            An answer.
        kinds
            What statuses mean where a service differs from :data:`MEANINGS`.
        message
            What the service says, without secrets.
        code
            Its own word for it.

        Raises
        ------
        ProviderError
            With the kind that the status stands for.
        """
        if 200 <= reply.status <= 299:
            return
        kind = (kinds or {}).get(reply.status) or MEANINGS.get(reply.status) or "bad_request"
        if reply.status >= 500 and reply.status not in (kinds or {}):
            kind = "unreachable"
        said = message or f"the service answered with the status {reply.status}"
        raise ProviderError(kind, said, http_status=reply.status, code=code, retry_after=reply.retry_after)


MEANINGS: Mapping[int, ErrorKind] = {
    400: "bad_request",
    401: "bad_key",
    402: "quota",
    403: "forbidden",
    404: "bad_request",
    408: "timeout",
    422: "bad_request",
    429: "rate_limited",
    504: "timeout",
}
"""What statuses mean for most services."""

_UNANSWERED: Mapping[str, ErrorKind] = {
    "timeout": "timeout",
    "invalid_url": "bad_request",
    "too_large": "bad_payload",
    "bad_response": "bad_payload",
    "bad_encoding": "bad_payload",
    "headers_too_large": "bad_payload",
    "too_many_redirects": "bad_payload",
    "not_allowed": "forbidden",
}


def _unanswered(error: WebResearchError) -> ProviderError:
    message = error.message
    if error.code == "too_many_redirects":
        message = "the service redirects, which is not followed: its URL must be the final one, https where it is that"
    return ProviderError(_UNANSWERED.get(error.code, "unreachable"), message, code=error.code)


def _parsed(body: bytes) -> Any:
    return json.loads(body, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
