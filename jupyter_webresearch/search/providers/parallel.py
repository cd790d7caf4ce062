"""Parallel: search and extraction for language models, in excerpts of Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import Extract, ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.batches import by_url, comparable, metadata, read_batches, whole
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted, no_key
from jupyter_webresearch.search.rows import collected, link, listed, mapping, rows, text, texts
from jupyter_webresearch.search.service import Service

__all__ = ["Parallel"]

MOST_URLS = 20
"""URLs of one extraction."""

LONGEST_QUERY = 200
"""Characters of one of ``search_queries``; a longer question goes into ``objective`` as a whole."""

MODES = ("turbo", "fast", "basic", "advanced")

_METADATA = {"publish_date": "published"}


class Parallel(BuiltinProvider):
    """Needs a key: its tier without one is a conversation over MCP, not an API."""

    about: ClassVar[About] = About(
        name="parallel",
        display_name="Parallel",
        base_url="https://api.parallel.ai",
        keys=("PARALLEL_API_KEY",),
        options=("PARALLEL_SEARCH_MODE",),
        url_variables=("PARALLEL_BASE_URL",),
        extracts=True,
        get_key="https://platform.parallel.ai",
        price="by the search and by the page; PARALLEL_SEARCH_MODE chooses, turbo is the cheapest",
        limits="20 URLs a request",
    )

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        said = await self._post(service, "/v1/search", self._search(question))
        found = rows(said.get("results"), "the list of results")
        results, notes = collected(map(_result, found), question)
        warned = [text(mapping(item).get("message"), 300) for item in listed(said.get("warnings"))[:10]]
        return ProviderAnswer(
            provider=self.name,
            results=results,
            request_id=text(said.get("search_id")),
            warnings=(*filter(None, warned), *notes),
            raw=said,
        )

    async def read(
        self,
        urls: Sequence[str],
        service: Service,
        *,
        mode: str = "page",
        max_pages: int = 10,
        formats: Sequence[str] = ("markdown",),
    ) -> list[Extract]:
        """Read pages; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.read`.

        Parameters
        ----------
        urls, service
            As there.
        mode
            ``page``.
        max_pages
            Without meaning here.
        formats
            Not heeded: it is Markdown.

        Raises
        ------
        ProviderError
            ``unsupported`` for a crawl.
        """
        if mode == "crawl":
            raise ProviderError("unsupported", "Parallel does not crawl; Firecrawl, Tavily and Exa do")
        return await read_batches(urls, MOST_URLS, partial(self._extract, service))

    def _search(self, question: Question) -> dict[str, Any]:
        query = question.query
        body: dict[str, Any] = {"search_queries": [query], "advanced_settings": {"max_results": question.limit}}
        if len(query) > LONGEST_QUERY:
            body["search_queries"] = [query[:LONGEST_QUERY].rpartition(" ")[0] or query[:LONGEST_QUERY]]
            body["objective"] = query
        policy: dict[str, Any] = {}
        if question.site:
            policy["include_domains"] = [question.site]
        if question.since:
            policy["after_date"] = question.since.isoformat()
        if policy:
            body["advanced_settings"]["source_policy"] = policy
        mode = self._values.get("PARALLEL_SEARCH_MODE", "")
        if mode and mode not in MODES:
            raise ProviderError("bad_request", f"PARALLEL_SEARCH_MODE is to be one of {', '.join(MODES)}")
        return body | ({"mode": mode} if mode else {})

    async def _extract(self, service: Service, urls: Sequence[str]) -> list[Extract]:
        # At the top level, as in the beta, full_content is an error.
        body = {"urls": list(urls), "advanced_settings": {"full_content": True}}
        said = await self._post(service, "/v1/extract", body)
        read = by_url(rows(said.get("results"), "the list of pages"), "url")
        faults = by_url([row for row in listed(said.get("errors")) if isinstance(row, dict)], "url")
        pages = []
        for url in urls:
            page, fault = read.get(comparable(url)), faults.get(comparable(url))
            pages.append(_page(page, url) if page is not None else Extract(url, error=_fault(mapping(fault))))
        return pages

    async def _post(self, service: Service, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.key:
            raise no_key(self.about)
        reply = await service.post(path, body, headers={"x-api-key": self.key})
        return await accepted(reply, self.about, self.key, _refusal)


def _refusal(_status: int, said: Mapping[str, Any]) -> Refusal:
    fault = mapping(said.get("error"))
    return Refusal(fault.get("message") or said.get("error"), text(fault.get("ref_id"), 100))


def _result(row: Mapping[str, Any]) -> SearchResult:
    return SearchResult(
        url=link(row.get("url")),
        title=text(row.get("title")),
        snippet=text(" … ".join(texts(row.get("excerpts")))),
        published=iso_date(row.get("publish_date")),
        raw=row,
    )


def _page(row: Mapping[str, Any], url: str) -> Extract:
    excerpts = [whole(excerpt) for excerpt in listed(row.get("excerpts"))]
    content = whole(row.get("full_content")) or "\n\n".join(filter(None, excerpts))
    error = "" if content.strip() else "Parallel found no text on it"
    return Extract(url, text(row.get("title")), content, metadata(row, _METADATA), error)


def _fault(error: Mapping[str, Any]) -> str:
    status, named = error.get("http_status_code"), text(error.get("error_type"), 100)
    if isinstance(status, int) and status >= 400:
        return f"the site answered with the status {status}"
    return f"Parallel could not read it ({named})" if named else "Parallel said nothing of this page"
