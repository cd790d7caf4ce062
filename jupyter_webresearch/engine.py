"""The engine: one per process, on a thread and loop of its own.

Everything that reads the web runs here, in the server and in a kernel alike, so that neither's own loop is ever held up
and only this lifelong thread spawns processes.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import secrets
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.config import Settings
from jupyter_webresearch.engine_parts import Seams, assemble
from jupyter_webresearch.errors import Failed, Refused, WebResearchError
from jupyter_webresearch.journal.reader import read_events
from jupyter_webresearch.loop_thread import LoopThread
from jupyter_webresearch.models import FetchRequest, OnPhase, Verdict
from jupyter_webresearch.net.content_type import SNIFF_BYTES, needs_sniffing, parse_content_type, sniff
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.policy_change import PolicyChange
from jupyter_webresearch.policy.url_check import URLCheck
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.search.response import SearchResponse
from jupyter_webresearch.session import Session

__all__ = ["Engine"]

T = TypeVar("T")

KERNEL = Caller()


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
    **seams
        Fields of :class:`~jupyter_webresearch.engine_parts.Seams`: what stands for the world around it.

    Raises
    ------
    Failed
        As :func:`~jupyter_webresearch.engine_parts.assemble`.

    Notes
    -----
    :meth:`start`, :meth:`submit`, :meth:`session`, :meth:`drop_session`, :meth:`check_url` and :meth:`close` may be
    called from any thread. The coroutines run on the engine's loop only: ``engine.submit(engine.fetch(...))``.
    """

    def __init__(self, settings: Settings, **seams: Any) -> None:
        self.settings = settings
        given = Seams(**seams)
        self._data_folder = given.data_folder
        parts = assemble(settings, given)
        self._policy = parts.policy
        self._journal = parts.journal
        self._operations = parts.operations
        self._pool = parts.pool
        self._fetcher = parts.fetcher
        self._registry = parts.registry
        self._searcher = parts.searcher
        self._sessions: dict[str, Session] = {}
        # Budgets that several servers share, or one had before it was killed, know users of the same name.
        self._run = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._thread = LoopThread(self._shut_down)

    # ------------------------------------------------------------------ life, from any thread

    def start(self) -> None:
        """Start the thread and its loop; a second call does nothing."""
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the engine's loop; cancelling the future cancels it."""
        return self._thread.submit(work)

    def session(self, session_id: str) -> Session:
        """Return the session of that id, made on first use."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                account = f"{session_id}@{self._run}"
                session = self._sessions[session_id] = Session(session_id, self.settings.fetch, account)
            return session

    def drop_session(self, session_id: str, *, ended: bool = True) -> None:
        """Cancel what runs in a session and delete what it stored; an unknown id is no error.

        Parameters
        ----------
        session_id
            Which.
        ended
            False for one that only makes room: should it come again, its totals are not refilled.
        """
        with self._lock:
            session = None if self._thread.closed else self._sessions.pop(session_id, None)  # closing drops them all
        if session is not None:
            with contextlib.suppress(RuntimeError):  # closed in between
                self.submit(self._end_session(session, ended=ended))

    def operations(self) -> tuple[str, ...]:
        """Return the operations that are switched on."""
        return self._policy.switch.operations()

    def warnings(self) -> list[str]:
        """Return what whoever runs this should know at the start: entries that cover nothing, an open hub."""
        return self._policy.lists.warnings()

    def check_url(self, url: str, session_id: str | None = None) -> Verdict:
        """Return the policy's verdict on reading a URL, before any DNS query or packet.

        Parameters
        ----------
        url
            As typed.
        session_id
            Whose asking counts; None, or a session that does not exist, has asked for nothing.
        """
        with self._lock:
            session = self._sessions.get(session_id or "")
        try:
            self._policy.switch.check("fetch")
        except Refused as error:
            return Verdict(url, "refused", error.code, error.message)
        return URLCheck(self._policy.guard, self._policy.lists).verdict(url, session.asks if session else None)

    def close(self) -> None:
        """End everything: running operations, sessions, workers, the thread. A second call does nothing."""
        self._thread.close()

    async def _shut_down(self) -> None:
        # Workers first: they must not outlive this, however long the disk takes.
        await self._pool.close()
        with self._lock:
            sessions = list(self._sessions.values())
        await asyncio.gather(*(self._end_session(session) for session in sessions), return_exceptions=True)
        await asyncio.to_thread(self._registry.close)
        await self._policy.robots.close()
        await self._policy.budgets.close()
        await self._journal.close()

    async def _end_session(self, session: Session, *, ended: bool = True) -> None:
        await session.close()
        self._policy.classifier.forget(session.id)
        self._searcher.forget(session.id)
        if ended:
            with contextlib.suppress(WebResearchError):  # the storage drops in time what it is not told to
                await self._policy.budgets.forget(session.account)

    # ------------------------------------------------------------------ operations, on the engine's loop

    async def warm_up(self) -> None:
        """Spawn the extraction workers now rather than at the first page."""
        await self._journal.open()
        await self._pool.start()

    async def fetch(
        self,
        session: Session,
        request: FetchRequest,
        on_phase: OnPhase = _ignore,
        caller: Caller = KERNEL,
    ) -> Page:
        """Read one URL.

        Parameters
        ----------
        session
            Whose memory and store serve it.
        request
            What to read.
        on_phase
            Told the phases as they begin.
        caller
            Who asks.

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
        return await self._fetcher.fetch(session, request, on_phase, caller)

    async def fetch_many(
        self,
        session: Session,
        requests: Sequence[FetchRequest],
        on_event: Callable[[int, str], None] = _ignore_event,
        on_result: Callable[[int, Page | WebResearchError], Awaitable[object] | None] | None = None,
        caller: Caller = KERNEL,
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
        caller
            Who asks.

        Returns
        -------
        list
            One outcome a request, in their order; a failure stands in its place as the error. Empty with ``on_result``.
        """
        return await self._fetcher.fetch_many(session, requests, on_event, on_result, caller)

    async def search(
        self,
        session: Session,
        request: SearchRequest,
        on_phase: OnPhase = _ignore,
        caller: Caller = KERNEL,
    ) -> SearchResponse:
        """Search the web.

        Parameters
        ----------
        session
            Whose search it is.
        request
            What is looked for, and whom to ask.
        on_phase
            Told the phases as they begin.
        caller
            Who asks.

        Returns
        -------
        SearchResponse
            What came in time, merged; nothing found is a response without results.

        Raises
        ------
        BadInput
            ``bad_request``: an argument, or a provider that is unknown, not configured or not able to.
        Refused
            ``disabled``, ``over_budget``, ``classifier``.
        Failed
            ``search_failed`` or ``rate_limited`` when nobody answered; ``budget_unavailable``, ``cancelled``.
        """
        return await self._searcher.search(session, request, on_phase, caller)

    async def providers(self) -> list[dict[str, Any]]:
        """Return the search providers as JSON: what each can, and what it lacks. Asks no network."""
        return [row.to_json() for row in await asyncio.to_thread(self._registry.rows)]

    async def extract(
        self,
        data: bytes,
        *,
        url: str,
        session: Session,
        content_type: str | None = None,
        on_phase: OnPhase = _ignore,
        caller: Caller = KERNEL,
    ) -> Page:
        """Make a Page of bytes that the caller has, without any network.

        Parameters
        ----------
        data
            The body, as it came; more than ``WebFetch.max_body`` bytes are cut for kinds that can be.
        url
            Absolute URL that the body came from: relative links are resolved against it.
        session
            Whose operation it is.
        content_type
            As in the HTTP header; sniffed when omitted.
        on_phase
            Told the phases as they begin.
        caller
            Who asks.

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
        return await self._fetcher.extract(
            session, data, url=url, content_type=essence, charset_label=label, on_phase=on_phase, caller=caller
        )

    # ------------------------------------------------------------------ the policy, on the engine's loop

    async def policy(self, session: Session) -> dict[str, Any]:
        """Return what holds for a session, as JSON: both lists, budgets and their use, switches, task."""
        return {
            **self._policy.lists.report(session.asks),
            "operations": list(self.operations()),
            "robots": self.settings.policy.robots,
            "write_methods": self.settings.policy.write_methods,
            "allow_private_networks": list(self.settings.policy.allow_private_networks),
            "allowed_ports": sorted(self.settings.policy.allowed_ports),
            "extra_blocked": list(self.settings.policy.extra_blocked),
            "site_per_minute": self.settings.budgets.site_per_minute,
            "classifier": self._policy.classifier.is_on,
            "credentials": self._policy.credentials.names(),
            "dollars_spent": round(session.dollars_spent, 6),
            **await self._budgets(session),
            **await self._journal_fault(),
        }

    async def _budgets(self, session: Session) -> dict[str, Any]:
        """Return the rows of the budgets, or why they can't be had; the lists are to be seen all the same."""
        try:
            return {"budgets": await self._policy.budgets.report(session.account)}
        except Failed as error:
            return {"budgets": [], "budgets_fault": error.message}

    async def _journal_fault(self) -> dict[str, str]:
        """Return why the journal can't be written now, if it can't."""
        fault = await self._journal.check()
        return {"journal_fault": fault} if fault else {}

    async def change_policy(self, session: Session, change: PolicyChange, caller: Caller = KERNEL) -> dict[str, Any]:
        """Change what a session asks for, inside the operator's limits, and return what :meth:`policy` does.

        Parameters
        ----------
        session
            Whose.
        change
            All of it, or nothing.
        caller
            Who asks; an agent can't set the acting list.

        Raises
        ------
        BadInput
            ``bad_request`` for an entry that can't be read.
        Refused
            ``not_allowed`` or ``acting_not_allowed`` for what lies outside the operator's lists.
        Failed
            ``journal_unavailable`` where the journal is required; nothing is changed that is not on record.
        """
        if caller.is_agent:
            await self._record_denials(session, change, caller)
            raise Refused("unauthorized", "an agent can't change what it may reach; a person can")
        async with session.changing:
            # On a thread, since a thousand international names take a while; the asks are replaced at once, at the end.
            asks = replace(session.asks, denied=set(session.asks.denied))
            try:
                grants = await asyncio.to_thread(self._policy.lists.change, asks, change)
            except Refused:
                await self._record_denials(session, change, caller)
                raise
            await self._operations.record_grants(session, caller, grants)
            if change.task is not None or change.search is not None or change.reset:
                said = [
                    *(["task set"] if change.task is not None else []),
                    *([f"search {'on' if change.search else 'off'}"] if change.search is not None else []),
                    *(["asks reset"] if change.reset else []),
                ]
                await self._operations.record("policy", caller, session=session.id, scope=", ".join(said))
            session.asks = replace(asks, notebook=session.asks.notebook)
        return await self.policy(session)

    async def _record_denials(self, session: Session, change: PolicyChange, caller: Caller) -> None:
        denials = await asyncio.to_thread(self._policy.lists.denials, change, agent=caller.is_agent)
        await self._operations.record_grants(session, caller, denials)

    async def switch(self, operation: str | None, on: bool, caller: Caller) -> tuple[str, ...]:
        """Switch an operation, or all, on or off for this engine; what runs of it is cancelled.

        Parameters
        ----------
        operation
            One of :data:`~jupyter_webresearch.config.OPERATIONS`; None for all.
        on
            Whether it shall be on.
        caller
            Who asks; an agent can't.

        Returns
        -------
        tuple of str
            The operations that are on now.

        Raises
        ------
        BadInput
            ``bad_request`` for what is no operation.
        Refused
            ``disabled`` when a setting keeps it off; ``unauthorized`` for an agent.
        Failed
            ``journal_unavailable`` where the journal is required; it is switched all the same.
        """
        kinds = self._policy.switch.named(operation)
        scope = f"{operation or 'everything'} switched {'on' if on else 'off'}"
        try:
            self._set_switch(operation, on, caller)
        except Refused:
            await self._operations.record("policy", caller, outcome="refused", scope=scope)
            raise
        if not on:
            self._operations.cancel(kinds)
        await self._operations.record("policy", caller, scope=scope)
        return self.operations()

    def _set_switch(self, operation: str | None, on: bool, caller: Caller) -> None:
        if caller.is_agent:
            raise Refused("unauthorized", "an agent can't switch operations; a person can")
        self._policy.switch.set(operation, on)

    async def events(self, **filters: Any) -> list[dict[str, Any]]:
        """Return events of the journal; see :func:`jupyter_webresearch.journal.reader.read_events`."""
        return await asyncio.to_thread(read_events, self._data_folder, **filters)

    # ------------------------------------------------------------------ saved bodies

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
