"""What a plugin answers, as its contract has it, brought into our form, without trust in any of its types."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from jupyter_webresearch.search.answer import ErrorKind, Extract, ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.batches import by_url, comparable, whole
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.rows import collected, link, mapping, number, text

__all__ = ["kind_of_failure", "pages_of", "results_of"]

MOST_ROWS = 500
"""Rows of one answer that are looked at."""

MOST_PAGE = 4 * 1024 * 1024
"""Characters of one page."""

MOST_RAW = 64 * 1024
"""Characters, as JSON, of what is kept of a row as it came."""

MOST_METADATA = 50

_KINDS: Mapping[ErrorKind, str] = {
    "rate_limited": r"\b429\b|rate.?limit|too many requests",
    "quota": r"\b402\b|quota|out of credits?",
    "no_key": r"key (?:is )?(?:missing|required)|(?:is )?not (?:set|configured)\b",
    "bad_key": r"\b401\b|unauthori[sz]ed|(?:invalid|bad|wrong) (?:api.?)?key",
    "forbidden": r"\b403\b|forbidden",
    "timeout": r"time(?:d )?.?out",
}


def kind_of_failure(words: str) -> ErrorKind:
    """Return what a failure is that is told in words only."""
    found = (kind for kind, pattern in _KINDS.items() if re.search(pattern, words, re.IGNORECASE))
    return next(found, "unreachable")


def results_of(said: Any, question: Question, name: str, display_name: str) -> ProviderAnswer:
    """Return the answer to a search.

    Parameters
    ----------
    said
        What ``search`` returned: ``{"success": True, "data": {"web": [...]}}``, or a bare list of the same rows.
    question
        What was asked.
    name, display_name
        Of the provider.

    Raises
    ------
    ProviderError
        When it says that it failed, and ``bad_payload`` when there is no list of results.
    """
    data = _data(said, display_name)
    found = data.get("web") if isinstance(data, dict) else data
    if not isinstance(found, list | tuple):
        raise ProviderError("bad_payload", f"{display_name} answered without a list of results; see docs/providers.md")
    results, notes = collected(map(_result, _rows(found)), question)
    warnings = []
    if question.site:
        warnings.append(f"{display_name} can't be asked for one site: only what it found there is shown")
    if question.since:
        warnings.append(f"{display_name} can't be asked for a first day: results without a date are shown as well")
    return ProviderAnswer(
        provider=name, results=results, warnings=(*warnings, *notes), raw=[dict(result.raw) for result in results]
    )


def pages_of(said: Any, urls: Sequence[str], display_name: str, most: int | None = None) -> list[Extract]:
    """Return one outcome for each URL, and those of further pages where a crawl was asked for.

    Parameters
    ----------
    said
        What ``extract`` returned: ``{"success": True, "data": [...]}``, or the bare list.
    urls
        What was asked for.
    display_name
        Of the provider.
    most
        Pages of a crawl; None where none was asked for.

    Raises
    ------
    ProviderError
        When it says that it failed, and ``bad_payload`` when there is no list of pages.
    """
    data = _data(said, display_name)
    if not isinstance(data, list | tuple):
        raise ProviderError("bad_payload", f"{display_name} answered without a list of pages; see docs/providers.md")
    found = _rows(data)
    if most is not None:
        pages = [_page(row, link(row.get("url"))) for row in found if link(row.get("url"))][:most]
        return pages or [Extract(urls[0], error=f"{display_name} found no page to read there")]
    read = by_url(found, "url")
    if len(urls) == len(found) == 1:  # it may tell where a redirect led
        read.setdefault(comparable(urls[0]), found[0])
    nothing = f"{display_name} said nothing of this page"
    rows = [(url, read.get(comparable(url))) for url in urls]
    return [Extract(url, error=nothing) if row is None else _page(row, url) for url, row in rows]


def _data(said: Any, display_name: str) -> Any:
    if not isinstance(said, dict):
        return said
    if not said.get("success", not said.get("error")):
        words = text(said.get("error"), 200)
        raise ProviderError(kind_of_failure(words), f"{display_name} failed: {words or 'it does not say why'}")
    return said.get("data")


def _rows(found: Sequence[Any]) -> list[Mapping[str, Any]]:
    return [row for row in islice(found, MOST_ROWS) if isinstance(row, dict)]


def _result(row: Mapping[str, Any]) -> SearchResult:
    return SearchResult(
        url=link(row.get("url")),
        title=text(row.get("title")),
        snippet=text(row.get("description")) or text(row.get("snippet")),
        published=iso_date(row.get("published")) or iso_date(row.get("date")),
        score=number(row.get("score")),
        raw=mapping(_as_json(row)),
    )


def _page(row: Mapping[str, Any], url: str) -> Extract:
    content = (whole(row.get("content")) or whole(row.get("raw_content")))[:MOST_PAGE]
    error = text(row.get("error"), 200)
    if not error and not content.strip():
        error = "no text was found on it"
    known = islice(mapping(row.get("metadata")).items(), MOST_METADATA)
    told = {name[:100]: text(value) for name, value in known if isinstance(name, str) and text(value)}
    return Extract(url, text(row.get("title")), content, told, error)


def _as_json(row: Mapping[str, Any]) -> Any:
    """Return a copy that can be kept and sent; an empty one of what is too large or goes in circles."""
    try:
        written = json.dumps(row, default=lambda value: type(value).__name__)
        return json.loads(written) if len(written) <= MOST_RAW else {}
    except (TypeError, ValueError, RecursionError):
        return {}
