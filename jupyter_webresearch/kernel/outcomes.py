"""The outcomes of a batch, in order, with a table to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, link, literal

if TYPE_CHECKING:
    from jupyter_webresearch.page import Page

__all__ = ["Outcomes"]


class Outcomes(list["Page | WebResearchError"]):
    """What became of each URL: a Page, or the error in its place.

    Parameters
    ----------
    urls
        As they were asked for.
    outcomes
        As many, in the same order.

    Attributes
    ----------
    urls : list of str
        What was asked for.
    """

    def __init__(self, urls: list[str], outcomes: list[Page | WebResearchError]) -> None:
        super().__init__(outcomes)
        self.urls = urls

    @property
    def pages(self) -> list[Page]:
        """Those that were read."""
        return [outcome for outcome in self if not isinstance(outcome, WebResearchError)]

    @property
    def errors(self) -> dict[str, WebResearchError]:
        """Those that were not, by URL."""
        pairs = zip(self.urls, self, strict=True)
        return {url: outcome for url, outcome in pairs if isinstance(outcome, WebResearchError)}

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Return number, state, title or message, and URL of each."""
        rows = []
        for number, (url, outcome) in enumerate(zip(self.urls, self, strict=True)):
            if isinstance(outcome, WebResearchError):
                rows.append((str(number), outcome.code, one_line(outcome.message, 200), one_line(url, 2048)))
            else:
                rows.append((str(number), str(outcome.status), one_line(outcome.title, 200), outcome.url))
        return rows

    def __repr__(self) -> str:
        lines = [f"{number:>3}  {state:<18} {text}  {url}".rstrip() for number, state, text, url in self._rows()]
        return "\n".join([self._summary(), *lines])

    def _summary(self) -> str:
        failed = len(self.errors)
        return f"{len(self) - failed} of {len(self)} pages read" + (f", {failed} not" if failed else "")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        lines = ["| | status | page |", "| --- | --- | --- |"]
        for number, state, text, url in self._rows():
            shown = link(text or url, url) if state.isdigit() else literal(text if url in text else f"{url}: {text}")
            lines.append(f"| {number} | {literal(state)} | {shown} |")
        table = "\n".join(lines)
        return {
            "text/markdown": f"{OPEN}\n\n{self._summary()}\n\n{table}\n\n{CLOSE}",
            "text/plain": repr(self),
        }
