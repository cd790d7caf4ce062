"""The rules that every ledger judges by, whatever it keeps its counts in.

Times are whole microseconds, so that every storage counts the same to the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jupyter_webresearch.policy.budgets.limit import Limit, Shortage

__all__ = ["KEPT_SECONDS", "MICROSECONDS", "most_pressing", "units_short", "window_of"]

MICROSECONDS = 1_000_000

KEPT_SECONDS = 30 * 24 * 3600
"""How long a total is kept that nobody touches: a process that was killed told of no end, nor does a user who left."""


def window_of(limit: Limit) -> int:
    """Return the length of a limit's window in microseconds; 0 for a total."""
    return 0 if limit.seconds is None else round(limit.seconds * MICROSECONDS)


def units_short(limit: Limit, used: int) -> int | None:
    """Return how many units must fall out before the cost fits: 0 if it fits now, None if it never will.

    Parameters
    ----------
    limit
        What is asked.
    used
        Units that are counted now.
    """
    short = used + limit.cost - limit.size
    if short <= 0:
        return 0
    return None if limit.seconds is None or limit.cost > limit.size else short


def most_pressing(limits: Sequence[Limit], waits: Iterable[int | None]) -> Shortage | None:
    """Return the limit that a request has to wait for longest; None when nothing is short.

    Parameters
    ----------
    limits
        All that the request has to meet.
    waits
        For each of them the microseconds until its cost fits: 0 for now, None for never.
    """
    longest, found = 0, None
    for limit, wait in zip(limits, waits, strict=True):
        if wait is None:
            return Shortage(limit, None)
        if wait > longest:
            longest, found = wait, limit
    return None if found is None else Shortage(found, longest / MICROSECONDS)
