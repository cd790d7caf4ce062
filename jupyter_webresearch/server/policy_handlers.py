"""The routes by which callers see and change what bounds them, and read what was done."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, get_args

from jupyter_server.auth.decorator import allow_unauthenticated

from jupyter_webresearch.errors import BadInput, Refused
from jupyter_webresearch.journal.event import KINDS, Outcome
from jupyter_webresearch.server.base import WebResearchHandler
from jupyter_webresearch.server.operation import OperationHandler
from jupyter_webresearch.server.request_body import read_change, read_switch
from jupyter_webresearch.surfaces import offered, report_of

__all__ = ["JournalHandler", "OperationsHandler", "PolicyHandler", "SwitchHandler"]

FEW_EVENTS, MOST_EVENTS = 100, 10_000
"""Events of one answer, unless it is asked for more, and at most."""

_JUPYTERS = ("token", "_xsrf", "no_track_activity")


class OperationsHandler(WebResearchHandler):
    """What can be asked for."""

    @allow_unauthenticated  # prepare() has let the caller in; so below
    async def get(self) -> None:
        """Answer with the operations that are there and switched on."""
        await self.send_json({"operations": list(self.extension.operations())})


class PolicyHandler(OperationHandler):
    """What bounds the caller's session."""

    @allow_unauthenticated
    async def get(self) -> None:
        """Answer with both lists, the budgets and what else holds."""
        engine, session, _ = await self.operation()
        await self.send_json(report_of(await self.run(lambda _: engine.policy(session))))

    @allow_unauthenticated
    async def post(self) -> None:
        """Change what the session asks, and answer as to GET."""
        change = await asyncio.to_thread(read_change, self.request.body)
        engine, session, caller = await self.operation()
        await self.send_json(report_of(await self.run(lambda _: engine.change_policy(session, change, caller))))


class SwitchHandler(OperationHandler):
    """Switching operations off and on, for the whole server."""

    @allow_unauthenticated
    async def post(self) -> None:
        """Answer with the operations that are on afterwards.

        Raises
        ------
        Refused
            ``unauthorized`` for a kernel: what runs in it could undo what its user decided.
        """
        if self.kernel is not None:
            raise Refused("unauthorized", "a kernel can't switch operations; its user can")
        operation, on = await asyncio.to_thread(read_switch, self.request.body)
        engine, caller = await self.engine(), await self.caller()
        operations = await self.run(lambda _: engine.switch(operation, on, caller))
        await self.send_json({"operations": list(offered(operations))})


class JournalHandler(OperationHandler):
    """What was done: a kernel sees its own session's events, a user all."""

    @allow_unauthenticated
    async def get(self) -> None:
        """Answer with events, the newest last."""
        filters = {"limit": FEW_EVENTS, **self._filters()}
        if self.kernel is not None:
            filters["session"] = self.session_id
        engine = await self.engine()
        await self.send_json({"events": await self.run(lambda _: engine.events(**filters))})

    def _filters(self) -> dict[str, Any]:
        filters: dict[str, Any] = {}
        for name, values in self.request.query_arguments.items():
            if name in _JUPYTERS:
                continue
            if name not in _FILTERS:
                raise BadInput("bad_request", f"{name[:80]!r} is not known here")
            if len(values) > 1:
                raise BadInput("bad_request", f"{name} is given more than once")
            read, kind = _FILTERS[name]
            value = read(self.get_query_argument(name))
            if value is None:
                raise BadInput("bad_request", f"{name} must be {kind}")
            filters[name] = value
        return filters


def _number(text: str, low: int, high: int) -> int | None:
    number = int(text) if re.fullmatch("[0-9]{1,18}", text) else -1
    return number if low <= number <= high else None


def _one_of(*names: str) -> Callable[[str], str | None]:
    return lambda text: text if text in names else None


def _kernel(text: str) -> str | None:
    return text if re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", text) else None


def _time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


_FILTERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "limit": (lambda text: _number(text, 1, MOST_EVENTS), f"a whole number from 1 to {MOST_EVENTS}"),
    "kind": (_one_of(*KINDS), f"one of {', '.join(KINDS)}"),
    "outcome": (_one_of(*get_args(Outcome)), f"one of {', '.join(get_args(Outcome))}"),
    "after": (lambda text: _number(text, 0, 2**53), "the number of an event"),
    "since": (_time, "a time with its zone (RFC 3339)"),
    "kernel": (_kernel, "a kernel's id"),
}
