"""Counts in this process: for one server, or while a shared storage does not answer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.policy.budgets.judging import (
    KEPT_SECONDS,
    MICROSECONDS,
    most_pressing,
    units_short,
    window_of,
)
from jupyter_webresearch.policy.budgets.limit import Limit, Shortage, Use

__all__ = ["MemoryLedger"]

SWEEP_SECONDS = 60  # what nobody asks any more is dropped so often


@dataclass
class _Window:
    """The moments at which units were taken, in order; all lengths in microseconds."""

    length: int
    stamps: deque[int] = field(default_factory=deque)

    def used(self, now: int) -> int:
        """Drop what has fallen out and count the rest."""
        while self.stamps and self.stamps[0] <= now - self.length:
            self.stamps.popleft()
        return len(self.stamps)


@dataclass
class _Total:
    """Units that were taken, and when that last changed."""

    used: int = 0
    touched: int = 0


class MemoryLedger:
    """A :class:`~jupyter_webresearch.policy.budgets.limit.Ledger` in memory. Used from any thread and any loop.

    Parameters
    ----------
    clock
        Its monotonic seconds are the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # never held over an await, and for microseconds only
        self._windows: dict[str, _Window] = {}
        self._totals: dict[str, _Total] = {}
        self._next_sweep = 0

    async def take(self, limits: Sequence[Limit]) -> Shortage | None:
        """Take all or nothing; see :meth:`Ledger.take`."""
        with self._lock:
            now = self._now()
            self._sweep(now)
            shortage = most_pressing(limits, [self._wait(limit, now) for limit in limits])
            if shortage is None:
                for limit in limits:
                    self._charge(limit, now)
            return shortage

    async def give_back(self, limits: Sequence[Limit]) -> None:
        """Return what was taken of totals; see :meth:`Ledger.give_back`."""
        with self._lock:
            for limit in limits:
                if limit.seconds is None and limit.key in self._totals:
                    self._totals[limit.key].used = max(0, self._totals[limit.key].used - limit.cost)

    async def uses(self, limits: Sequence[Limit]) -> list[Use]:
        """Return what is used; see :meth:`Ledger.uses`."""
        with self._lock:
            now = self._now()
            return [self._use(limit, now) for limit in limits]

    async def forget(self, prefix: str) -> None:
        """Drop keys; see :meth:`Ledger.forget`."""
        with self._lock:
            self._windows = {key: window for key, window in self._windows.items() if not key.startswith(prefix)}
            self._totals = {key: total for key, total in self._totals.items() if not key.startswith(prefix)}

    async def close(self) -> None:
        """Do nothing; see :meth:`Ledger.close`."""

    def _now(self) -> int:
        return round(self._clock.monotonic() * MICROSECONDS)

    def _wait(self, limit: Limit, now: int) -> int | None:
        short = units_short(limit, self._used(limit, now))
        if not short:
            return short
        window = self._windows[limit.key]
        return window.stamps[short - 1] + window.length - now

    def _used(self, limit: Limit, now: int) -> int:
        if limit.seconds is None:
            return self._totals[limit.key].used if limit.key in self._totals else 0
        window = self._windows.get(limit.key)
        return 0 if window is None else window.used(now)

    def _charge(self, limit: Limit, now: int) -> None:
        if not limit.cost:
            return
        if limit.seconds is None:
            total = self._totals.setdefault(limit.key, _Total())
            total.used, total.touched = total.used + limit.cost, now
        else:
            window = self._windows.setdefault(limit.key, _Window(window_of(limit)))
            window.stamps.extend(repeat(now, limit.cost))

    def _use(self, limit: Limit, now: int) -> Use:
        used = self._used(limit, now)
        if limit.seconds is None or not used:
            return Use(limit, used, None)
        window = self._windows[limit.key]
        return Use(limit, used, (window.stamps[0] + window.length - now) / MICROSECONDS)

    def _sweep(self, now: int) -> None:
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS * MICROSECONDS
            self._windows = {key: window for key, window in self._windows.items() if window.used(now)}
            kept = now - KEPT_SECONDS * MICROSECONDS
            self._totals = {key: total for key, total in self._totals.items() if total.touched >= kept}
