"""Exa: a search engine over embeddings, with the contents of pages and of those below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import Extract, ProviderAnswer, SearchResult
from jupyter_webresearch.search.batches import by_url, comparable, metadata, read_batches, whole
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted, no_key
from jupyter_webresearch.search.rows import collected, link, listed, mapping, number, rows, text, texts
from jupyter_webresearch.search.service import Service

__all__ = ["Exa"]

MOST_URLS = 20
"""URLs of one request for contents."""

_CATEGORIES = {"news": "news", "papers": "research paper"}
_KINDS = {"web": "web", "news": "news", "papers": "paper"}
_METADATA = {"author": "author", "publishedDate": "published", "image": "image", "favicon": "favicon"}
_FAULTS = {
    "CRAWL_NOT_FOUND": "the site has no such page",
    "CRAWL_TIMEOUT": "the site did not answer in time",
    "CRAWL_LIVECRAWL_TIMEOUT": "the site did not answer in time",
    "SOURCE_NOT_AVAILABLE": "the page can't be had, it may be behind a login",
    "UNSUPPORTED_URL": "Exa does not read such a URL",
}


class Exa(BuiltinProvider):
    """Needs a key: its tier without one is a text for models over MCP, not an API with fields."""

    about: ClassVar[About] = About(
        name="exa",
        display_name="Exa",
        base_url="https://api.exa.ai",
        keys=("EXA_API_KEY",),
        url_variables=("EXA_BASE_URL",),
        kinds=("web", "news", "papers"),
        extracts=True,
        get_key="https://dashboard.exa.ai/api-keys",
        price="in dollars a search and a page; each answer says what it cost",
        limits="about 10 requests a second",
    )

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        body: dict[str, Any] = {
            "query": question.query,
            "type": "auto",
            "numResults": question.limit,
            "contents": {"highlights": True},
        }
        if question.kind in _CATEGORIES:
            body["category"] = _CATEGORIES[question.kind]
        if question.since:
            body["startPublishedDate"] = f"{question.since.isoformat()}T00:00:00.000Z"
        if question.site:
            body["includeDomains"] = [question.site]
        said = await self._post(service, "/search", body)
        found = rows(said.get("results"), "the list of results")
        results, notes = collected((_result(row, question) for row in found), question)
        return ProviderAnswer(
            provider=self.name,
            results=results,
            cost=number(mapping(said.get("costDollars")).get("total")),
            request_id=text(said.get("requestId")),
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
        urls, service, mode
            As there.
        max_pages
            Of each URL, the page itself among them.
        formats
            Not heeded: it is Markdown.
        """
        subpages = max(0, max_pages - 1) if mode == "crawl" else 0
        return await read_batches(urls, MOST_URLS, partial(self._contents, service, subpages))

    async def _contents(self, service: Service, subpages: int, urls: Sequence[str]) -> list[Extract]:
        # Without maxCharacters: what is cut is not marked as cut.
        body: dict[str, Any] = {"urls": list(urls), "text": True}
        if subpages:
            body["subpages"] = subpages
        said = await self._post(service, "/contents", body)
        found = rows(said.get("results"), "the list of pages")
        statuses = by_url([row for row in listed(said.get("statuses")) if isinstance(row, dict)], "id")
        pages_of = by_url(found, "id", "url")
        pages: list[Extract] = []
        for url in urls:
            status, row = statuses.get(comparable(url), {}), pages_of.get(comparable(url))
            if status.get("status") == "error" or row is None:
                pages.append(Extract(url, error=_fault(mapping(status.get("error")))))
                continue
            pages.append(_page(row, url))
            below = [sub for sub in listed(row.get("subpages")) if isinstance(sub, dict) and link(sub.get("url"))]
            pages += [_page(sub, link(sub.get("url"))) for sub in below[:subpages]]
        return pages

    async def _post(self, service: Service, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.key:
            raise no_key(self.about)
        reply = await service.post(path, body, headers={"x-api-key": self.key})
        return await accepted(reply, self.about, self.key, _refusal)


def _refusal(_status: int, said: Mapping[str, Any]) -> Refusal:
    # The set of tags is open: the status says what is the matter, and the tag is only passed on.
    return Refusal(said.get("error"), text(said.get("tag"), 100))


def _result(row: Mapping[str, Any], question: Question) -> SearchResult:
    author = text(row.get("author"))
    snippet = " … ".join(texts(row.get("highlights"))) or text(row.get("summary")) or row.get("text")
    return SearchResult(
        url=link(row.get("url")),
        title=text(row.get("title")),
        snippet=text(snippet),
        published=iso_date(row.get("publishedDate")),
        score=number(row.get("score")),
        kind=_KINDS[question.kind],
        authors=(author,) if author else (),
        image_url=link(row.get("image")),
        raw=row,
    )


def _page(row: Mapping[str, Any], url: str) -> Extract:
    reached, content = link(row.get("url")), whole(row.get("text"))
    known = metadata(row, _METADATA)
    if reached and comparable(reached) != comparable(url):
        known["final_url"] = reached
    return Extract(url, text(row.get("title")), content, known, "" if content.strip() else "Exa found no text on it")


def _fault(error: Mapping[str, Any]) -> str:
    tag, status = text(error.get("tag"), 100), error.get("httpStatusCode")
    if tag in _FAULTS:
        return f"{_FAULTS[tag]} ({tag})"
    if isinstance(status, int) and status >= 400:
        return f"the site answered with the status {status}"
    return f"Exa could not read it ({tag})" if tag else "Exa said nothing of this page"
