"""The Python API of search; see :mod:`jupyter_webresearch.api`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jupyter_webresearch.kernel.request import search_request

if TYPE_CHECKING:
    from datetime import date

    from jupyter_webresearch.kernel.client import Client
    from jupyter_webresearch.search.response import SearchResponse

__all__ = ["asearch", "search"]


def search(
    query: str,
    *,
    providers: str | Iterable[str] = (),
    max_results: int | None = None,
    kind: str = "web",
    since: str | date = "",
    site: str = "",
    fresh: bool = False,
) -> SearchResponse:
    """Search the web.

    Parameters
    ----------
    query
        What to look for; quotes and the like reach the provider.
    providers
        Names of whom to ask, several in a list or between commas; whoever the settings choose when omitted.
    max_results
        At most 20; ``WebSearch.max_results`` when omitted.
    kind
        Of results: ``web``, ``news``, ``papers`` or ``images``.
    since
        From this day on: a date, ``2024``, ``2024-05``, or back from today: ``7d``, ``4w``, ``6m``, ``1y``.
    site
        Only from this host and those below it.
    fresh
        Ask again, even if the same was asked a moment ago.

    Returns
    -------
    SearchResponse
        ``results``, the best first, each with ``fetch()``; ``answers``, ``infobox``, and who ``answered`` and
        ``failed``.

    Raises
    ------
    WebResearchError
        :class:`BadInput` when an argument can't be read, :class:`Refused` when the policy decides against it,
        :class:`Failed` when nobody answered.
    """
    request = search_request(
        query, providers=providers, max_results=max_results, kind=kind, since=since, site=site, fresh=fresh
    )
    return _client().search(request)


async def asearch(
    query: str,
    *,
    providers: str | Iterable[str] = (),
    max_results: int | None = None,
    kind: str = "web",
    since: str | date = "",
    site: str = "",
    fresh: bool = False,
) -> SearchResponse:
    """Search the web, awaited; as :func:`search`."""
    client = _client()
    request = search_request(
        query, providers=providers, max_results=max_results, kind=kind, since=since, site=site, fresh=fresh
    )
    return await client.in_thread(lambda cancellation: client.search(request, cancellation=cancellation))


def _client() -> Client:
    from jupyter_webresearch.kernel.client import connect

    return connect()
