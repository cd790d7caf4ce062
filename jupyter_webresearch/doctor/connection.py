"""A connection to what an operator configured, and to nothing else."""

from __future__ import annotations

import anyio
import httpcore

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.net.connections import both_families, close_now
from jupyter_webresearch.net.dialler import SocketDialler
from jupyter_webresearch.net.resolver import SystemResolver
from jupyter_webresearch.policy.addresses import parse_address

__all__ = ["PATIENCE", "try_connection"]

PATIENCE = 2.0
"""Seconds for looking up the name and connecting, each."""


async def try_connection(host: str, port: int, policy: WebPolicy) -> None:
    """Open a TCP connection as the engine does, and close it again; nothing is sent over it.

    Parameters
    ----------
    host, port
        Of the operator's configuration; a name, or an address without brackets.
    policy
        Its source addresses.

    Raises
    ------
    Failed
        ``unresolved`` or ``unreachable``.
    """
    given = parse_address(host)
    # As the engine looks it up: an operator's name may be one of /etc/hosts or of the search list.
    answers = [host] if given else await SystemResolver(PATIENCE, absolute=False).resolve(host)
    known = [address for address in map(parse_address, answers) if address is not None]
    dialler = SocketDialler(policy.source_ipv4, policy.source_ipv6)
    deadline = anyio.current_time() + PATIENCE
    for number, address in enumerate(both_families(known) if known else []):
        share = (deadline - anyio.current_time()) / (len(known) - number)
        try:
            with anyio.fail_after(share):
                await close_now(await dialler.connect(address, port, share))
                return
        except (httpcore.ConnectError, httpcore.ConnectTimeout, OSError):  # TimeoutError is an OSError
            continue
    raise Failed("unreachable", f"nothing there takes connections within {PATIENCE:g} s")
