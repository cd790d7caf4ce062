"""What a search gives its caller: a list of results, and who answered, who did not and why.

Plain data with a JSON form; importing it costs nothing heavy, so that a kernel can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.models import pandas_module

if TYPE_CHECKING:
    import pandas

    from jupyter_webresearch.page import Page

__all__ = ["Failure", "Result", "SearchResponse", "Tally"]

Fetch = Callable[[str], "Page"]


@dataclass(frozen=True)
class Result:
    """One result; of several providers' the fields of the one that ranked it highest, filled from the others.

    Attributes
    ----------
    number
        Its place in the list, from 1: ``response.results[number - 1]``.
    url, title, snippet, published, kind, generated, ids
        As in :class:`jupyter_webresearch.search.answer.SearchResult`; so below.
    authors, container, details, pdf_url, open_access, retracted, image_url
        Of a paper, of an image.
    ranks
        Its place in each provider's own order, by provider.
    raw
        What each provider sent for it, by provider.
    """

    number: int
    url: str
    title: str
    snippet: str = ""
    published: str = ""
    kind: str = "web"
    generated: bool = False
    ids: Mapping[str, str] = field(default_factory=dict)
    authors: tuple[str, ...] = ()
    container: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    pdf_url: str = ""
    open_access: bool | None = None
    retracted: bool = False
    image_url: str = ""
    ranks: Mapping[str, int] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)
    fetcher: Fetch | None = field(default=None, repr=False, compare=False)

    def fetch(self) -> Page:
        """Read the page, as ``web.fetch(result.url)`` does: under the policy, like any other URL."""
        if self.fetcher is None:
            from jupyter_webresearch.api import fetch

            return fetch(self.url)
        return self.fetcher(self.url)

    def bibtex(self, key: str = "") -> str:
        """Return a BibTeX entry.

        Parameters
        ----------
        key
            Its citation key; made of author, year and title when omitted.
        """
        from jupyter_webresearch.search.answer import SearchResult
        from jupyter_webresearch.search.bibtex import bibtex

        names = set(SearchResult.__dataclass_fields__) & set(Result.__dataclass_fields__) - {"raw"}
        return bibtex(SearchResult(**{name: getattr(self, name) for name in names}), key)

    def __repr__(self) -> str:
        from jupyter_webresearch.extraction.sanitise import one_line

        return f"<Result {self.number} {one_line(self.title, 80)!r} {one_line(self.url, 2048)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from jupyter_webresearch.kernel.search_display import result_mimebundle

        return result_mimebundle(self)


@dataclass(frozen=True)
class Tally:
    """One provider that answered: how many results, in how long (seconds), and whether from memory."""

    provider: str
    display_name: str
    results: int
    seconds: float = 0.0
    cached: bool = False
    total: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Failure:
    """A provider, or an engine behind one, that did not answer.

    Attributes
    ----------
    provider
        Its name; ``searxng: google`` for an engine behind one.
    kind
        One of :data:`jupyter_webresearch.search.answer.ERROR_KINDS`.
    reason
        One line for people.
    retry_after
        Seconds, when it says so.
    """

    provider: str
    kind: str
    reason: str
    retry_after: float | None = None


@dataclass(frozen=True)
class SearchResponse:
    """The answer to one search.

    Attributes
    ----------
    query
        As it was asked.
    kind
        Of results.
    results
        The best first.
    answers
        Direct answers, with who gave them: ``(provider, text)``.
    infobox
        ``title``, ``text``, ``url`` and ``provider`` of a box about the query, or empty.
    suggestions
        Other queries.
    answered, failed
        Who answered, and who did not and why.
    notes
        What a person should know: a lowered limit, an option that was not heeded, a query that was altered.
    raw
        The whole answers, by provider.
    """

    query: str
    kind: str = "web"
    results: tuple[Result, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()
    infobox: Mapping[str, str] = field(default_factory=dict)
    suggestions: tuple[str, ...] = ()
    answered: tuple[Tally, ...] = ()
    failed: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def df(self) -> pandas.DataFrame:
        """The results as a pandas DataFrame, one a row, numbered from 1.

        Raises
        ------
        ImportError
            When pandas is not installed, naming the extra that brings it.
        """
        columns = (
            "number",
            "title",
            "url",
            "snippet",
            "published",
            "authors",
            "container",
            "kind",
            "open_access",
            "retracted",
        )
        rows = [
            {**{name: getattr(result, name) for name in columns}, "authors": ", ".join(result.authors), **result.ids}
            for result in self.results
        ]
        frame: pandas.DataFrame = pandas_module().DataFrame(rows, columns=None if rows else list(columns))
        numbered: pandas.DataFrame = frame.set_index("number")
        return numbered

    def bibtex(self) -> str:
        """Return the papers among the results as BibTeX entries, each with a key of its own."""
        entries, taken = [], set[str]()
        from jupyter_webresearch.search.bibtex import bibtex_key

        for result in self.results:
            if result.kind != "paper":
                continue
            from jupyter_webresearch.search.answer import SearchResult

            plain = bibtex_key(
                SearchResult(result.url, result.title, published=result.published, authors=result.authors)
            )
            suffixes = ("", *"abcdefghijklmnopqrstuvwxyz", *(f"-{n}" for n in range(1, 100)))
            key = next(plain + suffix for suffix in suffixes if plain + suffix not in taken)
            taken.add(key)
            entries.append(result.bibtex(key))
        return "\n\n".join(entries)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, readable by :meth:`from_json`."""
        data = asdict(replace(self, results=tuple(replace(result, fetcher=None) for result in self.results)))
        for result in data["results"]:
            del result["fetcher"]
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SearchResponse:
        """Rebuild what :meth:`to_json` wrote."""
        return SearchResponse(
            query=str(data["query"]),
            kind=str(data["kind"]),
            results=tuple(Result(**{**row, "authors": tuple(row["authors"])}) for row in data["results"]),
            answers=tuple((str(provider), str(text)) for provider, text in data["answers"]),
            infobox=dict(data["infobox"]),
            suggestions=tuple(data["suggestions"]),
            answered=tuple(Tally(**row) for row in data["answered"]),
            failed=tuple(Failure(**row) for row in data["failed"]),
            notes=tuple(data["notes"]),
            raw=dict(data["raw"]),
        )

    def with_fetcher(self, fetcher: Fetch) -> SearchResponse:
        """Return the response such that its results are read through ``fetcher``."""
        return replace(self, results=tuple(replace(result, fetcher=fetcher) for result in self.results))

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        from jupyter_webresearch.kernel.search_display import plain_form

        return plain_form(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from jupyter_webresearch.kernel.search_display import mimebundle

        return mimebundle(self)
