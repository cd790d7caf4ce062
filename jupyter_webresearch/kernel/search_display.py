"""What the answer to a search looks like, in a cell and in a terminal: inert, and the same in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jupyter_webresearch.extraction.escape import code_span
from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.display import settings
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, link, literal
from jupyter_webresearch.kernel.plain_form import filled

if TYPE_CHECKING:
    from jupyter_webresearch.search.response import Failure, Result, SearchResponse, Tally

__all__ = ["mimebundle", "plain_form", "result_mimebundle", "state_of"]

TITLE, URL, WORD, TEXT = 200, 2048, 120, 1000  # characters of a title, a URL, a name, an answer
AUTHORS, SUGGESTIONS = 4, 6
RETRACTED = "RETRACTED"

_ADVICE = {
    "nothing found": "Other words may find more: fewer or more common ones, without quotes, --site and --since; or "
    "another provider, with --provider.",
    "blocked": "That tells nothing of what there is. Search again later, or name another provider with --provider.",
}


def mimebundle(response: SearchResponse) -> dict[str, str]:
    """Return a response's display forms.

    Returns
    -------
    dict
        ``text/markdown``, inert, and ``text/plain``, which says the same. Never HTML.
    """
    return {"text/markdown": _markdown(response), "text/plain": plain_form(response)}


def plain_form(response: SearchResponse) -> str:
    """Return the plain form alone, as :func:`repr` of a response."""
    columns = settings().columns
    names = _names(response)
    blocks = [_summary(response), *_answers(response), _plain_infobox(response)]
    shown = ["\n".join(line for part in block.split("\n") for line in filled(part, columns)) for block in blocks]
    shown += ["\n".join(_plain_item(result, names, columns, f"{result.number}. ")) for result in response.results]
    shown.append("\n".join(line for fact in _facts(response) for line in filled(fact, columns)))
    shown.append("\n".join(f"  {code}   {what}" for code, what in _ways(response)))
    return "\n\n".join(block for block in shown if block)


def result_mimebundle(result: Result) -> dict[str, str]:
    """Return the display forms of one result by itself; as :func:`mimebundle`."""
    columns = settings().columns
    item = "  \n".join(_markdown_lines(result, {}, columns))
    plain = "\n".join(_plain_item(result, {}, columns, ""))
    return {"text/markdown": f"{OPEN}\n\n{item}\n\n{CLOSE}", "text/plain": plain}


def state_of(response: SearchResponse) -> str:
    """Return how many results there are, or whether nothing was found, or those who would know could not be asked."""
    count = len(response.results)
    if count:
        return "1 result" if count == 1 else f"{count} results"
    return "blocked" if response.failed else "nothing found"


# ------------------------------------------------------------------ the two forms


def _markdown(response: SearchResponse) -> str:
    columns, names = settings().columns, _names(response)
    parts = [f"**{literal(_summary(response))}**", *map(literal, _answers(response)), _markdown_infobox(response)]
    items = []
    for result in response.results:
        marker = f"{result.number}. "
        items.append(marker + ("  \n" + " " * len(marker)).join(_markdown_lines(result, names, columns)))
    parts.append("\n".join(items))
    parts.append("  \n".join(f"*{literal(fact)}*" for fact in _facts(response)))
    parts.append(" · ".join(f"{code_span(code)} {what}" for code, what in _ways(response)))
    inner = "\n\n".join(part for part in parts if part)
    return f"{OPEN}\n\n{inner}\n\n{CLOSE}"


def _markdown_lines(result: Result, names: dict[str, str], columns: int) -> list[str]:
    told = [f"**{literal(part)}**" if part == RETRACTED else literal(part) for part in _told(result)]
    told += [link(name, one_line(url, URL)) for name, url in _other_links(result)]
    first = f"**{link(_title(result), one_line(result.url, URL))}**"
    rest = [literal(_authors(result)), literal(one_line(result.snippet, 2 * columns))]
    ranks = _ranks(result, names)
    lines = [" · ".join([first, *told]), *rest, f"*{literal(ranks)}*" if ranks else ""]
    return [line for line in lines if line]


def _plain_item(result: Result, names: dict[str, str], columns: int, marker: str) -> list[str]:
    indent = " " * len(marker)
    snippet = filled(indent + one_line(result.snippet, 2 * (columns - len(indent))), columns)
    if len(snippet) > 2:
        snippet = [*snippet[:1], snippet[1][: columns - 1].rstrip("… ") + "…"]
    texts = [" · ".join(_told(result)), _authors(result)]
    lines = [*filled(marker + _title(result), columns), indent + one_line(result.url, URL)]
    lines += [line for text in texts if text for line in filled(indent + text, columns)]
    lines += [indent + f"{name} {one_line(url, URL)}" for name, url in _other_links(result)]
    lines += snippet if result.snippet.strip() else []
    lines += filled(indent + ranks, columns) if (ranks := _ranks(result, names)) else []
    return [line for line in lines if line.strip()]


# ------------------------------------------------------------------ what is said


def _summary(response: SearchResponse) -> str:
    state, query = state_of(response), one_line(response.query, TITLE)
    kind = "" if response.kind == "web" else f", {response.kind}"
    if response.results:
        return f'{state} for "{query}"{kind}'
    if response.answers or response.infobox:
        return f'No page for "{query}"{kind}, but an answer'
    said = f'{state[0].upper()}{state[1:]} for "{query}"{kind}'
    return f"{said}: not all who were asked could answer" if response.failed else said


def _answers(response: SearchResponse) -> list[str]:
    names = _names(response)
    told = [f"{names.get(provider, provider)}: {text}" for provider, text in response.answers]
    return [one_line(text, TEXT) for text in told]


def _infobox(response: SearchResponse) -> tuple[str, str, str, str]:
    box = response.infobox
    title, text, url, provider = (str(box.get(name, "")) for name in ("title", "text", "url", "provider"))
    source = _names(response).get(provider, provider)
    return one_line(title, TITLE), one_line(text, TEXT), one_line(url, URL), one_line(source, WORD)


def _markdown_infobox(response: SearchResponse) -> str:
    title, text, url, source = _infobox(response)
    named = f"**{link(title or url, url)}**" if title or url else ""
    return " · ".join(part for part in (named, literal(text), literal(source)) if part)


def _plain_infobox(response: SearchResponse) -> str:
    title, text, url, source = _infobox(response)
    return "\n".join(part for part in (title, url, text, source) if part)


def _title(result: Result) -> str:
    return one_line(result.title, TITLE) or one_line(result.url, TITLE)


def _told(result: Result) -> list[str]:
    """Return what is said of a result beside its title."""
    marks = {
        RETRACTED: result.retracted,
        "open access": result.open_access is True,
        "written by a model": result.generated,
    }
    told = [one_line(result.container, WORD) or _host(result.url), one_line(result.published, 40)[:10]]
    return [part for part in (*told, *(mark for mark, holds in marks.items() if holds)) if part]


def _host(url: str) -> str:
    try:
        return one_line(urlsplit(url).hostname or "", WORD)
    except ValueError:
        return ""


def _other_links(result: Result) -> list[tuple[str, str]]:
    return [(name, url) for name, url in (("PDF", result.pdf_url), ("image", result.image_url)) if url]


def _authors(result: Result) -> str:
    names = [one_line(name, WORD) for name in result.authors]
    more = len(names) - AUTHORS
    return ", ".join(names[:AUTHORS]) + (f" and {more} more" if more > 0 else "")


def _ranks(result: Result, names: dict[str, str]) -> str:
    """Return who ranked it where, if several were asked."""
    if len(names) < 2:
        return ""
    told = ", ".join(f"{names.get(provider, provider)} {rank}" for provider, rank in result.ranks.items())
    return one_line(told, TEXT)


def _names(response: SearchResponse) -> dict[str, str]:
    return {tally.provider: one_line(tally.display_name, WORD) or tally.provider for tally in response.answered}


def _facts(response: SearchResponse) -> list[str]:
    """Return who answered, who did not and why, and what else is to be known; one line each."""
    nothing = not (response.results or response.answers or response.infobox)
    facts = [_ADVICE[state_of(response)]] if nothing else []
    if response.suggestions:
        facts.append("Other queries: " + " · ".join(response.suggestions[:SUGGESTIONS]))
    if response.answered:
        facts.append("Answered: " + ", ".join(map(_tally, response.answered)))
    facts += map(_failure, response.failed)
    return [one_line(fact, TEXT) for fact in (*facts, *response.notes)]


def _tally(tally: Tally) -> str:
    total = f" of {tally.total:,}" if tally.total is not None and tally.total > tally.results else ""
    how = "from memory" if tally.cached else f"in {tally.seconds:.1f} s"
    results = "result" if tally.results == 1 and not total else "results"
    return f"{tally.display_name} ({tally.results}{total} {results} {how})"


def _failure(failure: Failure) -> str:
    provider, _, engine = failure.provider.partition(": ")
    who = f"{engine} behind {provider}" if engine else provider
    again = f"; try again in {failure.retry_after:.0f} s" if failure.retry_after else ""
    return f"No answer from {who}: {failure.reason}{again} [{failure.kind}]"


def _ways(response: SearchResponse) -> Sequence[tuple[str, str]]:
    """Return how to go on from the list. No variable is named: what the reader called the response isn't known."""
    if not response.results:
        return ()
    ways = [(".results[0].fetch()", f"of this response reads number {response.results[0].number}")]
    if len(response.results) > 1:
        ways.append((f".results[{len(response.results) - 1}]", f"is number {response.results[-1].number}"))
    return [*ways, (".df", "is a table of them")]
