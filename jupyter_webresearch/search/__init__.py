"""Search: one question to many providers, each with its own contract, and one form of answer.

The package can be called: ``web.search(query)`` is :func:`jupyter_webresearch.api_search.search`. Python puts a package
under its name into the one that holds it as soon as any part of it is imported: that name can be no plain function.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from jupyter_webresearch.search.response import SearchResponse


class _Callable(ModuleType):
    def __call__(
        self,
        query: str,
        *,
        providers: str | Iterable[str] = (),
        max_results: int | None = None,
        kind: str = "web",
        since: str | date = "",
        site: str = "",
        fresh: bool = False,
    ) -> SearchResponse:
        from jupyter_webresearch.api_search import search

        return search(
            query, providers=providers, max_results=max_results, kind=kind, since=since, site=site, fresh=fresh
        )


sys.modules[__name__].__class__ = _Callable
