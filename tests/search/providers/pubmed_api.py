"""NCBI's E-utilities: esearch, esummary and efetch of PubMed."""

from __future__ import annotations

import re
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said
from tests.search.providers.playing import trouble

__all__ = ["KEY", "SUMMARIES", "PubMedAPI"]

KEY = "k3y-0f-th3-t3st"

SUMMARIES: dict[str, dict[str, Any]] = {
    "37096423": {
        "uid": "37096423",
        "title": "Role of &lt;i&gt;E. coli&lt;/i&gt; &amp;amp; others (p &lt; 0.05).",
        "authors": [
            {"name": "van der Berg JA", "authtype": "Author"},
            {"name": "O'Neil-Smith M Jr", "authtype": "Author"},
            {"name": "WHO Study Group", "authtype": "CollectiveName"},
            {"name": "Plato", "authtype": "Author"},
        ],
        "source": "N Engl J Med",
        "fulljournalname": "The New England journal of medicine",
        "pubdate": "2023 Apr 5",
        "epubdate": "",
        "sortpubdate": "2023/04/05 00:00",
        "volume": "388",
        "issue": "16",
        "pages": "1501-11",
        "pubtype": ["Journal Article", "Review"],
        "articleids": [
            {"idtype": "pubmed", "idtypen": 1, "value": "37096423"},
            {"idtype": "pmc", "idtypen": 8, "value": "PMC10123456"},
            {"idtype": "doi", "idtypen": 3, "value": "10.1056/NEJMoa1"},
            {"idtype": "pmcid", "idtypen": 5, "value": "pmc-id: PMC10123456;"},
        ],
    },
    "20113659": {
        "uid": "20113659",
        "title": "Ileal-lymphoid-nodular hyperplasia.",
        "authors": [],
        "source": "Lancet",
        "fulljournalname": "Lancet (London, England)",
        "pubdate": "1998 Feb-Mar",
        "volume": "",
        "pubtype": ["Journal Article", "Retracted Publication"],
        "articleids": [
            {"idtype": "pmc", "value": "PMC1"},
            {"idtype": "pmcid", "value": "pmc-id: PMC1;embargo-date: 2999/01/01;"},
        ],
    },
}

_ARTICLES = b"""<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"
 "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">37096423</PMID><Article><Abstract>
<AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">Effect of <i>E. coli</i> on H<sub>2</sub>O.</AbstractText>
<AbstractText Label="RESULTS">None.</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID Version="1">20113659</PMID><Article/></MedlineCitation></PubmedArticle>
</PubmedArticleSet>"""

_COMMON = {"db", "retmode", "tool", "email", "api_key"}
_PARAMETERS = {
    "/esearch.fcgi": _COMMON | {"term", "retmax", "retstart", "sort", "datetype", "mindate", "maxdate"},
    "/esummary.fcgi": _COMMON | {"id"},
    "/efetch.fcgi": _COMMON | {"id", "rettype"},
}


class PubMedAPI(LocalAPI):
    """Refuses in a 200 as often as not; ``broken`` names the one utility that breaks."""

    summaries = SUMMARIES
    searched: dict[str, Any] | None = None
    said_200: dict[str, Any] | None = None
    broken = ""

    def answer(self, asked: Asked) -> Said:
        if asked.method != "GET" or asked.path not in _PARAMETERS:
            return Said(404, b"<h1>Not found</h1>", {"Content-Type": "text/html"})
        if said := trouble(self.mode):
            return said
        query = dict(asked.query)
        if query.get("api_key", KEY) != KEY or self.mode == "bad_key":
            return Said(400, {"error": "API key invalid", "api-key": query.get("api_key"), "type": "api-key"})
        if self.mode == "quota":
            return Said(429, {"error": "API rate limit exceeded", "api-key": query.get("api_key"), "limit": "10"})
        if self.said_200 is not None:
            return Said(200, self.said_200)
        if set(query) - _PARAMETERS[asked.path] or query.get("db") != "pubmed":
            return Said(200, {"esearchresult": {"ERROR": f"Invalid parameters {sorted(query)}"}})
        if self.broken and self.broken in asked.path:
            return Said(500, b"oops", {"Content-Type": "text/plain"})
        if asked.path == "/efetch.fcgi":
            wanted = query.get("retmode") == "xml"
            return Said(200, _ARTICLES, {"Content-Type": "text/xml"}) if wanted else Said(400, b"")
        if query.get("retmode") != "json":
            return Said(200, b"<?xml version='1.0'?><eSearchResult/>", {"Content-Type": "text/xml"})
        return self._search(query) if asked.path == "/esearch.fcgi" else self._summary(query)

    def _search(self, query: dict[str, str]) -> Said:
        dates = [query.get(name, "") for name in ("mindate", "maxdate")]
        if any(dates) and not (all(dates) and re.fullmatch(r"\d{4}/\d{2}/\d{2}", dates[0])):
            return Said(200, {"esearchresult": {"ERROR": "Invalid dates"}})
        found = {"count": "2", "retmax": "2", "retstart": "0", "idlist": list(self.summaries), "querytranslation": "x"}
        found["idlist"] = found["idlist"][: int(query.get("retmax", "20"))]
        if self.searched is not None:
            found = self.searched
        if self.mode == "empty":
            found = {"count": "0", "idlist": [], "errorlist": {"phrasesnotfound": ["qwxyz"], "fieldsnotfound": []}}
        if self.mode == "missing_list":
            found = {"count": "2"}
        return Said(200, {"header": {"type": "esearch", "version": "0.3"}, "esearchresult": found})

    def _summary(self, query: dict[str, str]) -> Said:
        names = query.get("id", "").split(",")
        result: dict[str, Any] = {"uids": names}
        for name in names:
            result[name] = self.summaries.get(name, {"uid": name, "error": "cannot get document summary"})
        return Said(200, {"header": {"type": "esummary", "version": "0.3"}, "result": result})
