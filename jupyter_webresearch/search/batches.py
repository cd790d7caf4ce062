"""Pages that a provider reads for us: a few requests side by side, and a fault told with the pages that it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.policy.urls import parse_url
from jupyter_webresearch.search.answer import Extract, ProviderError
from jupyter_webresearch.search.rows import text

__all__ = ["by_url", "comparable", "metadata", "read_batches", "whole"]

SIDE_BY_SIDE = 4
"""Requests at one time; services limit them by plan, and the smallest plans allow few."""


async def read_batches(
    urls: Sequence[str], size: int, read: Callable[[Sequence[str]], Awaitable[list[Extract]]]
) -> list[Extract]:
    """Return what was read, in the order of the URLs, each of which is asked for once.

    Parameters
    ----------
    urls
        What to read.
    size
        URLs of one request.
    read
        Reads one batch.

    Raises
    ------
    ProviderError
        When no batch got an answer: the first one's.
    """
    wanted = list(dict.fromkeys(urls))
    batches = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    outcomes: dict[int, list[Extract] | ProviderError] = {}
    places = anyio.CapacityLimiter(SIDE_BY_SIDE)

    async def one(index: int, batch: Sequence[str]) -> None:
        """Read a batch when there is a place."""
        async with places:
            try:
                outcomes[index] = await read(batch)
            except ProviderError as error:
                outcomes[index] = error

    async with anyio.create_task_group() as group:
        for index, batch in enumerate(batches):
            group.start_soon(one, index, batch)
    ordered = [outcomes[index] for index in range(len(batches))]
    errors = [outcome for outcome in ordered if isinstance(outcome, ProviderError)]
    if errors and len(errors) == len(ordered):
        raise errors[0]
    pages: list[Extract] = []
    for batch, outcome in zip(batches, ordered, strict=True):
        if isinstance(outcome, ProviderError):
            pages += [Extract(url, error=outcome.message) for url in batch]
        else:
            pages += outcome
    return pages


def by_url(found: Sequence[Mapping[str, Any]], *names: str) -> dict[str, Mapping[str, Any]]:
    """Return rows by the URLs that they are about, in comparable form; never by their place in the list.

    Parameters
    ----------
    found
        Rows.
    *names
        Fields that hold a URL; of two rows with the same one the first counts.
    """
    table: dict[str, Mapping[str, Any]] = {}
    for name in names:
        for row in found:
            if isinstance(row.get(name), str):
                table.setdefault(comparable(row[name]), row)
    return table


def comparable(url: str) -> str:
    """Return a form of a URL in which those are equal that differ in spelling, fragment or a slash at the end only."""
    try:
        return parse_url(url).href.rstrip("/")
    except WebResearchError:
        return url


def whole(value: object) -> str:
    """Return a page's text as it came; what is no text gives none."""
    return value if isinstance(value, str) else ""


def metadata(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Return the strings and numbers of some fields, as plain text under our names for them.

    Parameters
    ----------
    row
        What a provider sent.
    names
        Its name for a field, and ours.
    """
    kept: dict[str, str] = {}
    for theirs, ours in names.items():
        value = row.get(theirs)
        said = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else text(value)
        if said:
            kept[ours] = said
    return kept
