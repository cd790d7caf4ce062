"""Whether this machine has the addresses that its connections are to come from."""

from __future__ import annotations

import ipaddress
import socket

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import Failed

__all__ = ["check_source_addresses"]


def check_source_addresses(policy: WebPolicy) -> None:
    """Bind each source address once, and let it go again; nothing is sent.

    Raises
    ------
    Failed
        ``config``, naming the setting whose address this machine does not have.
    """
    for name, family in (("source_ipv4", socket.AF_INET), ("source_ipv6", socket.AF_INET6)):
        address = getattr(policy, name)
        if address and not _can_be_bound(address, family):
            setting = f"WebPolicy.{name}"
            message = f"{setting} is {address}, which is no address of this machine that connections can come from"
            raise Failed("config", message, setting=setting)


def _can_be_bound(address: str, family: socket.AddressFamily) -> bool:
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified or parsed.is_multicast:  # systems let both be bound
        return False
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
