"""What counts while a shared storage does not answer, where the operator allows that."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.budgets.limit import Ledger, Limit, Shortage, Use
from jupyter_webresearch.policy.budgets.memory import MemoryLedger

__all__ = ["FallbackLedger"]

T = TypeVar("T")

PROBE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class FallbackLedger:
    """Counts in a shared ledger, and in this process with the same limits while that does not answer.

    What is counted here stays counted here: the limits hold in each of both, however often the shared one comes and
    goes. Used on one loop.

    Parameters
    ----------
    shared
        The ledger that may fail.
    clock
        Its monotonic seconds tell when to ask that one again.
    """

    def __init__(self, shared: Ledger, clock: Clock) -> None:
        self._shared = shared
        self._clock = clock
        self._local = MemoryLedger(clock)
        self._next_probe: float | None = None  # None while the shared one answers

    async def take(self, limits: Sequence[Limit]) -> Shortage | None:
        """Take all or nothing; see :meth:`Ledger.take`."""
        return await self._ask(lambda ledger: ledger.take(limits))

    async def give_back(self, limits: Sequence[Limit]) -> None:
        """Return what was taken of totals; see :meth:`Ledger.give_back`."""
        await self._ask(lambda ledger: ledger.give_back(limits))

    async def uses(self, limits: Sequence[Limit]) -> list[Use]:
        """Return what is used; see :meth:`Ledger.uses`."""
        return await self._ask(lambda ledger: ledger.uses(limits))

    async def forget(self, prefix: str) -> None:
        """Drop keys of both; see :meth:`Ledger.forget`."""
        await self._local.forget(prefix)
        await self._ask(lambda ledger: ledger.forget(prefix))

    async def close(self) -> None:
        """Close the shared one; see :meth:`Ledger.close`."""
        await self._shared.close()

    async def _ask(self, call: Callable[[Ledger], Awaitable[T]]) -> T:
        now = self._clock.monotonic()
        if self._next_probe is None or now >= self._next_probe:
            if self._next_probe is not None:
                self._next_probe = now + PROBE_SECONDS  # one probes; others meanwhile do not wait for it
            try:
                answer = await call(self._shared)
            except Failed as error:
                if error.code != "budget_unavailable":
                    raise
                self._note_failure(error)
            else:
                self._note_answer()
                return answer
        return await call(self._local)

    def _note_failure(self, error: Failed) -> None:
        if self._next_probe is None:
            _log.warning("%s; until then budgets are counted in this process alone", error.message)
        self._next_probe = self._clock.monotonic() + PROBE_SECONDS

    def _note_answer(self) -> None:
        if self._next_probe is not None:
            _log.info("the storage of the budgets answers again")
        self._next_probe = None
