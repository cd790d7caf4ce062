"""What is asked of a search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

__all__ = ["KINDS", "MOST_RESULTS", "Kind", "Question", "SearchRequest"]

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


@dataclass(frozen=True)
class SearchRequest:
    """One search as the caller wrote it; the engine makes a :class:`Question` of it.

    Attributes
    ----------
    query
        As typed.
    providers
        Names; empty for whoever the settings choose.
    max_results
        None is ``WebSearch.max_results``; more than :data:`MOST_RESULTS` is lowered and said.
    kind
        One of :data:`KINDS`.
    since
        ``2024``, ``2024-05``, ``2024-05-01``, or a span back from today: ``7d``, ``4w``, ``6m``, ``1y``; empty for any.
    site
        A host; empty for anywhere.
    fresh
        Go round the memory of recent answers.
    """

    query: str
    providers: tuple[str, ...] = ()
    max_results: int | None = None
    kind: str = "web"
    since: str = ""
    site: str = ""
    fresh: bool = False
