"""One retrieval: request, redirects, the polite retry, and the final answer's body.

Each hop is a request of its own through the guarded transport, which gives its answer raw. Nothing is kept between
hops but the chain: no cookie, no connection, and the caller's headers and body only while the origin stays the same.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import httpx

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.errors import BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.models import READS, FetchRequest, Hop, OnPhase
from jupyter_webresearch.net.answer import Disposition, ResponseHead, Retrieved
from jupyter_webresearch.net.body import Body, BodyReader, too_large
from jupyter_webresearch.net.content_type import SNIFF_BYTES, needs_sniffing, parse_content_type, sniff
from jupyter_webresearch.net.decoding import encodings_of
from jupyter_webresearch.net.headers import check_request, outgoing_headers
from jupyter_webresearch.net.redirects import REDIRECTS, as_redirect, check_location, next_method
from jupyter_webresearch.net.retry_after import RETRY_STATUSES, seconds_to_wait
from jupyter_webresearch.policy.admission import Admission
from jupyter_webresearch.policy.redactor import Redactor
from jupyter_webresearch.policy.urls import CheckedURL

__all__ = ["Disposition", "ResponseHead", "Retrieved", "Retriever"]

RETRY_MARGIN = 3.0
"""Seconds that must be left for the answer after a polite wait."""

_BODILESS = frozenset({204, 205, 304})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DIGITS = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class _Step:
    """What the next request of a chain carries."""

    url: CheckedURL
    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None


@dataclass
class _Chain:
    """What is remembered of a chain."""

    requested: CheckedURL
    admission: Admission
    started: float
    carries: bool
    cut: float | None = None
    hops: list[Hop] = field(default_factory=list)
    redirects: int = 0
    retried: bool = False
    insecure: bool = False


class Retriever:
    """Retrieves over the guarded transport.

    Parameters
    ----------
    transport
        A :class:`~jupyter_webresearch.net.transport.GuardedTransport`, or what behaves as one.
    settings
        Limits and identity.
    clock
        Time for deadlines, hops and Retry-After dates.
    sleep
        Waits for the polite retry.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport,
        settings: WebFetch,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._clock = clock
        self._sleep = sleep

    async def retrieve(
        self,
        request: FetchRequest,
        *,
        admission: Admission,
        on_phase: OnPhase,
        deadline: float,
        accept: Callable[[ResponseHead], Disposition],
        cut: float | None = None,
        retry: bool = True,
    ) -> Retrieved:
        """Retrieve one URL.

        Parameters
        ----------
        request
            As the caller wrote it; ``url``, ``method``, ``headers`` and ``body`` are used.
        admission
            Judges the URL and every Location, and lets each request out.
        on_phase
            Called with ``resolving``, ``connecting``, ``receiving``.
        deadline
            On the clock's monotonic scale, in seconds; all is over by then.
        accept
            Called with the final answer's head before its body is read; whatever it raises ends the retrieval. Not
            called when there is no body by definition: HEAD, 204, 205, 304.
        cut
            On the same scale: a body that is not complete by then, or falls silent, ends there as one that breaks off.
        retry
            Whether a wait that the site asks for is kept and the request sent once more; else the answer is the last.

        Returns
        -------
        Retrieved
            For every status from 200 to 599; what a status means is the caller's to decide.

        Raises
        ------
        BadInput
            ``blocked_method``, ``blocked_header``, ``request_too_large`` or ``invalid_url``, before any packet.
        Refused
            By the policy, here or at a redirect (the message then begins ``redirect refused:``); also
            ``insecure_redirect``, ``redirect_refused``, ``save_refused``.
        Failed
            ``timeout``, ``too_many_redirects``, ``bad_response``, ``bad_encoding``, ``too_large`` and what the
            transport raises.
        """
        check_request(request, self._settings.max_request_body)
        started = self._clock.monotonic()
        first = _Step(
            admission.check_url(request.url, request.method.upper()),
            request.method.upper(),
            request.headers,
            request.body,
        )
        carries = bool(request.body or request.headers)
        chain = _Chain(first.url, admission, started, carries=carries, cut=cut, retried=not retry)
        with anyio.move_on_after(max(0.0, deadline - started)):
            return await self._follow(first, chain, on_phase, deadline, accept)
        raise Failed("timeout", f"no complete answer within {max(0.0, deadline - started):.0f} s")

    async def _follow(
        self,
        step: _Step,
        chain: _Chain,
        on_phase: OnPhase,
        deadline: float,
        accept: Callable[[ResponseHead], Disposition],
    ) -> Retrieved:
        while True:
            async with self._answer(step, chain, on_phase) as response:
                chain.hops.append(Hop(step.url.href, response.status_code, self._elapsed(chain)))
                locations = [value for name, value in response.headers.raw if name.lower() == b"location" and value]
                wait = self._wait(response, step, chain, deadline)
                if response.status_code in REDIRECTS and locations:
                    following = self._redirect(response.status_code, locations, step, chain)
                elif wait is None:
                    on_phase("receiving")
                    return await self._final(response, step, chain, accept)
                else:
                    following = step
            # The answer is closed unread by now: a redirect's body is never looked at.
            if wait is not None:
                await self._sleep(wait)
            step = following

    @asynccontextmanager
    async def _answer(self, step: _Step, chain: _Chain, on_phase: OnPhase) -> AsyncIterator[httpx.Response]:
        idle = self._settings.idle_timeout
        redirected = bool(chain.redirects)
        try:
            # What it adds first: where a credential can't be had, nothing is charged.
            added = await chain.admission.headers(step.url, redirected=redirected)
            await chain.admission.admit(step.url, method=step.method, body=step.body, redirected=redirected)
        except Refused as error:
            raise as_redirect(error) if redirected else error from error
        headers = outgoing_headers(self._settings, step.headers, step.body, added)
        extensions = {
            "admission": chain.admission,
            "on_phase": on_phase,
            "timeout": {"connect": idle, "read": idle, "write": idle, "pool": idle},
        }
        try:
            request = httpx.Request(
                step.method, step.url.href, headers=headers, content=step.body, extensions=extensions
            )
            response = await self._transport.handle_async_request(request)
        except WebResearchError as error:
            if chain.redirects and isinstance(error, (BadInput, Refused)):
                raise as_redirect(error) from error
            raise
        except httpx.InvalidURL as error:
            raise BadInput("invalid_url", "the URL is one that parsers read differently") from error
        except httpx.TimeoutException as error:
            raise Failed("timeout", f"the site sent nothing for {idle:g} s") from error
        except httpx.ProtocolError as error:
            raise Failed("bad_response", "the answer is not valid HTTP") from error
        except httpx.TransportError as error:
            raise Failed(
                "unreachable", f"no connection to {step.url.host}, port {step.url.port}, could be made, or it broke"
            ) from error
        try:
            yield response
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await response.aclose()

    def _redirect(self, status: int, locations: list[bytes], step: _Step, chain: _Chain) -> _Step:
        """Return the request that follows a redirect, or refuse it."""
        if chain.redirects >= self._settings.max_redirects:
            most = self._settings.max_redirects
            raise Failed("too_many_redirects", f"more than {most} redirects, the last from {step.url.href}")
        chain.redirects += 1
        method = next_method(status, step.method)
        url = check_location(chain.admission, step.url, locations, method)
        if step.url.scheme == "https" and url.scheme == "http":
            if chain.carries:
                raise Refused(
                    "insecure_redirect",
                    f"redirect refused: {url.href} is not encrypted, and the request carried headers or a body",
                )
            chain.insecure = True
        headers, body = step.headers, step.body
        if method != step.method:
            body = None
            headers = tuple((name, value) for name, value in headers if not name.lower().startswith("content-"))
        if url.origin != step.url.origin:
            if body:
                raise Refused(
                    "redirect_refused",
                    f"redirect refused: {url.origin} is another origin, and the request's body stays with its own",
                )
            headers = ()
        return _Step(url, method, headers, body)

    def _wait(self, response: httpx.Response, step: _Step, chain: _Chain, deadline: float) -> float | None:
        """Return the seconds after which to ask once more, or None when the answer is final."""
        if chain.retried or step.method not in READS:
            return None
        wait = self._retry_after(response.status_code, response.headers.get("retry-after", ""))
        if wait is None or self._clock.monotonic() + wait + RETRY_MARGIN > deadline:
            return None
        chain.retried = True
        return wait

    def _retry_after(self, status: int, asked: str) -> float | None:
        return seconds_to_wait(asked, self._clock.now()) if status in RETRY_STATUSES else None

    async def _final(
        self,
        response: httpx.Response,
        step: _Step,
        chain: _Chain,
        accept: Callable[[ResponseHead], Disposition],
    ) -> Retrieved:
        fetched = self._clock.now()
        _check_status(response, step)
        redactor = chain.admission.redactor()
        head = _head(response, step, redactor)
        if step.method == "HEAD" or head.status in _BODILESS:
            body = Body(Disposition(0))
        else:
            raw = _raw(response) if chain.cut is None else self._until(chain.cut, _raw(response))
            reader = BodyReader(raw, head.encodings, head.content_type, redactor)
            try:
                if needs_sniffing(head.content_type):
                    prefix = await reader.prefix(SNIFF_BYTES)
                    kind = sniff(prefix, head.content_type, head.charset_label)
                    head = replace(head, prefix=prefix, content_type=kind)
                disposition = accept(head)
                _check_announced(head, disposition)
                body = await reader.read(disposition)
            finally:
                await reader.aclose()
        return Retrieved(
            head=head,
            requested=chain.requested.href,
            url=step.url.href,
            method=step.method,
            hops=tuple(chain.hops),
            fetched=fetched,
            body=body.data,
            body_bytes=body.size,
            truncated=body.truncated,
            sha256=body.sha256,
            insecure_redirect=chain.insecure,
            seconds=self._elapsed(chain),
            retry_after=self._retry_after(head.status, head.header("retry-after")),
        )

    async def _until(self, cut: float, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield what comes until then; silence, too, counts as a connection that breaks."""
        while True:
            raw: bytes | None = None
            with anyio.move_on_after(max(0.0, cut - self._clock.monotonic())) as waiting:
                try:
                    raw = await anext(stream, None)
                except Failed as error:
                    if error.code != "timeout":
                        raise
                    raise Failed("bad_response", "the body fell silent before its end") from error
            if waiting.cancelled_caught:
                raise Failed("bad_response", "the body did not end in time")
            if raw is None:
                return
            yield raw

    def _elapsed(self, chain: _Chain) -> float:
        return self._clock.monotonic() - chain.started


def _check_status(response: httpx.Response, step: _Step) -> None:
    status = response.status_code
    if not 200 <= status <= 599:
        raise Failed("bad_response", f"the site answered with the status {status}, which HTTP does not know")
    if status == 206 and not any(name.lower() == "range" for name, _ in step.headers):
        raise Failed("bad_response", "the site answered with a part (206) although the whole was asked for")


def _check_announced(head: ResponseHead, disposition: Disposition) -> None:
    """Refuse a body by its announced size, before it is read, where it could only end in the same error."""
    announced = head.announced or 0
    if disposition.overflow == "error" and announced > disposition.limit:
        raise too_large(disposition)


def _raw(response: httpx.Response) -> AsyncIterator[bytes]:
    stream = response.stream
    if not isinstance(stream, httpx.AsyncByteStream):
        raise TypeError("the transport's stream is not asynchronous")
    return aiter(stream)


def _head(response: httpx.Response, step: _Step, redactor: Redactor | None) -> ResponseHead:
    raw = response.headers.raw
    if redactor is not None:
        raw = [(redactor.name(name), redactor.value(value)) for name, value in raw]
    headers = tuple((_text(name).lower(), _text(value)) for name, value in raw)
    essence, label = parse_content_type(_first(headers, "content-type"))
    length = _first(headers, "content-length")
    bodiless = step.method == "HEAD" or response.status_code in _BODILESS
    encodings = () if bodiless else encodings_of([value for name, value in headers if name == "content-encoding"])
    return ResponseHead(
        url=step.url.href,
        status=response.status_code,
        headers=headers,
        content_type=essence,
        charset_label=label,
        announced=int(length) if _DIGITS.fullmatch(length) and not encodings else None,
        encodings=encodings,
    )


def _first(headers: tuple[tuple[str, str], ...], name: str) -> str:
    return next((value for key, value in headers if key == name), "")


def _text(raw: bytes) -> str:
    """Read a header as UTF-8 where it is that, else as Latin-1, without what would control a terminal."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return _CONTROL.sub(" ", text)
