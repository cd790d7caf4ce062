"""Semantic Scholar: papers of all fields with their citations, by the Academic Graph API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import ProviderAnswer, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.pace import Pace
from jupyter_webresearch.search.papers import details, doi, doi_url, says_retracted, url_for
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted
from jupyter_webresearch.search.rows import MOST_TEXTS, collected, link, listed, mapping, rows, text
from jupyter_webresearch.search.service import Service

__all__ = ["SemanticScholar"]

INTERVAL = 1.0
"""Seconds between two requests with one key."""

_FIELDS = (
    "title,abstract,year,publicationDate,authors,venue,journal,publicationTypes,externalIds,citationCount,"
    "isOpenAccess,openAccessPdf,url"
)
_ARXIV = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?")
_SHARED = "all who ask without a key share one allowance"


class SemanticScholar(BuiltinProvider):
    """Papers; with a key at its own pace, without one as far as what all others leave over goes.

    Parameters
    ----------
    values
        See :class:`~jupyter_webresearch.search.builtin.BuiltinProvider`.
    pace
        Shared by all calls, so that one instance serves a whole engine.
    """

    about: ClassVar[About] = About(
        name="semantic-scholar",
        display_name="Semantic Scholar",
        base_url="https://api.semanticscholar.org",
        keys=("SEMANTIC_SCHOLAR_API_KEY", "S2_API_KEY"),
        keyless=True,
        kinds=("papers", "web"),
        get_key="https://www.semanticscholar.org/product/api",
        price="free",
        limits="one request a second with a key; without one, an allowance shared with everybody, often used up",
    )

    def __init__(self, values: Mapping[str, str], *, pace: Pace | None = None) -> None:
        super().__init__(values)
        self._pace = pace or Pace(INTERVAL)

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        query = {"query": question.query, "fields": _FIELDS, "limit": str(question.limit)}
        if question.since:
            query["publicationDateOrYear"] = f"{question.since.isoformat()}:"
        headers = {"x-api-key": self.key} if self.key else {}
        async with self._pace.turn("Semantic Scholar", service.deadline):
            reply = await service.get("/graph/v1/paper/search", query, headers=headers)
        said = await accepted(reply, self.about, self.key, self._refusal)
        total = said.get("total")
        papers = [] if "data" not in said and total == 0 else rows(said.get("data"), "the list of papers")
        results, notes = collected((_result(row, question) for row in papers), question)
        return ProviderAnswer(
            provider=self.name,
            results=results,
            total=total if isinstance(total, int) else None,
            warnings=notes,
            raw=said,
        )

    def _refusal(self, status: int, body: Mapping[str, Any]) -> Refusal:
        said, code = text(body.get("error")) or text(body.get("message")), text(body.get("code"), 100)
        if status == 429 and not self.key:
            return Refusal(_SHARED, code)
        return Refusal(said, code, "bad_key" if status in (401, 403) and self.key else None)


def _result(row: Mapping[str, Any], question: Question) -> SearchResult:
    ids, title = _ids(row), text(row.get("title"))
    journal, is_open = mapping(row.get("journal")), row.get("isOpenAccess")
    authors = (text(mapping(author).get("name"), 300) for author in listed(row.get("authors"))[:MOST_TEXTS])
    types = [text(kind, 50) for kind in listed(row.get("publicationTypes"))]
    return SearchResult(
        # The service's own page is last: it is written by scripts, for browsers only.
        url=url_for(
            question.site,
            doi_url(ids.get("doi", "")),
            f"https://arxiv.org/abs/{ids['arxiv']}" if "arxiv" in ids else "",
            f"https://pubmed.ncbi.nlm.nih.gov/{ids['pmid']}/" if "pmid" in ids else "",
            link(row.get("url")),
        ),
        title=title,
        snippet=text(row.get("abstract")),
        published=iso_date(row.get("publicationDate")) or iso_date(text(row.get("year"))),
        kind="paper",
        ids=ids,
        authors=tuple(filter(None, authors)),
        container=text(journal.get("name")) or text(row.get("venue")),
        details=details(
            type=next(filter(None, types), ""),
            volume=journal.get("volume"),
            pages=journal.get("pages"),
            cited_by=row.get("citationCount"),
        ),
        pdf_url=link(mapping(row.get("openAccessPdf")).get("url")),
        open_access=is_open if isinstance(is_open, bool) else None,
        retracted=says_retracted(title),
        raw=row,
    )


def _ids(row: Mapping[str, Any]) -> dict[str, str]:
    sent = mapping(row.get("externalIds"))
    arxiv, pmid, pmcid = (text(sent.get(name), 50) for name in ("ArXiv", "PubMed", "PubMedCentral"))
    found = {
        "doi": doi(sent.get("DOI")),
        "arxiv": arxiv if _ARXIV.fullmatch(arxiv) else "",
        "pmid": pmid if re.fullmatch("[0-9]{1,9}", pmid) else "",
        "pmcid": f"PMC{pmcid}" if re.fullmatch("[0-9]{1,9}", pmcid) else "",
        "s2": text(row.get("paperId"), 64),
    }
    return {name: value for name, value in found.items() if value}
