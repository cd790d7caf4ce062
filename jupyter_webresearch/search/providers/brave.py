"""Brave Search: an index of its own, by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import ErrorKind, ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted
from jupyter_webresearch.search.rows import collected, link, listed, mapping, rows, text
from jupyter_webresearch.search.service import Reply, Service

__all__ = ["Brave"]

MOST_CHARACTERS = 400
MOST_WORDS = 50
LARGEST_ERROR = 64 * 1024

_PATHS = {"web": "/web/search", "news": "/news/search", "images": "/images/search"}

# Its own words say more than its statuses: a bad key is a 422, as is a bad parameter.
_KINDS: Mapping[str, ErrorKind] = {
    "SUBSCRIPTION_TOKEN_INVALID": "bad_key",
    "SUBSCRIPTION_NOT_FOUND": "bad_key",
    "OPTION_NOT_IN_PLAN": "forbidden",
    "RATE_LIMITED": "rate_limited",
    "QUOTA_LIMITED": "quota",
}


class Brave(BuiltinProvider):
    """Web, news and images of Brave's own index."""

    about: ClassVar[About] = About(
        name="brave",
        display_name="Brave Search",
        base_url="https://api.search.brave.com/res/v1",
        keys=("BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"),
        kinds=("web", "news", "images"),
        get_key="https://api-dashboard.search.brave.com/app/keys",
        price="$5 for 1,000 searches; $5 of credit a month",
        limits="queries of 400 characters and 50 words at most",
    )

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        query, warnings = _parameters(question, service)
        reply = await service.get(
            _PATHS[question.kind], query, headers={"X-Subscription-Token": self.key}, final=_is_quota
        )
        said = await accepted(reply, self.about, self.key, _refusal)
        found = _found(said, question)
        results, notes = collected((_result(row, question) for row in found), question)
        asked = mapping(said.get("query"))
        altered = text(asked.get("altered"))
        return ProviderAnswer(
            provider=self.name,
            results=results,
            answers=tuple(_answers(said)),
            infobox=_infobox(said),
            query_altered=altered if altered != query["q"] else "",
            warnings=(*warnings, *notes),
            raw=said,
        )


def _parameters(question: Question, service: Service) -> tuple[dict[str, str], list[str]]:
    wanted = f"{question.query} site:{question.site}" if question.site else question.query
    words = len(wanted.split())
    if len(wanted) > MOST_CHARACTERS or words > MOST_WORDS:
        raise ProviderError(
            "bad_request",
            f"Brave takes queries of at most {MOST_CHARACTERS} characters and {MOST_WORDS} words; this one has "
            f"{len(wanted)} and {words}: make it shorter",
        )
    query = {"q": wanted, "count": str(question.limit)}
    warnings = []
    if question.kind == "web":
        query |= {"text_decorations": "false", "result_filter": "web,infobox,faq"}
    if question.since and question.kind == "images":
        warnings.append("Brave knows no dates of images: it was not asked for recent ones")
    elif question.since:
        query["freshness"] = f"{question.since.isoformat()}to{max(question.since, service.today).isoformat()}"
    return query, warnings


def _found(said: Mapping[str, Any], question: Question) -> list[Mapping[str, Any]]:
    if question.kind != "web":
        return rows(said.get("results"), "the list of results")
    # Without hits there is no list; that there are none is then said by the order in which things are shown.
    mixed = said.get("mixed")
    if "web" not in said and isinstance(mixed, dict) and not _shows_web(mixed):
        return []
    return rows(mapping(said.get("web")).get("results"), "the list of web results")


def _shows_web(mixed: Mapping[str, Any]) -> bool:
    return not isinstance(mixed.get("main"), list) or any(
        mapping(item).get("type") == "web" for item in listed(mixed.get("main"))
    )


def _result(row: Mapping[str, Any], question: Question) -> SearchResult:
    snippets = [text(row.get("description")), *map(text, listed(row.get("extra_snippets"))[:5])]
    thumbnail, profile = mapping(row.get("thumbnail")), mapping(row.get("profile"))
    picture = link(mapping(row.get("properties")).get("url")) or link(thumbnail.get("original"))
    is_image = question.kind == "images"
    return SearchResult(
        url=link(row.get("url")),
        title=text(row.get("title")),
        snippet=" ".join(filter(None, snippets)),
        published=iso_date(row.get("page_age")) or iso_date(row.get("age")),
        kind="image" if is_image else "news" if question.kind == "news" else "web",
        container=text(profile.get("long_name")) or text(profile.get("name")) or text(row.get("source")),
        image_url=picture or link(thumbnail.get("src")),
        raw=row,
    )


def _answers(said: Mapping[str, Any]) -> list[str]:
    found = []
    for row in map(mapping, listed(mapping(said.get("faq")).get("results"))[:10]):
        question, answer, source = text(row.get("question")), text(row.get("answer")), link(row.get("url"))
        if answer:
            whole = f"{question} {answer}".strip()
            found.append(f"{whole} ({source})" if source else whole)
    return found


def _infobox(said: Mapping[str, Any]) -> Mapping[str, str]:
    box = mapping(said.get("infobox"))
    for row in map(mapping, listed(box.get("results")) or [box]):
        title = text(row.get("title")) or text(row.get("label"))
        content = text(row.get("long_desc")) or text(row.get("description"))
        if title or content:
            return {"title": title, "text": content, "url": link(row.get("url")) or link(row.get("website_url"))}
    return {}


def _refusal(status: int, said: Mapping[str, Any]) -> Refusal:
    error = _error(said)
    code = text(error.get("code"), 100)
    kind = _KINDS.get(code)
    if kind is None and status == 422 and _is_about_key(error):
        kind = "bad_key"
    return Refusal(error.get("detail"), code, kind)


def _error(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the error of an answer: one object, or the first of a list, as the documentation has it."""
    return mapping(said.get("error")) or next(iter(map(mapping, listed(said.get("errors")))), {})


def _is_about_key(error: Mapping[str, Any]) -> bool:
    problems = map(mapping, listed(mapping(error.get("meta")).get("errors")))
    return any(
        isinstance(part, str) and part.lower() == "x-subscription-token"
        for problem in problems
        for part in listed(problem.get("loc"))
    )


def _is_quota(reply: Reply) -> bool:
    """Whether a 429 is about the month, so that a second request is one more for nothing."""
    if reply.status != 429 or len(reply.body) > LARGEST_ERROR:
        return False
    try:
        said = json.loads(reply.body)
    except (ValueError, RecursionError):
        return False
    return _error(mapping(said)).get("code") == "QUOTA_LIMITED"
