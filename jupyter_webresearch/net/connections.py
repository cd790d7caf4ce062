"""What all who connect do alike: in which order addresses are tried, and how a connection is closed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Protocol

import anyio

from jupyter_webresearch.policy.addresses import IPAddress

__all__ = ["both_families", "close_now"]


class _Closable(Protocol):
    async def aclose(self) -> None: ...


def both_families(addresses: Sequence[IPAddress]) -> list[IPAddress]:
    """Alternate IPv6 and IPv4, the resolver's first in front, so that one dead family does not use up the attempts."""
    first = [address for address in addresses if address.version == addresses[0].version]
    second = [address for address in addresses if address.version != addresses[0].version]
    return [address for pair in zip_longest(first, second) for address in pair if address is not None]


async def close_now(closable: _Closable) -> None:
    """Close at once, even while this task is being cancelled. It waits for nobody: TLS says no goodbye."""
    with anyio.CancelScope(shield=True), suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await closable.aclose()
