"""The one place that opens a connection to an address."""

from __future__ import annotations

from typing import Protocol

import httpcore

from jupyter_webresearch.policy.addresses import IPAddress

__all__ = ["Dialler", "SocketDialler"]


class Dialler(Protocol):
    """The way to an address; a test injects one that leads to a server of its own."""

    async def connect(self, address: IPAddress, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        """Connect to an address that was judged.

        Parameters
        ----------
        address
            Where to; never a name, so nothing is resolved a second time.
        port
            TCP port.
        timeout
            Seconds for this attempt.

        Returns
        -------
        httpcore.AsyncNetworkStream
            Open; its ``get_extra_info("server_addr")`` is the ``(address, port)`` that answered.

        Raises
        ------
        httpcore.ConnectError, httpcore.ConnectTimeout, OSError
            When no connection could be made.
        """
        ...


class SocketDialler:
    """The machine's own TCP.

    Parameters
    ----------
    source_ipv4, source_ipv6
        This machine's address from which connections of that family go out; its own choice where empty.
    """

    def __init__(self, source_ipv4: str = "", source_ipv6: str = "") -> None:
        self._sources = {4: source_ipv4 or None, 6: source_ipv6 or None}

    async def connect(self, address: IPAddress, port: int, timeout: float) -> httpcore.AsyncNetworkStream:
        """Connect to the address itself; see :meth:`Dialler.connect`."""
        return await httpcore.AnyIOBackend().connect_tcp(
            str(address), port, timeout=timeout, local_address=self._sources[address.version]
        )
