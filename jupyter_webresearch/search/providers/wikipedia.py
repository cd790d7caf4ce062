"""Wikipedia: articles in one language, by MediaWiki's action API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from jupyter_webresearch.search.answer import ErrorKind, ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.one_host import elsewhere
from jupyter_webresearch.search.papers import details
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted, explained
from jupyter_webresearch.search.rows import collected, mapping, rows, text
from jupyter_webresearch.search.service import Service

__all__ = ["Wikipedia"]

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,10}){0,2}|simple")
_KINDS: Mapping[str, ErrorKind] = {
    "ratelimited": "rate_limited",
    "maxlag": "unreachable",
    "readonly": "unreachable",
    "blocked": "forbidden",
    "search-error": "unreachable",
}


class Wikipedia(BuiltinProvider):
    """Articles of the Wikipedia in the language that WIKIPEDIA_LANGUAGE names."""

    about: ClassVar[About] = About(
        name="wikipedia",
        display_name="Wikipedia",
        base_url="https://en.wikipedia.org",
        options=("WIKIPEDIA_LANGUAGE",),
        keyless=True,
        kinds=("web",),
        price="free",
        limits="articles only, of one language: WIKIPEDIA_LANGUAGE, by default en",
    )

    @property
    def language(self) -> str:
        """The code of the language, or an empty string when what is set is none."""
        code = (self._values.get("WIKIPEDIA_LANGUAGE") or "en").strip().lower()
        return code if _LANGUAGE.fullmatch(code) else ""

    @property
    def base_url(self) -> str:
        """That of the language's own host."""
        return f"https://{self.language}.wikipedia.org" if self.language else ""

    def missing(self) -> tuple[str, ...]:
        """Return the variable when it names no language."""
        return () if self.language else ("WIKIPEDIA_LANGUAGE (a code such as en, de or pt)",)

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        if other := elsewhere(self.about, f"{self.language}.wikipedia.org", question):
            return other
        query = {
            "action": "query",
            "list": "search",
            "format": "json",
            "formatversion": "2",
            "srsearch": question.query,
            "srlimit": str(question.limit),
            "srprop": "snippet|timestamp|wordcount",
        }
        # No maxlag: it makes the service refuse when it is busy, which is meant for jobs that can wait.
        reply = await service.get("/w/api.php", query)
        said = await accepted(reply, self.about, "", lambda _status, _body: Refusal())
        if "error" in said:
            raise self._error(mapping(said["error"]), reply.retry_after)
        found = mapping(said.get("query"))
        results, notes = collected(
            (self._result(row) for row in rows(found.get("search"), "the list of articles")), question
        )
        information = mapping(found.get("searchinfo"))
        total, suggestion = information.get("totalhits"), text(information.get("suggestion"))
        dated = ("Wikipedia knows when an article was changed only: it was not asked for recent ones",)
        return ProviderAnswer(
            provider=self.name,
            results=results,
            suggestions=(suggestion,) if suggestion else (),
            query_altered=text(information.get("rewrittenquery")),
            total=total if isinstance(total, int) else None,
            warnings=(*(dated if question.since else ()), *notes),
            raw=said,
        )

    def _error(self, error: Mapping[str, Any], retry_after: float | None) -> ProviderError:
        code = text(error.get("code"), 100)
        kind = _KINDS.get(code) or ("unreachable" if code.startswith("internal_api_error") else "bad_request")
        refusal = Refusal(text(error.get("info"), 200), code)
        return explained(self.about, "", refusal, ProviderError(kind, "", http_status=200, retry_after=retry_after))

    def _result(self, row: Mapping[str, Any]) -> SearchResult:
        title = text(row.get("title"), 500)
        return SearchResult(
            url=self._url(row.get("title")),
            title=title,
            snippet=text(row.get("snippet")),
            container="Wikipedia",
            details=details(
                changed=row.get("timestamp"), language=self.language, words=row.get("wordcount"), page=row.get("pageid")
            ),
            open_access=True,
            raw=row,
        )

    def _url(self, title: Any) -> str:
        if not isinstance(title, str) or not title.strip():
            return ""
        path = quote(title.strip().replace(" ", "_").encode("utf-8", "replace"), safe="/:@!$*(),;'~")
        return f"https://{self.language}.wikipedia.org/wiki/{path}"
