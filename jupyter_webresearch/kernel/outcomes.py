"""The outcomes of a batch, in order, with a table to look at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, link, literal

if TYPE_CHECKING:
    from jupyter_webresearch.page import Page

__all__ = ["Outcomes"]

ALIKE = 3
"""Failures that say the same from which on they are shown in one line; each is in ``errors``."""

RUNS = 5  # runs of numbers that such a line names


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
        """Return number, state, title or message, and URL of each; of many failures alike one row for all."""
        alike: dict[object, list[int]] = {}
        for number, outcome in enumerate(self):
            alike.setdefault(_kind_of(outcome, number), []).append(number)
        apart = [[number] for numbers in alike.values() if len(numbers) < ALIKE for number in numbers]
        together = [numbers for numbers in alike.values() if len(numbers) >= ALIKE]
        return [self._row(numbers) for numbers in sorted(apart + together)]

    def _row(self, numbers: list[int]) -> tuple[str, str, str, str]:
        url, outcome = self.urls[numbers[0]], self[numbers[0]]
        if not isinstance(outcome, WebResearchError):
            return str(numbers[0]), str(outcome.status), one_line(outcome.title, 200), outcome.url
        # Of some that say when to try again, the one that waits longest.
        told = max((self[number] for number in numbers), key=_wait)
        message = one_line(told.message, 200) if isinstance(told, WebResearchError) else ""
        count = f"{len(numbers)} URLs, the first is " if len(numbers) > 1 else ""
        return _ranges(numbers), outcome.code, message, count + one_line(url, 2048)

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


def _kind_of(outcome: Page | WebResearchError, number: int) -> object:
    """Return what is equal for failures that say the same, apart from the seconds to wait."""
    if not isinstance(outcome, WebResearchError):
        return number
    message = outcome.message if outcome.retry_after is None else re.sub(r"\d[\d,.]*", "#", outcome.message)
    return outcome.code, message


def _wait(outcome: Page | WebResearchError) -> float:
    return (outcome.retry_after or 0.0) if isinstance(outcome, WebResearchError) else 0.0


def _ranges(numbers: list[int]) -> str:
    """Return ascending numbers as ``0, 3-9``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:RUNS]]
    return ", ".join([*shown, "..."] if len(runs) > RUNS else shown)
