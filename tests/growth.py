"""How the work for an input grows with it, measured against itself rather than against a clock."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["grows_at_most"]

READINGS = 12

T = TypeVar("T")


def grows_at_most(times: float, work: Callable[[T], object], small: T, large: T, *, floor: float = 0.02) -> bool:
    """Tell whether ``work`` on ``large`` takes at most so many times the processor time that it takes on ``small``.

    What else a machine does can only add to a reading: the least of several counts. What takes less than ``floor``
    seconds of processor time is taken to last as long, since caches and the clock would decide on the rest.
    """
    least = {"small": float("inf"), "large": float("inf")}
    enabled = gc.isenabled()
    gc.disable()  # a heap full of other tests' objects is no part of this work
    try:
        for _ in range(READINGS):
            for name, thing in (("small", small), ("large", large)):
                begun = time.thread_time()
                work(thing)
                least[name] = min(least[name], time.thread_time() - begun)
            if least["large"] <= times * max(least["small"], floor):
                return True
    finally:
        if enabled:
            gc.enable()
    return False
