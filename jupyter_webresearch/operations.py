"""Operations: each is let out by the policy and stands in the journal, from its beginning to its end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.clock import Clock
from jupyter_webresearch.errors import Failed, Refused, WebResearchError
from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.journal import Journal
from jupyter_webresearch.models import READS
from jupyter_webresearch.page import Page
from jupyter_webresearch.policy.gate import Gate, Policy
from jupyter_webresearch.policy.policy_change import Grant
from jupyter_webresearch.redaction import MAX_URL, REDACTED, redact_text, redact_url
from jupyter_webresearch.search.response import SearchResponse
from jupyter_webresearch.session import Session

__all__ = ["Operation", "Operations"]

EXCERPT = 200
"""Characters of a completed operation's text that the journal keeps."""

LONGEST_URL = 8 * MAX_URL
"""Characters of a URL that is still redacted, which takes the loop's time; a longer one is refused anyway."""


class Operation:
    """One operation under way.

    Parameters
    ----------
    gate
        Lets its requests out.
    session
        Whose it is.
    journal, clock
        Where it is recorded, and when.
    base
        What stands in each of its events.
    """

    def __init__(self, gate: Gate, session: Session, journal: Journal, clock: Clock, base: Mapping[str, Any]) -> None:
        self.gate = gate
        self._session = session
        self._journal = journal
        self._clock = clock
        self._base = dict(base)
        self._began = clock.monotonic()
        self._started = False
        self._result: dict[str, Any] = {}
        self.switched_off = False
        """Whether it was cancelled because its kind was switched off."""

    @property
    def id(self) -> str:
        """The id that goes out as X-Request-ID."""
        return str(self._base["operation"])

    async def start(self) -> None:
        """Record that it begins to work on something that memory can't answer.

        Raises
        ------
        Failed
            ``journal_unavailable`` where the journal is required.
        """
        if self._started:
            return
        self._started = True  # before it is written: what a cancelled write has left is written all the same
        try:
            await self._journal.write(self._event("started"))
        except Failed:
            self._started = False
            raise

    def complete(self, page: Page) -> None:
        """Keep what the journal is to know of a Page that was read."""
        self._result = {
            "final_url": redact_url(page.url),
            "status": page.status,
            "bytes": page.body_bytes,
            "title": redact_text(page.title[: 4 * EXCERPT])[:EXCERPT],
            "excerpt": redact_text(page.markdown[: 4 * EXCERPT])[:EXCERPT],
            "source": "live" if page.cached_seconds is None else "cache",
        }

    def complete_search(self, response: SearchResponse, *, source: str) -> None:
        """Keep what the journal is to know of a search.

        Parameters
        ----------
        response
            What was found.
        source
            ``live`` or ``cache``.
        """
        found = "; ".join(result.title for result in response.results)
        self._result = {
            "provider": ", ".join(tally.provider for tally in response.answered),
            "query": redact_text(response.query[: 4 * EXCERPT])[: 2 * EXCERPT],
            "results": len(response.results),
            "title": redact_text(response.results[0].title[: 4 * EXCERPT])[:EXCERPT] if response.results else "",
            "excerpt": redact_text(found[: 4 * EXCERPT])[:EXCERPT],
            "source": source,
        }

    async def end(self, error: BaseException | None) -> None:
        """Record how it ended.

        Parameters
        ----------
        error
            What ended it; None when it completed.

        Raises
        ------
        Failed
            ``journal_unavailable`` where the journal is required and does not tell that it began: of what it completed
            in spite of that nothing is to be lost.
        """
        was_started, events = self._started, []
        if not was_started and not (error is None and self._result.get("source") == "cache"):
            events.append(self._event("started"))
        told: dict[str, Any] = dict(self._result)
        if error is not None:
            told |= _told(error)
        judgement = self.gate.judgement
        if judgement is not None:
            told |= {"score": judgement.score, "category": judgement.category}
        seconds = round(self._clock.monotonic() - self._began, 3)
        outcome = "completed" if error is None else "refused" if isinstance(error, Refused) else "failed"
        cost = self.gate.spent
        self._session.dollars_spent += cost
        spent = round(self._session.dollars_spent, 6)
        events.append(self._event(outcome, seconds=seconds, cost=cost, spent=spent, **told))
        try:
            await self._journal.write(*events)
        except Failed:
            if not was_started:
                raise

    def _event(self, outcome: Any, **more: Any) -> Event:
        return Event(outcome=outcome, time=_time(self._clock), **{**self._base, **more})


class Operations:
    """Opens operations, and cancels those of a kind. Used on the engine's loop only.

    Parameters
    ----------
    policy
        What decides.
    journal, clock
        Where operations are recorded, and when.
    """

    def __init__(self, policy: Policy, journal: Journal, clock: Clock) -> None:
        self._policy = policy
        self._journal = journal
        self._clock = clock
        self._running: dict[asyncio.Task[Any], tuple[str, Operation]] = {}

    @asynccontextmanager
    async def open(
        self,
        kind: str,
        session: Session,
        caller: Caller,
        *,
        arguments: Mapping[str, Any],
        method: str = "",
        url: str = "",
        risk: str | None = None,
    ) -> AsyncIterator[Operation]:
        """Open an operation and record its end, however it ends.

        Parameters
        ----------
        kind
            One of :data:`jupyter_webresearch.journal.event.KINDS`.
        session, caller
            For whom, and who asks.
        arguments
            All that was asked; only a keyed hash of it is kept.
        method, url
            As asked.
        risk
            ``read``, ``write`` or ``act``; by default what the method means.

        Raises
        ------
        Failed
            ``journal_unavailable`` where the journal is required.
        Refused
            ``disabled`` when it was cancelled by the switch.
        """
        await self._journal.open()  # once: it ends what a crash left open, and has the key for the hash
        operation_id = secrets.token_hex(16)
        base = {
            "operation": operation_id,
            "kind": kind,
            "session": session.id,
            "channel": caller.channel,
            "kernel": caller.kernel,
            "notebook": caller.notebook,
            "arguments": await asyncio.to_thread(self._journal.arguments_hash, dict(arguments)),
            "method": method,
            "url": redact_url(url) if len(url) <= LONGEST_URL else REDACTED,
            "risk": risk or ("read" if not method or method in READS else "write"),
        }
        gate = Gate(self._policy, kind, session, caller, operation_id)
        operation = Operation(gate, session, self._journal, self._clock, base)
        task = asyncio.current_task()
        if task is None:  # only a caller outside the engine's loop could cause it
            raise RuntimeError("an operation is opened on the engine's loop only")
        self._running[task] = (kind, operation)
        try:
            try:
                yield operation
            finally:
                del self._running[task]  # what has come to its end is not cancelled any more
        except BaseException as error:
            ended = self._ended(kind, operation, task, error)
            with contextlib.suppress(WebResearchError):
                await self._end(operation, session, ended)
            if ended is error:
                raise
            raise ended from None
        else:
            await self._end(operation, session, None)

    def _ended(self, kind: str, operation: Operation, task: asyncio.Task[Any], error: BaseException) -> BaseException:
        """Return what ended an operation: a cancellation by the switch is a refusal."""
        if not (operation.switched_off and isinstance(error, asyncio.CancelledError)):
            return error
        uncancel = getattr(task, "uncancel", None)  # Python 3.11
        if uncancel is not None:
            uncancel()
        try:
            self._policy.switch.check(kind)
        except Refused as refused:
            return refused
        return Failed("cancelled", f"{kind} was switched off for a moment")

    async def _end(self, operation: Operation, session: Session, error: BaseException | None) -> None:
        # On record first: a second cancellation, as at a server's end, stops what is awaited, not what is begun here.
        with anyio.CancelScope(shield=True):
            try:
                await operation.end(error)
            finally:
                gate = operation.gate
                if gate.spent != gate.reserved:
                    await self._policy.budgets.settle(session.account, gate.reserved, gate.spent)

    def cancel(self, kinds: frozenset[str]) -> None:
        """Cancel what runs of some kinds, because they were switched off."""
        for task, (kind, operation) in list(self._running.items()):
            if kind in kinds:
                operation.switched_off = True
                task.cancel()

    def journal_note(self, session: Session) -> tuple[str, ...]:
        """Return what the result of an operation that has ended says of the journal: once a session, while it fails."""
        told, session.told_of_journal = session.told_of_journal, bool(self._journal.fault)
        return () if told or not self._journal.fault else (self._journal.fault,)

    async def record_grants(self, session: Session, caller: Caller, grants: list[Grant]) -> None:
        """Record what was granted to a session, denied or taken back, by a person or by rule.

        Parameters
        ----------
        session, caller
            Whose policy changed, and who asked for it.
        grants
            One event each.

        Raises
        ------
        Failed
            ``journal_unavailable`` where the journal is required.
        """
        events = [
            self._note(
                "approval",
                caller,
                session=session.id,
                outcome="completed" if grant.granted else "refused",
                risk=grant.risk,
                scope=grant.scope,
                url=grant.host,
            )
            for grant in grants
        ]
        await self._journal.write(*events)

    async def record(self, kind: str, caller: Caller, **fields: Any) -> None:
        """Record one event that is no operation on the web.

        Parameters
        ----------
        kind
            ``approval`` or ``policy``.
        caller
            Who did it.
        **fields
            Of the event.

        Raises
        ------
        Failed
            ``journal_unavailable`` where the journal is required.
        """
        await self._journal.write(self._note(kind, caller, **fields))

    def _note(self, kind: str, caller: Caller, **fields: Any) -> Event:
        event = {
            "operation": secrets.token_hex(16),
            "outcome": "completed",
            "time": _time(self._clock),
            "channel": caller.channel,
            "kernel": caller.kernel,
            "notebook": caller.notebook,
        }
        return Event(kind=kind, **{**event, **fields})


def _told(error: BaseException) -> dict[str, Any]:
    if isinstance(error, WebResearchError):
        told: dict[str, Any] = {
            "code": error.code,
            "reason": redact_text(error.message),
            "setting": error.setting or "",
        }
        if error.page is not None:
            page = error.page
            told |= {"final_url": redact_url(page.url), "status": page.status, "bytes": page.body_bytes}
        return told
    if isinstance(error, asyncio.CancelledError):
        return {"code": "cancelled", "reason": "the operation was interrupted"}
    return {"code": "internal", "reason": type(error).__name__}


def _time(clock: Clock) -> str:
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
