"""One line of the journal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["KINDS", "Event"]

KINDS = ("fetch", "search", "image", "browser", "extract", "approval", "policy")

Outcome = Literal["started", "completed", "refused", "failed"]


@dataclass(frozen=True)
class Event:
    """What happened, without secrets: whoever makes one has redacted URLs and texts.

    Attributes
    ----------
    operation
        Id of the operation, also sent as X-Request-ID: the same in ``started`` and in what ends it.
    outcome
        ``started``, ``completed``, ``refused`` (by the policy) or ``failed``.
    kind
        One of :data:`KINDS`.
    time
        RFC 3339 in UTC, with milliseconds.
    session
        Whose it is, e.g. ``kernel:<id>``.
    channel
        Who asked; see :class:`jupyter_webresearch.caller.Caller`.
    kernel, notebook
        Id and path, or empty.
    arguments
        HMAC-SHA256, hexadecimal, of the canonical JSON of the arguments under this installation's key.
    method, url, final_url
        Redacted; ``final_url`` after redirects.
    status
        Of HTTP, or 0.
    bytes, seconds
        Decoded body, and duration; 0 in ``started``.
    cost, spent
        Dollars: of this operation, and of its session so far.
    score, category
        Of the classifier, where it was asked.
    source
        ``live``, ``cache`` or ``replay``; empty in ``started``.
    risk
        ``read``, ``write`` or ``act``.
    code, reason, setting
        Of a refusal or failure.
    title, excerpt
        Of a completed one: title, and the first 200 characters, redacted. Not told to the event system.
    provider, query, results
        Of a search: the query is redacted.
    scope
        Of an approval or a change of policy: what was granted, denied or taken back, by whom, for how long.
    """

    operation: str
    outcome: Outcome
    kind: str
    time: str
    session: str = ""
    channel: str = ""
    kernel: str = ""
    notebook: str = ""
    arguments: str = ""
    method: str = ""
    url: str = ""
    final_url: str = ""
    status: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    spent: float = 0.0
    score: float | None = None
    category: str = ""
    source: str = ""
    risk: str = "read"
    code: str = ""
    reason: str = ""
    setting: str = ""
    title: str = ""
    excerpt: str = ""
    provider: str = ""
    query: str = ""
    results: int | None = None
    scope: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the event as an object of JSON."""
        return asdict(self)
