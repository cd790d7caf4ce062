"""Name resolution: absolute names, every answer, bounded in time and threads."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.net.resolver import SystemResolver

V4 = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 0))
V6 = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2606:4700::1", 0, 0, 0))
SCOPED = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 0, 0, 3))
UNIX = (socket.AF_UNIX, socket.SOCK_STREAM, 0, "", "/run/socket")


class Stuck:
    """Plays a getaddrinfo that answers only once it is released; knows the threads that came, and those at once."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.came = threading.Semaphore(0)
        self.threads: list[threading.Thread] = []
        self.most = 0
        self._inside = 0
        self._lock = threading.Lock()

    def __call__(self, *_args: Any, **_hints: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            self.threads.append(threading.current_thread())
            self._inside += 1
            self.most = max(self.most, self._inside)
        self.came.release()
        self.release.wait()
        with self._lock:
            self._inside -= 1
        return [V4]


async def test_every_answer_of_the_absolute_name() -> None:
    asked: list[Any] = []

    def lookup(host: bytes, port: None, **hints: int) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [V4, V6, SCOPED, UNIX]

    answers = await SystemResolver(60, lookup=lookup).resolve("example.com")
    assert answers == ["93.184.216.34", "2606:4700::1", "fe80::1%3", "not an internet address"]
    assert asked == [b"example.com."]


async def test_the_real_resolver_knows_no_invalid_name() -> None:
    with pytest.raises(Failed) as caught:
        await SystemResolver(5).resolve("no-such-host.invalid")
    assert caught.value.code == "unresolved"


@pytest.mark.parametrize(
    "error",
    [socket.gaierror(socket.EAI_AGAIN, "try again"), OSError("broken"), UnicodeError("label"), RuntimeError("x")],
)
async def test_whatever_fails_is_unresolved(error: Exception) -> None:
    def lookup(*_args: Any, **_hints: Any) -> list[tuple[Any, ...]]:
        raise error

    with pytest.raises(Failed) as caught:
        await SystemResolver(60, lookup=lookup).resolve("example.com")
    assert caught.value.code == "unresolved"
    assert caught.value.message == "example.com has no address; is it spelt right?"
    assert not caught.value.setting


async def test_stuck_lookups_are_bounded_and_end() -> None:
    lookup = Stuck()
    resolver = SystemResolver(0.3, threads=3, lookup=lookup)
    results = await asyncio.gather(*(resolver.resolve(f"h{n}.example.com") for n in range(12)), return_exceptions=True)
    assert all(isinstance(result, Failed) and result.code == "unresolved" for result in results)
    for _ in range(3):
        assert await asyncio.to_thread(lookup.came.acquire, timeout=30)
    resolver._timeout = 60.0  # what follows is to succeed on any machine
    waiting = asyncio.ensure_future(resolver.resolve("after.example.com"))
    await asyncio.sleep(0)
    assert len(lookup.threads) == 3, "while all are stuck, it waits for one"
    lookup.release.set()
    assert await waiting == ["93.184.216.34"], "slots come back"
    assert len(lookup.threads) == len(set(lookup.threads)) == 4
    assert lookup.most == 3
    for thread in lookup.threads:
        await asyncio.to_thread(thread.join, 30)
        assert not thread.is_alive()


async def test_a_cancelled_lookup_gives_its_slot_back() -> None:
    lookup = Stuck()
    resolver = SystemResolver(60, threads=1, lookup=lookup)
    task = asyncio.ensure_future(resolver.resolve("example.com"))
    assert await asyncio.to_thread(lookup.came.acquire, timeout=30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    lookup.release.set()
    assert await resolver.resolve("example.com") == ["93.184.216.34"]


def test_the_process_ends_while_a_lookup_is_stuck() -> None:
    program = """
import asyncio, threading
from jupyter_webresearch.net.resolver import SystemResolver
try:
    asyncio.run(SystemResolver(0.1, lookup=lambda *a, **k: threading.Event().wait()).resolve("example.com"))
except Exception as error:
    print(error.code)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "unresolved\n"
