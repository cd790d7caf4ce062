"""OpenAlex: an open catalogue of the world's papers; without a key for a few searches a day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import ProviderAnswer, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.papers import details, doi, doi_url, says_retracted, url_for
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted
from jupyter_webresearch.search.rows import MOST_TEXTS, collected, link, listed, mapping, number, rows, text
from jupyter_webresearch.search.service import Reply, Service

__all__ = ["OpenAlex"]

LONG = 60.0
"""Seconds from which a wait is for the next day's allowance."""

MOST_PLACES = 4000
"""Words of an abstract that are put in order."""

_SELECTED = (
    "id,doi,title,display_name,publication_date,publication_year,type,language,cited_by_count,authorships,"
    "primary_location,best_oa_location,open_access,biblio,abstract_inverted_index,ids,is_retracted"
)
_ARXIV = re.compile(r"https?://arxiv\.org/(?:abs|pdf)/((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)")


class OpenAlex(BuiltinProvider):
    """Papers of all fields, with what is known of their retraction and of free copies."""

    about: ClassVar[About] = About(
        name="openalex",
        display_name="OpenAlex",
        base_url="https://api.openalex.org",
        keys=("OPENALEX_API_KEY",),
        keyless=True,
        kinds=("papers", "web"),
        get_key="https://openalex.org/settings/api",
        price="free key: $1 a day, a search costs $0.001",
        limits="without a key some 10 to 100 searches a day; with a free one 1,000",
    )

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        query = {"search": question.query, "per_page": str(question.limit), "select": _SELECTED}
        if question.since:
            query["filter"] = f"from_publication_date:{question.since.isoformat()}"
        if self.key:
            query["api_key"] = self.key  # it takes none in a header
        reply = await service.get("/works", query, final=_is_used_up)
        said = await accepted(reply, self.about, self.key, lambda status, body: _refusal(status, body, reply))
        works = rows(said.get("results"), "the list of works")
        results, notes = collected((_result(row, question) for row in works), question)
        meta = mapping(said.get("meta"))
        total = meta.get("count")
        return ProviderAnswer(
            provider=self.name,
            results=results,
            total=total if isinstance(total, int) else None,
            cost=number(meta.get("cost_usd")),
            warnings=notes,
            raw=said,
        )


def _is_used_up(reply: Reply) -> bool:
    return reply.status == 429 and (reply.retry_after is None or reply.retry_after > LONG)


def _refusal(status: int, body: Mapping[str, Any], reply: Reply) -> Refusal:
    said = text(body.get("message"), 200) or text(body.get("error"), 200)
    if _is_used_up(reply):
        return Refusal(said, kind="quota")
    if status == 403:  # its answer to whoever is too quick
        return Refusal(said, kind="bad_key" if "key" in said.lower() else "rate_limited")
    return Refusal(said)


def _result(row: Mapping[str, Any], question: Question) -> SearchResult:
    # Any of these may be null.
    place, best = mapping(row.get("primary_location")), mapping(row.get("best_oa_location"))
    source, access, biblio = (
        mapping(value) for value in (place.get("source"), row.get("open_access"), row.get("biblio"))
    )
    ids, title = _ids(row, place, best), text(row.get("title")) or text(row.get("display_name"))
    is_open = access.get("is_oa")
    return SearchResult(
        url=url_for(
            question.site, doi_url(ids.get("doi", "")), link(place.get("landing_page_url")), link(row.get("id"))
        ),
        title=title,
        snippet=_abstract(row.get("abstract_inverted_index")),
        published=iso_date(row.get("publication_date")) or iso_date(text(row.get("publication_year"))),
        kind="paper",
        ids=ids,
        authors=tuple(filter(None, map(_author, listed(row.get("authorships"))[:MOST_TEXTS]))),
        container=text(source.get("display_name")),
        details=details(
            type=_type(row, source),
            volume=biblio.get("volume"),
            issue=biblio.get("issue"),
            pages=_pages(biblio),
            publisher=source.get("host_organization_name"),
            language=row.get("language"),
            cited_by=row.get("cited_by_count"),
        ),
        pdf_url=(link(best.get("pdf_url")) or link(place.get("pdf_url"))) if is_open is True else "",
        open_access=is_open if isinstance(is_open, bool) else None,
        retracted=row.get("is_retracted") is True or says_retracted(title),
        raw=row,
    )


def _ids(row: Mapping[str, Any], *places: Mapping[str, Any]) -> dict[str, str]:
    sent = mapping(row.get("ids"))
    pages = (text(place.get("landing_page_url"), 300) for place in places)
    found = {
        "doi": doi(row.get("doi")) or doi(sent.get("doi")),
        "arxiv": next((match[1] for page in pages if (match := _ARXIV.fullmatch(page))), ""),
        "pmid": _ending(sent.get("pmid"), "[0-9]{1,9}"),
        "pmcid": _ending(sent.get("pmcid"), "PMC[0-9]{1,9}"),
        "openalex": _ending(row.get("id"), "W[0-9]{1,15}"),
    }
    return {name: value for name, value in found.items() if value}


def _ending(value: Any, pattern: str) -> str:
    """Return the end of a URL that an identifier is written as."""
    end = text(value, 200).rstrip("/").rpartition("/")[2]
    return end if re.fullmatch(pattern, end) else ""


def _author(authorship: Any) -> str:
    said = mapping(authorship)
    return text(mapping(said.get("author")).get("display_name"), 300) or text(said.get("raw_author_name"), 300)


def _type(row: Mapping[str, Any], source: Mapping[str, Any]) -> str:
    kind = text(row.get("type"), 50)
    return "proceedings-article" if kind == "article" and source.get("type") == "conference" else kind


def _pages(biblio: Mapping[str, Any]) -> str:
    first, last = text(biblio.get("first_page"), 30), text(biblio.get("last_page"), 30)
    return f"{first}-{last}" if first and last and first != last else first


def _abstract(value: Any) -> str:
    """Return the text of an abstract that came as its words with their places."""
    placed = [
        (place, word)
        for word, places in list(mapping(value).items())[:MOST_PLACES]
        for place in listed(places)[:MOST_PLACES]
        if isinstance(place, int)
    ]
    return text(" ".join(word for _, word in sorted(placed)[:MOST_PLACES]))
