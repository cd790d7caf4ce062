"""The client of a kernel: it finds the kernel's server, or else works in this process."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_webresearch.errors import Failed, Refused, WebResearchError
from jupyter_webresearch.kernel.cancellation import Cancellation
from jupyter_webresearch.kernel.client import Client, OnEvent, ServerLost, ignore_event, ignore_phase
from jupyter_webresearch.models import FetchRequest, OnPhase, Verdict
from jupyter_webresearch.page import Page
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.search.response import SearchResponse

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings
    from jupyter_webresearch.policy.policy_change import PolicyChange

__all__ = ["DiscoveringClient", "own_settings"]

T = TypeVar("T")

LOCAL_MODE = "WebKernel.local_mode"


def own_settings() -> Settings:
    """Return the settings that this process was started with, whatever code has done to its environment since.

    Raises
    ------
    Failed
        ``config`` when they can't be used.
    """
    from jupyter_webresearch.config_loading import load_settings
    from jupyter_webresearch.config_sources import config_path_as_started, environment_as_started

    return load_settings(environ=environment_as_started(), config_path=config_path_as_started())


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

            self._settings = self._settings or own_settings()
            mode = self._settings.kernel.local_mode
            if mode == "deny":
                raise Refused(
                    "unauthorized",
                    "no Jupyter server with Web Research knows this kernel, and without one nothing is read here; "
                    "enable the server extension, or ask the operator",
                    setting=LOCAL_MODE,
                )
            if mode == "warn":
                warnings.warn("no Jupyter server with Web Research: reading from this process", stacklevel=2)
            self._local = LocalClient(self._settings, shell=self._shell)
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

    def search(
        self,
        request: SearchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> SearchResponse:
        """Search; see :meth:`Client.search`."""
        response = self._call(lambda client: client.search(request, on_phase, cancellation=cancellation))
        return self.attach_response(response)

    def providers(self) -> list[dict[str, Any]]:
        """Return the search providers; see :meth:`Client.providers`."""
        return self._call(lambda client: client.providers())

    def operations(self) -> tuple[str, ...]:
        """Return what is on; see :meth:`Client.operations`."""
        return self._call(lambda client: client.operations())

    def policy(self) -> dict[str, Any]:
        """Return what bounds this session; see :meth:`Client.policy`. Where nothing is read, the settings tell it."""
        try:
            return self._call(lambda client: client.policy())
        except Refused as error:
            if error.setting != LOCAL_MODE:
                raise
            return {**self._policy_of_settings(), "operations": [], "nothing_read": error.message}

    def _policy_of_settings(self) -> dict[str, Any]:
        from jupyter_webresearch.kernel.local_client import LocalClient

        with closing(LocalClient(self._settings or own_settings(), shell=self._shell)) as client:
            return client.policy()

    def change_policy(self, change: PolicyChange) -> dict[str, Any]:
        """Change what this session asks; see :meth:`Client.change_policy`."""
        return self._call(lambda client: client.change_policy(change))

    def events(self, **filters: Any) -> list[dict[str, Any]]:
        """Return events of the journal; see :meth:`Client.events`. Where nothing is read, its file has them."""
        try:
            return self._call(lambda client: client.events(**filters))
        except Refused as error:
            if error.setting != LOCAL_MODE:
                raise
            return self._events_on_file(filters)

    def _events_on_file(self, filters: dict[str, Any]) -> list[dict[str, Any]]:
        from jupyter_webresearch.journal.private import journal_folder
        from jupyter_webresearch.journal.reader import read_events
        from jupyter_webresearch.kernel.own_notebook import OwnNotebook

        kernel = OwnNotebook(self._shell).kernel
        return read_events(journal_folder(), kernel=kernel, **filters) if kernel else []

    def close(self) -> None:
        """Close the client in use; the next call finds one again."""
        with self._lock:
            clients = (self._client, self._local)
            self._client = self._local = None
        for client in clients:
            if client is not None:
                client.close()
