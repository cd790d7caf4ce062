"""DDGS: the package ``ddgs``, which asks search engines by their pages and needs no key.

Its requests are its own: they go neither through our transport nor past the guard, the lists or a recording. That is
why it is there only where somebody has installed it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import ErrorKind, ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import covering_range, iso_date
from jupyter_webresearch.search.ddgs_process import PACKAGE, DDGSProcess, WorkerAnswer, ddgs_paths
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.rows import collected, link, text
from jupyter_webresearch.search.service import Service

__all__ = ["DDGS"]

ENGINE = "duckduckgo"
"""Asked unless DDGS_BACKEND names another: one, and always the same, where the package would take any in any order."""

REQUEST_SECONDS = 10
"""For one request of the package; it makes several for one search."""

INSTALL = "pip install 'jupyter-webresearch[ddgs]'"

_NAME = re.compile("[a-z][a-z0-9_]{1,31}")
_ANY = ("auto", "all")

_FAILURES: Mapping[str, tuple[ErrorKind, str]] = {
    "rate_limited": (
        "rate_limited",
        "the engine {engine} answers no more for now: wait some minutes, or name another one in DDGS_BACKEND",
    ),
    "timeout": ("timeout", "the engine {engine} did not answer in time"),
    "unreachable": (
        "unreachable",
        "the engine {engine} could not be asked ({detail}); where a proxy is needed, DDGS_PROXY names it",
    ),
    "missing": ("unsupported", f"the package {PACKAGE} or one that it needs can't be imported: {INSTALL}"),
    "no_engine": ("bad_request", "the package has no engine {engine} for this: set DDGS_BACKEND to another, or not"),
    "crash": ("unreachable", "the process that ran the search ended without an answer"),
}
_OTHER: tuple[ErrorKind, str] = (
    "bad_payload",
    f"the package {PACKAGE} answers in another way than is known ({{detail}}); is it of version 9.16 or later?",
)


class DDGS(BuiltinProvider):
    """Searches by way of the package ``ddgs``, in a process of its own for each.

    Parameters
    ----------
    values
        See :class:`~jupyter_webresearch.search.builtin.BuiltinProvider`.
    paths
        Folders from which the package is imported; those where it is installed, unless given.
    """

    about: ClassVar[About] = About(
        name="ddgs",
        display_name="DDGS",
        base_url="",
        options=("DDGS_PROXY", "DDGS_BACKEND"),
        keyless=True,
        kinds=("web", "news", "images"),
        timeout=30.0,
        price="free",
        limits="those of the engine that it asks; its requests are the package's own, outside our guard and recordings",
        package=PACKAGE,
    )

    def __init__(self, values: Mapping[str, str], *, paths: Sequence[str] | None = None) -> None:
        super().__init__(values)
        self._paths = paths

    @property
    def engine(self) -> str:
        """The one search engine that is asked."""
        return self._values.get("DDGS_BACKEND") or ENGINE

    def missing(self) -> tuple[str, ...]:
        """Return how to install the package where it is not."""
        return () if self._where() else (INSTALL,)

    def _where(self) -> Sequence[str]:
        return ddgs_paths() if self._paths is None else self._paths

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        paths = self._where()
        if not paths:
            raise ProviderError("unsupported", f"the package {PACKAGE} is not installed: {INSTALL}")
        if self.engine in _ANY or not _NAME.fullmatch(self.engine):
            raise ProviderError("bad_request", f"DDGS_BACKEND names one engine, such as {ENGINE}; not any of them")
        reach = covering_range(question.since, service.today) if question.since else ""
        request = {
            "query": f"{question.query} site:{question.site}" if question.site else question.query,
            "kind": question.kind,
            "backend": self.engine,
            "timelimit": reach[:1] or None,
            "limit": question.limit,
            "timeout": REQUEST_SECONDS,
        }
        said = await self._said(request, paths, min(self.about.timeout, service.seconds_left))
        results, notes = collected((_result(row, question, self.engine) for row in said.rows), question)
        warnings = []
        if question.since and not reach:
            warnings.append("DDGS knows no range longer than a year: it was not asked for one")
        if not said.rows:
            warnings.append(f"DDGS can't tell whether {self.engine} has found nothing or refused to search")
        return ProviderAnswer(
            provider=self.name, results=results, warnings=(*warnings, *notes), raw=[dict(row) for row in said.rows]
        )

    async def _said(self, request: Mapping[str, Any], paths: Sequence[str], seconds: float) -> WorkerAnswer:
        process = DDGSProcess(paths, self._values.get("DDGS_PROXY", ""))
        try:
            said = await process.search(request, seconds)
        except TimeoutError:
            message = f"the search with {self.engine} took longer than {seconds:.0f} s and was ended"
            raise ProviderError("timeout", message) from None
        except OSError:
            raise ProviderError("unreachable", "no process could be started for the search") from None
        if said.end != "ok":
            kind, words = _FAILURES.get(said.end, _OTHER)
            detail = text(said.detail, 100) or "no details"
            raise ProviderError(kind, words.format(engine=self.engine, detail=detail), code=text(said.end, 30))
        return said


def _result(row: Mapping[str, Any], question: Question, engine: str) -> SearchResult:
    kind = {"news": "news", "images": "image"}.get(question.kind, "web")
    return SearchResult(
        url=link(row.get("href")) or link(row.get("url")),
        title=text(row.get("title")),
        snippet=text(row.get("body")),
        published=iso_date(row.get("date")),
        engines=(engine,),
        kind=kind,
        container=text(row.get("source")),
        image_url=link(row.get("image")) or link(row.get("thumbnail")),
        raw=row,
    )
