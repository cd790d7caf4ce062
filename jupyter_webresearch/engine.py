"""The engine: one per process, on a thread and loop of its own.

Everything that reads the web runs here, in the server and in a kernel alike, so that neither's own loop is ever held up
and only this lifelong thread spawns processes.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ssl
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jupyter_webresearch.clock import Clock, SystemClock
from jupyter_webresearch.config import Settings
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.extraction.pool import ExtractionPool
from jupyter_webresearch.fetching import Fetcher
from jupyter_webresearch.models import FetchRequest, OnPhase, Verdict
from jupyter_webresearch.net.content_type import SNIFF_BYTES, needs_sniffing, parse_content_type, sniff
from jupyter_webresearch.net.dialler import Dialler
from jupyter_webresearch.net.resolver import Resolver
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.addresses import IPAddress
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.session import Session
from jupyter_webresearch.threads import Threads

__all__ = ["Engine"]

T = TypeVar("T")


def _ignore(_phase: str) -> None:
    """Take no notice of phases."""


def _ignore_event(_index: int, _phase: str) -> None:
    """Take no notice of a batch's phases."""


class Engine:
    """Fetches, extracts and remembers, for any number of sessions.

    Parameters
    ----------
    settings
        Validated settings.
    resolver, dialler, ssl_context, clock, interfaces, own_ports
        What stands for DNS, for the way to an address, for trusted authorities, for time, for this machine's own
        addresses and for Jupyter's own ports; the real ones when omitted.

    Notes
    -----
    :meth:`start`, :meth:`submit`, :meth:`session`, :meth:`drop_session`, :meth:`check_url` and :meth:`close` may be
    called from any thread. The coroutines run on the engine's loop only: ``engine.submit(engine.fetch(...))``.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        resolver: Resolver | None = None,
        dialler: Dialler | None = None,
        ssl_context: ssl.SSLContext | None = None,
        clock: Clock | None = None,
        interfaces: Callable[[], frozenset[IPAddress]] | None = None,
        own_ports: Callable[[], frozenset[int]] | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock or SystemClock()
        seams: dict[str, Any] = {}
        if interfaces is not None:
            seams["interfaces"] = interfaces
        if own_ports is not None:
            seams["own_ports"] = own_ports
        self.guard = Guard(settings.policy, **seams)
        transport = GuardedTransport(settings.fetch, resolver=resolver, dialler=dialler, ssl_context=ssl_context)
        retriever = Retriever(transport, settings.fetch, self._clock)
        self._pool = ExtractionPool(settings.extraction)
        self._fetcher = Fetcher(settings.fetch, self.guard, retriever, self._pool, self._clock)
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    # ------------------------------------------------------------------ life, from any thread

    def start(self) -> None:
        """Start the thread and its loop; a second call does nothing."""
        with self._lock:
            self._started_loop()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the engine's loop; cancelling the future cancels it."""
        try:
            # Under the lock, so that what is submitted comes before the end that :meth:`close` submits, or not at all.
            with self._lock:
                return asyncio.run_coroutine_threadsafe(work, self._started_loop())
        except RuntimeError:
            work.close()
            raise

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise RuntimeError("the engine is closed")
        if self._thread is None:
            ready = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(ready,), name="webresearch-engine", daemon=True)
            self._thread.start()
            ready.wait()
        if self._loop is None:
            raise RuntimeError("the engine's loop did not start")
        return self._loop

    def session(self, session_id: str) -> Session:
        """Return the session of that id, made on first use."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                session = self._sessions[session_id] = Session(session_id, self.settings.fetch)
            return session

    def session_ids(self) -> list[str]:
        """Return the ids of the sessions that exist."""
        with self._lock:
            return list(self._sessions)

    def drop_session(self, session_id: str) -> None:
        """Cancel what runs in a session and delete what it stored; an unknown id is no error."""
        with self._lock:
            session = None if self._closed else self._sessions.pop(session_id, None)  # closing drops them all
        if session is not None:
            with contextlib.suppress(RuntimeError):  # closed in between
                self.submit(session.close())

    def check_url(self, url: str) -> Verdict:
        """Return the policy's verdict on a URL before any DNS query or packet."""
        return self.guard.verdict(url)

    def close(self) -> None:
        """End everything: running operations, sessions, workers, the thread. A second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        try:
            with contextlib.suppress(concurrent.futures.TimeoutError):
                asyncio.run_coroutine_threadsafe(self._shut_down(), loop).result(timeout=10)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=10)

    def _run(self, ready: threading.Event) -> None:
        loop: asyncio.AbstractEventLoop
        if sys.platform == "win32":
            # ipykernel and tornado choose a selector loop on Windows, on which no subprocess can be spawned.
            loop = asyncio.ProactorEventLoop()
        else:
            loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        threads = Threads(thread_name_prefix="webresearch-work")
        loop.set_default_executor(threads)
        self._loop = loop
        loop.call_soon(ready.set)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            threads.shutdown()  # not the loop's way, which starts a thread: see Threads
            loop.close()

    async def _shut_down(self) -> None:
        current = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not current]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        # Workers first: they must not outlive this, however long the disk takes.
        await self._pool.close()
        with self._lock:
            sessions = list(self._sessions.values())
        await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)

    # ------------------------------------------------------------------ operations, on the engine's loop

    async def warm_up(self) -> None:
        """Spawn the extraction workers now rather than at the first page."""
        await self._pool.start()

    async def fetch(self, session: Session, request: FetchRequest, on_phase: OnPhase = _ignore) -> Page:
        """Read one URL.

        Parameters
        ----------
        session
            Whose memory and store serve it.
        request
            What to read.
        on_phase
            Told the phases as they begin.

        Returns
        -------
        Page
            The part of the text that ``offset`` and ``max_bytes`` select. A status other than 2xx is returned only to
            methods other than GET and HEAD, or with ``any_status``.

        Raises
        ------
        BadInput, Refused, Failed
            With one code of :data:`jupyter_webresearch.errors.CODES`; ``http_status`` and ``rate_limited`` carry the
            Page that was read.
        """
        return await self._fetcher.fetch(session, request, on_phase)

    async def fetch_many(
        self,
        session: Session,
        requests: Sequence[FetchRequest],
        on_event: Callable[[int, str], None] = _ignore_event,
        on_result: Callable[[int, Page | WebResearchError], Awaitable[object] | None] | None = None,
    ) -> list[Page | WebResearchError]:
        """Read many URLs, politely: a few at once, fewer to one host.

        Parameters
        ----------
        session
            Whose memory and store serve them.
        requests
            What to read, in any number.
        on_event
            Told ``(index, phase)`` as the phases of each request begin.
        on_result
            Told ``(index, outcome)`` as soon as each request is done, whichever is done first. It then has them all:
            nothing is gathered here, where a thousand Pages would wait for the last. If it returns an awaitable, the
            request keeps its turn until that is done, and so bounds how many outcomes wait to be taken.

        Returns
        -------
        list
            One outcome a request, in their order; a failure stands in its place as the error. Empty with ``on_result``.
        """
        return await self._fetcher.fetch_many(session, requests, on_event, on_result)

    async def extract(
        self, data: bytes, *, url: str, content_type: str | None = None, on_phase: OnPhase = _ignore
    ) -> Page:
        """Make a Page of bytes that the caller has, without any network.

        Parameters
        ----------
        data
            The body, as it came; more than ``WebFetch.max_body`` bytes are cut for kinds that can be.
        url
            Absolute URL that the body came from: relative links are resolved against it.
        content_type
            As in the HTTP header; sniffed when omitted.
        on_phase
            Told the phases as they begin.

        Returns
        -------
        Page
            All of the text in one piece, with ``status`` 0.

        Raises
        ------
        BadInput, Failed
            ``invalid_url``, ``unsupported_content``, ``too_large``, ``no_text``, ``too_complex``, ``timeout``,
            ``extraction_failed``.
        """
        essence, label = parse_content_type(content_type or "")
        if needs_sniffing(essence) and essence != "text/plain":  # the caller knows it, as no server does
            essence = sniff(data[:SNIFF_BYTES], essence, label)
        return await self._fetcher.extract(data, url=url, content_type=essence, charset_label=label, on_phase=on_phase)

    async def saved(self, session: Session, key: str) -> Path:
        """Return the file of a body that was fetched with ``save``.

        Parameters
        ----------
        session
            Whose body it is.
        key
            ``saved.key`` of the Page.

        Raises
        ------
        Failed
            ``not_found`` when this session has no such file.
        """
        path = session.spooled(key)
        if path is None:
            raise Failed("not_found", "this session has no saved body of that name")
        return path

    async def discard_saved(self, session: Session, key: str) -> None:
        """Delete the file of a saved body.

        Parameters
        ----------
        session
            Whose body it is.
        key
            ``saved.key`` of the Page; one that is unknown is passed over.
        """
        await session.discard_spool(key)
