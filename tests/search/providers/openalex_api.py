"""OpenAlex's API, as far as a search of works goes."""

from __future__ import annotations

import re
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said
from tests.search.providers.playing import trouble

__all__ = ["KEY", "WORKS", "OpenAlexAPI"]

KEY = "k3y-0f-th3-t3st"

WORKS: list[dict[str, Any]] = [
    {
        "id": "https://openalex.org/W2741809807",
        "doi": "https://doi.org/10.7717/PeerJ.4375",
        "title": "The state of <i>OA</i>: a large-scale analysis",
        "display_name": "The state of OA",
        "publication_date": "2018-02-13",
        "publication_year": 2018,
        "type": "article",
        "language": "en",
        "cited_by_count": 1012,
        "is_retracted": False,
        "authorships": [
            {"author": {"display_name": "Heather Piwowar", "orcid": None}, "institutions": []},
            {"author": {"display_name": None}, "raw_author_name": "J. Priem"},
            {"author": None},
        ],
        "primary_location": {
            "landing_page_url": "https://doi.org/10.7717/peerj.4375",
            "pdf_url": None,
            "source": {"display_name": "PeerJ", "issn_l": "2167-8359", "type": "journal"},
        },
        "best_oa_location": {"pdf_url": "https://peerj.com/articles/4375.pdf", "landing_page_url": "x"},
        "open_access": {"is_oa": True, "oa_url": "https://peerj.com/articles/4375"},
        "biblio": {"volume": "6", "issue": None, "first_page": "e4375", "last_page": "e4390"},
        "abstract_inverted_index": {"Despite": [0], "growing": [1], "interest": [2, 4], "in": [3]},
        "ids": {
            "openalex": "https://openalex.org/W2741809807",
            "pmid": "https://pubmed.ncbi.nlm.nih.gov/29456894",
            "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC5815332",
        },
    },
    {
        "id": "https://openalex.org/W2",
        "doi": None,
        "title": None,
        "display_name": "A talk",
        "publication_date": None,
        "publication_year": 2020,
        "type": "article",
        "cited_by_count": 0,
        "is_retracted": True,
        "authorships": [],
        "primary_location": {
            "landing_page_url": "https://arxiv.org/abs/2001.00001v2",
            "pdf_url": "https://arxiv.org/pdf/2001.00001v2",
            "source": {"display_name": "Proceedings of X", "type": "conference"},
        },
        "best_oa_location": None,
        "open_access": {"is_oa": False, "oa_url": None},
        "biblio": {"volume": None, "issue": None, "first_page": None, "last_page": None},
        "abstract_inverted_index": None,
        "ids": {},
    },
    {
        "id": "https://openalex.org/W3",
        "title": "Nothing known",
        "primary_location": None,
        "best_oa_location": None,
        "open_access": None,
        "biblio": None,
        "authorships": None,
        "ids": None,
    },
]

_PARAMETERS = {"search", "filter", "sort", "per_page", "page", "cursor", "select", "api_key", "mailto"}
_FIELDS = set(WORKS[0]) | {"concepts", "topics", "referenced_works", "locations"}


class OpenAlexAPI(LocalAPI):
    """Refuses unknown parameters and fields; without a key it allows little."""

    works: list[Any] = WORKS

    def answer(self, asked: Asked) -> Said:
        if (asked.method, asked.path) != ("GET", "/works"):
            return Said(404, b"<h1>Not found</h1>", {"Content-Type": "text/html"})
        if said := trouble(self.mode):
            return said
        query = dict(asked.query)
        if self.mode == "quota":
            words = "Insufficient budget. This request costs $0.001 but you only have $0 remaining."
            return Said(429, {"error": "Rate limit exceeded", "message": words}, {"Retry-After": "46412"})
        if self.mode == "too_quick":
            return Said(403, {"error": "Forbidden", "message": "Too many requests per second"})
        if query.get("api_key", KEY) != KEY:
            return Said(401, {"error": "Unauthorized", "message": f"Invalid API key {query['api_key']}"})
        if unknown := set(query) - _PARAMETERS:
            return _invalid(f"{sorted(unknown)} are not valid parameters")
        if unknown := set(query.get("select", "id").split(",")) - _FIELDS:
            return _invalid(f"{sorted(unknown)} are not valid select fields")
        if not query.get("per_page", "25").isdigit() or not 1 <= int(query.get("per_page", "25")) <= 100:
            return _invalid("per_page parameter must be between 1 and 100")
        if "filter" in query and not re.fullmatch(r"from_publication_date:\d{4}-\d{2}-\d{2}", query["filter"]):
            return _invalid("Invalid filter")
        meta = {"count": 120933, "page": 1, "per_page": 3, "cost_usd": 0.001}
        if self.mode == "empty":
            return Said(200, {"meta": {**meta, "count": 0}, "results": []})
        if self.mode == "missing_list":
            return Said(200, {"meta": meta})
        return Said(200, {"meta": meta, "results": self.works[: int(query.get("per_page", "25"))]})


def _invalid(message: str) -> Said:
    return Said(400, {"error": "Invalid query parameters error.", "message": message})
