"""Parallel's API, first version: search by keywords, and extraction with its settings in ``advanced_settings``."""

from __future__ import annotations

from datetime import date
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

KEY = "par-0123456789"

SEARCH: dict[str, Any] = {
    "search_id": "search_cad0",
    "session_id": "sess_7f21",
    "results": [
        {
            "url": "https://www.iea.org/reports/renewables-2025",
            "title": "Renewables 2025 &amp; <b>more</b>",
            "publish_date": "2025-10-08",
            "excerpts": ["Additions\n reached 666 GW.", "Solar PV\u202e led."],
        },
        {"url": "https://ourworldindata.org/energy", "title": None, "publish_date": None, "excerpts": ["Share."]},
        {"url": "/relative", "title": "no page", "excerpts": []},
    ],
    "usage": [{"name": "search-advanced", "count": 1}],
    "warnings": [{"type": "input_validation_warning", "message": "max_results clamped to 10", "detail": None}],
}
SEARCH_FIELDS = {
    "search_queries", "objective", "mode", "max_chars_total", "session_id", "client_model", "advanced_settings",
}  # fmt: skip
SEARCH_SETTINGS = {"max_results", "excerpt_settings", "fetch_policy", "location", "source_policy"}
EXTRACT_FIELDS = {
    "urls", "objective", "search_queries", "max_chars_total", "session_id", "client_model", "advanced_settings",
}  # fmt: skip
EXTRACT_SETTINGS = {"full_content", "excerpt_settings", "fetch_policy"}


class ParallelAPI(LocalAPI):
    """Attributes: ``results`` and ``errors``, what ``/v1/extract`` answers."""

    def __init__(self, mode: str = "ok") -> None:
        super().__init__(mode)
        self.results: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []

    def answer(self, asked: Asked) -> Said:
        if asked.method != "POST" or asked.path not in ("/v1/search", "/v1/extract") or asked.query:
            return _fault(404, "Not Found")
        if self.mode == "bad_key" or asked.headers.get("x-api-key") != KEY:
            return _fault(401, "Unauthorized: invalid or missing credentials")
        if said := self._played():
            return said
        return self._search(asked.json) if asked.path == "/v1/search" else self._extract(asked.json)

    def _played(self) -> Said | None:
        match self.mode:
            case "quota":
                return _fault(402, "Payment required: insufficient credit in account")
            case "rate_limited":
                return Said(429, _fault(429, "Too many requests").body, {"Retry-After": "30"})
            case "down":
                return _fault(500, "Internal server error")
            case "malformed":
                return Said(200, b"")
            case "missing_list":
                return Said(200, {"search_id": "s", "session_id": "t", "results": None})
        return None

    def _search(self, body: dict[str, Any]) -> Said:
        settings = body.get("advanced_settings", {})
        if set(body) - SEARCH_FIELDS or set(settings) - SEARCH_SETTINGS:
            return _fault(422, "Extra inputs are not permitted")
        queries = body.get("search_queries")
        if not queries:
            return _fault(422, "search_queries must contain at least one query")
        if len(queries) > 5 or any(len(query) > 200 for query in queries):
            return _fault(422, "search_queries: at most 5 of at most 200 characters")
        if body.get("mode", "advanced") not in ("turbo", "fast", "basic", "advanced"):
            return _fault(422, "mode: Input should be 'turbo', 'fast', 'basic' or 'advanced'")
        policy = settings.get("source_policy", {})
        if set(policy) - {"include_domains", "exclude_domains", "after_date"}:
            return _fault(422, "source_policy: Extra inputs are not permitted")
        if any("/" in host for host in policy.get("include_domains", [])):
            return _fault(422, "include_domains: not a domain")
        date.fromisoformat(policy.get("after_date", "2024-01-01"))
        return Said(200, SEARCH | ({"results": []} if self.mode == "empty" else {}))

    def _extract(self, body: dict[str, Any]) -> Said:
        if set(body) - EXTRACT_FIELDS or set(body.get("advanced_settings", {})) - EXTRACT_SETTINGS:
            return _fault(422, "Extra inputs are not permitted")
        if not 1 <= len(body["urls"]) <= 20:
            return _fault(422, "urls: List should have at most 20 items")
        said = {"extract_id": "x1", "session_id": "s1", "results": self.results, "errors": self.errors}
        return Said(200, said | {"usage": [{"name": "extract-full-content", "count": 1}]})


def _fault(status: int, message: str) -> Said:
    return Said(status, {"type": "error", "error": {"ref_id": "err_9c1", "message": message, "detail": None}})
