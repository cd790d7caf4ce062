"""The running Jupyter servers of the user, asked by the command line."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.errors import Failed, Refused, WebResearchError

if TYPE_CHECKING:
    from jupyter_webresearch.kernel.discovery import ServerAddress

__all__ = ["ask", "own_servers"]

MOST = 8 * 1024 * 1024  # bytes of an answer; a policy can list thousands of hosts


def own_servers() -> Iterator[tuple[ServerAddress, str]]:
    """Yield this user's servers with what lets the user in: a Hub's word on its own, then the runtime files'."""
    from jupyter_core.paths import jupyter_runtime_dir

    yield from _servers(os.environ, Path(jupyter_runtime_dir()))


def _servers(environ: Mapping[str, str], runtime_dir: Path) -> Iterator[tuple[ServerAddress, str]]:
    from jupyter_webresearch.kernel.discovery import CERT_VARIABLE, address_of, hub_address
    from jupyter_webresearch.running_servers import running_servers

    seen = set()
    found = [(hub_address(environ), environ.get("JUPYTERHUB_API_TOKEN", ""))]
    for info in running_servers(runtime_dir, with_tokens=True):
        found.append((address_of(info, certificate=environ.get(CERT_VARIABLE, "")), str(info.get("token") or "")))
    for address, token in found:
        if address is not None and address.url not in seen:
            seen.add(address.url)
            yield address, token


def ask(
    address: ServerAddress,
    token: str,
    method: str,
    route: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout: float,
) -> dict[str, Any] | None:
    """Ask one server, and return its answer; None when it does not know us.

    Parameters
    ----------
    address, token
        As :func:`own_servers` yields them; the token goes in a header, and to a process of this user's only.
    method, route
        What is asked, below ``webresearch/``.
    body
        Sent as JSON.
    timeout
        Seconds of silence.

    Raises
    ------
    WebResearchError
        ``unreachable``, ``unauthorized``, or what the server says.
    """
    from jupyter_webresearch.kernel.connection import NOT_UNDERSTOOD, connect_to
    from jupyter_webresearch.socket_owner import belongs_to

    headers = {"Content-Type": "application/json", **({"Authorization": f"token {token}"} if token else {})}
    try:
        connection = connect_to(address)
        try:
            if hasattr(os, "getuid") and not belongs_to(os.getuid(), connection.sock):
                raise _not_yours(address)
            connection.sock.settimeout(timeout)
            sent = None if body is None else json.dumps(body)
            connection.request(method, f"{address.base}webresearch/{route}", sent, headers)
            response = connection.getresponse()
            text = response.read(MOST)
        finally:
            connection.close()
        if response.status == 404:
            return None
        answer = dict(json.loads(text))
    except (OSError, http.client.HTTPException, *NOT_UNDERSTOOD) as error:
        raise Failed("unreachable", f"the Jupyter server at {address.url} can't be asked") from error
    if response.status == 200:
        return answer
    if response.status == 403 and not token:
        raise Refused("unauthorized", f"the Jupyter server at {address.url} gives its user no token; use its own page")
    raise WebResearchError.from_json(answer)


def _not_yours(address: ServerAddress) -> Refused:
    """Return the error for another user's process, which may pose as a server that has crashed to get its token."""
    return Refused("unauthorized", f"what listens at {address.url} is not a process of yours; it was told nothing")
