"""PubMed: biomedical papers, by NCBI's E-utilities: what is found, what it is, and its abstracts."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import anyio

from jupyter_webresearch import __version__
from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.one_host import elsewhere
from jupyter_webresearch.search.pace import Pace
from jupyter_webresearch.search.papers import details, doi, says_retracted
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted, explained
from jupyter_webresearch.search.rows import MOST_TEXTS, collected, listed, mapping, text, texts
from jupyter_webresearch.search.service import Reply, Service
from jupyter_webresearch.search.xml_answer import parsed_xml

__all__ = ["PubMed"]

INTERVALS = (0.34, 0.1)
"""Seconds between two requests without and with a key."""

ABSTRACTS_WITHIN = 4.0
"""Seconds that abstracts may take; results are told without them otherwise."""

_HOST = "pubmed.ncbi.nlm.nih.gov"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = re.compile(r"([12][0-9]{3})(?: ([A-Z][a-z]{2})(?:-[A-Z][a-z]{2})?(?: ([0-9]{1,2}))?)?\b")
_INITIALS = re.compile(r"(.+) ([^\W\d_a-z]{1,4}(?:-[^\W\d_a-z])?)(?: (Jr|Sr|[1-9](?:st|nd|rd|th)|I{2,3}|IV))?")


class PubMed(BuiltinProvider):
    """Papers of medicine and the life sciences.

    Parameters
    ----------
    values
        See :class:`~jupyter_webresearch.search.builtin.BuiltinProvider`.
    pace
        Shared by all calls, so that one instance serves a whole engine.
    abstracts_within
        Seconds.
    """

    about: ClassVar[About] = About(
        name="pubmed",
        display_name="PubMed",
        base_url="https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
        keys=("NCBI_API_KEY",),
        options=("NCBI_EMAIL",),
        keyless=True,
        kinds=("papers", "web"),
        get_key="https://account.ncbi.nlm.nih.gov/settings/",
        price="free",
        limits="3 requests a second, 10 with a key; a search takes three",
    )

    def __init__(
        self, values: Mapping[str, str], *, pace: Pace | None = None, abstracts_within: float = ABSTRACTS_WITHIN
    ) -> None:
        super().__init__(values)
        self._pace = pace or Pace(INTERVALS[bool(self.key)])
        self._abstracts_within = abstracts_within

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        if other := elsewhere(self.about, _HOST, question):
            return other
        query = {"term": question.query, "retmax": str(question.limit), "sort": "relevance"}
        if question.since:
            query |= {"datetype": "pdat", "mindate": question.since.strftime("%Y/%m/%d"), "maxdate": "3000"}
        found = mapping((await self._json(service, "/esearch.fcgi", query)).get("esearchresult"))
        if not isinstance(found.get("idlist"), list):
            raise ProviderError("bad_payload", "the answer is without the list of papers", http_status=200)
        names = [name for name in texts(found["idlist"]) if re.fullmatch("[0-9]{1,9}", name)][: question.limit]
        summaries: Mapping[str, Any] = {}
        abstracts: Mapping[str, str] = {}
        warnings = _unknown(found)
        if names:
            summaries = mapping((await self._json(service, "/esummary.fcgi", {"id": ",".join(names)})).get("result"))
            if not isinstance(summaries.get("uids"), list):
                raise ProviderError("bad_payload", "the answer is without summaries of papers", http_status=200)
            abstracts, lacking = await self._abstracts(service, names)
            warnings += lacking
        known = {name: mapping(summaries.get(name)) for name in names}
        lost = sum(1 for row in known.values() if not row or "error" in row)
        results, notes = collected(
            (_result(name, row, abstracts) for name, row in known.items() if row and "error" not in row), question
        )
        total = text(found.get("count"))
        return ProviderAnswer(
            provider=self.name,
            results=results,
            total=int(total) if re.fullmatch("[0-9]{1,12}", total) else None,
            warnings=(*warnings, *([f"{lost} left out: PubMed has no summary"] if lost else []), *notes),
            raw={"esearch": found, "esummary": summaries},
        )

    async def _json(self, service: Service, path: str, query: Mapping[str, str]) -> Mapping[str, Any]:
        reply = await self._get(service, path, {**query, "retmode": "json"})
        said = await accepted(reply, self.about, self.key, lambda _status, body: _refusal(body))
        search = mapping(said.get("esearchresult"))
        for fault in (said.get("error"), search.get("ERROR"), said.get("esummaryresult")):
            if fault:  # the status is 200 then
                raise self._error(" ".join(texts(fault)) or text(fault) or "it gives no reason", reply)
        return said

    async def _get(self, service: Service, path: str, query: Mapping[str, str]) -> Reply:
        identity = {"tool": f"jupyter-webresearch-{__version__}", "email": self._values.get("NCBI_EMAIL", "")}
        # It takes a key in the query only.
        asked = {"db": "pubmed", **query, **identity, "api_key": self.key}
        async with self._pace.turn("PubMed", service.deadline):
            return await service.get(path, {name: value for name, value in asked.items() if value})

    def _error(self, said: str, reply: Reply) -> ProviderError:
        refusal = _refusal({"error": said})
        error = ProviderError(
            refusal.kind or "bad_request", "", http_status=reply.status, retry_after=reply.retry_after
        )
        return explained(self.about, self.key, refusal, error)

    async def _abstracts(self, service: Service, names: list[str]) -> tuple[Mapping[str, str], list[str]]:
        """Return abstracts by identifier; results are worth telling without them."""
        with anyio.move_on_after(self._abstracts_within):
            try:
                reply = await self._get(
                    service, "/efetch.fcgi", {"id": ",".join(names), "retmode": "xml", "rettype": "abstract"}
                )
                Service.check(reply)
                root = await parsed_xml(reply)
            except ProviderError:
                pass
            else:
                return {
                    "".join(map(str, name.itertext())): _abstract(article)
                    for article in root.iterfind("PubmedArticle")
                    if (name := article.find("MedlineCitation/PMID")) is not None
                }, []
        return {}, ["PubMed did not give the abstracts in time"]


def _refusal(body: Mapping[str, Any]) -> Refusal:
    said = text(body.get("error"), 200)
    lower = said.lower()
    if "rate limit" in lower:
        return Refusal("", kind="rate_limited")
    if "api key" in lower:
        return Refusal("", kind="bad_key")
    if "backend" in lower or "unavailable" in lower or "eutils_lb" in lower:
        return Refusal(said, kind="unreachable")
    return Refusal(said)


def _unknown(found: Mapping[str, Any]) -> list[str]:
    phrases = texts(mapping(found.get("errorlist")).get("phrasesnotfound"))[:5]
    return [f"PubMed does not know: {', '.join(phrases)}"] if phrases else []


def _abstract(article: Any) -> str:
    """Return the parts of an abstract in their order, each with its label."""
    parts = []
    for part in article.iterfind("MedlineCitation/Article/Abstract/AbstractText"):
        said, label = text("".join(map(str, part.itertext()))), text(part.get("Label"), 100)
        parts.append(f"{label}: {said}" if label and said else said)
    return text(" ".join(filter(None, parts)))


def _result(name: str, row: Mapping[str, Any], abstracts: Mapping[str, str]) -> SearchResult:
    title = _unescaped(row.get("title"))
    kinds = texts(row.get("pubtype"))
    ids = {"pmid": name, **_ids(row)}
    people = [_person(mapping(author)) for author in listed(row.get("authors"))[:MOST_TEXTS]]
    people = [person for person in people if person[0]]
    is_free = "pmcid" in ids and "embargo" not in str(row.get("articleids"))
    return SearchResult(
        url=f"https://{_HOST}/{name}/",
        title=title.removesuffix(".") or f"PMID {name}",
        snippet=abstracts.get(name, ""),
        published=_date(row.get("pubdate")) or _date(row.get("epubdate")) or text(row.get("sortpubdate"))[:4],
        kind="paper",
        ids=ids,
        authors=tuple(full for full, _ in people),
        container=_unescaped(row.get("fulljournalname")) or text(row.get("source")),
        details=details(
            type=next(iter(kinds), ""),
            volume=row.get("volume"),
            issue=row.get("issue"),
            pages=row.get("pages"),
            publisher=row.get("publishername"),
            family_names="; ".join(family for _, family in people),
        ),
        pdf_url=f"https://pmc.ncbi.nlm.nih.gov/articles/{ids['pmcid']}/pdf/" if is_free else "",
        open_access=True if is_free else None,
        retracted="Retracted Publication" in kinds or says_retracted(title),
        raw=row,
    )


def _unescaped(value: Any) -> str:
    """Return a title, in which markup comes as entities."""
    return text(html.unescape(value[:4000])) if isinstance(value, str) else ""


def _ids(row: Mapping[str, Any]) -> dict[str, str]:
    sent = {text(item.get("idtype"), 20): item.get("value") for item in map(mapping, listed(row.get("articleids")))}
    pmcid = re.match("PMC[0-9]{1,9}", text(sent.get("pmc"), 30))
    found = {"doi": doi(sent.get("doi")), "pmcid": pmcid[0] if pmcid else ""}
    return {key: value for key, value in found.items() if value}


def _person(author: Mapping[str, Any]) -> tuple[str, str]:
    """Return ``JA Smith`` and ``Smith`` of ``Smith JA``; the name of a group is one."""
    name = _unescaped(author.get("name"))
    match = _INITIALS.fullmatch(name)
    if match is None or author.get("authtype") == "CollectiveName":
        return name, name
    family, initials, suffix = match.groups()
    return " ".join(filter(None, (initials, family, suffix))), family


def _date(value: Any) -> str:
    """Return ``2024-05-01`` of ``2024 May 1``; of ``2024 May-Jun`` the first month, of ``2024 Spring`` the year."""
    match = _DATE.match(text(value, 40))
    if match is None:
        return ""
    year, month, day = match.groups()
    if month not in _MONTHS:
        return year
    written = f"{year}-{_MONTHS.index(month) + 1:02}"
    return f"{written}-{int(day):02}" if day and 1 <= int(day) <= 31 else written
