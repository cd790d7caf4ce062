"""A server extension for tests: how long the server's event loop stood still."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from jupyter_server.auth.decorator import allow_unauthenticated
from tornado.web import RequestHandler

BEAT = 0.005  # seconds
PULSE = {"worst": 0.0, "last": 0.0}


class WorstHandler(RequestHandler):
    """Answers with the longest stall since it was last asked."""

    @allow_unauthenticated
    def get(self) -> None:
        self.finish({"worst": PULSE["worst"]})
        PULSE["worst"] = 0.0


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "tests.server.heartbeat"}]


def _load_jupyter_server_extension(app: Any) -> None:
    app.web_app.add_handlers(".*", [("/heartbeat", WorstHandler)])
    app.io_loop.add_callback(_beat)


async def _beat() -> None:
    PULSE["last"] = time.perf_counter()
    while True:
        await asyncio.sleep(BEAT)
        now = time.perf_counter()
        PULSE["worst"] = max(PULSE["worst"], now - PULSE["last"] - BEAT)
        PULSE["last"] = now
