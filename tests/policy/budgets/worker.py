"""One process of several that share a storage: it opens so many operations at a sign, and tells how many passed.

    python -m tests.policy.budgets.worker STORAGE SESSION TRIES SERVER_LIMIT

STORAGE is the URL of a Redis or the path of a file.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import WebBudgets
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.policy.budgets.budgets import Budgets
from jupyter_webresearch.policy.budgets.file import FileLedger


def settings(storage: str, server_limit: int) -> WebBudgets:
    """Several windows for each request, of which the server's is the narrowest."""
    return WebBudgets(
        kernel_total=1000,
        kernel_per_minute=500,
        server_per_minute=server_limit,
        server_per_day=900,
        site_per_minute=800,
        session_dollars=100.0,
        price_per_request=0.001,
        storage=storage if "://" in storage else "memory://",
    )


def budgets(storage: str, server_limit: int) -> Budgets:
    clock = SystemClock()
    if "://" in storage:
        return Budgets.of(settings(storage, server_limit), shared_file=None, clock=clock)
    # Patient, so that a machine that is busy with other tests is not taken for a storage that does not answer.
    return Budgets(settings(storage, server_limit), FileLedger(Path(storage), clock, patience=30), clock)


async def tries(counted: Budgets, session: str, number: int) -> int:
    """Return how many of the tries passed; two are under way at once."""

    async def some(number: int) -> int:
        passed = 0
        for _ in range(number):
            try:
                await counted.open("fetch", session, "www.example.org")
            except Refused as refused:
                assert refused.code == "over_budget"
            else:
                passed += 1
        return passed

    return sum(await asyncio.gather(some(number // 2), some(number - number // 2)))


async def main(storage: str, session: str, number: str, server_limit: str) -> None:
    counted = budgets(storage, int(server_limit))
    print("ready", flush=True)
    sys.stdin.readline()
    passed = await tries(counted, session, int(number))
    await counted.close()
    print(json.dumps(passed), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
