"""One search with the package ``ddgs``, in a process that can be killed.

The package asks search engines itself, with a client of its own: none of its requests goes through our transport, and
its native code can block for as long as it likes. So it is imported here and nowhere else, in a process that
:mod:`jupyter_webresearch.search.ddgs_process` starts for one search. A line of JSON comes in on descriptor 0, lines of
JSON go out on descriptor 1: a row a line, and last how it ended.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from jupyter_webresearch.extraction.sandbox import die_with_parent, end_after

__all__ = ["main"]

MOST_REQUEST = 1024 * 1024
"""Bytes of the line that comes in."""

ADDRESS_SPACE = 4 * 1024**3
"""Bytes that this process may map: an engine's page can be of any size."""

GRACE = 2.0
"""Seconds after which this process ends itself when nobody has killed it."""

_METHODS = {"web": "text", "news": "news", "images": "images"}


def main() -> None:
    """Run the worker; ``sys.argv[1]`` is the JSON that it is started with."""
    settings = json.loads(sys.argv[1])
    die_with_parent(settings["parent"])
    end_after(settings["seconds"] + GRACE)
    _limit_memory()
    # What the package or its native code may print must not be taken for an answer.
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    request = json.loads(sys.stdin.buffer.readline(MOST_REQUEST))
    try:
        for row in _search(request):
            _write(answers, {"row": row})
        _write(answers, {"end": "ok"})
    except BaseException as error:
        _write(answers, {"end": _kind(error), "detail": _names(error)})
    # Threads of the package may still wait for engines.
    os._exit(0)


def _search(request: dict[str, Any]) -> list[dict[str, Any]]:
    from ddgs import DDGS

    if not _knows(request["kind"], request["backend"]):
        raise LookupError("no such engine")
    method = getattr(DDGS(timeout=request["timeout"]), _METHODS[request["kind"]])
    rows = method(
        request["query"],
        backend=request["backend"],
        timelimit=request["timelimit"],
        max_results=request["limit"],
    )
    if not isinstance(rows, list):
        raise TypeError("no list of results")
    return [row for row in rows if isinstance(row, dict)]


def _knows(kind: str, backend: str) -> bool:
    """Whether the package has an engine of that name; of one that it has not it asks any other, in any order."""
    try:
        from ddgs.engines import ENGINES
    except ImportError:  # not part of its interface: another version may have it elsewhere
        return True
    return backend in ENGINES.get(_METHODS[kind], {})


def _kind(error: BaseException) -> str:
    """Return what an error means; the package wraps one in another, and says by words that there was no result."""
    chain = list(_chain(error))
    names = {type(item).__name__ for item in chain}
    words = " ".join(str(item).lower() for item in chain)
    if isinstance(error, ImportError):
        return "missing"
    if isinstance(error, LookupError) and error.args == ("no such engine",):
        return "no_engine"
    if "RatelimitException" in names or "ratelimit" in words:
        return "rate_limited"
    if "TimeoutException" in names or "timed out" in words:
        return "timeout"
    if "DDGSException" in names:
        return "ok" if "no results found" in words else "unreachable"
    return "error"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return
        yield seen
        wrapped = seen.args[0] if seen.args and isinstance(seen.args[0], BaseException) else None
        seen = wrapped or seen.__cause__


def _names(error: BaseException) -> str:
    """Name the error without its words: an address of a proxy, with its password, may be in them."""
    return ", ".join(type(item).__name__ for item in _chain(error))


def _write(descriptor: int, value: dict[str, Any]) -> None:
    rest = json.dumps(value, default=str).encode("utf-8", "replace") + b"\n"
    with suppress(BrokenPipeError):
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    for kind, value in ((resource.RLIMIT_AS, ADDRESS_SPACE), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):
            _, hard = resource.getrlimit(kind)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))
