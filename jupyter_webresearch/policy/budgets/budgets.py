"""Which budgets a request has to meet, and what a person is told when one is used up.

All limits of a request are judged and charged together. The ``limits`` library is not used: it judges one window after
the other, so what a later window refuses has already been charged to the earlier ones (measured: of 160 tries it let
the right 30 through, and charged each kernel for 40).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebBudgets
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.policy.budgets.fallback import FallbackLedger
from jupyter_webresearch.policy.budgets.file import FileLedger
from jupyter_webresearch.policy.budgets.limit import Ledger, Limit, Shortage, Use
from jupyter_webresearch.policy.budgets.memory import MemoryLedger
from jupyter_webresearch.policy.budgets.storage import MEMORY, redis_ledger

__all__ = ["Budgets"]

MINUTE, DAY = 60.0, 86_400.0
MICRODOLLARS = 1_000_000
WITHOUT_END = 2**53 - 1  # the largest number that every storage counts exactly

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Budget:
    """A row of the table below: a trait of WebBudgets, the key it counts under, its window, what it counts."""

    trait: str
    key: str
    seconds: float | None
    counts: str


# Keys of a kernel begin with session:ID: so that they can be forgotten together.
_KERNEL = (
    _Budget("kernel_total", "session:{session}:total", None, "operations of this kernel, all told"),
    _Budget("kernel_per_minute", "session:{session}:minute", MINUTE, "operations of this kernel in a minute"),
)
_SERVER = (
    _Budget("server_per_minute", "server:minute", MINUTE, "operations of all kernels in a minute"),
    _Budget("server_per_day", "server:day", DAY, "operations of all kernels in 24 hours"),
)
_OF_KIND = {
    "search": (_Budget("search_per_minute", "search:minute", MINUTE, "searches of all kernels in a minute"),),
    "browser": (_Budget("browser_per_minute", "browser:minute", MINUTE, "browser pages of all kernels in a minute"),),
    "fetch": (),
    "image": (),
}
_SITE = _Budget("site_per_minute", "site:{site}", MINUTE, "requests of all kernels to {site} in a minute")
_DOLLARS = _Budget("session_dollars", "session:{session}:dollars", None, "dollars of this kernel, all told")

_BY_SETTING = {
    f"WebBudgets.{budget.trait}": budget
    for budget in (*_KERNEL, *_SERVER, *_OF_KIND["search"], *_OF_KIND["browser"], _SITE, _DOLLARS)
}


class Budgets:
    """Counts requests and dollars, and refuses what goes beyond the settings. Used on one loop.

    Parameters
    ----------
    settings
        The sizes; 0 is no limit, and no ledger ever sees it.
    ledger
        What counts.
    clock
        Tells when to ask a ledger again that did not answer.
    """

    def __init__(self, settings: WebBudgets, ledger: Ledger, clock: Clock) -> None:
        self._settings = settings
        self._ledger = FallbackLedger(ledger, clock) if settings.when_unavailable == "local" else ledger

    @classmethod
    def of(cls, settings: WebBudgets, *, shared_file: Path | None, clock: Clock) -> Budgets:
        """Return budgets that count where ``WebBudgets.storage`` says; nothing is opened yet.

        Parameters
        ----------
        settings
            Of this engine.
        shared_file
            Counts under ``memory://`` of an engine without a server, which shares them with its user's others; None
            in a server.
        clock
            The engine's.

        Raises
        ------
        Failed
            ``config`` for a Redis URL that can't be used, or when the package for it is missing.
        """
        if settings.storage != MEMORY:
            return cls(settings, redis_ledger(settings.storage), clock)
        return cls(settings, MemoryLedger(clock) if shared_file is None else FileLedger(shared_file, clock), clock)

    async def check(self, kind: str, session: str, site: str, providers: Sequence[str] = ()) -> None:
        """Refuse what :meth:`open` would refuse now, and count nothing.

        Parameters
        ----------
        kind, session, site, providers
            As for :meth:`open`.

        Raises
        ------
        Refused
            ``over_budget``.
        Failed
            ``budget_unavailable``.
        """
        await self._have_room(self._opening(kind, session, site, self._price(kind, providers)), site)

    async def check_hop(self, site: str) -> None:
        """Refuse what :meth:`hop` would refuse now, and count nothing.

        Raises
        ------
        Refused
            ``over_budget``.
        Failed
            ``budget_unavailable``.
        """
        await self._have_room(list(self._site_limits(site)), site)

    async def open(self, kind: str, session: str, site: str, providers: Sequence[str] = ()) -> float:
        """Count the first request of an operation and reserve its price, which is returned in dollars.

        Parameters
        ----------
        kind
            ``fetch``, ``search``, ``image`` or ``browser``.
        session
            Id of the session that asks.
        site
            Canonical host; empty for a search.
        providers
            That a search asks, for its price.

        Raises
        ------
        Refused
            ``over_budget``, and nothing was counted.
        Failed
            ``budget_unavailable``.
        """
        price = self._price(kind, providers)
        await self._take(self._opening(kind, session, site, price), site)
        return price

    async def hop(self, site: str) -> None:
        """Count a further request to a site: a redirect's, or a polite retry.

        Raises
        ------
        Refused
            ``over_budget``.
        Failed
            ``budget_unavailable``.
        """
        await self._take(list(self._site_limits(site)), site)

    async def settle(self, session: str, reserved: float, spent: float) -> None:
        """Replace what :meth:`open` reserved by what was spent, even where that is more than the budget had left.

        It never raises: the operation is over. While the storage does not answer, what was reserved stays counted.

        Parameters
        ----------
        session
            Who spent it.
        reserved
            Dollars, as :meth:`open` returned them.
        spent
            Dollars; 0 when nothing was sent.
        """
        more = _microdollars(spent) - _microdollars(reserved)
        limits = list(self._dollars(session, abs(more)))
        try:
            if limits and more < 0:
                await self._ledger.give_back(limits)
            elif limits:
                await self._ledger.take([replace(limit, size=WITHOUT_END) for limit in limits])
        except Failed as error:
            _log.warning("%s; dollars stay counted as they were reserved", error.message)

    async def report(self, session: str) -> list[dict[str, Any]]:
        """Return a row for each limit of a session, those of single sites apart: what it is, and what is used of it.

        Each has ``name`` (the setting), ``counts`` (in words), ``size``, ``used``, ``seconds`` (None for a total) and
        ``frees_in`` (seconds until there is room for one more than now; None where none is used, or never).

        Raises
        ------
        Failed
            ``budget_unavailable``.
        """
        budgets = (*_KERNEL, *_SERVER, *_OF_KIND["search"], *_OF_KIND["browser"])
        limits = [*self._limits(budgets, session), *self._dollars(session, 1)]
        return [_row(use) for use in await self._ledger.uses(limits)]

    async def forget(self, session: str) -> None:
        """Drop what is counted of a session alone. It never raises: storages drop by themselves what nobody touches."""
        try:
            await self._ledger.forget(f"session:{_quoted(session)}:")
        except Failed as error:
            _log.debug("%s; what was counted of a kernel that ended goes later", error.message)

    async def close(self) -> None:
        """Let go of the storage."""
        await self._ledger.close()

    async def _have_room(self, limits: list[Limit], site: str) -> None:
        # What costs nothing fits beside all but the cost exactly where the cost itself would fit.
        asked = [replace(limit, size=limit.size - limit.cost, cost=0) for limit in limits]
        shortage = await self._ledger.take(asked) if asked else None
        if shortage is not None:
            raise _refusal(replace(shortage, limit=limits[asked.index(shortage.limit)]), site)

    async def _take(self, limits: list[Limit], site: str) -> None:
        shortage = await self._ledger.take(limits) if limits else None
        if shortage is not None:
            raise _refusal(shortage, site)

    def _price(self, kind: str, providers: Sequence[str]) -> float:
        prices = self._settings.price_per_search
        if kind == "search":
            return sum(float(prices.get(provider, 0.0)) for provider in providers)
        return float(self._settings.price_per_request)

    def _opening(self, kind: str, session: str, site: str, price: float) -> list[Limit]:
        """Return all that the first request of an operation has to meet."""
        return [
            *self._limits((*_KERNEL, *_SERVER, *_OF_KIND[kind]), session),
            *self._site_limits(site),
            *self._dollars(session, _microdollars(price)),
        ]

    def _limits(self, budgets: tuple[_Budget, ...], session: str = "", site: str = "") -> Iterator[Limit]:
        for budget in budgets:
            size = getattr(self._settings, budget.trait)
            if size:
                key = budget.key.format(session=_quoted(session), site=site)
                yield Limit(f"WebBudgets.{budget.trait}", key, size, budget.seconds)

    def _site_limits(self, site: str) -> Iterator[Limit]:
        return self._limits((_SITE,), site=site) if site else iter(())

    def _dollars(self, session: str, microdollars: int) -> Iterator[Limit]:
        for limit in self._limits((_DOLLARS,), session) if microdollars else ():
            yield replace(limit, size=_microdollars(limit.size), cost=microdollars)


def _microdollars(dollars: float) -> int:
    """Return the next whole number: a price below one counts, and 0.0011 is 1,100, which no float says."""
    return int((Decimal(str(dollars)) * MICRODOLLARS).to_integral_value(ROUND_CEILING))


def _quoted(session: str) -> str:
    return quote(session, safe="")  # no ":" is left, so that no id is the beginning of another's keys


def _refusal(shortage: Shortage, site: str) -> Refused:
    limit, budget = shortage.limit, _BY_SETTING[shortage.limit.setting]
    is_dollars = budget is _DOLLARS
    most = _dollar_text(limit.size) if is_dollars else f"{limit.size:,}"
    costs = f", and this costs {_dollar_text(limit.cost)}" if is_dollars else ""
    text = f"a budget is used up: at most {most} {budget.counts.format(site=site)}{costs}; "
    if shortage.retry_after is None:
        text += "waiting or a restart does not help: it holds until the kernel is shut down"
        return Refused("over_budget", text, setting=limit.setting)
    seconds = math.ceil(shortage.retry_after)
    return Refused(
        "over_budget", f"{text}try again in {seconds:,} s", setting=limit.setting, retry_after=float(seconds)
    )


def _dollar_text(microdollars: int) -> str:
    return f"{Decimal(microdollars) / MICRODOLLARS:f}"


def _row(use: Use) -> dict[str, Any]:
    budget = _BY_SETTING[use.limit.setting]
    in_dollars = budget is _DOLLARS
    return {
        "name": use.limit.setting,
        "counts": budget.counts,
        "size": use.limit.size / MICRODOLLARS if in_dollars else use.limit.size,
        "used": use.used / MICRODOLLARS if in_dollars else use.used,
        "seconds": use.limit.seconds,
        "frees_in": use.frees_in,
    }
