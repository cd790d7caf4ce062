"""Firecrawl: search, pages as Markdown, and whole sites; its own service or an instance that somebody runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, urlsplit

from jupyter_webresearch.search.answer import ErrorKind, Extract, ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.batches import comparable, metadata, read_batches, whole
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import covering_range, iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted
from jupyter_webresearch.search.rows import collected, link, listed, mapping, number, rows, text
from jupyter_webresearch.search.service import Reply, Service

__all__ = ["Firecrawl"]

POLL = 2.0
"""Seconds between two questions how far a crawl is."""

_SOURCES = {"web": "web", "news": "news", "images": "images", "papers": "web"}
_KINDS = {"web": "web", "news": "news", "images": "image", "papers": "paper"}
_METADATA = {
    "description": "description",
    "language": "language",
    "statusCode": "status",
    "contentType": "content_type",
    "numPages": "pages",
    "publishedTime": "published",
    "cacheState": "cache",
    "cachedAt": "cached_at",
}
_ID = re.compile(r"(?:(doi|arxiv|pmid|pmcid)[:/])?\s*(\S+)", re.IGNORECASE)
_ADDRESSES = {
    "doi": "https://doi.org/",
    "arxiv": "https://arxiv.org/abs/",
    "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/",
}
_PAGE_STATUSES = frozenset({403, 408})
"""Statuses that are about the page that was to be read, not about the account."""


class Firecrawl(BuiltinProvider):
    """Its bodies are strict: a key that an instance does not know is refused."""

    about: ClassVar[About] = About(
        name="firecrawl",
        display_name="Firecrawl",
        base_url="https://api.firecrawl.dev",
        keys=("FIRECRAWL_API_KEY",),
        url_variables=("FIRECRAWL_API_URL",),
        kinds=("web", "news", "papers", "images"),
        extracts=True,
        get_key="https://www.firecrawl.dev/app/api-keys",
        price="in credits of a plan, by the search and by the page; free on an instance of your own",
        limits="requests a minute by plan; without a key a few a day from one address",
    )

    def missing(self) -> tuple[str, ...]:
        """See :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.missing`; an own instance needs no key."""
        return () if self.base_is_configured else super().missing()

    def is_keyless_available(self) -> bool:
        """Whether the weaker tier can be asked, which counts by address; it makes nobody available."""
        return not self.base_is_configured

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        body: dict[str, Any] = {
            "query": question.query,
            "limit": question.limit,
            "sources": [_SOURCES[question.kind]],
        }
        warnings: list[str] = []
        if question.kind == "papers":
            body["categories"] = ["research"]
        if question.since:
            reach = self._reach(question.since, service)
            if reach:
                body["tbs"] = reach
            else:
                warnings.append("an own Firecrawl knows no range longer than a year: it was not asked for one")
        if question.site:
            body["includeDomains"] = [question.site]
        reply = await self._post(service, "/v2/search", body)
        if reply.status == 400 and body.pop("includeDomains", None):
            # An instance of some age does not know the name, and refuses the body for it.
            body["query"] = f"site:{question.site} {question.query}"
            reply = await self._post(service, "/v2/search", body)
        said = await self._accepted(reply)
        results, notes = collected((_result(row, question) for row in _found(said, question)), question)
        warned = text(said.get("warning"), 300)
        return ProviderAnswer(
            provider=self.name,
            results=results,
            cost=number(said.get("creditsUsed")),
            request_id=text(said.get("id")),
            warnings=(*warnings, *filter(None, [warned]), *notes),
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
            As there; a crawl that is not over by the deadline gives the pages that it has.
        formats
            With ``html`` the page's HTML is in ``metadata`` besides.
        """
        # Left out, skipTlsVerification is true: text of whoever sits on the line would pass for the site's.
        options = {
            "formats": ["markdown", "html"] if "html" in formats else ["markdown"],
            "onlyMainContent": True,
            "skipTlsVerification": False,
        }
        if mode == "crawl":
            return await read_batches(urls, 1, partial(self._crawl, service, options, max_pages))
        return await read_batches(urls, 1, partial(self._scrape, service, options))

    def _reach(self, since: date, service: Service) -> str:
        if self.base_is_configured:  # the engines of an own instance take no other range
            reach = covering_range(since, service.today)
            return f"qdr:{reach[0]}" if reach else ""
        # The end is fixed, so that the same question is the same request on another day.
        return f"cdr:1,cd_min:{since:%m/%d/%Y},cd_max:12/31/2099"

    async def _scrape(self, service: Service, options: Mapping[str, Any], urls: Sequence[str]) -> list[Extract]:
        reply = await self._post(service, "/v2/scrape", {"url": urls[0], **options})
        try:
            said = await self._accepted(reply)
        except ProviderError as error:
            if reply.status in _PAGE_STATUSES or error.code.startswith("SCRAPE_"):
                return [Extract(urls[0], error=error.message)]
            raise
        data = said.get("data")
        if not isinstance(data, dict):
            raise ProviderError("bad_payload", "the answer is without the page", http_status=reply.status)
        return [_page(data, urls[0])]

    async def _crawl(
        self, service: Service, options: Mapping[str, Any], most: int, urls: Sequence[str]
    ) -> list[Extract]:
        # Pages of other hosts are not wanted: their URLs have passed no policy.
        body = {"url": urls[0], "limit": most, "allowExternalLinks": False, "scrapeOptions": options}
        job = text((await self._accepted(await self._post(service, "/v2/crawl", body))).get("id"), 200)
        if not job:
            raise ProviderError("bad_payload", "the answer is without the crawl's id", http_status=200)
        pages: dict[str, Extract] = {}
        skip, error = 0, ""
        while True:
            query = {"skip": str(skip)} if skip else None
            reply = await service.get(f"/v2/crawl/{quote(job, safe='')}", query, headers=self._headers())
            said = await self._accepted(reply)
            found, known = rows(said.get("data"), "the list of pages"), len(pages)
            for row in found:
                about = mapping(row.get("metadata"))
                page = _page(row, link(about.get("sourceURL")) or link(about.get("url")))
                if page.url:
                    pages.setdefault(comparable(page.url), page)
            following = _skip(said.get("next")) or skip + len(found)
            if said.get("status") in ("failed", "cancelled"):
                error = f"Firecrawl ended the crawl as {said['status']}"
                break
            last = said.get("status") == "completed" and (following == skip or not said.get("next"))
            if last or len(pages) >= most:
                break
            # What it sends is what is new since then; a gateway that sends all each time must not be asked at once.
            if len(pages) == known and not await service.pause(POLL):
                error = "the crawl was not over in time; what it had read by then is here"
                break
            skip = following
        if not pages and not error:
            error = "Firecrawl found no page to read there"
        return [*list(pages.values())[:most], *([Extract(urls[0], error=error)] if error else [])]

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    async def _post(self, service: Service, path: str, body: Mapping[str, Any]) -> Reply:
        return await service.post(path, body, headers=self._headers(), final=_is_used_up)

    async def _accepted(self, reply: Reply) -> Mapping[str, Any]:
        said = await accepted(reply, self.about, self.key, self._refusal)
        if said.get("success") is False:
            words = text(said.get("error"), 200) or "it does not say why"
            raise ProviderError("bad_request", f"Firecrawl did not do it: {words}", http_status=reply.status)
        return said

    def _refusal(self, status: int, said: Mapping[str, Any]) -> Refusal:
        kind: ErrorKind | None = None
        if status == 401 and not self.key:
            kind = "no_key"
        elif status == 429 and said.get("reason") == "credits":
            kind = "quota"
        return Refusal(said.get("error"), text(said.get("code"), 100) or text(said.get("reason"), 100), kind)


def _is_used_up(reply: Reply) -> bool:
    """Whether this is the day's share of an address without a key: the same request gets the same again."""
    return reply.status == 429 and re.search(rb'"reason"\s*:\s*"credits"', reply.body[:4096]) is not None


def _found(said: Mapping[str, Any], question: Question) -> list[Mapping[str, Any]]:
    """Return the rows of the source that was asked for; older instances and gateways send one list for all."""
    data = said.get("data")
    if isinstance(data, dict):
        names = ["research", "web"] if question.kind == "papers" else [_SOURCES[question.kind]]
        data = next((data[name] for name in names if isinstance(data.get(name), list)), None)
    if data is None:
        raise ProviderError(
            "bad_payload",
            "Firecrawl sent no list of results: its own search failed, or an instance found nothing at all; rephrase, "
            "or try again later",
            http_status=200,
        )
    return rows(data, "the list of results")


def _result(row: Mapping[str, Any], question: Question) -> SearchResult:
    ids = _ids(row) if question.kind == "papers" else {}
    address = next((_ADDRESSES[name] + quote(ids[name], safe="/") for name in _ADDRESSES if name in ids), "")
    snippet = text(row.get("description")) or text(row.get("snippet")) or text(row.get("abstract"))
    return SearchResult(
        url=link(row.get("url")) or address,
        title=text(row.get("title")),
        snippet=snippet,
        published=iso_date(row.get("date")),
        score=number(row.get("score")),
        kind=_KINDS[question.kind],
        ids=ids,
        image_url=link(row.get("imageUrl")),
        raw=row,
    )


def _ids(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the identifiers of a record of the research index, which come by name or with their name in front."""
    named = mapping(row.get("ids"))
    pairs = [(str(name).lower(), text(value, 300)) for name, value in named.items()]
    for value in (row.get("primaryId"), *listed(row.get("ids"))):
        match = _ID.fullmatch(text(value, 300))
        if match and match[1]:
            pairs.append((match[1].lower(), match[2]))
    return {name: value for name, value in reversed(pairs) if name in _ADDRESSES and value}


def _page(data: Mapping[str, Any], asked: str) -> Extract:
    """Return a page under the URL that was asked for; ``sourceURL`` is that one, ``url`` the one reached."""
    about = mapping(data.get("metadata"))
    known = metadata(about, _METADATA)
    reached = link(about.get("url"))
    if reached and comparable(reached) != comparable(asked):
        known["final_url"] = reached
    title = text(about.get("title"))
    error, status = text(about.get("error"), 200), about.get("statusCode")
    # A success may wrap the error page of a site.
    if error or (isinstance(status, int) and status >= 400):
        return Extract(asked, title, "", known, f"the site answered: {error or status}")
    if html := whole(data.get("html")):
        known["html"] = html
    content = whole(data.get("markdown"))
    return Extract(asked, title, content, known, "" if content.strip() else "Firecrawl found no text on it")


def _skip(url: object) -> int:
    """Return where the next part begins; its URL is never asked: the host in it is the service's idea of itself."""
    if not isinstance(url, str):
        return 0
    try:
        value = parse_qs(urlsplit(url).query).get("skip", ["0"])[0]
    except ValueError:
        return 0
    return int(value) if re.fullmatch(r"[0-9]{1,9}", value) else 0
