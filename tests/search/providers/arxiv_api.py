"""arXiv's query API: Atom, errors among it."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from tests.search.local_api import Asked, LocalAPI, Said
from tests.search.providers.playing import trouble

__all__ = ["ENTRIES", "ArXivAPI", "feed"]

_ATOM = {"Content-Type": "application/atom+xml; charset=utf-8"}

ENTRIES = (
    """<entry><id>http://arxiv.org/abs/2202.12139v2</id>
    <title>Testing $\\mathcal{N}=4$ Models:
  A First &lt;Study&gt;</title><updated>2022-03-01T15:05:19Z</updated>
    <link href="https://arxiv.org/abs/2202.12139v2" rel="alternate" type="text/html"/>
    <link href="https://arxiv.org/pdf/2202.12139v2" rel="related" type="application/pdf" title="pdf"/>
    <summary>  Deep learning,
  for p &lt; q and r &gt; s.</summary>
    <category term="cs.SE" scheme="http://arxiv.org/schemas/atom"/>
    <published>2022-02-24T15:05:19Z</published>
    <arxiv:comment>Workshop @ ICST 2022</arxiv:comment>
    <arxiv:primary_category term="cs.SE"/>
    <arxiv:journal_ref>Workshops (ICSTW), 2022</arxiv:journal_ref>
    <arxiv:doi>10.1109/ICSTW55395.2022.00035</arxiv:doi>
    <author><name>Mohit Kumar Ahuja</name><arxiv:affiliation>Simula</arxiv:affiliation></author>
    <author><name>Arnaud Gotlieb</name></author></entry>""",
    """<entry><id>http://arxiv.org/abs/hep-th/9901001v3</id><title>Old</title><summary>Old.</summary>
    <published>1999-01-01T00:00:00Z</published><author><name>A. B. Popolitov</name></author></entry>""",
    """<entry><id>http://arxiv.org/abs/2001.00001v2</id><title>Gone</title>
    <summary>This paper has been withdrawn.</summary><published>2020-01-01T00:00:00Z</published>
    <arxiv:comment>This paper has been withdrawn by the author due to an error in Lemma 2</arxiv:comment></entry>""",
)


def feed(*entries: str, total: int | None = None, head: str = "") -> bytes:
    """Return a feed as arXiv writes it."""
    count = "" if total is None else f"<opensearch:totalResults>{total}</opensearch:totalResults>"
    return (
        f"<?xml version='1.0' encoding='UTF-8'?>\n{head}"
        '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom"'
        f' xmlns="http://www.w3.org/2005/Atom"><id>https://arxiv.org/api/x</id><title>arXiv Query</title>{count}'
        f"<opensearch:startIndex>0</opensearch:startIndex>{''.join(entries)}</feed>"
    ).encode()


class ArXivAPI(LocalAPI):
    """Refuses as arXiv does: by an entry of a feed."""

    entries: tuple[str, ...] = ENTRIES
    body: bytes | None = None
    empty_pages = 0
    found_by_and = True

    def answer(self, asked: Asked) -> Said:
        if (asked.method, asked.path) != ("GET", "/api/query"):
            return Said(404, b"<h1>Not found</h1>", {"Content-Type": "text/html"})
        if said := trouble(self.mode):
            return said
        query = dict(asked.query)
        if unknown := set(query) - {"search_query", "id_list", "start", "max_results", "sortBy", "sortOrder"}:
            return _error("unknown_parameter", f"unknown parameter {unknown}")
        for name, most in (("start", 30000), ("max_results", 2000)):
            if not query.get(name, "0").isdigit():
                return _error(f"{name}_must_be_an_integer", f"{name} must be an integer")
            if int(query.get(name, "0")) > most:
                return _error(f"{name}_must_not_exceed", f"{name} must not exceed {most}")
        if query.get("sortBy", "relevance") not in ("relevance", "lastUpdatedDate", "submittedDate"):
            return _error("sortBy_must_be_in", "sortBy must be in: relevance, lastUpdatedDate, submittedDate")
        wanted = query.get("search_query", "")
        if re.search(r"all:(?:\s|$)", wanted) or wanted.count("(") != wanted.count(")") or not wanted:
            return _error("malformed_query", f"malformed query: {wanted}")
        if self.body is not None:
            return Said(200, self.body, _ATOM)
        if self.mode == "empty" or (" AND " in wanted and not self.found_by_and):
            return Said(200, feed(total=0), _ATOM)
        if self.mode == "missing_list":
            return Said(200, feed(), _ATOM)
        if self.empty_pages:
            self.empty_pages -= 1
            return Said(200, feed(total=214881), _ATOM)
        return Said(200, feed(*self.entries[: int(query.get("max_results", "10"))], total=214881), _ATOM)


def _error(code: str, summary: str) -> Said:
    entry = (
        f"<entry><id>http://arxiv.org/api/errors#{code}</id><title>Error</title><summary>{escape(summary)}</summary>"
        "<author><name>arXiv api core</name></author></entry>"
    )
    return Said(200, feed(entry, total=1), _ATOM)
