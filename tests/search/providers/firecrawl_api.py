"""Firecrawl's v2 API: search, scrape and crawl with bodies that are strict, as its schemas are."""

from __future__ import annotations

from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

KEY = "fc-0123456789abcdef"

WEB: list[dict[str, Any]] = [
    {
        "url": "https://example.test/cats",
        "title": "Cats &amp; <b>dogs</b>",
        "description": "About\u202e cats.",
        "position": 1,
    },
    {"url": "ftp://example.test/old", "title": "no page", "description": "", "position": 2},
    {"url": "https://example.test/dogs", "title": "Dogs", "description": "About dogs.", "position": 3},
]
NEWS = [
    {
        "title": "A find",
        "url": "https://news.example.test/find",
        "snippet": "Found.",
        "date": "2 days ago",
        "imageUrl": "https://news.example.test/find.png",
        "position": 1,
    }
]
IMAGES = [
    {
        "title": "A cat",
        "imageUrl": "https://img.example.test/cat.png",
        "imageWidth": 10,
        "imageHeight": 20,
        "url": "https://img.example.test/cat",
        "position": 1,
    }
]
RESEARCH = [
    {
        "paperId": "1",
        "primaryId": "arxiv:2104.05740",
        "ids": {"arxiv": "2104.05740", "doi": "10.1145/3404835.3463098"},
        "title": "SPLADE",
        "abstract": "Sparse retrieval.",
        "score": 0.9,
    },
    {"paperId": "2", "primaryId": "pmid:123", "ids": ["pmid:123"], "title": "By number", "abstract": "", "score": 0.5},
]
SEARCH_KEYS = {
    "query", "limit", "sources", "categories", "tbs", "location", "country", "lang", "timeout", "ignoreInvalidURLs",
    "scrapeOptions", "includeDomains", "excludeDomains",
}  # fmt: skip
SCRAPE_KEYS = {
    "formats", "onlyMainContent", "includeTags", "excludeTags", "headers", "waitFor", "timeout", "mobile", "parsers",
    "actions", "location", "maxAge", "storeInCache", "proxy", "blockAds", "removeBase64Images", "skipTlsVerification",
}  # fmt: skip
CRAWL_KEYS = {
    "url", "prompt", "excludePaths", "includePaths", "maxDiscoveryDepth", "sitemap", "ignoreQueryParameters", "limit",
    "crawlEntireDomain", "allowExternalLinks", "allowSubdomains", "delay", "maxConcurrency", "webhook",
    "scrapeOptions", "zeroDataRetention",
}  # fmt: skip
FORMATS = {"markdown", "html", "rawHtml", "links", "summary"}
RATE = (
    "Rate limit exceeded. Consumed (req/min): 101, Remaining (req/min): 0. Upgrade your plan, or please retry after "
    "27s, resets at Mon Nov 30 2026"
)


class FirecrawlAPI(LocalAPI):
    """Besides the modes: ``keyless_credits``, ``bare_list`` and ``nothing``, which an instance of one's own answers.

    Attributes
    ----------
    old
        Whether it is an instance that knows no ``includeDomains``.
    keyless
        Whether it takes requests without a key.
    pages
        What ``/v2/scrape`` answers for a URL.
    crawl
        What ``/v2/crawl/job`` answers, one after another; the last one stays.
    """

    def __init__(self, mode: str = "ok", *, old: bool = False, keyless: bool = False) -> None:
        super().__init__(mode)
        self.old = old
        self.keyless = keyless
        self.pages: dict[str, Said] = {}
        self.crawl: list[dict[str, Any]] = []

    def answer(self, asked: Asked) -> Said:
        token = asked.headers.get("authorization")
        if self.mode == "bad_key" or (token != f"Bearer {KEY}" and not (token is None and self.keyless)):
            return Said(401, {"success": False, "error": "Unauthorized: Invalid token"})
        if said := self._played():
            return said
        if asked.method == "GET" and asked.path == "/v2/crawl/job":
            return self._status(asked)
        if asked.method != "POST" or asked.headers.get("content-type") != "application/json":
            return Said(404, {"success": False, "error": f"Cannot {asked.method} {asked.path}"})
        match asked.path:
            case "/v2/search":
                return self._search(asked.json)
            case "/v2/scrape":
                return self._scrape(asked.json)
            case "/v2/crawl":
                return self._crawl(asked)
        return Said(404, {"success": False, "error": f"Cannot POST {asked.path}"})

    def _played(self) -> Said | None:
        match self.mode:
            case "quota":
                return Said(402, {"success": False, "error": "Insufficient credits to perform this request."})
            case "rate_limited":
                return Said(429, {"success": False, "error": RATE})
            case "keyless_credits":
                body = {"success": False, "error": "Daily limit", "reason": "credits", "retry_after_seconds": 3}
                return Said(429, body)
            case "down":
                return Said(500, {"success": False, "error": "An unexpected error occurred", "code": "UNKNOWN_ERROR"})
            case "malformed":
                return Said(200, b"<html>busy</html>", {"Content-Type": "text/html"})
            case "missing_list":
                return Said(200, {"success": True, "data": {}, "creditsUsed": 2})
        return None

    def _search(self, body: dict[str, Any]) -> Said:
        known = SEARCH_KEYS - ({"includeDomains", "excludeDomains"} if self.old else set())
        if wrong := _unknown(body, known):
            return wrong
        if not isinstance(body.get("query"), str) or not 1 <= len(body["query"]) <= 500:
            return _bad("query: must hold 1 to 500 characters")
        if not isinstance(body.get("limit"), int) or not 1 <= body["limit"] <= 100:
            return _bad("limit: must be 1 to 100")
        if not set(body["sources"]) <= {"web", "images", "news"}:
            return _bad("sources: Invalid input")
        if "includeDomains" in body and "excludeDomains" in body:
            return _bad("includeDomains and excludeDomains cannot both be specified")
        if any("/" in host or host.startswith(".") for host in body.get("includeDomains", [])):
            return _bad("includeDomains: must be a valid hostname")
        if self.mode == "bare_list":
            return Said(200, {"success": True, "data": WEB})
        lists: dict[str, list[dict[str, Any]]] = {"web": WEB, "news": NEWS, "images": IMAGES}
        data: dict[str, Any] = {name: [] if self.mode == "empty" else lists[name] for name in body["sources"]}
        if self.mode == "research" and body.get("categories") == ["research"]:
            data = {"research": RESEARCH}
        return Said(200, {"success": True, "data": data, "creditsUsed": 2, "id": "0199-search"})

    def _scrape(self, body: dict[str, Any]) -> Said:
        if wrong := _unknown(body, SCRAPE_KEYS | {"url"}) or _bad_formats(body):
            return wrong
        said = self.pages.get(body["url"]) or page(body["url"])
        if "html" in body["formats"]:
            said.body["data"]["html"] = "<h1>A page</h1>"
        return said

    def _crawl(self, asked: Asked) -> Said:
        body = asked.json
        if wrong := _unknown(body, CRAWL_KEYS) or _unknown(body["scrapeOptions"], SCRAPE_KEYS):
            return wrong
        if wrong := _bad_formats(body["scrapeOptions"]):
            return wrong
        url = f"https://{asked.headers['host']}/v2/crawl/job"
        return Said(200, {"success": True, "id": "job", "url": url})

    def _status(self, asked: Asked) -> Said:
        skip = asked.parameter("skip")
        if skip is not None and not skip.isdigit():
            return _bad("Invalid pagination: skip must be a non-negative integer without trailing characters")
        said = self.crawl.pop(0) if len(self.crawl) > 1 else self.crawl[0]
        return Said(200, {"success": True, "creditsUsed": 1, "expiresAt": "2026-12-01T00:00:00Z", **said})


def page(asked: str, markdown: str = "# A page", **metadata: Any) -> Said:
    """Return what ``/v2/scrape`` answers for a page."""
    return Said(200, {"success": True, "data": document(asked, markdown, **metadata)})


def document(asked: str, markdown: str = "# A page", **metadata: Any) -> dict[str, Any]:
    """Return one document; ``sourceURL`` is the URL that was asked for."""
    about = {"title": "A <i>page</i>", "sourceURL": asked, "url": asked, "statusCode": 200, "language": "en"}
    return {"markdown": markdown, "metadata": about | metadata}


def _bad(error: str) -> Said:
    return Said(400, {"success": False, "code": "BAD_REQUEST", "error": error})


def _unknown(body: dict[str, Any], known: set[str]) -> Said | None:
    wrong = sorted(set(body) - known)
    return _bad(f"Unrecognized key in body: {wrong[0]}") if wrong else None


def _bad_formats(body: dict[str, Any]) -> Said | None:
    return None if set(body["formats"]) <= FORMATS else _bad("formats: Invalid input")
