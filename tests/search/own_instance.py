"""A SearXNG instance of the operator's, whose results lead to a test's site."""

from __future__ import annotations

from typing import Any

from tests.search.local_api import Asked, Said
from tests.search.providers.searxng_api import WEB, SearXNGAPI
from tests.sites.network import MappedDialler

ARTICLE = "http://www.example.org/article"


class OwnInstance(SearXNGAPI):
    """Its first result is a page of the site; a query with ``(hang)`` is never answered, one with ``(down)`` is not."""

    def answer(self, asked: Asked) -> Said:
        query = asked.parameter("q") or ""
        if "(hang)" in query:
            self.released.wait(60)
        if "(down)" in query:
            return Said(500, {"error": "search error"})
        said = super().answer(asked)
        if said.body is WEB:
            first = {**WEB["results"][0], "url": ARTICLE, "title": "An article"}
            return Said(200, {**WEB, "query": query, "results": [first, WEB["results"][2]]})
        return said

    @property
    def queries(self) -> list[str | None]:
        return [asked.parameter("q") for asked in self.asked]

    def seams(self, site_port: int) -> dict[str, Any]:
        """Return seams with which this instance is the provider that is configured, and names lead to a site."""
        port = int(self.url.rpartition(":")[2])
        dialler = MappedDialler({("127.0.0.1", port): port}, everything=site_port)
        return {"search_environ": {"SEARXNG_URL": self.url}, "dialler": dialler}
