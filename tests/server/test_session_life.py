"""When sessions end."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_webresearch.server.session_life import MAX_USERS, SessionLife
from tests.server.running import ThreadServer


class Life(SessionLife):
    """One that records whom it forgot; ``kernels`` are those that run."""

    def __init__(self) -> None:
        self.kernels: set[str] = set()
        self.forgotten: list[str] = []
        super().__init__(self.kernels.__contains__, self.forgotten.append, self.forgotten.append)


def test_a_sweep_forgets_who_is_gone_and_only_once() -> None:
    life = Life()
    life.kernels |= {"a", "b"}
    for kernel in ("a", "b", "c"):
        life.saw_kernel(kernel)
    life.sweep()
    assert life.forgotten == ["c"]
    life.kernels.discard("a")
    life.sweep()
    life.sweep()
    assert life.forgotten == ["c", "a"]


def test_the_user_who_asked_longest_ago_makes_room() -> None:
    life = Life()
    for number in range(MAX_USERS):
        life.saw_user(f"user:{number}")
    life.saw_user("user:0")
    life.saw_user("user:new")
    assert life.forgotten == ["user:1"]


@pytest.mark.parametrize(
    ("event", "swept"),
    [
        ({"action": "shutdown", "kernel_id": "a"}, True),
        ({"action": "shutdown", "kernel_id": "other"}, False),
        ({"action": "interrupt", "kernel_id": "a"}, False),
        ({"action": "start", "status": "error"}, False),
    ],
)
def test_events(server: ThreadServer, event: dict[str, Any], swept: bool) -> None:
    life = Life()
    life.saw_kernel("a")
    calls: list[float] = []

    async def listen() -> None:
        from tornado.ioloop import IOLoop

        loop = IOLoop.current()
        real = loop.call_later
        loop.call_later = lambda delay, function: calls.append(delay)  # type: ignore[method-assign,assignment]
        try:
            await life.on_action(None, "", event)
        finally:
            loop.call_later = real  # type: ignore[method-assign]

    server.on_loop(listen)
    assert bool(calls) is swept
