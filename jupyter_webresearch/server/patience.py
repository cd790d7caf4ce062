"""Waiting for Jupyter's managers, which may be anybody's, no longer than is decent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["PATIENCE", "in_time"]

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds for one answer."""


async def in_time(work: Awaitable[T], seconds: float) -> T:
    """Return what work gives; TimeoutError when it takes longer, even if it can't be cancelled, as a thread can't.

    Parameters
    ----------
    work
        What is awaited, and left behind.
    seconds
        Longest wait.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, even if nobody waits any more
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
    if not done:
        raise TimeoutError
    return task.result()
