"""What the server tells its kernels of where it listens."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

from jupyter_webresearch.kernel.discovery import CERT_VARIABLE, URL_VARIABLE, ServerAddress, loopback_of

__all__ = ["exported_environment"]


async def exported_environment(serverapp: Any) -> dict[str, str]:
    """Return the environment variables that let a kernel find a running server.

    ``ServerApp.local_url`` and ``public_url`` are not used: both hold the master token. The address is the one that the
    server is bound to, loopback when it is bound to all.

    Parameters
    ----------
    serverapp
        The ServerApp, its port final.
    """
    base = serverapp.base_url.rstrip("/") + "/"
    if serverapp.sock:
        return {URL_VARIABLE: ServerAddress(base, socket=_absolute(serverapp.sock)).url}
    tls = bool(serverapp.certfile)
    host = await _bound_address(serverapp.ip, serverapp.port)
    variables = {URL_VARIABLE: ServerAddress(base, host, serverapp.port, tls).url}
    if tls:
        variables[CERT_VARIABLE] = _absolute(serverapp.certfile)
    return variables


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 -- links are kept: certificates are renewed by moving them


async def _bound_address(ip: str, port: int) -> str:
    """Return the address that tornado binds for an ``ip`` setting, which may be a name; IPv4 first."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            ip or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError:
        return loopback_of(ip)
    families = {family: str(address[0]) for family, *_, address in reversed(found)}
    return loopback_of(families.get(socket.AF_INET) or families.get(socket.AF_INET6) or ip)
