"""Brave's API: three searches by header key, whose limits on parameters are kept."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

KEY = "BSAlocalkey0123456789"

_COMMON = {"q", "country", "search_lang", "count", "safesearch", "spellcheck"}
_PAGED = _COMMON | {"ui_lang", "offset", "freshness", "extra_snippets", "goggles"}
# Parameters, and the largest count.
_SEARCHES = {
    "/web/search": (_PAGED | {"text_decorations", "result_filter", "units", "summary"}, 20),
    "/news/search": (_PAGED, 50),
    "/images/search": (_COMMON, 200),
}
_FILTERS = {"web", "news", "videos", "discussions", "faq", "infobox", "query", "summarizer", "locations"}
_FRESHNESS = re.compile(r"p[dwmy]|(\d{4}-\d\d-\d\d)to(\d{4}-\d\d-\d\d)")

_META = {"scheme": "https", "netloc": "example.test", "hostname": "example.test", "favicon": "", "path": "brave"}
WEB: dict[str, Any] = {
    "type": "search",
    "query": {"original": "soical ties", "altered": "social ties", "more_results_available": False},
    "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0, "all": False}], "top": [], "side": []},
    "web": {
        "type": "search",
        "family_friendly": True,
        "results": [
            {
                "title": "Brave <strong>social</strong> ties",
                "url": "https://example.test/brave",
                "description": "A complete <strong>Brave</strong> answer.",
                "extra_snippets": ["And&nbsp;more."],
                "profile": {"name": "Example", "long_name": "Example Source", "url": "https://example.test", "img": ""},
                "language": "en",
                "type": "search_result",
                "subtype": "generic",
                "meta_url": _META,
                "thumbnail": {"src": "https://imgs.search.brave.com/x", "original": "https://example.test/x.png"},
                "age": "August 1, 2026",
            },
            {"title": "Dated", "url": "https://example.test/2", "page_age": "2026-07-30T10:11:12", "thumbnail": None},
            {"title": "Recent", "url": "https://other.example/3", "age": "2 days ago", "profile": None},
            {"title": "No link", "url": "about:blank"},
        ],
    },
    "faq": {
        "type": "faq",
        "results": [
            {"question": "What is a tie?", "answer": "A <b>link</b>.", "title": "T", "url": "https://example.test/faq"},
            {"question": "Unanswered?", "answer": None, "url": "https://example.test/faq"},
        ],
    },
    "infobox": {
        "type": "graph",
        "results": [
            {
                "title": "Social tie",
                "url": "https://en.wikipedia.org/wiki/Social_tie",
                "description": "concept",
                "long_desc": "A connection between people.",
            }
        ],
    },
}
NEWS: dict[str, Any] = {
    "type": "news",
    "query": {"original": "q"},
    "results": [
        {
            "type": "news_result",
            "title": "News",
            "url": "https://news.example/1",
            "description": "Today.",
            "age": "1 hour ago",
            "page_age": "2026-10-30T08:00:00",
            "breaking": True,
            "meta_url": _META,
        }
    ],
}
IMAGES: dict[str, Any] = {
    "type": "images",
    "query": {"original": "q"},
    "results": [
        {
            "type": "image_result",
            "title": "Cat",
            "url": "https://example.com/cats",
            "source": "example.com",
            "thumbnail": {"src": "https://imgs.search.brave.com/t"},
            "properties": {"url": "https://example.com/cat.jpg", "placeholder": "https://imgs.search.brave.com/p"},
            "confidence": "high",
        }
    ],
}
NO_WEB: dict[str, Any] = {
    "type": "search",
    "query": {"original": "q", "more_results_available": False},
    "mixed": {"type": "mixed", "main": [], "top": [], "side": []},
}


class BraveAPI(LocalAPI):
    """The service; ``listed_errors`` has it speak as its documentation does, with a list of errors."""

    listed_errors = False

    def answer(self, asked: Asked) -> Said:
        if asked.path not in _SEARCHES or asked.method != "GET":
            return self._error(404, "NOT_FOUND", "Not found")
        token = asked.headers.get("x-subscription-token")
        if token is None:
            return self._error(
                422, "VALIDATION", "Unable to validate request parameter(s)", ["header", "x-subscription-token"]
            )
        if token != KEY or self.mode == "bad_key":
            return self._error(
                422, "SUBSCRIPTION_TOKEN_INVALID", f"The provided subscription token {token} is invalid."
            )
        if asked.headers.get("accept") not in ("application/json", "*/*"):
            return self._error(422, "VALIDATION", "Unable to validate request parameter(s)", ["header", "accept"])
        wrong = self._wrong_parameter(asked)
        if wrong:
            return self._error(422, "VALIDATION", "Unable to validate request parameter(s)", ["query", wrong])
        return self._played(asked)

    def _played(self, asked: Asked) -> Said:
        limits = {"X-RateLimit-Limit": "1, 2000", "X-RateLimit-Remaining": "0, 0", "X-RateLimit-Reset": "1, 1419704"}
        if self.mode == "rate_limited":
            return self._error(
                429, "RATE_LIMITED", "Request rate limit exceeded", headers=limits | {"Retry-After": "1"}
            )
        if self.mode == "quota":
            return self._error(429, "QUOTA_LIMITED", "Request quota limit exceeded", headers=limits)
        if self.mode == "down":
            return self._error(500, "INTERNAL", "Internal error")
        if self.mode == "malformed":
            return Said(200, b"<html>", {"Content-Type": "text/html"})
        if asked.path != "/web/search":
            said = NEWS if asked.path == "/news/search" else IMAGES
            if self.mode == "missing_list":
                return Said(200, {name: value for name, value in said.items() if name != "results"})
            return Said(200, said | {"results": []} if self.mode == "empty" else said)
        if self.mode == "missing_list":
            return Said(200, {name: value for name, value in WEB.items() if name != "web"})
        return Said(200, NO_WEB if self.mode == "empty" else WEB)

    def _wrong_parameter(self, asked: Asked) -> str:
        known, most = _SEARCHES[asked.path]
        given = dict(asked.query)
        if set(given) - known or len(given) != len(asked.query):
            return sorted(set(given) - known)[0]
        query = given.get("q", "")
        if not query or len(query) > 400 or len(query.split()) > 50:
            return "q"
        for name, least, largest in (("count", 1, most), ("offset", 0, 9)):
            value = given.get(name, str(least))
            if not value.isdigit() or not least <= int(value) <= largest:
                return name
        if given.get("text_decorations", "true") not in ("true", "false"):
            return "text_decorations"
        if set(given.get("result_filter", "web").split(",")) - _FILTERS:
            return "result_filter"
        return "" if _is_freshness(given.get("freshness", "pd")) else "freshness"

    def _error(
        self, status: int, code: str, detail: str, where: list[str] | None = None, headers: dict[str, str] | None = None
    ) -> Said:
        meta: dict[str, Any] = {"component": "authentication" if "TOKEN" in code else "validation"}
        if where:
            meta["errors"] = [{"type": "missing", "loc": where, "msg": "Field required", "input": None}]
        error = {"id": "0b0e", "status": status, "code": code, "detail": detail, "meta": meta}
        body = {"errors": [error]} if self.listed_errors else {"type": "ErrorResponse", "error": error, "time": 1}
        return Said(status, body, headers or {})


def _is_freshness(value: str) -> bool:
    match = _FRESHNESS.fullmatch(value)
    if match is None or match[1] is None:
        return match is not None
    return date.fromisoformat(match[1]) <= date.fromisoformat(match[2])
