"""A server extension for tests: how long the server's event loop stood still, by the server's own doing.

Where the system tells (Linux), the time does not count in which a thread of the server was ready to run and others had
the processors.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import allow_unauthenticated
from tornado.web import RequestHandler

BEAT = 0.005  # seconds
PULSE = {"worst": 0.0, "last": 0.0, "beats": 0}


class WorstHandler(RequestHandler):
    """Answers with the longest stall, and the number of beats, since it was last asked."""

    @allow_unauthenticated
    def get(self) -> None:
        self.finish({name: PULSE[name] for name in ("worst", "beats")})
        PULSE["worst"], PULSE["beats"] = 0.0, 0


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "tests.server.heartbeat"}]


def _load_jupyter_server_extension(app: Any) -> None:
    app.web_app.add_handlers(".*", [("/heartbeat", WorstHandler)])
    app.io_loop.add_callback(_beat)


async def _beat() -> None:
    PULSE["last"] = time.perf_counter()
    waited = _waited()
    while True:
        await asyncio.sleep(BEAT)
        now, waited_now = time.perf_counter(), _waited()
        others = sum(seconds - waited.get(thread, 0.0) for thread, seconds in waited_now.items())
        PULSE["worst"] = max(PULSE["worst"], now - PULSE["last"] - BEAT - others)
        PULSE["beats"] += 1
        PULSE["last"], waited = time.perf_counter(), waited_now


def _waited() -> dict[str, float]:
    """Return the seconds that each thread of this process has been ready to run without a processor."""
    found = {}
    for thread in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended, or the kernel keeps no account
            found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return found
