"""Exa's API: search, and contents of which each URL has a status of its own."""

from __future__ import annotations

from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

KEY = "0a1b2c3d-exa"

SEARCH: dict[str, Any] = {
    "requestId": "b5947044",
    "resolvedSearchType": "neural",
    "results": [
        {
            "title": "Large &amp; <b>small</b> models",
            "url": "https://arxiv.org/pdf/2307.06435.pdf",
            "publishedDate": "2023-11-16T01:36:32.547Z",
            "author": "Humza  Naveed, Lahore",
            "id": "https://arxiv.org/abs/2307.06435",
            "score": 0.46,
            "image": "https://arxiv.org/pdf/2307.06435.pdf/page_1.png",
            "highlights": ["Such requirements\u202e have limited", "their adoption."],
            "highlightScores": [0.46, 0.4],
            "subpages": [],
        },
        {"title": "no page", "url": "data:text/html,x", "id": "x"},
        {"title": None, "url": "https://example.test/two", "id": "https://example.test/two", "summary": "Two."},
    ],
    "costDollars": {"total": 0.007, "search": {"neural": 0.005}, "contents": {"highlights": 0.002}},
}
FIELDS = {
    "/search": {
        "query", "type", "numResults", "category", "includeDomains", "excludeDomains", "startPublishedDate",
        "endPublishedDate", "includeText", "excludeText", "userLocation", "moderation", "additionalQueries",
        "systemPrompt", "outputSchema", "stream", "contents",
    },
    "/contents": {
        "urls", "ids", "text", "highlights", "summary", "livecrawl", "livecrawlTimeout", "maxAgeHours", "subpages",
        "subpageTarget", "extras",
    },
}  # fmt: skip
TYPES = {"auto", "fast", "instant", "neural", "deep-lite", "deep", "deep-reasoning"}
CATEGORIES = {"company", "research paper", "news", "pdf", "personal site", "financial report", "people"}


class ExaAPI(LocalAPI):
    """Besides the modes: ``budget``, a key whose own budget is used up.

    Attributes
    ----------
    results, statuses
        What ``/contents`` answers.
    """

    def __init__(self, mode: str = "ok") -> None:
        super().__init__(mode)
        self.results: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any]] = []

    def answer(self, asked: Asked) -> Said:
        if asked.method != "POST" or asked.path not in FIELDS or asked.query:
            return _fault(404, "NOT_FOUND", "no such endpoint")
        if self.mode == "bad_key" or asked.headers.get("x-api-key") != KEY:
            return _fault(401, "INVALID_API_KEY", f"Invalid API key {asked.headers.get('x-api-key')}")
        body = asked.json
        if wrong := sorted(set(body) - FIELDS[asked.path]):
            return _fault(400, "INVALID_REQUEST_BODY", f"Unrecognized key: {wrong[0]}")
        if said := self._played():
            return said
        if asked.path == "/contents":
            if not body.get("urls"):
                return _fault(400, "INVALID_URLS", "urls is required")
            return Said(200, {"requestId": "c1", "results": self.results, "statuses": self.statuses})
        return self._search(body)

    def _played(self) -> Said | None:
        match self.mode:
            case "quota":
                return _fault(402, "NO_MORE_CREDITS", "You have exceeded your credits limit.")
            case "budget":
                return _fault(402, "API_KEY_BUDGET_EXCEEDED", "The key's budget is used up.")
            case "rate_limited":
                said = _fault(429, "RATE_LIMIT_EXCEEDED", "You've exceeded your rate limit of 10 requests per second.")
                return Said(429, said.body, {"Retry-After": "30"})
            case "down":
                return _fault(500, "INTERNAL_ERROR", "something is broken")
            case "malformed":
                return Said(200, b"NaN")
            case "missing_list":
                return Said(200, {"requestId": "b5", "costDollars": {"total": 0.005}})
        return None

    def _search(self, body: dict[str, Any]) -> Said:
        if not body.get("query"):
            return _fault(400, "INVALID_REQUEST_BODY", "query is required")
        if body.get("type", "auto") not in TYPES or body.get("category", "news") not in CATEGORIES:
            return _fault(400, "INVALID_REQUEST_BODY", "Invalid enum value")
        if "includeDomains" in body and "excludeDomains" in body:
            return _fault(400, "INVALID_REQUEST", "includeDomains and excludeDomains exclude each other")
        if body.get("numResults", 10) > 100:
            return _fault(400, "INVALID_NUM_RESULTS", "numResults must be at most 100 with highlights")
        return Said(200, SEARCH | ({"results": []} if self.mode == "empty" else {}))


def _fault(status: int, tag: str, error: str) -> Said:
    return Said(status, {"requestId": "e1", "error": error, "tag": tag})
