"""The one way out: every request to the web leaves here.

Check the URL, resolve once, judge every address, count the request, dial one of those judged, check who answered, TLS
against the host name, one HTTP/1.1 exchange, close. No connection is reused, nothing comes from the environment. An
operator's proxy, if there is one, is asked for a tunnel to the address that was judged, and all the rest is the same.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio
import anyio.to_thread
import h11
import httpcore
import httpx

from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.errors import BadInput, Failed, Refused
from jupyter_webresearch.net.connections import both_families, close_now
from jupyter_webresearch.net.dialler import Dialler, SocketDialler
from jupyter_webresearch.net.resolver import Resolver, SystemResolver
from jupyter_webresearch.net.trust import tls_context
from jupyter_webresearch.net.unlogged import keep_unlogged
from jupyter_webresearch.net.upstream_proxy import UpstreamProxy
from jupyter_webresearch.policy.addresses import IPAddress, parse_address
from jupyter_webresearch.policy.admission import Admission
from jupyter_webresearch.policy.urls import CheckedURL

__all__ = ["GuardedTransport"]

MAX_ATTEMPTS = 4
"""Addresses of one host that are dialled, both families among them."""
MAX_HEADER_FIELDS = 256
"""Header fields of one answer, those of interim answers included."""
MAX_INTERIM = 16
"""Interim answers (1xx) before the final one."""

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_BAD_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # RFC 9110, 5.5
_REFUSED_METHODS = (b"CONNECT", b"TRACE")
_PROXY_RESOLVES = "WebPolicy.upstream_proxy_resolves"
# Of OpenSSL (X509_V_ERR_*): issuer not found, self-signed, self-signed in the chain, issuer not local, leaf unverified.
_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})


class GuardedTransport(httpx.AsyncBaseTransport):
    """An httpx transport that sends nothing without an admission.

    Parameters
    ----------
    settings
        ``idle_timeout``, ``dns_timeout``, ``timeout`` (here: until the head of the answer is there), ``max_headers``.
    resolver, dialler, ssl_context
        What stands for DNS, for the way to an address, and for the trusted authorities; by default the machine's.
    proxy
        Through which connections go out, to the hosts that it serves.
    ca_bundle
        A PEM file of authorities that are trusted besides the machine's.
    """

    def __init__(
        self,
        settings: WebFetch,
        *,
        resolver: Resolver | None = None,
        dialler: Dialler | None = None,
        ssl_context: ssl.SSLContext | None = None,
        proxy: UpstreamProxy | None = None,
        ca_bundle: str = "",
    ) -> None:
        self._settings = settings
        self._resolver: Resolver = resolver or SystemResolver(settings.dns_timeout)
        self._dialler: Dialler = dialler or SocketDialler()
        self._ssl_context = ssl_context
        self._proxy = proxy
        self._ca_bundle = ca_bundle

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request over a connection of its own.

        Parameters
        ----------
        request
            Its headers go out as they are, except ``Host``, which is the URL's. ``extensions["admission"]`` judges URL
            and addresses and counts the request; ``extensions["on_phase"]`` is called with ``resolving`` and
            ``connecting``.

        Returns
        -------
        httpx.Response
            Its stream is raw, not decoded; closing it, or reading it to the end, closes the connection.

        Raises
        ------
        BadInput, Refused
            What the admission's ``check_url``, ``check_addresses`` and ``charge`` raise; ``blocked_method``,
            ``bad_request``
            for a header that can't be sent.
        Failed
            ``unresolved``, ``unreachable``, ``tls``, ``timeout``, ``bad_response``, ``headers_too_large``. Behind a
            proxy also ``proxy_failed``, ``proxy_auth``, ``tls_intercepted``, ``credential_unavailable``. Reading the
            stream raises ``timeout``, ``tls`` and ``bad_response``.
        """
        on_phase: Callable[[str], None] = request.extensions.get("on_phase", _no_phase)
        admission: Admission = request.extensions["admission"]  # without one nothing goes out
        keep_unlogged()
        url = admission.check_url(str(request.url), request.method)
        if not _same_host(request.url, url):
            raise BadInput("invalid_url", "the URL names different hosts to different parsers")
        headers = _request_headers(request, url)
        try:
            with anyio.fail_after(self._settings.timeout):
                stream = await self._open(url, admission, on_phase)
                admission.note_sending()
                return await self._exchange(request, url, headers, stream)
        except TimeoutError:
            raise Failed("timeout", f"{url.host} did not answer in {self._settings.timeout:g} s") from None

    async def _open(
        self, url: CheckedURL, admission: Admission, on_phase: Callable[[str], None]
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, judge, connect, and secure the connection."""
        proxy = self._proxy if self._proxy is not None and self._proxy.serves(url.host) else None
        on_phase("resolving")
        if proxy is not None and proxy.resolves_names and url.address is None:
            await admission.charge(url)
            on_phase("connecting")
            stream = await proxy.connect_name(url.host, url.port, self._settings.idle_timeout)
        else:
            addresses = await self._addresses(url, admission, proxy)
            on_phase("connecting")
            stream = await self._connect(url, addresses, proxy)
        return await self._secure(url, stream, proxy) if url.scheme == "https" else stream

    async def _addresses(
        self, url: CheckedURL, admission: Admission, proxy: UpstreamProxy | None
    ) -> tuple[IPAddress, ...]:
        try:
            answers = [str(url.address)] if url.address is not None else await self._resolver.resolve(url.host)
            addresses = admission.check_addresses(url, answers)
        except Failed as error:
            await admission.charge(url)  # only what is refused is free
            if proxy is None:
                raise
            message = f"{error.message}; where only the upstream proxy knows names, set {_PROXY_RESOLVES}"
            raise Failed(error.code, message, setting=_PROXY_RESOLVES) from None
        await admission.charge(url)
        return addresses

    async def _connect(
        self, url: CheckedURL, addresses: Sequence[IPAddress], proxy: UpstreamProxy | None
    ) -> httpcore.AsyncNetworkStream:
        """Dial the judged addresses in turn, and return the first connection that stands."""
        candidates = both_families(addresses)[:MAX_ATTEMPTS]
        # One wording for closed, filtered and silent: it would tell a page what is there.
        failure = Failed("unreachable", f"no connection to {url.host}, port {url.port}, could be made")
        deadline = anyio.current_time() + self._settings.idle_timeout
        for number, address in enumerate(candidates):
            # What an attempt leaves unused serves those after it.
            seconds = (deadline - anyio.current_time()) / (len(candidates) - number)
            try:
                if proxy is not None:
                    stream = await proxy.connect(address, url.port, seconds)
                else:
                    with anyio.fail_after(seconds):
                        stream = await self._dialler.connect(address, url.port, seconds)
            except (httpcore.ConnectError, httpcore.ConnectTimeout, OSError):  # TimeoutError is an OSError
                continue
            except Failed as error:
                if error.code != "proxy_failed":
                    raise
                failure = error  # it may reach another address
                continue
            if _peer(stream) != address:
                await close_now(stream)
                raise Refused("blocked_address", f"another address answered than the one checked for {url.host}")
            return stream
        raise failure

    async def _secure(
        self, url: CheckedURL, stream: httpcore.AsyncNetworkStream, proxy: UpstreamProxy | None
    ) -> httpcore.AsyncNetworkStream:
        try:
            if self._ssl_context is None:
                make = partial(tls_context, self._ca_bundle)
                self._ssl_context = await anyio.to_thread.run_sync(make, abandon_on_cancel=True)
            return await stream.start_tls(self._ssl_context, url.host, self._settings.idle_timeout)
        except BaseException as error:
            await close_now(stream)
            if isinstance(error, (httpcore.ConnectTimeout, httpcore.ConnectError, OSError, ValueError)):
                raise _tls_failed(url, error, self._settings.idle_timeout, proxied=proxy is not None) from None
            raise

    async def _exchange(
        self,
        request: httpx.Request,
        url: CheckedURL,
        headers: list[tuple[bytes, bytes]],
        stream: httpcore.AsyncNetworkStream,
    ) -> httpx.Response:
        idle = self._settings.idle_timeout
        connection = _Connection(url, stream, self._settings.max_headers)
        try:
            with _readable_errors(url, idle):
                answer = await connection.handle_async_request(
                    httpcore.Request(
                        request.method.encode("ascii"),
                        httpcore.URL(
                            scheme=url.scheme, host=url.host, port=url.port, target=url.target.encode("ascii")
                        ),
                        headers=headers,
                        content=request.stream,
                        extensions={"timeout": {"read": idle, "write": idle}},
                    )
                )
            _check_status(answer.status, url)
        except BaseException:
            await close_now(connection)
            raise
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(url, answer, connection, idle),
            extensions={"http_version": answer.extensions["http_version"]},
            request=request,
        )


class _Connection(httpcore.AsyncHTTP11Connection):
    """One exchange, with the header fields of all its answers limited together, and the interim answers counted.

    httpcore alone waits through any number of interim answers, and h11 limits only the size of each.
    """

    def __init__(self, url: CheckedURL, stream: httpcore.AsyncNetworkStream, max_headers: int) -> None:
        self.MAX_INCOMPLETE_EVENT_SIZE = max_headers  # read by the constructor: h11's limit for one answer
        super().__init__(_origin(url), stream)
        self._host = url.host
        self._bytes_left = max_headers
        self._fields_left = MAX_HEADER_FIELDS
        self._interim_left = MAX_INTERIM

    async def _receive_event(  # the signature is httpcore's
        self,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> h11.Event | type[h11.PAUSED]:
        event = await super()._receive_event(timeout=timeout)
        if isinstance(event, (h11.InformationalResponse, h11.Response)):
            self._bytes_left -= (
                16 + len(event.reason) + sum(len(name) + len(value) + 4 for name, value in event.headers)
            )
            self._fields_left -= len(event.headers)
            if self._bytes_left < 0 or self._fields_left < 0:
                raise _headers_too_large(self._host)
        if isinstance(event, h11.InformationalResponse):
            self._interim_left -= 1
            if self._interim_left < 0:
                raise Failed("bad_response", f"{self._host} sent more than {MAX_INTERIM} interim answers")
        return event


class _Body(httpx.AsyncByteStream):
    """The raw body. Its end, an error and :meth:`aclose` all close the connection."""

    def __init__(self, url: CheckedURL, answer: httpcore.Response, connection: _Connection, idle: float) -> None:
        self._url = url
        self._answer = answer
        self._connection = connection
        self._idle = idle

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            with _readable_errors(self._url, self._idle):
                async for chunk in self._answer.aiter_stream():
                    yield chunk
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        await close_now(self._connection)


def _no_phase(_phase: str) -> None:
    """Nobody wants to know."""


def _origin(url: CheckedURL) -> httpcore.Origin:
    return httpcore.Origin(url.scheme.encode("ascii"), url.host.encode("ascii"), url.port)


def _same_host(theirs: httpx.URL, ours: CheckedURL) -> bool:
    host = theirs.raw_host.decode("ascii")
    if ours.address is not None:
        return parse_address(host) == ours.address
    return host.lower().removesuffix(".") == ours.host


def _request_headers(request: httpx.Request, url: CheckedURL) -> list[tuple[bytes, bytes]]:
    """Check method and fields, and put our own ``Host`` in front."""
    method = request.method.encode("ascii", "replace")
    if not _TOKEN.fullmatch(method) or method.upper() in _REFUSED_METHODS:
        raise BadInput("blocked_method", f"the method {request.method!r} is not sent")
    headers = [(b"Host", url.authority.encode("ascii"))]
    for name, value in request.headers.raw:
        if not _TOKEN.fullmatch(name) or _BAD_VALUE.search(value) or value != value.strip(b" \t"):
            raise BadInput("bad_request", f"the header {name!r} holds a character that no header may hold")
        if name.lower() != b"host":
            headers.append((name, value))
    return headers


def _peer(stream: httpcore.AsyncNetworkStream) -> IPAddress | None:
    """Return who answered; None, which equals no address, when the stream can't say."""
    try:
        return parse_address(str(stream.get_extra_info("server_addr")[0]))
    except (TypeError, IndexError, LookupError, OSError):
        return None


@contextmanager
def _readable_errors(url: CheckedURL, idle: float) -> Iterator[None]:
    """Turn what HTTP, TLS and sockets raise into our vocabulary; their texts may name addresses, ours does not."""
    try:
        yield
    except (httpcore.ReadTimeout, httpcore.WriteTimeout):
        raise _silent(url, idle) from None
    except httpcore.RemoteProtocolError as error:
        if getattr(error.__cause__, "error_status_hint", None) == 431:
            raise _headers_too_large(url.host) from None
        raise Failed("bad_response", f"the answer of {url.host} is not valid HTTP") from None
    except (httpcore.LocalProtocolError, h11.LocalProtocolError):
        raise BadInput("bad_request", "the request can't be sent as HTTP") from None
    except ssl.SSLError:
        raise Failed("tls", f"the TLS connection to {url.host} broke") from None
    except (httpcore.NetworkError, OSError):
        raise Failed("unreachable", f"the connection to {url.host} broke") from None


def _check_status(status: int, url: CheckedURL) -> None:
    """Refuse 101, which was not asked for, and numbers that are no status (RFC 9110, 15)."""
    if not 200 <= status <= 599:
        raise Failed("bad_response", f"{url.host} answered with the status {status}")


def _silent(url: CheckedURL, idle: float) -> Failed:
    return Failed("timeout", f"{url.host} was silent for {idle:g} s", setting="WebFetch.idle_timeout")


def _headers_too_large(host: str) -> Failed:
    return Failed("headers_too_large", f"the headers that {host} sent are larger than the limit")


def _tls_failed(url: CheckedURL, error: BaseException, idle: float, *, proxied: bool) -> Failed:
    hint = f"port {url.port} may speak plain http://"
    if isinstance(error, httpcore.ConnectTimeout):
        message = f"{url.host} was silent for {idle:g} s in the TLS handshake; {hint}"
        return Failed("timeout", message, setting="WebFetch.idle_timeout")
    cause = error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        if proxied and cause.verify_code in _UNKNOWN_AUTHORITY:
            message = (
                f"the certificate of {url.host} comes from an authority unknown here, perhaps that of a proxy which "
            )
            message += "opens TLS; its PEM file belongs in WebPolicy.ca_bundle"
            return Failed("tls_intercepted", message)
        return Failed("tls", f"the certificate of {url.host} was not accepted: {cause.verify_message}")
    return Failed("tls", f"the TLS handshake with {url.host} failed; {hint}")
