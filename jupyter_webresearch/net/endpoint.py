"""A client for one endpoint of the operator's configuration, such as the classifier's API.

What an operator configured is exempt from the guard's rules on hosts, ports and addresses, and only for its own client:
its requests go to that scheme, host and port, and nowhere else. All the rest holds as for the web: one transport, no
proxy, nothing from the environment, bounded bodies, one deadline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import anyio
import anyio.to_thread
import httpx

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebFetch, settings_of
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.net.answer import Disposition, ResponseHead, Retrieved
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.policy.addresses import IPAddress, parse_address
from jupyter_webresearch.policy.urls import CheckedURL, parse_url
from jupyter_webresearch.secrets_source import read_secret

__all__ = ["Endpoint", "EndpointAdmission", "EndpointStatus", "endpoint_settings"]

MAX_BYTES = 256 * 1024
"""Most bytes of an answer, unless the caller says otherwise."""

MAX_REQUEST = 1024 * 1024
"""Most bytes of a request."""

LARGE = 16 * 1024
"""Bytes from which JSON is parsed on a thread."""


class EndpointStatus(Failed):
    """The endpoint answered with a status that is not success; its code is ``http_status``.

    Parameters
    ----------
    answered
        The HTTP status.
    retry_after
        Seconds that the endpoint asks to wait, when it says so.
    """

    def __init__(self, answered: int, retry_after: float | None = None) -> None:
        super().__init__("http_status", f"the endpoint answered with the status {answered}", retry_after=retry_after)
        self.answered = answered


def endpoint_settings(settings: WebFetch, timeout: float) -> WebFetch:
    """Return the settings with which endpoints are asked: as pages are, but patiently, and without redirects.

    Parameters
    ----------
    settings
        Those of pages; identity, DNS and header limits stay.
    timeout
        Longest wait of any call, in seconds: a model may be silent that long before it answers.
    """
    own: dict[str, Any] = {
        "accept_language": "",
        "idle_timeout": min(max(timeout, 0.5), 120.0),
        "max_redirects": 0,
        "max_request_body": MAX_REQUEST,
        "timeout": min(max(timeout, 1.0), 600.0),
    }
    return WebFetch(**{name: getattr(settings, name) for name in settings_of(WebFetch)} | own)


class Endpoint:
    """Asks one endpoint. Used on the engine's loop only.

    Parameters
    ----------
    transport
        A :class:`~jupyter_webresearch.net.transport.GuardedTransport` with :func:`endpoint_settings`, no upstream proxy
        and a resolver that knows this machine's short names.
    settings
        Identity and limits.
    clock
        Time for deadlines.
    url
        Absolute http(s) URL to which paths are added; any host and port.
    key
        Where the API's key is kept, as :func:`~jupyter_webresearch.secrets_source.read_secret` reads it, or what
        returns it; it is read for each request, on a thread. None is sent where this is empty.

    Raises
    ------
    BadInput
        ``invalid_url``.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport,
        settings: WebFetch,
        clock: Clock,
        url: str,
        *,
        key: str | Callable[[], str] = "",
    ) -> None:
        self._retriever = Retriever(transport, endpoint_settings(settings, settings.idle_timeout), clock)
        self._clock = clock
        self._base = parse_url(url).href.rstrip("/")
        self._admission = EndpointAdmission(parse_url(url), key)

    async def post_json(
        self,
        path: str,
        payload: Mapping[str, Any],
        *,
        timeout: float,  # noqa: ASYNC109
        max_bytes: int = MAX_BYTES,
    ) -> Any:
        """Send an object of JSON and return the JSON that comes back.

        Parameters
        ----------
        path
            Added to the endpoint's URL; begins with a slash.
        payload
            What is sent.
        timeout
            Seconds for all of it, reading the key included.
        max_bytes
            Most bytes of the answer, decoded.

        Raises
        ------
        EndpointStatus
            For any status but 2xx.
        BadInput
            ``request_too_large``.
        Failed
            ``unresolved``, ``unreachable``, ``tls``, ``timeout``, ``too_large``, ``credential_unavailable``;
            ``bad_response`` when it redirects or the answer is not JSON.
        """
        request = FetchRequest(
            self._base + path,
            "POST",
            (("Accept", "application/json"), ("Content-Type", "application/json")),
            json.dumps(payload).encode("ascii"),
        )
        deadline = self._clock.monotonic() + timeout
        try:
            answer = await self._retriever.retrieve(
                request,
                admission=self._admission,
                on_phase=_no_phase,
                deadline=deadline,
                accept=lambda head: _disposition(head, max_bytes),
            )
        except Failed as error:
            if error.code == "too_many_redirects":
                raise _bad("redirects, which is not followed") from error
            raise
        return await _parsed(answer)


class EndpointAdmission:
    """Lets out what goes to one scheme, host and port, whatever its addresses are, and adds the key.

    Parameters
    ----------
    url
        Of the endpoint.
    key
        See :class:`Endpoint`.
    """

    def __init__(self, url: CheckedURL, key: str | Callable[[], str]) -> None:
        self.origin = url.origin
        self._key = key

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        """Refuse any other origin; see :meth:`~jupyter_webresearch.policy.admission.Admission.check_url`."""
        checked = parse_url(url)
        if checked.origin != self.origin:
            raise Refused("not_allowed", f"{checked.origin} is not the endpoint that is configured", setting="")
        return checked

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        """Take them all; see :meth:`~jupyter_webresearch.policy.admission.Admission.check_addresses`."""
        addresses = [parse_address(answer) for answer in answers]
        known = tuple(dict.fromkeys(address for address in addresses if address is not None))
        if not known:
            raise Failed("unresolved", f"{url.host} has no address; is it spelt right?", setting="")
        return known

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        """Let it go; see :meth:`~jupyter_webresearch.policy.admission.Admission.admit`."""
        # Neither robots.txt nor budgets are about what an operator configured.

    async def charge(self, url: CheckedURL) -> None:
        """Count nothing; see :meth:`~jupyter_webresearch.policy.admission.Admission.charge`."""

    def note_sending(self) -> None:
        """Take no notice; see :meth:`~jupyter_webresearch.policy.admission.Admission.note_sending`."""

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        """Add the key; see :meth:`~jupyter_webresearch.policy.admission.Admission.headers`."""
        if not self._key:
            return ()
        read = self._key if callable(self._key) else partial(read_secret, self._key)
        return (("Authorization", f"Bearer {await anyio.to_thread.run_sync(read, abandon_on_cancel=True)}"),)

    def redactor(self) -> None:
        """Return None: what comes back is read by us alone."""


async def _parsed(answer: Retrieved) -> Any:
    if not 200 <= answer.head.status <= 299:
        raise EndpointStatus(answer.head.status, answer.retry_after)
    try:
        if len(answer.body) < LARGE:
            return _parse(answer.body)
        return await anyio.to_thread.run_sync(_parse, answer.body, abandon_on_cancel=True)
    except (ValueError, RecursionError):
        raise _bad("did not answer with JSON") from None


def _bad(what: str) -> Failed:
    # Where the endpoint is, is the operator's business: errors are told to notebooks and models.
    return Failed("bad_response", f"the endpoint {what}; is the URL in the settings right?")


def _disposition(head: ResponseHead, max_bytes: int) -> Disposition:
    if 200 <= head.status <= 299:
        return Disposition(max_bytes, "error", setting="")
    return Disposition(0)  # the status says enough, and the rest is whatever the endpoint pleases


def _parse(body: bytes) -> Any:
    return json.loads(body, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _no_phase(_phase: str) -> None:
    """Nobody watches."""
