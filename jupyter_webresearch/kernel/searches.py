"""The responses to many queries, in order, with a table to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, link, literal
from jupyter_webresearch.kernel.search_display import state_of

if TYPE_CHECKING:
    from jupyter_webresearch.search.response import SearchResponse

__all__ = ["Searches"]


class Searches(list["SearchResponse | WebResearchError"]):
    """What became of each query: a SearchResponse, or the error in its place.

    Parameters
    ----------
    queries
        As they were asked.
    outcomes
        As many, in the same order.

    Attributes
    ----------
    queries : list of str
        What was asked.
    """

    def __init__(self, queries: list[str], outcomes: list[SearchResponse | WebResearchError]) -> None:
        super().__init__(outcomes)
        self.queries = queries

    @property
    def responses(self) -> list[SearchResponse]:
        """Those that came."""
        return [outcome for outcome in self if not isinstance(outcome, WebResearchError)]

    @property
    def errors(self) -> dict[str, WebResearchError]:
        """Those that did not, by query."""
        pairs = zip(self.queries, self, strict=True)
        return {query: outcome for query, outcome in pairs if isinstance(outcome, WebResearchError)}

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return index, state, query, and title and URL of the first result, or the message, of each."""
        rows = []
        for index, (asked, outcome) in enumerate(zip(self.queries, self, strict=True)):
            query = one_line(asked, 200)
            if isinstance(outcome, WebResearchError):
                rows.append((str(index), outcome.code, query, one_line(outcome.message, 200), ""))
            else:
                first = outcome.results[0] if outcome.results else None
                title = one_line(first.title or first.url, 200) if first else ""
                rows.append((str(index), state_of(outcome), query, title, one_line(first.url, 2048) if first else ""))
        return rows

    def __repr__(self) -> str:
        lines = [self._summary()]
        for index, state, query, title, url in self._rows():
            lines.append(f"{index:>3}  {state:<18} {query}".rstrip())
            lines += [f"     {text}" for text in (title, url) if text]
        return "\n".join(lines)

    def _summary(self) -> str:
        failed = len(self.errors)
        told = f"{len(self) - failed} of {len(self)} queries answered" + (f", {failed} not" if failed else "")
        return told + "; each is in the list under its number, from 0"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        lines = ["| | | query | first result |", "| --- | --- | --- | --- |"]
        for index, state, query, title, url in self._rows():
            first = link(title, url) if url else literal(title)
            lines.append(f"| {index} | {literal(state)} | {literal(query)} | {first} |")
        table = "\n".join(lines)
        return {
            "text/markdown": f"{OPEN}\n\n{self._summary()}\n\n{table}\n\n{CLOSE}",
            "text/plain": repr(self),
        }
