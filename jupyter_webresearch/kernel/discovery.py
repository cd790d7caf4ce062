"""Where a server of ours may listen, in the order in which a kernel asks."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from jupyter_webresearch.running_servers import running_servers, server_port

__all__ = ["CERT_VARIABLE", "URL_VARIABLE", "ServerAddress", "address_of", "candidates", "hub_address"]

URL_VARIABLE = "JUPYTER_WEBRESEARCH_URL"
"""Exported by our server extension to the kernels that the server starts: its base URL, never with a token."""

CERT_VARIABLE = "JUPYTER_WEBRESEARCH_CERT"
"""Path of the certificate that an https server presents."""


@dataclass(frozen=True)
class ServerAddress:
    """One way to a Jupyter server.

    Attributes
    ----------
    base
        Its base URL's path, percent-encoded as the server expects it, with a slash at both ends.
    host, port
        TCP address; unused for a Unix socket.
    tls
        Whether it speaks https.
    socket
        Path of its Unix socket, or an empty string.
    certificate
        File of the only certificates to trust; an empty string for the system's.
    client_certificate, client_key
        Files with which a Hub that uses internal SSL has its servers called, or empty strings.
    """

    base: str
    host: str = "127.0.0.1"
    port: int = 0
    tls: bool = False
    socket: str = ""
    certificate: str = ""
    client_certificate: str = ""
    client_key: str = ""

    @property
    def url(self) -> str:
        """The base URL, readable by :meth:`parse`."""
        if self.socket:
            return f"http+unix://{quote(self.socket, safe='')}{self.base}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.base}"

    @staticmethod
    def parse(url: str, **files: str) -> ServerAddress | None:
        """Read a base URL; None when it is not http, https or http+unix, or holds anything but host, port and path.

        Parameters
        ----------
        url
            Base URL. An unspecified address (``0.0.0.0``, ``::``, none) stands for loopback.
        files
            ``certificate``, ``client_certificate``, ``client_key``.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return None
        base = parts.path.rstrip("/") + "/"
        if parts.query or parts.fragment or "@" in parts.netloc or not re.fullmatch(r"[!-~]+", base):
            return None
        if parts.scheme == "http+unix":
            path = unquote(parts.netloc)
            return ServerAddress(base, socket=path) if path.startswith("/") else None
        if parts.scheme not in ("http", "https"):
            return None
        tls = parts.scheme == "https"
        host = loopback_of(parts.hostname or "")
        return ServerAddress(base, host, port or (443 if tls else 80), tls, **files)


def loopback_of(host: str) -> str:
    """Return the address under which a server bound to ``host`` is reached from its own machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host or "127.0.0.1"
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"


def candidates(environ: Mapping[str, str], runtime_dir: Path) -> Iterator[ServerAddress]:
    """Yield where a server of ours may listen, the likeliest first.

    What our extension exported, then what JupyterHub said where its single-user server listens, then this user's
    running servers, newest first. Whether one of them is this kernel's is for the proof to find out.

    Parameters
    ----------
    environ
        The process's environment.
    runtime_dir
        Jupyter's runtime folder.
    """
    seen = set()
    for address in _addresses(environ, runtime_dir):
        if address is not None and address.url not in seen:
            seen.add(address.url)
            yield address


def _addresses(environ: Mapping[str, str], runtime_dir: Path) -> Iterator[ServerAddress | None]:
    client = _client_files(environ)
    if url := environ.get(URL_VARIABLE):
        yield ServerAddress.parse(url, certificate=environ.get(CERT_VARIABLE, ""), **client)
    yield hub_address(environ)
    for info in running_servers(runtime_dir):
        yield address_of(info, certificate=environ.get(CERT_VARIABLE, ""), **client)


def hub_address(environ: Mapping[str, str]) -> ServerAddress | None:
    """Return where JupyterHub said that this user's server listens, or None where there is no Hub."""
    url = environ.get("JUPYTERHUB_SERVICE_URL")
    if not url:
        return None
    return ServerAddress.parse(
        _with_prefix(url, environ.get("JUPYTERHUB_SERVICE_PREFIX", "")),
        certificate=environ.get("JUPYTERHUB_SSL_CLIENT_CA", ""),
        **_client_files(environ),
    )


def _client_files(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        "client_certificate": environ.get("JUPYTERHUB_SSL_CERTFILE", ""),
        "client_key": environ.get("JUPYTERHUB_SSL_KEYFILE", ""),
    }


def address_of(info: Mapping[str, Any], **files: str) -> ServerAddress | None:
    """Return where a running server says that it listens, or None.

    Parameters
    ----------
    info
        One of :func:`~jupyter_webresearch.running_servers.running_servers`.
    files
        ``certificate``, ``client_certificate``, ``client_key``.
    """
    base = _slashed(str(info.get("base_url", "/")))
    if info.get("sock"):
        return ServerAddress(base, socket=str(info["sock"]))
    port = server_port(info)
    host = loopback_of(str(info.get("hostname", "")))
    return ServerAddress(base, host, port, bool(info.get("secure")), **files) if port else None


def _with_prefix(url: str, prefix: str) -> str:
    """Return the Hub's bind URL with the server's prefix, which most Hubs put in it already."""
    parts = urlsplit(url)
    return url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}{_slashed(prefix)}"


def _slashed(path: str) -> str:
    inner = path.strip("/")
    return f"/{inner}/" if inner else "/"
