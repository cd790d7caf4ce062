"""Name resolution: once for each request, bounded in time and in threads."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import anyio

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.net.hosts_file import HostsFile

__all__ = ["Resolver", "SystemResolver"]

Lookup = Callable[..., list[tuple[Any, ...]]]

THREADS = 64
"""Look-ups under way at once. A dead name server holds each for about four deadlines (resolv.conf(5): two attempts of
5 s a server), so sixteen requests of one kernel to such names leave threads for the other kernels."""


class Resolver(Protocol):
    """What stands for DNS; a test injects one of its own."""

    async def resolve(self, host: str) -> Sequence[str]:
        """Return every address of a host, IPv4 and IPv6, as text; ``%zone`` may follow.

        Parameters
        ----------
        host
            ASCII name without trailing dot.

        Raises
        ------
        Failed
            ``unresolved``: the name has no address, or no answer came in time.
        """
        ...


class SystemResolver:
    """The operating system's resolver.

    ``getaddrinfo`` blocks and can't be cancelled. Each look-up therefore has a daemon thread, which a deadline leaves
    behind without holding up the end of the process, and at most ``threads`` of them exist: while all are stuck,
    further look-ups wait for one and fail at their deadline.

    Parameters
    ----------
    timeout
        Seconds for one look-up, waiting for a thread included.
    threads
        Most look-ups under way at once.
    lookup
        :func:`socket.getaddrinfo`, or what a test puts in its place.
    absolute
        Whether names are taken as absolute, out of reach of the search list of resolv.conf. Names that an operator
        configured are not: ``localhost`` and a cluster's short names exist without the trailing dot only.
    hosts_file
        Asked before the system, which does not find its names as absolute ones; None leaves it out.
    """

    def __init__(
        self,
        timeout: float,
        *,
        threads: int = THREADS,
        lookup: Lookup = socket.getaddrinfo,
        absolute: bool = True,
        hosts_file: HostsFile | None = None,
    ) -> None:
        self._timeout = timeout
        self._lookup = lookup
        self._dot = b"." if absolute else b""
        self._hosts_file = hosts_file
        self._slots = threading.Semaphore(threads)

    async def resolve(self, host: str) -> Sequence[str]:
        """Ask the system; see :meth:`Resolver.resolve`."""
        try:
            with anyio.fail_after(self._timeout):
                # Threads that belong to any loop release the slots, so no event of this loop tells of it.
                while not self._slots.acquire(blocking=False):  # noqa: ASYNC110
                    await anyio.sleep(0.02)
                return await self._start(host)
        except TimeoutError:
            raise Failed("unresolved", f"no address of {host} could be found in time") from None

    def _start(self, host: str) -> asyncio.Future[list[str]]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[str]] = loop.create_future()

        def run() -> None:
            try:
                result: list[str] | Failed = self._addresses(host)
            except Exception:  # gaierror, UnicodeError, whatever a resolver of the system's raises: fail closed
                result = Failed("unresolved", self._unknown(host), setting="")
            finally:
                self._slots.release()
            with suppress(RuntimeError):  # The loop has ended meanwhile; nobody waits.
                loop.call_soon_threadsafe(_settle, future, result)

        try:
            threading.Thread(target=run, name="webresearch-dns", daemon=True).start()
        except RuntimeError:  # no more threads
            self._slots.release()
            raise Failed(
                "unresolved", f"{host} could not be looked up: no thread could be started", setting=""
            ) from None
        return future

    def _unknown(self, host: str) -> str:
        text = f"{host} has no address; is it spelt right?"
        if "." in host or not self._dot:
            return text
        return f"{text} A name is looked up as it stands: write it whole, such as {host}.example.com"

    def _addresses(self, host: str) -> list[str]:
        if self._hosts_file is not None and (found := self._hosts_file.addresses(host)):
            return list(found)
        # The trailing dot keeps the search list of resolv.conf away; bytes keep Python's own IDNA away.
        name = host.encode("ascii") + self._dot
        answers = self._lookup(name, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        return [_address(family, sockaddr) for family, _type, _proto, _name, sockaddr in answers]


def _address(family: int, sockaddr: Any) -> str:
    if family == socket.AF_INET:
        return str(sockaddr[0])
    if family == socket.AF_INET6:
        return str(sockaddr[0]) if not sockaddr[3] else f"{sockaddr[0]}%{sockaddr[3]}"
    return "not an internet address"  # The guard refuses it.


def _settle(future: asyncio.Future[list[str]], result: list[str] | Failed) -> None:
    if future.done():
        return  # Its deadline has passed.
    if isinstance(result, Failed):
        future.set_exception(result)
    else:
        future.set_result(result)
