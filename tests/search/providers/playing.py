"""What the scholarly services' stand-ins do alike when they don't answer."""

from __future__ import annotations

from tests.search.local_api import Said

__all__ = ["trouble"]


def trouble(mode: str) -> Said | None:
    """Return the answer of a mode in which the request does not matter."""
    if mode == "rate_limited":
        return Said(429, b"Too many requests", {"Content-Type": "text/plain", "Retry-After": "30"})
    if mode == "down":
        return Said(500, b"<h1>Internal error</h1>", {"Content-Type": "text/html"})
    if mode == "malformed":
        return Said(200, b"<html><body>Please sign in", {"Content-Type": "text/html"})
    return None
