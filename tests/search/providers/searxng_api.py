"""SearXNG's ``/search``, as far as the settings of an instance and a request for JSON make it answer."""

from __future__ import annotations

from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

RANGES = ("", "day", "week", "month", "year")
CATEGORIES = ("general", "news", "science", "images")

WEB: dict[str, Any] = {
    "query": "social ties",
    "results": [
        {
            "url": "https://example.test/searx",
            "title": "Searx &amp; <b>result</b>",
            "content": "A\n result.\u202e",
            "publishedDate": "2024-05-01T10:00:00",
            "thumbnail": None,
            "engine": "bing",
            "template": "default.html",
            "parsed_url": ["https", "example.test", "/searx", "", "", ""],
            "img_src": "",
            "priority": "",
            "engines": ["bing", "duckduckgo"],
            "positions": [1, 2],
            "score": 1.0,
            "category": "general",
        },
        {"url": "javascript:alert(1)", "title": "bad", "content": "", "engine": "bing", "score": 9},
        {
            "url": "https://example.com/later",
            "title": "Later, though its score is higher",
            "content": "a cat",
            "engine": "brave",
            "engines": ["brave"],
            "score": 4,
            "template": "default.html",
            "category": "general",
        },
    ],
    "answers": [
        {
            "answer": "42 <i>ties</i>",
            "url": "https://example.org/answer",
            "engine": "x",
            "template": "answer/legacy.html",
        },
        "an older instance's answer",
        {"template": "answer/weather.html"},
    ],
    "corrections": ["social tie"],
    "infoboxes": [
        {
            "infobox": "Social tie",
            "id": "https://www.wikidata.org/wiki/Q1",
            "content": "A connection between people.",
            "urls": [{"title": "Wikipedia", "url": "https://en.wikipedia.org/wiki/Social_tie"}],
            "engine": "wikidata",
        }
    ],
    "suggestions": ["weak ties", ""],
    "unresponsive_engines": [["google", "CAPTCHA"], ["qwant", "Suspended: access denied"]],
}
PAPER: dict[str, Any] = {
    "url": "https://doi.org/10.1000/182",
    "title": "A paper",
    "content": "Abstract.",
    "publishedDate": "2023-01-02T00:00:00",
    "engine": "crossref",
    "engines": ["crossref"],
    "template": "paper.html",
    "category": "science",
    "score": 1.0,
    "authors": ["Ada Lovelace", "Charles Babbage"],
    "journal": "Journal of Engines",
    "volume": "12",
    "number": 3,
    "pages": "1-9",
    "doi": "https://doi.org/10.1000/182",
    "issn": ["1234-5678"],
    "isbn": [],
    "publisher": "P",
    "pdf_url": "https://example.org/182.pdf",
    "html_url": "",
    "tags": ["engines"],
    "type": "article",
    "comments": "",
}
IMAGE: dict[str, Any] = {
    "url": "https://example.com/cats",
    "title": "cat",
    "content": "",
    "engine": "bing images",
    "engines": ["bing images"],
    "score": 1,
    "template": "images.html",
    "category": "images",
    "img_src": "//cdn.example.com/cat.jpg",
    "thumbnail_src": "https://ts4.mm.bing.net/th?id=OIP.abc",
}
NEWS: dict[str, Any] = {
    "url": "https://news.example/today",
    "title": "News",
    "content": "Today.",
    "publishedDate": None,
    "pubdate": "2026-01-02 03:04:05",
    "engine": "bing news",
    "engines": ["bing news"],
    "template": "default.html",
    "category": "news",
    "score": 1,
}
NOTHING: dict[str, Any] = {
    "query": "q",
    "results": [],
    "answers": [],
    "corrections": [],
    "infoboxes": [],
    "suggestions": [],
    "unresponsive_engines": [],
}


class SearXNGAPI(LocalAPI):
    """An instance; besides the modes of all: ``html_only`` (as it comes), ``limiter``, ``blocked``."""

    def answer(self, asked: Asked) -> Said:
        if asked.method not in ("GET", "POST") or asked.path not in ("/", "/search"):
            return _page(404, "Page not found")
        if asked.path == "/" and asked.parameter("q") is None:
            return _page(200, "SearXNG")
        wrong = self._wrong(asked)
        if wrong is not None:
            return wrong
        if self.mode == "rate_limited":
            return Said(429, b"Too Many Requests", {"Content-Type": "text/plain", "Retry-After": "3600"})
        if self.mode == "limiter":
            return Said(429, b"Too Many Requests", {"Content-Type": "text/plain"})
        if self.mode == "down":
            return Said(500, {"error": "search error"})
        if self.mode == "malformed":
            return _page(200, "SearXNG")
        if self.mode == "missing_list":
            return Said(200, {name: value for name, value in NOTHING.items() if name != "results"})
        if self.mode == "empty":
            return Said(200, NOTHING)
        if self.mode == "blocked":
            return Said(
                200, NOTHING | {"unresponsive_engines": [["google", "CAPTCHA"], ["brave", "timeout"], "odd", []]}
            )
        rows = {"science": [PAPER], "images": [IMAGE], "news": [NEWS]}.get(asked.parameter("categories") or "")
        return Said(200, WEB if rows is None else NOTHING | {"results": rows})

    def _wrong(self, asked: Asked) -> Said | None:
        if not asked.parameter("q"):
            return Said(400, {"error": "No query"})
        form = asked.parameter("format") or "html"
        if form not in (("html",) if self.mode == "html_only" else ("html", "json")):
            return _page(403, "Forbidden")
        if form == "html":
            return _page(200, "SearXNG")
        if (asked.parameter("time_range") or "") not in RANGES:
            return Said(400, {"error": f"Invalid value '{asked.parameter('time_range')}' for parameter time_range"})
        if not (asked.parameter("pageno") or "1").isdigit():
            return Said(400, {"error": f"Invalid value '{asked.parameter('pageno')}' for parameter pageno"})
        unknown = set((asked.parameter("categories") or "general").split(",")) - set(CATEGORIES)
        return Said(200, NOTHING) if unknown else None


def _page(status: int, words: str) -> Said:
    return Said(status, f"<!doctype html><title>{words}</title>".encode(), {"Content-Type": "text/html; charset=utf-8"})
