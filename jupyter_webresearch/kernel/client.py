"""What kernel code calls: the same operations whether a server runs them or this process does."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_webresearch.errors import Failed, Refused, WebResearchError
from jupyter_webresearch.kernel.cancellation import Cancellation
from jupyter_webresearch.models import FetchRequest, OnPhase, Verdict
from jupyter_webresearch.page import Page

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["Client", "DiscoveringClient", "OnEvent", "ServerLost", "connect"]

T = TypeVar("T")

OnEvent = Callable[[int, str], None]
"""Told ``(index, phase)`` of a batch."""


def ignore_phase(_phase: str) -> None:
    """Take no notice of phases."""


def ignore_event(_index: int, _phase: str) -> None:
    """Take no notice of a batch's phases."""


class ServerLost(Exception):
    """The server did not answer, or is not this kernel's, and nothing was asked of it yet."""


class Client(ABC):
    """The operations that magics, the Python API and the command line share.

    Every method blocks, is ended by KeyboardInterrupt (which cancels the operation wherever it runs) or by its
    ``cancellation``, and tells phases on the thread that called it. Errors are
    :class:`~jupyter_webresearch.errors.WebResearchError`.
    """

    @abstractmethod
    def fetch(
        self,
        request: FetchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Read one URL; the Page can read on by itself.

        Parameters
        ----------
        request
            What to read.
        on_phase
            Told the phases as they begin.
        cancellation
            By which another thread ends the call.

        Raises
        ------
        BadInput, Refused, Failed
            As :meth:`jupyter_webresearch.engine.Engine.fetch`; ``cancelled`` when it was ended.
        """

    @abstractmethod
    def fetch_many(
        self,
        requests: Sequence[FetchRequest],
        on_event: OnEvent = ignore_event,
        *,
        cancellation: Cancellation | None = None,
    ) -> list[Page | WebResearchError]:
        """Read many URLs; one outcome each, in order, failures as the error in their place.

        Parameters
        ----------
        requests
            What to read.
        on_event
            Told ``(index, phase)`` as the phases of each request begin.
        cancellation
            By which another thread ends the call.

        Raises
        ------
        Failed
            ``cancelled`` when it was ended.
        """

    @abstractmethod
    def extract(
        self,
        data: bytes,
        *,
        url: str,
        content_type: str | None = None,
        on_phase: OnPhase = ignore_phase,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Make a Page of bytes at hand, without any network.

        Parameters
        ----------
        data
            The body, as it came.
        url
            Absolute URL that it came from.
        content_type
            As in the HTTP header; sniffed when omitted.
        on_phase
            Told the phases as they begin.
        cancellation
            By which another thread ends the call.

        Raises
        ------
        BadInput, Failed
            As :meth:`jupyter_webresearch.engine.Engine.extract`; ``cancelled`` when it was ended.
        """

    @abstractmethod
    def check_urls(self, urls: Sequence[str]) -> list[Verdict]:
        """Return the policy's verdict on each URL before any DNS query or packet."""

    @abstractmethod
    def save(
        self,
        request: FetchRequest,
        folder: str | os.PathLike[str],
        name: str | None = None,
        force: bool = False,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Stream a body to a file inside ``folder``.

        Parameters
        ----------
        request
            What to read; ``save`` is implied.
        folder
            The notebook's folder.
        name
            Path inside it; None, or a folder in it, for the name that the site gives.
        force
            Whether an existing plain file may be replaced.
        on_phase
            Told the phases as they begin.
        cancellation
            By which another thread ends the call.

        Returns
        -------
        Page
            With ``saved.path`` set, relative to ``folder``.

        Raises
        ------
        Refused, Failed
            ``save_refused`` or ``file_exists``, before anything is sent where the name is known; else as
            :meth:`fetch`.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of connections, threads and processes."""

    async def in_thread(self, call: Callable[[Cancellation], T]) -> T:
        """Run a blocking call of this client on a thread; cancelling the task ends the call.

        Examples
        --------
        >>> page = await client.in_thread(lambda c: client.fetch(request, cancellation=c))
        """
        cancellation = Cancellation()
        future = asyncio.get_running_loop().run_in_executor(_threads(os.getpid()), call, cancellation)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            cancellation.cancel()
            future.add_done_callback(lambda done: done.cancelled() or done.exception())  # so that asyncio won't warn
            raise

    def attach(self, page: Page, request: FetchRequest) -> Page:
        """Return the Page such that it reads on through this client, from its stored text and nothing else.

        Parameters
        ----------
        page
            A Page as it came.
        request
            What it was the answer to.
        """
        if not page.record:
            return page

        def read(offset: int) -> Page:
            return self.fetch(replace(request, offset=offset, record=page.record, fresh=False, save=False))

        return replace(page, reader=read)

    def attach_error(self, error: WebResearchError, request: FetchRequest) -> WebResearchError:
        """Return the error with its Page, if it carries one, attached.

        Parameters
        ----------
        error
            An error as it came.
        request
            What it was the answer to.
        """
        if error.page is not None:
            error.page = self.attach(error.page, request)
        return error


@functools.cache
def _threads(_pid: int) -> concurrent.futures.ThreadPoolExecutor:
    """Return this process's threads for awaited calls; a forked child gets its own."""
    return concurrent.futures.ThreadPoolExecutor(32, thread_name_prefix="webresearch-call")


class DiscoveringClient(Client):
    """Finds the kernel's server, and finds again when it is lost; without one it works in this process.

    Parameters
    ----------
    settings
        For work in this process; None reads them from the Jupyter config path when needed.
    environ
        Environment in which servers announce themselves.
    shell
        The IPython shell, whose kernel has an identity to prove; None outside of IPython.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        shell: Any = None,
    ) -> None:
        self._settings = settings
        self._environ = os.environ if environ is None else environ
        self._shell = shell
        self._client: Client | None = None
        self._local: Client | None = None
        self._had_server = False
        self._lock = threading.Lock()  # calls on several threads find one client, and start one engine

    @property
    def client(self) -> Client:
        """The client in use, found on first access; where there was a server, one is looked for until there is again.

        Raises
        ------
        Refused
            ``unauthorized`` when there is no server and ``WebKernel.local_mode`` is ``deny``.
        """
        with self._lock:
            if self._client is not None:
                return self._client
            found = self._find_server()
            if found is None and self._had_server:
                return self._in_process()
            self._had_server = found is not None
            self._client = found or self._in_process()
            return self._client

    def _find_server(self) -> Client | None:
        from jupyter_core.paths import jupyter_runtime_dir

        from jupyter_webresearch.kernel.discovery import candidates
        from jupyter_webresearch.kernel.proof import KernelIdentity
        from jupyter_webresearch.kernel.server_client import ServerClient

        identity = KernelIdentity.of_shell(self._shell)
        if identity is None:
            return None
        for address in candidates(self._environ, Path(jupyter_runtime_dir())):
            client = ServerClient(address, identity)
            try:
                client.hello()
            except ServerLost:
                continue
            return client
        return None

    def _in_process(self) -> Client:
        if self._local is None:
            from jupyter_webresearch.kernel.local_client import LocalClient

            if self._settings is None:
                from jupyter_webresearch.config_loading import load_settings
                from jupyter_webresearch.config_sources import config_path_as_started, environment_as_started

                self._settings = load_settings(environ=environment_as_started(), config_path=config_path_as_started())
            mode = self._settings.kernel.local_mode
            if mode == "deny":
                raise Refused(
                    "unauthorized",
                    "no Jupyter server with Web Research knows this kernel, and without one nothing is read here; "
                    "enable the server extension, or ask the operator",
                    setting="WebKernel.local_mode",
                )
            if mode == "warn":
                warnings.warn("no Jupyter server with Web Research: reading from this process", stacklevel=2)
            self._local = LocalClient(self._settings)
        return self._local

    def _call(self, operation: Callable[[Client], T]) -> T:
        try:
            return operation(self.client)
        except ServerLost:  # gone before it was asked anything: look again, once
            self._client = None
        try:
            return operation(self.client)
        except ServerLost as lost:
            self._client = None
            raise Failed("unreachable", "the Jupyter server can't be reached; try again") from lost

    def fetch(
        self,
        request: FetchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Read one URL; see :meth:`Client.fetch`."""
        try:
            page = self._call(lambda client: client.fetch(request, on_phase, cancellation=cancellation))
        except WebResearchError as error:
            raise self.attach_error(error, request) from error.__cause__
        return self.attach(page, request)

    def fetch_many(
        self,
        requests: Sequence[FetchRequest],
        on_event: OnEvent = ignore_event,
        *,
        cancellation: Cancellation | None = None,
    ) -> list[Page | WebResearchError]:
        """Read many URLs; see :meth:`Client.fetch_many`."""
        outcomes = self._call(lambda client: client.fetch_many(requests, on_event, cancellation=cancellation))
        return [
            self.attach(outcome, request) if isinstance(outcome, Page) else self.attach_error(outcome, request)
            for request, outcome in zip(requests, outcomes, strict=True)
        ]

    def extract(
        self,
        data: bytes,
        *,
        url: str,
        content_type: str | None = None,
        on_phase: OnPhase = ignore_phase,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Make a Page of bytes; see :meth:`Client.extract`."""
        return self._call(
            lambda client: client.extract(
                data, url=url, content_type=content_type, on_phase=on_phase, cancellation=cancellation
            )
        )

    def check_urls(self, urls: Sequence[str]) -> list[Verdict]:
        """Return verdicts; see :meth:`Client.check_urls`."""
        return self._call(lambda client: client.check_urls(urls))

    def save(
        self,
        request: FetchRequest,
        folder: str | os.PathLike[str],
        name: str | None = None,
        force: bool = False,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Stream a body to a file; see :meth:`Client.save`."""
        return self._call(lambda client: client.save(request, folder, name, force, on_phase, cancellation=cancellation))

    def close(self) -> None:
        """Close the client in use; the next call finds one again."""
        with self._lock:
            clients = (self._client, self._local)
            self._client = self._local = None
        for client in clients:
            if client is not None:
                client.close()


def connect() -> Client:
    """Return this process's client, found once; a forked child finds its own.

    Returns
    -------
    Client
        Nothing is contacted before its first operation. In a kernel whose Jupyter server has our extension that server
        does the work; anywhere else this process does.
    """
    return _client_of(os.getpid())


@functools.cache
def _client_of(_pid: int) -> Client:
    import sys

    ipython = sys.modules.get("IPython")
    return DiscoveringClient(shell=ipython.get_ipython() if ipython is not None else None)
