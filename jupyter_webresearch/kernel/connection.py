"""One connection to a Jupyter server, used for nothing until the server has proved itself on it."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from jupyter_webresearch.kernel.client import ServerLost
from jupyter_webresearch.kernel.discovery import ServerAddress
from jupyter_webresearch.kernel.proof import SERVER_HEADER, KernelIdentity

__all__ = ["NOT_UNDERSTOOD", "PROTOCOL", "ProvenConnection", "connect_to"]

PROTOCOL = 1
"""Version of the REST routes that this client speaks; a server of another version is not used."""

NOT_UNDERSTOOD = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading an answer can raise that is not of the form agreed on."""

HELLO_TIMEOUT = 5.0
"""Longest silence of a server before it has proved itself, seconds."""

HELLO_DEADLINE = 10.0
"""Seconds for all of ``hello``: whatever listens there could send an octet at a time."""

HELLO_LIMIT = 64 * 1024
LONGEST = 24 * 3600.0  # seconds; far beyond what the settings allow, and what a socket takes as its timeout


class ProvenConnection:
    """A connection whose first exchange, ``hello``, proves kernel and server to each other.

    Neither proxies nor ``.netrc`` are looked at. The connection is never reopened: whatever listens later at the same
    place would have to prove itself again.

    Parameters
    ----------
    address
        Where the server is.
    identity
        Who this kernel is.
    wall_time
        The clock.
    """

    def __init__(
        self, address: ServerAddress, identity: KernelIdentity, *, wall_time: Callable[[], float] = time.time
    ) -> None:
        self._address = address
        self._identity = identity
        self._wall_time = wall_time
        self._http: http.client.HTTPConnection | None = None

    def open(self) -> dict[str, Any]:
        """Connect and exchange proofs.

        Returns
        -------
        dict
            What the server said in ``hello``: ``protocol``, ``version``, ``timeout``, ``save_timeout`` and
            ``search_timeout`` in seconds, ``max_body`` in bytes.

        Raises
        ------
        ServerLost
            When nothing answers, or what answers is not this kernel's server.
        """
        cut = threading.Timer(HELLO_DEADLINE, self.abort)
        cut.daemon = True
        try:
            self._http = connect_to(self._address)
            cut.start()
            hello = self._greet(self._http)
        except (OSError, http.client.HTTPException, *NOT_UNDERSTOOD) as error:
            self.close()
            raise ServerLost from error
        except BaseException:
            self.close()
            raise
        finally:
            cut.cancel()
        if hello is None:
            self.close()
            raise ServerLost
        return hello

    def _greet(self, connection: http.client.HTTPConnection) -> dict[str, Any] | None:
        """Exchange proofs; None when the server has none, or another protocol, or will not go on."""
        target = self._target("hello")
        proof = self._identity.prove("POST", target, b"", self._wall_time())
        connection.request("POST", target, b"", {"Authorization": proof.header})
        response = connection.getresponse()
        body = response.read(HELLO_LIMIT)
        if response.status != 200 or not self._identity.trusts(proof, response.getheader(SERVER_HEADER, "")):
            return None
        hello = json.loads(body)
        if hello["protocol"] != PROTOCOL or response.will_close or not response.isclosed():
            return None
        times = [float(hello[name]) for name in ("timeout", "save_timeout", "search_timeout")]
        return dict(hello) if all(0 < seconds <= LONGEST for seconds in times) and hello["max_body"] + 0 >= 0 else None

    def request(
        self, method: str, route: str, body: bytes = b"", headers: dict[str, str] | None = None, *, timeout: float
    ) -> http.client.HTTPResponse:
        """Send a request over the proven connection.

        Parameters
        ----------
        method, route
            Route below ``webresearch/``, with its query.
        body, headers
            As sent, the proof added.
        timeout
            Longest silence, seconds.
        """
        if self._http is None or self._http.sock is None:
            raise ServerLost
        target = self._target(route)
        proof = self._identity.prove(method, target, body, self._wall_time())
        self._http.sock.settimeout(timeout)
        self._http.request(method, target, body, {**(headers or {}), "Authorization": proof.header})
        return self._http.getresponse()

    def abort(self) -> None:
        """Cut the connection from another thread: who reads on it finds it at its end."""
        sock = self._http.sock if self._http is not None else None
        if sock is not None:
            try:
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # an SSLSocket's own would go on in plain text
            except OSError:  # it has ended already
                return

    def close(self) -> None:
        """Close the connection, which cancels what the server does for it."""
        if self._http is not None:
            self._http.close()

    def _target(self, route: str) -> str:
        return f"{self._address.base}webresearch/{route}"

    def __enter__(self) -> ProvenConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect_to(address: ServerAddress) -> http.client.HTTPConnection:
    """Connect to a server on this machine, round all proxies; errors are those of :mod:`socket` and :mod:`ssl`."""
    connection: http.client.HTTPConnection
    if address.socket:
        connection = _UnixConnection(address.socket, timeout=HELLO_TIMEOUT)
    elif address.tls:
        context = _tls_context(address)
        connection = http.client.HTTPSConnection(address.host, address.port, timeout=HELLO_TIMEOUT, context=context)
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=HELLO_TIMEOUT)
    connection.connect()
    connection.auto_open = 0  # http.client would reconnect by itself after the peer closed
    return connection


def _tls_context(address: ServerAddress) -> ssl.SSLContext:
    """Trust exactly the file that the server presents, or else the system's authorities."""
    if address.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # its certificate names the public host; we know the very certificate
        context.load_verify_locations(cafile=address.certificate)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the leaf itself is the anchor
    else:
        context = ssl.create_default_context()
    if address.client_certificate and address.client_key:
        context.load_cert_chain(address.client_certificate, address.client_key)
    return context


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket; the host is what Jupyter's own check of the Host header accepts."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        family = getattr(socket, "AF_UNIX", None)
        if family is None:
            raise OSError("this platform has no Unix sockets")
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise
