"""Crossref: works with a DOI, as their publishers registered them, and what was retracted since."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.net.headers import user_agent
from jupyter_webresearch.search.answer import ProviderAnswer, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.papers import date_in_parts, details, doi, doi_url, says_retracted, url_for
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted
from jupyter_webresearch.search.rows import MOST_TEXTS, collected, link, listed, mapping, number, rows, text
from jupyter_webresearch.search.service import Service

__all__ = ["Crossref"]

SPARE = 5
"""Works asked for beyond the limit, in place of components and the like, which are left out."""

_MAILTO = re.compile(r"[^\s()<>\\,;:\"]{1,64}@[^\s()<>\\,;:\"@]{1,255}")
_ABSTRACT = re.compile(r"\s*<jats:title>\s*(?:abstract|summary)\s*</jats:title>", re.IGNORECASE)
_RETRACTING = frozenset({"retraction", "withdrawal", "removal"})
_DATES = ("published", "issued", "published-online", "published-print", "posted")


class Crossref(BuiltinProvider):
    """Journal articles, chapters, proceedings, preprints and books with a DOI of Crossref's."""

    about: ClassVar[About] = About(
        name="crossref",
        display_name="Crossref",
        base_url="https://api.crossref.org",
        options=("CROSSREF_MAILTO",),
        keyless=True,
        kinds=("papers", "web"),
        price="free",
        limits="a few requests a second; more with an e-mail address in CROSSREF_MAILTO, which Crossref is then told",
    )

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        # All fields, references among them: "select" knows no "updated-by", which says that a work was retracted.
        query = {"query.bibliographic": question.query, "rows": str(question.limit + SPARE)}
        if question.since:
            query["filter"] = f"from-pub-date:{question.since.isoformat()}"
        headers, warnings = self._identity()
        said = await accepted(await service.get("/works", query, headers=headers), self.about, "", _refusal)
        message = mapping(said.get("message"))
        works = [row for row in rows(message.get("items"), "the list of works") if row.get("type") != "component"]
        retracted = {work for row in works for work in _updated(row, _RETRACTING)}
        results, notes = collected((_result(row, question, retracted) for row in works), question)
        total = message.get("total-results")
        return ProviderAnswer(
            provider=self.name,
            results=results,
            total=total if isinstance(total, int) else None,
            warnings=(*warnings, *notes),
            raw=said,
        )

    def _identity(self) -> tuple[dict[str, str], list[str]]:
        """Return the header that names who asks, in the form in which Crossref looks for an address."""
        address = self._values.get("CROSSREF_MAILTO", "").strip().removeprefix("mailto:")
        if not address:
            return {}, []
        if not _MAILTO.fullmatch(address):
            return {}, ["CROSSREF_MAILTO is no e-mail address: Crossref was not told one"]
        return {"User-Agent": user_agent(WebFetch(contact=f"mailto:{address}"))}, []


def _refusal(_status: int, body: Mapping[str, Any]) -> Refusal:
    fault = mapping(next(iter(listed(body.get("message"))), None))
    return Refusal(text(fault.get("message"), 200), text(fault.get("type"), 100))


def _result(row: Mapping[str, Any], question: Question, retracted: set[str]) -> SearchResult:
    name, title = doi(row.get("DOI")), _title(row)
    is_open = _is_open(row)
    page = link(mapping(mapping(row.get("resource")).get("primary")).get("URL"))
    people = [_person(mapping(author)) for author in listed(row.get("author"))[:MOST_TEXTS]]
    people = [person for person in people if person[0]]
    ids = {"doi": name, "isbn": _first(row.get("ISBN")), "issn": _first(row.get("ISSN"))}
    return SearchResult(
        url=url_for(question.site, doi_url(name), link(row.get("URL")), page),
        title=title or (f"doi:{name}" if name else ""),
        snippet=_abstract(row.get("abstract")),
        published=next(filter(None, (_date(row.get(field)) for field in _DATES)), ""),
        score=number(row.get("score")),
        kind="paper",
        ids={key: value for key, value in ids.items() if value},
        authors=tuple(full for full, _ in people),
        container=_first(row.get("container-title")),
        details=details(
            type=row.get("type"),
            volume=row.get("volume"),
            issue=row.get("issue"),
            pages=row.get("page") or row.get("article-number"),
            publisher=row.get("publisher"),
            cited_by=row.get("is-referenced-by-count"),
            family_names="; ".join(family for _, family in people),
            updates=", ".join(_told(row, "update-to", "of")),
            updated_by=", ".join(_told(row, "updated-by", "in")),
        ),
        pdf_url=_pdf(row) if is_open else "",
        open_access=is_open or None,
        retracted=name in retracted or _is_retracted(row) or says_retracted(title),
        raw=row,
    )


def _title(row: Mapping[str, Any]) -> str:
    title, subtitle = _first(row.get("title")), _first(row.get("subtitle"))
    if not title:
        return _first(row.get("original-title")) or _first(row.get("short-title"))
    return title if not subtitle or subtitle.lower() in title.lower() else f"{title}: {subtitle}"


def _first(value: Any) -> str:
    return next(filter(None, map(text, listed(value))), "")


def _abstract(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    heading = _ABSTRACT.match(value)
    return text(value[heading.end() :] if heading else value)


def _date(value: Any) -> str:
    return date_in_parts(next(iter(listed(mapping(value).get("date-parts"))), None))


def _person(author: Mapping[str, Any]) -> tuple[str, str]:
    """Return the whole name and the family name, which for an organisation are one."""
    given, family, suffix = (text(author.get(part), 200) for part in ("given", "family", "suffix"))
    if not family:
        name = text(author.get("name"), 300) or given
        return name, name
    return " ".join(filter(None, (given, family, suffix))), family


def _updated(row: Mapping[str, Any], kinds: frozenset[str]) -> list[str]:
    """Return the works that this one is about, as a notice is about the work that it retracts."""
    updates = map(mapping, listed(row.get("update-to")))
    return [name for update in updates if update.get("type") in kinds and (name := doi(update.get("DOI")))]


def _told(row: Mapping[str, Any], field: str, word: str) -> list[str]:
    found = []
    for update in map(mapping, listed(row.get(field))[:MOST_TEXTS]):
        kind, other = text(update.get("type"), 50).replace("_", " "), doi(update.get("DOI"))
        if kind and other:
            found.append(f"{kind} {word} {other}")
    return found


def _is_retracted(row: Mapping[str, Any]) -> bool:
    if any(mapping(update).get("type") in _RETRACTING for update in listed(row.get("updated-by"))):
        return True
    relation = mapping(row.get("relation"))
    return any(relation.get(name) for name in ("is-retracted-by", "is-withdrawn-by", "is-removed-by"))


def _is_open(row: Mapping[str, Any]) -> bool:
    """Whether a Creative Commons licence holds from the day of publication."""
    return any(
        "creativecommons.org/" in text(licence.get("URL")).lower() and licence.get("delay-in-days") in (0, None)
        for licence in map(mapping, listed(row.get("license")))
    )


def _pdf(row: Mapping[str, Any]) -> str:
    links = map(mapping, listed(row.get("link")))
    found = (link(item.get("URL")) for item in links if item.get("content-type") == "application/pdf")
    return next(filter(None, found), "")
