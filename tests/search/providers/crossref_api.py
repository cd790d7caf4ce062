"""Crossref's REST API, as far as /works goes."""

from __future__ import annotations

import re
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said
from tests.search.providers.playing import trouble

__all__ = ["WORK", "CrossrefAPI"]

WORK: dict[str, Any] = {
    "DOI": "10.1371/JOURNAL.PONE.0033693",
    "URL": "https://doi.org/10.1371/journal.pone.0033693",
    "type": "journal-article",
    "title": ["Methylphenidate <i>exposure</i>\n in Mice"],
    "subtitle": ["A study"],
    "container-title": ["PLoS ONE"],
    "publisher": "Public Library of Science (PLoS)",
    "volume": "7",
    "issue": "3",
    "page": "e33693",
    "ISSN": ["1932-6203"],
    "author": [
        {"given": "Shankar", "family": "Sadasivan", "sequence": "first", "affiliation": []},
        {"given": "Gabriel", "family": "García Márquez", "suffix": "Jr.", "sequence": "additional"},
        {"name": "The Mouse Consortium", "sequence": "additional", "affiliation": []},
    ],
    "abstract": "<jats:title>Abstract</jats:title><jats:p>Mice &amp; <jats:italic>men</jats:italic></jats:p>",
    "published-online": {"date-parts": [[2012, 3, 21]]},
    "published": {"date-parts": [[2012, 3, 21]]},
    "issued": {"date-parts": [[2012, 3, 21]]},
    "is-referenced-by-count": 72,
    "score": 11.04,
    "license": [
        {
            "URL": "http://creativecommons.org/licenses/by/4.0/",
            "start": {"date-parts": [[2012, 3, 21]]},
            "delay-in-days": 0,
            "content-version": "unspecified",
        }
    ],
    "link": [
        {"URL": "https://dx.plos.org/x.xml", "content-type": "text/xml", "intended-application": "text-mining"},
        {"URL": "https://dx.plos.org/x.pdf", "content-type": "application/pdf", "intended-application": "unspecified"},
    ],
    "resource": {"primary": {"URL": "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0033693"}},
    "relation": {},
}

_PARAMETERS = {
    "query",
    "query.bibliographic",
    "rows",
    "offset",
    "cursor",
    "filter",
    "select",
    "sort",
    "order",
    "mailto",
}


class CrossrefAPI(LocalAPI):
    """Strict about parameters, filters and rows."""

    works: list[Any] = [WORK]

    def answer(self, asked: Asked) -> Said:
        if said := trouble(self.mode):
            return said
        if (asked.method, asked.path) != ("GET", "/works"):
            return Said(404, b"Resource not found.", {"Content-Type": "text/plain"})
        query = dict(asked.query)
        if unknown := set(query) - _PARAMETERS:
            return _failure("parameter-not-allowed", f"This route does not support {', '.join(sorted(unknown))}")
        if not query.get("rows", "20").isdigit() or int(query.get("rows", "20")) > 1000:
            return _failure("integer-not-valid", "Integer specified as rows is not valid")
        if "filter" in query and not re.fullmatch(r"from-pub-date:\d{4}-\d{2}-\d{2}", query["filter"]):
            return _failure("filter-not-available", f"Filter {query['filter']} specified but there is no such filter")
        message = {"facets": {}, "total-results": 586628, "items": self.works[: int(query.get("rows", "20"))]}
        if self.mode == "empty":
            message = {"facets": {}, "total-results": 0, "items": []}
        if self.mode == "missing_list":
            del message["items"]
        polite = "mailto:" in asked.headers.get("user-agent", "") or "mailto" in query
        headers = {"x-api-pool": "polite" if polite else "public", "x-rate-limit-limit": "10" if polite else "5"}
        return Said(200, {"status": "ok", "message-type": "work-list", "message": message}, headers)


def _failure(kind: str, message: str) -> Said:
    fault = {"type": kind, "value": "x", "message": message}
    return Said(400, {"status": "failed", "message-type": "validation-failure", "message": [fault]})
