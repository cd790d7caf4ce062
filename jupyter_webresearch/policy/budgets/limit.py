"""One limit, and the contract of whatever counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Ledger", "Limit", "Shortage", "Use"]


@dataclass(frozen=True)
class Limit:
    """A limit as one request meets it.

    Attributes
    ----------
    setting
        ``Class.trait`` that sets its size.
    key
        What is counted together, e.g. ``site:example.org``; one key has one size and one window.
    size
        Most units; at least 1 (a setting of 0 makes no Limit).
    seconds
        Length of the sliding window, or None for a total that never falls.
    cost
        Units that the request takes; 0 asks only, whether no more than the size is used.
    """

    setting: str
    key: str
    size: int
    seconds: float | None
    cost: int = 1


@dataclass(frozen=True)
class Shortage:
    """Why a request was not let through.

    Attributes
    ----------
    limit
        The one that is short; of several the one with the longest wait, totals before all.
    retry_after
        Seconds until the whole request would fit, if nobody else took the room; None for never.
    """

    limit: Limit
    retry_after: float | None


@dataclass(frozen=True)
class Use:
    """What is used of a limit now, and the seconds until the oldest unit falls out (None for a total or none used)."""

    limit: Limit
    used: int
    frees_in: float | None


class Ledger(Protocol):
    """Counts units by key. Every method is exact under any number of threads and processes that share the storage.

    Raises
    ------
    Failed
        ``budget_unavailable`` from every method but :meth:`close`, within a second, when the storage does not answer.
    """

    async def take(self, limits: Sequence[Limit]) -> Shortage | None:
        """Take the cost of every limit, or of none: at one moment, before anybody else does."""
        ...

    async def give_back(self, limits: Sequence[Limit]) -> None:
        """Return the cost of totals that were taken and not used; windows keep what they counted."""
        ...

    async def uses(self, limits: Sequence[Limit]) -> list[Use]:
        """Return what is used of each limit, in order."""
        ...

    async def forget(self, prefix: str) -> None:
        """Drop all keys that begin so: a kernel has ended."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
