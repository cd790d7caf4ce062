"""What is asked of a search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

__all__ = ["KINDS", "MOST_RESULTS", "Kind", "Question"]

Kind = Literal["web", "news", "papers", "images"]
KINDS: tuple[Kind, ...] = ("web", "news", "papers", "images")

MOST_RESULTS = 20
"""Results of one search; who asks for more gets so many, and is told."""


@dataclass(frozen=True)
class Question:
    """One search.

    Attributes
    ----------
    query
        As typed, stripped; never empty.
    limit
        Results wanted, 1 to :data:`MOST_RESULTS`.
    kind
        Of results.
    since
        Results from this day on, where a provider can tell.
    site
        Canonical host that results come from, its subdomains included; empty for anywhere.
    """

    query: str
    limit: int = 8
    kind: Kind = "web"
    since: date | None = None
    site: str = ""
