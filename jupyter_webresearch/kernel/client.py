"""What kernel code calls: the same operations whether a server runs them or this process does."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.kernel.cancellation import Cancellation
from jupyter_webresearch.models import FetchRequest, OnPhase, Verdict
from jupyter_webresearch.page import Page
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.search.response import SearchResponse

if TYPE_CHECKING:
    from jupyter_webresearch.policy.policy_change import PolicyChange

__all__ = ["Client", "OnEvent", "ServerLost", "connect"]

T = TypeVar("T")

OnEvent = Callable[[int, str], None]
"""Told ``(index, phase)`` of a batch."""

TICK = 0.5
"""Seconds after which a wait looks for a KeyboardInterrupt on platforms where a lock hides it (Windows)."""

SEARCHES_AT_ONCE = 4
"""Of many searches."""


def ignore_phase(_phase: str) -> None:
    """Take no notice of phases."""


def ignore_event(_index: int, _phase: str) -> None:
    """Take no notice of a batch's phases."""


def ignore_index(_index: int) -> None:
    """Take no notice of which of many is done."""


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
    def search(
        self,
        request: SearchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> SearchResponse:
        """Search; the results are read through this client.

        Parameters
        ----------
        request
            What is asked, and of whom.
        on_phase
            Told the phases as they begin.
        cancellation
            By which another thread ends the call.

        Raises
        ------
        BadInput, Refused, Failed
            As :meth:`jupyter_webresearch.engine.Engine.search`; ``cancelled`` when it was ended.
        """

    def search_many(
        self,
        requests: Sequence[SearchRequest],
        on_done: Callable[[int], None] = ignore_index,
        *,
        cancellation: Cancellation | None = None,
    ) -> list[SearchResponse | WebResearchError]:
        """Search many times, a few at once; one outcome each, in order, failures as the error in their place.

        Parameters
        ----------
        requests
            What is asked.
        on_done
            Told the index of each that is done.
        cancellation
            By which another thread ends the call.

        Raises
        ------
        Failed
            ``cancelled`` when it was ended.
        """
        each = [Cancellation() for _ in requests]

        def stop() -> None:
            """End those that run, and those that wait for their turn as soon as they begin."""
            for one in each:
                one.cancel()

        def outcome_of(index: int) -> SearchResponse | WebResearchError:
            """Search once."""
            try:
                return self.search(requests[index], cancellation=each[index])
            except WebResearchError as error:
                return error

        with (
            concurrent.futures.ThreadPoolExecutor(SEARCHES_AT_ONCE, "webresearch-search") as threads,
            (cancellation or Cancellation()).stopping_with(stop),
        ):
            futures = [threads.submit(outcome_of, index) for index in range(len(requests))]
            left = set(futures)
            try:
                while left:
                    done, left = concurrent.futures.wait(left, TICK, concurrent.futures.FIRST_COMPLETED)
                    for future in done:
                        on_done(futures.index(future))
            except BaseException:
                stop()
                raise
            outcomes = [future.result() for future in futures]
            for outcome in outcomes:
                if isinstance(outcome, WebResearchError) and outcome.code == "cancelled":
                    raise outcome
            return outcomes

    @abstractmethod
    def providers(self) -> list[dict[str, Any]]:
        """Return the search providers, as ``GET webresearch/providers`` answers."""

    @abstractmethod
    def operations(self) -> tuple[str, ...]:
        """Return the operations that are there and switched on."""

    @abstractmethod
    def policy(self) -> dict[str, Any]:
        """Return what bounds this session, as ``GET webresearch/policy`` answers."""

    @abstractmethod
    def change_policy(self, change: PolicyChange) -> dict[str, Any]:
        """Change what this session asks of the policy, and return what then bounds it.

        Parameters
        ----------
        change
            What to add, replace or forget.

        Raises
        ------
        BadInput, Refused
            ``bad_request`` for what can't be read, ``not_allowed`` for what lies outside of the operator's ceiling;
            nothing is changed then.
        """

    @abstractmethod
    def events(self, **filters: Any) -> list[dict[str, Any]]:
        """Return what the journal holds of this session, the newest last.

        Parameters
        ----------
        **filters
            ``limit``, ``kind``, ``outcome``, ``after``, ``since``, as ``GET webresearch/journal`` takes them.
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

    def attach_response(self, response: SearchResponse) -> SearchResponse:
        """Return the response such that its results are read through this client."""
        return response.with_fetcher(lambda url: self.fetch(FetchRequest(url)))

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

    from jupyter_webresearch.kernel.discovering_client import DiscoveringClient

    ipython = sys.modules.get("IPython")
    return DiscoveringClient(shell=ipython.get_ipython() if ipython is not None else None)
