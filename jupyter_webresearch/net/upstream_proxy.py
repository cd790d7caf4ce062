"""The way through an operator's proxy: a tunnel to the address that was checked.

The proxy itself is configuration and exempt from the guard. What is asked of it is a connection (CONNECT, RFC 9110,
9.3.6) to an address, which it does not choose, or to a name where the operator lets it resolve names.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from ipaddress import IPv6Address

import anyio
import h11
import httpcore

from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.net.connections import both_families, close_now
from jupyter_webresearch.net.dialler import Dialler
from jupyter_webresearch.net.proxy_choice import ProxyChoice, choose_proxy
from jupyter_webresearch.net.resolver import Resolver, SystemResolver
from jupyter_webresearch.net.tunnel import Tunnel
from jupyter_webresearch.policy.addresses import IPAddress, parse_address
from jupyter_webresearch.secrets_source import SecretThreads

__all__ = ["UpstreamProxy"]

MAX_HEAD = 16 * 1024
"""Bytes of the proxy's answer, interim answers included."""

CREDENTIALS = "WebPolicy.upstream_proxy_credentials"


class UpstreamProxy:
    """Connects through one proxy. Used on one loop.

    Parameters
    ----------
    choice
        Which proxy, and for which hosts.
    dialler, resolver
        The way to the proxy, and what knows its name.
    """

    def __init__(self, choice: ProxyChoice, *, dialler: Dialler, resolver: Resolver) -> None:
        self.resolves_names = choice.resolves_names
        self._choice = choice
        self._dialler = dialler
        self._resolver = resolver
        self._threads = SecretThreads()

    @classmethod
    def of(
        cls, policy: WebPolicy, settings: WebFetch, *, dialler: Dialler, environ: Mapping[str, str] = os.environ
    ) -> UpstreamProxy | None:
        """Return the proxy that the settings name, or None.

        Parameters
        ----------
        policy
            ``upstream_proxy`` and what belongs to it.
        settings
            ``dns_timeout``.
        dialler
            The way to the proxy, from the source address.
        environ
            For ``trust_env_proxy``, and for credentials that are kept there.

        Raises
        ------
        Failed
            As :func:`~jupyter_webresearch.net.proxy_choice.choose_proxy`.
        """
        choice = choose_proxy(policy, environ)
        # An operator's name may be one of /etc/hosts or of the search list.
        resolver = SystemResolver(settings.dns_timeout, absolute=False)
        return None if choice is None else cls(choice, dialler=dialler, resolver=resolver)

    def serves(self, host: str) -> bool:
        """Whether connections to a host go through the proxy."""
        return not self._choice.spares(host)

    async def connect(self, address: IPAddress, port: int, seconds: float) -> httpcore.AsyncNetworkStream:
        """Open a tunnel to an address that was judged.

        Parameters
        ----------
        address
            Where to.
        port
            TCP port.
        seconds
            For all of it.

        Returns
        -------
        httpcore.AsyncNetworkStream
            Its ``get_extra_info("server_addr")`` is the address that the proxy was asked for.

        Raises
        ------
        Failed
            ``proxy_failed``, ``proxy_auth``, ``credential_unavailable``.
        """
        host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
        return await self._tunnel(f"{host}:{port}", (str(address), port), seconds)

    async def connect_name(self, host: str, port: int, seconds: float) -> httpcore.AsyncNetworkStream:
        """Open a tunnel to a name, whose address the proxy chooses; otherwise as :meth:`connect`.

        Parameters
        ----------
        host
            Canonical name.
        port
            TCP port.
        seconds
            For all of it.
        """
        return await self._tunnel(f"{host}:{port}", (host, port), seconds)

    async def _tunnel(self, authority: str, target: tuple[str, int], seconds: float) -> httpcore.AsyncNetworkStream:
        try:
            with anyio.fail_after(seconds):
                credentials = await self._credentials()
                stream = await self._reach(seconds)
                try:
                    await _ask(stream, authority, credentials)
                except BaseException:
                    await close_now(stream)
                    raise
                return Tunnel(stream, target)
        except TimeoutError:
            message = f"the upstream proxy did not open a connection within {seconds:.3g} s"
            raise Failed("proxy_failed", message) from None

    async def _reach(self, seconds: float) -> httpcore.AsyncNetworkStream:
        """Connect to the proxy, at the first of its addresses that answers."""
        given = parse_address(self._choice.host)
        try:
            answers = [str(given)] if given is not None else await self._resolver.resolve(self._choice.host)
        except Failed:
            raise Failed("proxy_failed", "the name of the upstream proxy has no address; is it spelt right?") from None
        known = [address for address in map(parse_address, answers) if address is not None]
        candidates = both_families(known) if known else []
        deadline = anyio.current_time() + seconds
        for number, address in enumerate(candidates):
            share = (deadline - anyio.current_time()) / (len(candidates) - number)
            try:
                with anyio.fail_after(share):
                    return await self._dialler.connect(address, self._choice.port, share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout, OSError):  # TimeoutError is an OSError
                continue
        raise Failed("proxy_failed", "no connection to the upstream proxy could be made")

    async def _credentials(self) -> str:
        """Return ``user:password``, read now, or an empty string."""
        if self._choice.credentials is None:
            return ""
        try:
            return await self._threads.run(self._choice.credentials)
        except Failed as error:
            message = f"the credentials for the upstream proxy: {error.message}"
            raise Failed(error.code, message, setting=CREDENTIALS) from None


async def _ask(stream: httpcore.AsyncNetworkStream, authority: str, credentials: str) -> None:
    """Ask for a tunnel, and read no more than the head of the answer."""
    headers = [("Host", authority)]
    if credentials:
        headers.append(("Proxy-Authorization", "Basic " + base64.b64encode(credentials.encode()).decode("ascii")))
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
    try:
        request = connection.send(h11.Request(method="CONNECT", target=authority, headers=headers))
        await stream.write((request or b"") + (connection.send(h11.EndOfMessage()) or b""))
        answer = await _answer(stream, connection)
    except h11.RemoteProtocolError:
        raise Failed("proxy_failed", "the answer of the upstream proxy is not valid HTTP") from None
    except (httpcore.NetworkError, OSError):
        raise Failed("proxy_failed", "the connection to the upstream proxy broke") from None
    if answer.status_code == 407:
        message = "the upstream proxy asks for credentials; name their source in"
        if credentials:
            message = "the upstream proxy does not accept the credentials that it was given; see"
        raise Failed("proxy_auth", f"{message} {CREDENTIALS}")
    if not 200 <= answer.status_code <= 299:
        message = f"the upstream proxy answered with the status {answer.status_code} instead of connecting"
        raise Failed("proxy_failed", message)
    if connection.trailing_data[0]:
        # Neither TLS nor HTTP lets a server speak first: this is the proxy's own.
        raise Failed("proxy_failed", "the upstream proxy sent data of its own where the connection should begin")


async def _answer(stream: httpcore.AsyncNetworkStream, connection: h11.Connection) -> h11.Response:
    left = MAX_HEAD
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            return event
        if isinstance(event, h11.InformationalResponse):
            continue
        if event is not h11.NEED_DATA:
            raise Failed("proxy_failed", "the answer of the upstream proxy is not valid HTTP")
        if left <= 0:
            raise Failed("proxy_failed", f"the answer of the upstream proxy is larger than {MAX_HEAD:,} bytes")
        data = await stream.read(min(left, 4096))
        if not data:
            raise Failed("proxy_failed", "the upstream proxy closed the connection before its answer was complete")
        left -= len(data)
        connection.receive_data(data)
