"""Tavily: search, extraction and crawling for language models; searches and extracts a little without a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import ErrorKind, Extract, ProviderAnswer, SearchResult
from jupyter_webresearch.search.batches import by_url, comparable, metadata, read_batches, whole
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted, no_key
from jupyter_webresearch.search.rows import collected, link, listed, mapping, number, rows, text
from jupyter_webresearch.search.service import Service

__all__ = ["Tavily"]

MOST_URLS = 20
"""URLs of one extraction."""

DEPTH = 2
"""Links from the first page of a crawl."""

_KINDS: Mapping[int, ErrorKind] = {432: "quota", 433: "quota"}
_METADATA = {"favicon": "favicon"}


class Tavily(BuiltinProvider):
    """Its key goes into a header; the older form in the body would end up in logs and recordings."""

    about: ClassVar[About] = About(
        name="tavily",
        display_name="Tavily",
        base_url="https://api.tavily.com",
        keys=("TAVILY_API_KEY",),
        url_variables=("TAVILY_BASE_URL",),
        kinds=("web", "news"),
        extracts=True,
        get_key="https://app.tavily.com",
        price="1 credit a search, 1 for five pages; 1,000 a month are free",
        limits="100 requests a minute with a key for development, 1,000 with one for production",
    )

    def is_keyless_available(self) -> bool:
        """Whether the weaker tier can be asked, which counts by address; it makes nobody available."""
        return not self.base_is_configured

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        body: dict[str, Any] = {
            "query": question.query,
            "max_results": question.limit,
            "topic": "news" if question.kind == "news" else "general",
        }
        if question.since:
            body["start_date"] = question.since.isoformat()
        if question.site:
            body["include_domains"] = [question.site]
        if self.key:
            body["include_usage"] = True
        said = await self._post(service, "/search", body)
        found = rows(said.get("results"), "the list of results")
        results, notes = collected((_result(row, question) for row in found), question)
        answer = text(said.get("answer"))
        return ProviderAnswer(
            provider=self.name,
            results=results,
            answers=(f"Written by Tavily's model: {answer}",) if answer else (),
            cost=number(mapping(said.get("usage")).get("credits")),
            request_id=text(said.get("request_id")),
            warnings=notes,
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
        urls, service, mode, max_pages
            As there.
        formats
            Plain text where ``text`` is the only one, Markdown otherwise.
        """
        style = "text" if tuple(formats) == ("text",) else "markdown"
        if mode != "crawl":
            return await read_batches(urls, MOST_URLS, partial(self._extract, service, style))
        if not self.key:
            raise no_key(self.about, " to crawl")
        return await read_batches(urls, 1, partial(self._crawl, service, style, max_pages))

    async def _extract(self, service: Service, style: str, urls: Sequence[str]) -> list[Extract]:
        said = await self._post(service, "/extract", {"urls": list(urls), "format": style})
        read = by_url(rows(said.get("results"), "the list of pages"), "url")
        failed = by_url([row for row in listed(said.get("failed_results")) if isinstance(row, dict)], "url")
        pages = []
        for url in urls:
            page, fault = read.get(comparable(url)), failed.get(comparable(url))
            if page is not None:
                pages.append(_page(page, url))
            elif fault is not None:
                pages.append(Extract(url, error=f"Tavily could not read it: {text(fault.get('error'), 200)}"))
            else:
                pages.append(Extract(url, error="Tavily said nothing of this page"))
        return pages

    async def _crawl(self, service: Service, style: str, most: int, urls: Sequence[str]) -> list[Extract]:
        # Pages of other hosts are not wanted: their URLs have passed no policy.
        body = {"url": urls[0], "limit": most, "max_depth": DEPTH, "allow_external": False, "format": style}
        said = await self._post(service, "/crawl", body)
        found = [row for row in rows(said.get("results"), "the list of pages") if link(row.get("url"))]
        if not found:
            return [Extract(urls[0], error="Tavily found no page to read there")]
        return [_page(row, link(row.get("url"))) for row in found[:most]]

    async def _post(self, service: Service, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {"X-Tavily-Access-Mode": "keyless"}
        reply = await service.post(path, body, headers=headers)
        return await accepted(reply, self.about, self.key, self._refusal)

    def _refusal(self, status: int, said: Mapping[str, Any]) -> Refusal:
        fault = mapping(said.get("error"))  # of the keyless tier
        detail = said.get("detail")
        words = fault.get("message") or mapping(detail).get("error") or detail or said.get("error")
        kind = _KINDS.get(status)
        if status == 401 and not self.key:
            kind = "no_key"
        return Refusal(words, text(fault.get("code"), 100), kind)


def _result(row: Mapping[str, Any], question: Question) -> SearchResult:
    return SearchResult(
        url=link(row.get("url")),
        title=text(row.get("title")),
        snippet=text(row.get("content")),
        published=_published(row.get("published_date")),
        score=number(row.get("score")),
        kind="news" if question.kind == "news" else "web",
        raw=row,
    )


def _published(value: object) -> str:
    """Return a date in ISO 8601; news have it as in an e-mail's header."""
    if found := iso_date(value):
        return found
    try:
        return parsedate_to_datetime(text(value, 64)).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _page(row: Mapping[str, Any], url: str) -> Extract:
    content = whole(row.get("raw_content"))
    error = "" if content.strip() else "Tavily found no text on it"
    return Extract(url, text(row.get("title")), content, metadata(row, _METADATA), error)
