"""SearXNG: an instance of one's own, which asks many engines and needs no key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import covering_range, iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.rows import collected, link, listed, mapping, number, rows, text, texts
from jupyter_webresearch.search.service import Reply, Service

__all__ = ["SearXNG"]

_CATEGORIES = {"web": "general", "news": "news", "papers": "science", "images": "images"}
_TEMPLATES = {"paper.html": "paper", "images.html": "image"}
_DETAILS = {"volume": "volume", "number": "issue", "pages": "pages", "publisher": "publisher", "type": "type"}

_NO_JSON = (
    "the instance gives no JSON: set `search.formats: [html, json]` in its settings.yml and start it anew "
    "(it also answers so to addresses that it blocks)"
)
_LIMITED = (
    "the instance's limiter refuses programs after four requests an hour: set `server.limiter: false` in its "
    "settings.yml and start it anew, or wait"
)
_NOT_THERE = "there is no SearXNG at this address: SEARXNG_URL is the instance's own URL, to which /search is added"


class SearXNG(BuiltinProvider):
    """An instance of one's own; its results stay in its order, which it has made from those of its engines."""

    about: ClassVar[About] = About(
        name="searxng",
        display_name="SearXNG",
        base_url="",
        url_variables=("SEARXNG_URL", "SEARX_URL", "SEARX_HOST", "SEARXNG_QUERY_URL"),
        keyless=True,
        kinds=("web", "news", "papers", "images"),
        price="free; you run it",
        limits="those of the engines behind it; `server.limiter` of its settings must be off",
    )

    @property
    def base_url(self) -> str:
        """The instance's URL; that of SEARXNG_QUERY_URL may be a template such as ``.../search?q=<query>``."""
        base = super().base_url.partition("?")[0].partition("#")[0].rstrip("/")
        if any(self._values.get(name) for name in self.about.url_variables[:-1]):
            return base
        return base.removesuffix("/search").rstrip("/")

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        query = {
            "q": f"{question.query} site:{question.site}" if question.site else question.query,
            "format": "json",
            "categories": _CATEGORIES[question.kind],
        }
        warnings: list[str] = []
        if question.since:
            reach = covering_range(question.since, service.today)
            if reach:
                query["time_range"] = reach
            else:
                warnings.append("SearXNG knows no range longer than a year: it was not asked for one")
        reply = await service.get("/search", query, final=_is_limiter)
        await _check(service, reply)
        said = mapping(await reply.json())
        found = rows(said.get("results"), "the list of results")
        results, notes = collected((_result(row, question) for row in found), question)
        answers = tuple(_answers(said.get("answers")))
        infobox = _infobox(said.get("infoboxes"))
        failed = tuple(_failed(said.get("unresponsive_engines")))
        if failed and not found and not answers and not infobox:
            named = ", ".join(f"{engine} ({reason})" if reason else engine for engine, reason in failed[:10])
            raise ProviderError("blocked", f"its engines did not answer: {named}", http_status=reply.status)
        return ProviderAnswer(
            provider=self.name,
            results=results,
            answers=answers,
            infobox=infobox,
            suggestions=texts(said.get("suggestions")),
            corrections=texts(said.get("corrections")),
            failed=failed,
            warnings=(*warnings, *notes),
            raw=said,
        )


def _is_limiter(reply: Reply) -> bool:
    """Whether this is the limiter of SearXNG, which counts by the hour, and not a proxy in front that says when."""
    return reply.status == 429 and "retry-after" not in reply.headers


async def _check(service: Service, reply: Reply) -> None:
    if reply.status == 403:
        service.check(reply, {403: "disabled_format"}, message=_NO_JSON)
    if reply.status == 429:
        service.check(reply, message=_LIMITED)
    if reply.status == 404:
        service.check(reply, message=_NOT_THERE)
    message = ""
    if reply.status in (400, 500):
        try:
            message = text(mapping(await reply.json()).get("error"), 200)
        except ProviderError:
            message = ""
        message = f"the instance says: {message}" if message else ""
    service.check(reply, message=message)


def _result(row: Mapping[str, Any], question: Question) -> SearchResult:
    kind = _TEMPLATES.get(str(row.get("template")), "")
    if not kind:
        kind = "paper" if question.kind == "papers" else "news" if row.get("category") == "news" else "web"
    engines = texts(row.get("engines")) or tuple(filter(None, [text(row.get("engine"))]))
    doi = text(row.get("doi"), 300).removeprefix("https://doi.org/").removeprefix("http://dx.doi.org/")
    return SearchResult(
        url=link(row.get("url")),
        title=text(row.get("title")),
        snippet=text(row.get("content")),
        published=iso_date(row.get("publishedDate")) or iso_date(row.get("pubdate")),
        engines=engines,
        score=number(row.get("score")),
        kind=kind,
        ids={"doi": doi} if doi else {},
        authors=texts(row.get("authors")) or tuple(filter(None, [text(row.get("author"))])),
        container=text(row.get("journal")),
        details={ours: said for theirs, ours in _DETAILS.items() if (said := text(row.get(theirs)))},
        pdf_url=link(row.get("pdf_url")),
        image_url=_image(row),
        raw=row,
    )


def _image(row: Mapping[str, Any]) -> str:
    """Return the picture of a result; engines give many without a scheme."""
    for name in ("img_src", "thumbnail", "thumbnail_src"):
        value = row.get(name)
        if isinstance(value, str) and (found := link(f"https:{value}" if value.startswith("//") else value)):
            return found
    return ""


def _answers(value: Any) -> list[str]:
    """Return direct answers: objects with their source, and plain strings of older instances."""
    found = []
    for item in listed(value)[:20]:
        said = text(item) or text(mapping(item).get("answer"))
        source = link(mapping(item).get("url"))
        if said:
            found.append(f"{said} ({source})" if source else said)
    return found


def _infobox(value: Any) -> Mapping[str, str]:
    for box in map(mapping, listed(value)):
        links = [link(mapping(item).get("url")) for item in listed(box.get("urls"))]
        url = next(filter(None, [*links, link(box.get("id"))]), "")
        title, content = text(box.get("infobox")), text(box.get("content"))
        if title or content:
            return {"title": title, "text": content, "url": url}
    return {}


def _failed(value: Any) -> list[tuple[str, str]]:
    found = []
    for item in listed(value)[:200]:
        engine, reason = (*listed(item), "", "")[:2]
        if text(engine):
            found.append((text(engine, 100), text(reason, 200)))
    return found
