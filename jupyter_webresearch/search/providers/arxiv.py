"""arXiv: preprints, by its Atom API, which is asked slowly and by one at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.one_host import elsewhere
from jupyter_webresearch.search.pace import Pace
from jupyter_webresearch.search.papers import details, doi
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, explained
from jupyter_webresearch.search.rows import MOST_TEXTS, collected, link, text
from jupyter_webresearch.search.service import Reply, Service
from jupyter_webresearch.search.xml_answer import parsed_xml

if TYPE_CHECKING:
    from lxml import etree

__all__ = ["ArXiv"]

INTERVAL = 3.0
"""Seconds between two requests, by arXiv's terms of use."""

MOST_WORDS = 30

_NAMES = {
    "atom": "http://www.w3.org/2005/Atom",
    "arxiv": "http://arxiv.org/schemas/atom",
    "opensearch": "http://a9.com/-/spec/opensearch/1.1/",
}
_IDENTIFIER = re.compile(
    r"https?://(?:export\.)?arxiv\.org/abs/((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)"
)
_FIELDED = re.compile(r"(?:^|[\s(])(?:ti|au|abs|co|jr|cat|rn|id|all):\S")
_TERM = re.compile(r'"([^"]+)"|([^\s"]+)')
_COMMON = re.compile(
    "an?|and|are|as|at|be|by|do|does|for|from|how|in|is|of|on|or|the|to|was|what|when|why|with", re.IGNORECASE
)
_GONE = "(?:withdrawn|retracted)"
_IS_GONE = rf"(?:paper|article|submission|manuscript|preprint|work) (?:has been|is|was) (?:temporarily )?{_GONE}"
_COMMENT = re.compile(rf"{_GONE}\b|.*\b{_IS_GONE}\b", re.IGNORECASE)
_SUMMARY = re.compile(rf"(?:(?:this|the) )?{_IS_GONE}\b", re.IGNORECASE)


class ArXiv(BuiltinProvider):
    """Preprints of physics, mathematics, computer science and their neighbours, each in the version that was found.

    Parameters
    ----------
    values
        See :class:`~jupyter_webresearch.search.builtin.BuiltinProvider`.
    pace
        Shared by all calls, so that one instance serves a whole engine.
    """

    about: ClassVar[About] = About(
        name="arxiv",
        display_name="arXiv",
        base_url="https://export.arxiv.org",
        keyless=True,
        kinds=("papers", "web"),
        price="free",
        limits="one request in three seconds",
    )

    def __init__(self, values: Mapping[str, str], *, pace: Pace | None = None) -> None:
        super().__init__(values)
        self._pace = pace or Pace(INTERVAL)

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        if other := elsewhere(self.about, "arxiv.org", question):
            return other
        terms = _terms(question.query)
        feed, altered = await self._feed(_query(question, terms, "AND"), question, service), ""
        if _total(feed) == 0 and len(terms) > 1:
            # Few abstracts hold every word of a sentence.
            feed, altered = await self._feed(_query(question, terms, "OR"), question, service), " OR ".join(terms)
        entries = feed.findall("atom:entry", _NAMES)
        results, notes = collected(map(_result, entries), question)
        return ProviderAnswer(
            provider=self.name,
            results=results,
            query_altered=altered,
            total=_total(feed),
            warnings=notes,
            raw=_source(feed),
        )

    async def _feed(self, wanted: str, question: Question, service: Service) -> etree._Element:
        feed = await self._once(wanted, question, service)
        if _is_broken(feed):  # now and then a page comes empty; the same request gets it whole
            feed = await self._once(wanted, question, service)
        if _is_broken(feed):
            raise ProviderError("bad_payload", "arXiv counts papers but lists none; try again", http_status=200)
        return feed

    async def _once(self, wanted: str, question: Question, service: Service) -> etree._Element:
        query = {
            "search_query": wanted,
            "start": "0",
            "max_results": str(question.limit),
            "sortBy": "relevance",
            "sortOrder": "descending",
        }
        async with self._pace.turn("arXiv", service.deadline):
            # Sent once only: the service's own retry knows nothing of the pace.
            reply = await service.get(
                "/api/query", query, headers={"Accept": "application/atom+xml"}, final=lambda _reply: True
            )
        if reply.body.strip().startswith(b"Rate exceeded"):
            raise self._refused(reply, "", ProviderError("rate_limited", "", http_status=reply.status))
        try:
            feed = await parsed_xml(reply)
        except ProviderError:
            self._check(reply, "")
            raise
        fault = _fault(feed)
        self._check(reply, fault)
        if fault:
            raise self._refused(reply, fault, ProviderError("bad_request", "", http_status=reply.status))
        if feed.tag != f"{{{_NAMES['atom']}}}feed" or _total(feed) is None:
            raise ProviderError("bad_payload", "the answer is no list of papers", http_status=reply.status)
        return feed

    def _check(self, reply: Reply, fault: str) -> None:
        try:
            Service.check(reply, {503: "rate_limited"})  # its answer to whoever is too quick
        except ProviderError as error:
            raise self._refused(reply, fault, error) from None

    def _refused(self, reply: Reply, fault: str, error: ProviderError) -> ProviderError:
        error.retry_after = reply.retry_after
        return explained(self.about, "", Refusal(fault), error)


def _terms(query: str) -> list[str]:
    """Return words and phrases without what has a meaning in arXiv's queries; none of a query in its own language."""
    if _FIELDED.search(query):
        return []
    found: list[str] = []
    for phrase, word in _TERM.findall(query)[:MOST_WORDS]:
        words = re.findall(r"\w+", phrase or word)
        if words:
            found.append(" ".join(words))
    return [term for term in found if not _COMMON.fullmatch(term)] or found


def _query(question: Question, terms: list[str], operator: str) -> str:
    said = f" {operator} ".join(f'all:"{term}"' if " " in term else f"all:{term}" for term in terms)
    if not question.since:
        return said or question.query
    first = question.since.strftime("%Y%m%d")
    return f"({said or question.query}) AND submittedDate:[{first}0000 TO 299912312359]"


def _total(feed: etree._Element) -> int | None:
    said = _said(feed, "opensearch:totalResults")
    return int(said) if re.fullmatch(r"[0-9]{1,12}", said) else None


def _is_broken(feed: etree._Element) -> bool:
    return bool(_total(feed)) and feed.find("atom:entry", _NAMES) is None


def _fault(feed: etree._Element) -> str:
    """Return what an error says: it comes as an entry of a feed, mostly with the status 200."""
    entry = feed.find("atom:entry", _NAMES)
    if entry is None or "/api/errors" not in _said(entry, "atom:id"):
        return ""
    return _said(entry, "atom:summary") or "it gives no reason"


def _said(element: etree._Element, name: str) -> str:
    found = element.find(name, _NAMES)
    return "" if found is None else text("".join(map(str, found.itertext())))


def _result(entry: etree._Element) -> SearchResult:
    identifier = _IDENTIFIER.fullmatch(_said(entry, "atom:id"))
    name = identifier[1] if identifier else ""
    comment, summary = _said(entry, "arxiv:comment"), _said(entry, "atom:summary")
    category = entry.find("arxiv:primary_category", _NAMES)
    authors = (_said(author, "atom:name") for author in entry.findall("atom:author", _NAMES)[:MOST_TEXTS])
    ids = {"arxiv": name, "doi": doi(_said(entry, "arxiv:doi"))}
    return SearchResult(
        url=f"https://arxiv.org/abs/{name}" if name else "",
        title=_said(entry, "atom:title"),
        snippet=summary,
        published=iso_date(_said(entry, "atom:published")),
        kind="paper",
        ids={key: value for key, value in ids.items() if value},
        authors=tuple(filter(None, authors)),
        container="arXiv",
        details=details(
            type="preprint",
            category="" if category is None else category.get("term"),
            updated=iso_date(_said(entry, "atom:updated")),
            journal_ref=_said(entry, "arxiv:journal_ref"),
            comment=comment,
        ),
        pdf_url=_pdf(entry) or (f"https://arxiv.org/pdf/{name}" if name else ""),
        open_access=True,
        retracted=bool(_COMMENT.match(comment) or _SUMMARY.match(summary)),
        raw={"entry": _source(entry)},
    )


def _pdf(entry: etree._Element) -> str:
    found = (link(item.get("href")) for item in entry.findall("atom:link", _NAMES) if item.get("title") == "pdf")
    return next(filter(None, found), "")


def _source(element: etree._Element) -> str:
    from lxml import etree

    return etree.tostring(element, encoding="unicode", with_tail=False)
