"""MediaWiki's action API, as far as a search goes."""

from __future__ import annotations

from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said
from tests.search.providers.playing import trouble

__all__ = ["ARTICLES", "WikipediaAPI"]

ARTICLES: list[dict[str, Any]] = [
    {
        "ns": 0,
        "title": "Python (programming language)",
        "pageid": 23862,
        "wordcount": 11448,
        "snippet": '<span class="searchmatch">Python</span> is a high-level &amp; general-purpose language',
        "timestamp": "2026-03-25T15:46:00Z",
    },
    {"ns": 0, "title": "C++", "pageid": 72038, "wordcount": 8000, "snippet": "C&#43;&#43; &lt;T&gt;", "timestamp": ""},
    {"ns": 0, "title": "AC/DC: Was ist das? Große Hits", "pageid": 3, "wordcount": 1, "snippet": "", "timestamp": ""},
]

_PARAMETERS = {"action", "list", "format", "formatversion", "srsearch", "srlimit", "srprop", "sroffset", "srwhat"}
_PROPERTIES = {"sectiontitle", "snippet", "timestamp", "wordcount", "size"}


class WikipediaAPI(LocalAPI):
    """Refuses as MediaWiki does: most errors are in a 200."""

    error = ("", "")
    information: dict[str, Any] = {"totalhits": 6045}
    articles = ARTICLES

    def answer(self, asked: Asked) -> Said:
        agent = asked.headers.get("user-agent", "")
        if not agent or "python" in agent.lower():
            return Said(403, b"Please set a user-agent and respect our robot policy", {"Content-Type": "text/plain"})
        if (asked.method, asked.path) != ("GET", "/w/api.php"):
            return Said(404, b"<h1>Not found</h1>", {"Content-Type": "text/html"})
        if said := trouble(self.mode):
            return said
        query = dict(asked.query)
        if unknown := set(query) - _PARAMETERS:
            return _error("badinteger" if "maxlag" in unknown else "unknown", f"Unrecognized parameter: {unknown}")
        if query.get("action") != "query" or query.get("list") != "search" or query.get("formatversion") != "2":
            return _error("badvalue", "Unrecognized value")
        if query.get("format") != "json":
            return Said(200, b"<!DOCTYPE html><title>MediaWiki API result</title>", {"Content-Type": "text/html"})
        if not query.get("srsearch"):
            return _error("missingparam", 'The "srsearch" parameter must be set.')
        if not query.get("srlimit", "10").isdigit() or not 1 <= int(query.get("srlimit", "10")) <= 500:
            return _error("badinteger", "Invalid value for srlimit")
        if set(query.get("srprop", "").split("|")) - _PROPERTIES:
            return _error("badvalue", "Unrecognized value for parameter srprop")
        if self.error[0]:
            return _error(*self.error)
        found: dict[str, Any] = {"searchinfo": self.information, "search": self.articles}
        if self.mode == "empty":
            found = {"searchinfo": {"totalhits": 0, "suggestion": "python"}, "search": []}
        if self.mode == "missing_list":
            del found["search"]
        return Said(200, {"batchcomplete": True, "continue": {"sroffset": 10, "continue": "-||"}, "query": found})


def _error(code: str, info: str) -> Said:
    body = {"error": {"code": code, "info": info, "docref": "See https://en.wikipedia.org/w/api.php"}}
    return Said(200, body, {"MediaWiki-API-Error": code})
