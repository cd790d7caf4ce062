"""A stand-in for the package ``ddgs``: same calls, and it does what the first word of the query says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .engines import ENGINES
from .exceptions import DDGSException, RatelimitException, TimeoutException

print("The package says something on its way in.")


class DDGS:
    def __init__(self, proxy: str | None = None, timeout: int | None = 5, *, verify: bool | str = True) -> None:
        self.timeout = timeout

    def text(self, query: str, **options: Any) -> list[dict[str, Any]]:
        return self._search("text", query, **options)

    def news(self, query: str, **options: Any) -> list[dict[str, Any]]:
        return self._search("news", query, **options)

    def images(self, query: str, **options: Any) -> list[dict[str, Any]]:
        return self._search("images", query, **options)

    def _search(
        self,
        category: str,
        query: str,
        *,
        region: str = "us-en",
        safesearch: str = "moderate",
        timelimit: str | None = None,
        max_results: int | None = 10,
        page: int = 1,
        backend: str = "auto",
    ) -> list[dict[str, Any]]:
        assert backend in ENGINES[category], "the real one would ask any engine now"
        assert timelimit in (None, "d", "w", "m", "y")
        action, *arguments = query.split()
        said = {"timeout": self.timeout, "timelimit": timelimit, "max_results": max_results, "backend": backend}
        return ACTIONS.get(action, lambda *_: rows(category, query, said))(*arguments) or []


def rows(category: str, query: str, said: dict[str, Any]) -> list[dict[str, Any]]:
    if category == "news":
        return [
            {
                "date": "2026-10-30T08:00:00+00:00", "title": "News", "body": "Today.", "url": "https://news.example/1",
                "image": "https://news.example/1.jpg", "source": "The Example",
            }
        ]  # fmt: skip
    if category == "images":
        return [
            {
                "title": "Cat", "image": "https://example.com/cat.jpg", "thumbnail": "https://example.com/t.jpg",
                "url": "https://example.com/cats", "height": 100, "width": 200, "source": "Example",
            }
        ]  # fmt: skip
    return [
        {"title": "First <b>one</b>", "href": "https://example.org/1", "body": f"{query} {said}"},
        {"title": "Unquoted", "href": "https://ru.example/Что", "body": "b", "odd": {1, 2}},
        {"title": "No link", "href": "javascript:alert(1)", "body": ""},
        {"title": "Third", "href": "https://sub.example.org/3", "body": "\u202eb\ud800"},
    ]


def fail(error: BaseException) -> None:
    raise error


def tell(path: str) -> None:
    """Write who this is, and its child, into a pipe that a test reads."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path(path).write_text(f"{os.getpid()} {child.pid}\n")


def stuck(path: str) -> None:
    tell(path)
    re.match(r"(a+)+b", "a" * 64)  # holds the interpreter's lock: no Python code runs any more


def write_everywhere(data: bytes, times: int = 1) -> None:
    for descriptor in range(1, 10):
        try:
            for _ in range(times):
                os.write(descriptor, data)
        except OSError:
            continue


ACTIONS: dict[str, Any] = {
    "nothing": lambda: fail(DDGSException("No results found.")),
    "rate": lambda: fail(RatelimitException("https://u:word@proxy")),
    "wrapped-rate": lambda: fail(DDGSException(RatelimitException("x"))),
    "worded-rate": lambda: fail(DDGSException("https://html.example 202 Ratelimit")),
    "slow": lambda: fail(TimeoutException("x")),
    "wrapped-slow": lambda: fail(DDGSException(OSError("operation timed out"))),
    "proxy": lambda: fail(DDGSException(OSError("no way to https://user:word@proxy.example"))),
    "odd": lambda: {"results": []},
    "error": lambda: fail(ValueError("secret text of a page")),
    "exit": lambda: os._exit(0),
    "leave": lambda: sys.exit(0),
    "sleep": lambda *paths: [*map(tell, paths), time.sleep(60)],
    "stuck": stuck,
    "garbage": lambda: write_everywhere(b"cos\nsystem\n(S'true'\ntR.\n"),
    "list": lambda: write_everywhere(b"[1]\n"),
    "flood": lambda: write_everywhere(b"{}" * 32768, 64),
    "noise": lambda: [os.write(1, b"noise\n"), print("noise")] and rows("text", "q", {}),
    "environment": lambda: [{"title": k, "href": "https://example.org/", "body": v} for k, v in os.environ.items()],
    "large": lambda: [{"title": "t", "href": "https://example.org/", "body": "x" * 2_000_000}],
}
