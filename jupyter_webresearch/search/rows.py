"""What a service sent, read without trust: a value of another type than it should be is as good as none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.policy.urls import MAX_URL, parse_url
from jupyter_webresearch.search.answer import ProviderError, SearchResult
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.text import plain

__all__ = ["collected", "link", "listed", "mapping", "number", "rows", "text", "texts"]

MOST_TEXT = 2000
"""Characters of a title, snippet or the like."""

MOST_TEXTS = 100
"""Values of a list such as authors."""

_ABSOLUTE = re.compile("https?://", re.IGNORECASE)
_UNSAFE = re.compile("""[\\s"<>`{}|^]""")


def text(value: Any, most: int = MOST_TEXT) -> str:
    """Return a string, or a whole number, as plain text.

    Parameters
    ----------
    value
        Of any type.
    most
        Characters.
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return str(value)
    return plain(value, most)


def texts(value: Any) -> tuple[str, ...]:
    """Return the strings of a list as plain texts, without empty ones."""
    return tuple(said for item in listed(value)[:MOST_TEXTS] if (said := text(item)))


def number(value: Any) -> float | None:
    """Return a number; None for anything else, booleans among it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object of JSON, or an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list of JSON, or an empty one."""
    return value if isinstance(value, list) else []


def link(value: Any) -> str:
    """Return an absolute http(s) URL that can be read in one way only, or an empty string."""
    if not isinstance(value, str) or not _ABSOLUTE.match(value.strip()) or len(value) > MAX_URL:
        return ""
    try:
        parse_url(value.strip())
    except WebResearchError:
        return ""
    return _UNSAFE.sub(lambda found: quote(found[0]), value.strip())


def rows(value: Any, what: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list that has to be there.

    Parameters
    ----------
    value
        What should be it.
    what
        What is missing otherwise, for people.

    Raises
    ------
    ProviderError
        ``bad_payload``: a missing list is not an empty one.
    """
    if not isinstance(value, list):
        raise ProviderError("bad_payload", f"the answer is without {what}; has the service changed?", http_status=200)
    return [row for row in value if isinstance(row, dict)]


def collected(found: Iterable[SearchResult], question: Question) -> tuple[tuple[SearchResult, ...], tuple[str, ...]]:
    """Return what a question can be answered with, counted from 1, and what a person should know of the rest.

    Parameters
    ----------
    found
        Results in their order, their URLs as :func:`link` gives them.
    question
        Whose limit, site and first day hold, whether or not the service has heeded them.
    """
    kept: list[SearchResult] = []
    left: dict[str, int] = {}
    for result in found:
        reason = _unfit(result, question)
        if reason:
            left[reason] = left.get(reason, 0) + 1
        elif len(kept) < question.limit:
            kept.append(replace(result, position=len(kept) + 1))
    return tuple(kept), tuple(f"{count} left out: {reason}" for reason, count in left.items())


def _unfit(result: SearchResult, question: Question) -> str:
    if not result.url:
        return "without a web address"
    if question.site and not _is_of(result.url, question.site):
        return f"not of {question.site}"
    if question.since and result.published:
        day = result.published[:10]
        if day < question.since.isoformat()[: len(day)]:
            return f"older than {question.since.isoformat()}"
    return ""


def _is_of(url: str, site: str) -> bool:
    host = parse_url(url).host
    return host == site or host.endswith("." + site)
