"""The Academic Graph API, as far as a search by relevance goes."""

from __future__ import annotations

import re
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said
from tests.search.providers.playing import trouble

__all__ = ["KEY", "PAPERS", "SemanticScholarAPI"]

KEY = "k3y-0f-th3-t3st"

PAPERS: list[dict[str, Any]] = [
    {
        "paperId": "649def34f8be52c8b66281af98ae884c09aef38b",
        "externalIds": {
            "MAG": "3015453090",
            "DOI": "10.18653/V1/2020.ACL-MAIN.447",
            "ArXiv": "1911.02782",
            "PubMed": "15335600",
            "PubMedCentral": "123456",
            "CorpusId": 215416146,
        },
        "url": "https://www.semanticscholar.org/paper/649def34f8be52c8b66281af98ae884c09aef38b",
        "title": "Construction of the\nLiterature Graph",
        "abstract": "We describe a deployed system.",
        "venue": "Annual Meeting of the ACL",
        "year": 2020,
        "publicationDate": "2020-04-21",
        "publicationTypes": ["JournalArticle", "Review"],
        "citationCount": 453,
        "isOpenAccess": True,
        "openAccessPdf": {"url": "https://www.aclweb.org/anthology/2020.pdf", "status": "HYBRID", "license": "CCBY"},
        "journal": {"name": "IETE Technical Review", "volume": "40", "pages": "116 - 135"},
        "authors": [{"authorId": "1741101", "name": "Oren Etzioni"}, {"authorId": None, "name": "D. Downey"}],
    },
    {
        "paperId": "b0",
        "externalIds": {"ArXiv": "hep-th/9901001"},
        "url": "https://www.semanticscholar.org/paper/b0",
        "title": "RETRACTED: Old",
        "abstract": None,
        "venue": "",
        "year": 1999,
        "publicationDate": None,
        "publicationTypes": None,
        "isOpenAccess": False,
        "openAccessPdf": {"url": "", "status": None, "license": None},
        "journal": None,
        "authors": [],
    },
    {
        "paperId": "c0",
        "externalIds": None,
        "url": "https://www.semanticscholar.org/paper/c0",
        "title": "Alone",
        "year": None,
        "isOpenAccess": None,
        "openAccessPdf": None,
        "authors": None,
    },
]

_PARAMETERS = {"query", "fields", "limit", "offset", "year", "publicationDateOrYear", "fieldsOfStudy", "venue"}
_FIELDS = set(PAPERS[0]) | {"tldr", "citationStyles", "referenceCount"}


class SemanticScholarAPI(LocalAPI):
    """Refuses an unknown field with a 400, and a wrong key with a 403."""

    papers: list[Any] = PAPERS

    def answer(self, asked: Asked) -> Said:
        if (asked.method, asked.path) != ("GET", "/graph/v1/paper/search"):
            return Said(404, {"error": "Not Found"})
        if self.mode == "rate_limited" or (self.mode == "quota" and "x-api-key" not in asked.headers):
            words = "Too Many Requests. Please wait and try again or apply for a key for higher rate limits."
            retry = {"Retry-After": "30"} if self.mode == "rate_limited" else {}
            return Said(429, {"message": words, "code": "429"}, retry)
        if said := trouble(self.mode):
            return said
        if "x-api-key" in asked.headers and (asked.headers["x-api-key"] != KEY or self.mode == "bad_key"):
            return Said(403, {"message": "Forbidden"})
        query = dict(asked.query)
        if unknown := set(query) - _PARAMETERS:
            return Said(400, {"error": f"Unrecognized or unsupported parameters: {sorted(unknown)}"})
        if unknown := set(query.get("fields", "title").split(",")) - _FIELDS:
            return Said(400, {"error": f"Unrecognized or unsupported fields: {sorted(unknown)}"})
        if not 1 <= int(query.get("limit", "10")) <= 100 or not query.get("query"):
            return Said(400, {"error": "Missing query or limit beyond 100"})
        if not re.fullmatch(r"(?:\d{4}-\d{2}-\d{2})?:?(?:\d{4}-\d{2}-\d{2})?", query.get("publicationDateOrYear", "")):
            return Said(400, {"error": "Invalid publicationDateOrYear"})
        if self.mode == "empty":
            return Said(200, {"total": 0, "offset": 0})
        if self.mode == "missing_list":
            return Said(200, {"total": 3, "offset": 0})
        papers = self.papers[: int(query.get("limit", "10"))]
        return Said(200, {"total": 15117, "offset": 0, "next": 3, "data": papers})
