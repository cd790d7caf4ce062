"""Tavily's API: its key in a header, and the tier without one."""

from __future__ import annotations

from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

KEY = "tvly-0123456789abcdef"

SEARCH: dict[str, Any] = {
    "query": "cats",
    "follow_up_questions": None,
    "answer": None,
    "images": [],
    "results": [
        {
            "title": "Cats &amp; <b>dogs</b>",
            "url": "https://example.test/cats",
            "content": "About\n cats.\u202e",
            "score": 0.93,
            "raw_content": None,
            "published_date": "Tue, 05 Aug 2025 10:00:00 GMT",
        },
        {"title": "no page", "url": "javascript:alert(1)", "content": "", "score": 0.5, "raw_content": None},
        {"title": "Dogs", "url": "https://example.test/dogs", "content": "About dogs.", "score": 0.4},
    ],
    "response_time": 1.1,
    "request_id": "req-1",
    "usage": {"credits": 1},
}
FIELDS = {
    "/search": {
        "query", "search_depth", "topic", "time_range", "start_date", "end_date", "days", "max_results",
        "include_domains", "exclude_domains", "include_answer", "include_raw_content", "include_images",
        "include_favicon", "include_usage", "country", "auto_parameters", "exact_match",
    },
    "/extract": {
        "urls", "include_images", "extract_depth", "format", "timeout", "include_favicon", "query",
        "chunks_per_source", "include_usage",
    },
    "/crawl": {
        "url", "instructions", "chunks_per_source", "max_depth", "max_breadth", "limit", "select_paths",
        "select_domains", "exclude_paths", "exclude_domains", "allow_external", "include_images", "extract_depth",
        "format", "include_favicon", "timeout", "include_usage",
    },
}  # fmt: skip


class TavilyAPI(LocalAPI):
    """Besides the modes: ``pay_as_you_go`` (433) and ``keyless_limit``.

    Attributes
    ----------
    extracted, failed
        What ``/extract`` answers.
    crawled
        What ``/crawl`` answers.
    """

    def __init__(self, mode: str = "ok") -> None:
        super().__init__(mode)
        self.extracted: list[dict[str, Any]] = []
        self.failed: list[dict[str, Any]] = []
        self.crawled: list[dict[str, Any]] = []

    def answer(self, asked: Asked) -> Said:
        if asked.method != "POST" or asked.path not in FIELDS or asked.query:
            return Said(404, {"detail": "Not Found"})
        keyless = asked.headers.get("x-tavily-access-mode") == "keyless"
        token = asked.headers.get("authorization")
        if keyless and (token or asked.path == "/crawl"):
            return _fault(401, "Unauthorized: missing or invalid API key.")
        if self.mode == "bad_key" or (not keyless and token != f"Bearer {KEY}"):
            return _fault(401, "Unauthorized: missing or invalid API key.")
        body = asked.json
        if wrong := sorted(set(body) - FIELDS[asked.path]):
            return _fault(400, f"Unexpected field {wrong[0]}")
        if said := self._played():
            return said
        if asked.path == "/search":
            return self._search(body)
        if asked.path == "/extract" and not 1 <= len(body["urls"]) <= 20:
            return _fault(400, "Max 20 URLs are allowed.")
        if body.get("format", "markdown") not in ("markdown", "text"):
            return _fault(400, "Invalid format")
        if asked.path == "/crawl":
            return Said(200, {"base_url": body["url"], "results": self.crawled, "response_time": 1.5})
        return Said(200, {"results": self.extracted, "failed_results": self.failed, "response_time": 0.5})

    def _played(self) -> Said | None:
        match self.mode:
            case "quota":
                return _fault(432, "This request exceeds your plan's set usage limit.")
            case "pay_as_you_go":
                return _fault(433, "This request exceeds the pay-as-you-go limit.")
            case "rate_limited":
                return Said(
                    429, {"detail": {"error": "Your request has been blocked due to excessive requests."}},
                    {"Retry-After": "30"},
                )  # fmt: skip
            case "keyless_limit":
                error = {
                    "code": "keyless_limit",
                    "message": "The limit without a key is reached.",
                    "window": "day",
                    "retry_after_seconds": 3600,
                    "next_actions": [],
                }
                return Said(429, {"error": error})
            case "down":
                return Said(503, b"upstream", {"Content-Type": "text/plain"})
            case "malformed":
                return Said(200, b'{"results": [')
            case "missing_list":
                return Said(200, {"query": "cats", "response_time": 0.1})
        return None

    def _search(self, body: dict[str, Any]) -> Said:
        if not body.get("query"):
            return _fault(400, "Query is missing.")
        if len(body["query"]) > 400:
            return _fault(400, "Query is too long. Max query length is 400 characters.")
        if not 0 <= body.get("max_results", 5) <= 20:
            return _fault(400, "Max results must be between 0 and 20")
        if body.get("topic", "general") not in ("general", "news", "finance"):
            return _fault(400, "Invalid topic")
        return Said(200, SEARCH | ({"results": []} if self.mode == "empty" else {}))


def _fault(status: int, error: str) -> Said:
    return Said(status, {"detail": {"error": error}})
