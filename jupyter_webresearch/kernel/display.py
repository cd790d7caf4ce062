"""What a Page looks like: in a cell, in a terminal, and in the answer of a tool."""

from __future__ import annotations

import functools
from datetime import datetime
from typing import TYPE_CHECKING

from jupyter_webresearch.extraction.escape import code_span
from jupyter_webresearch.extraction.sanitise import clean, one_line
from jupyter_webresearch.kernel.blocks import cut_at_block
from jupyter_webresearch.kernel.cell_markdown import as_cell, as_fence
from jupyter_webresearch.kernel.inert import CLOSE, OPEN, link, literal
from jupyter_webresearch.kernel.json_form import indented
from jupyter_webresearch.kernel.plain_form import wrapped
from jupyter_webresearch.kinds import kind_of
from jupyter_webresearch.models import READS

if TYPE_CHECKING:
    from jupyter_webresearch.config import WebDisplay
    from jupyter_webresearch.page import Page

__all__ = ["answer_text", "mimebundle", "plain_form", "settings", "show"]

_LANGUAGE = {"json": "json", "xml": "xml", "markdown": "markdown"}


def mimebundle(page: Page) -> dict[str, str]:
    """Return a Page's display forms.

    Returns
    -------
    dict
        ``text/markdown``, inert, and ``text/plain``, which says the same. Both show the first ``WebDisplay.max_chars``
        characters and say how to read on. Never HTML.
    """
    return _forms(page, settings().max_chars, settings().columns)


def plain_form(page: Page) -> str:
    """Return the plain form alone, as :func:`repr` of a Page."""
    return mimebundle(page)["text/plain"]


def show(page: Page) -> None:
    """Display all of the text that a Page holds."""
    from IPython.core.interactiveshell import InteractiveShell

    forms = _forms(page, max(1, len(page.markdown)), settings().columns)
    if InteractiveShell.initialized():
        InteractiveShell.instance().display_pub.publish(forms)
    else:
        print(forms["text/plain"])  # noqa: T201  # a plain interpreter has no other way to show


def answer_text(page: Page) -> str:
    """Return a Page as one text for tools, terminals and :class:`str`.

    Returns
    -------
    str
        Header lines ``url:``, ``content-type:``, ``title:``, ``site:``, ``author:``, ``published:`` and what else is
        known, an empty line, all of the text that the Page holds, then what is missing from it, each in brackets, and
        last how to read on.
    """
    head = [f"url: {one_line(page.url, 2048)}", f"content-type: {one_line(page.content_type)}"]
    head += [f"{name}: {value}" for name, value in _described(page)]
    if page.status and not 200 <= page.status < 300:
        head.append(f"status: {page.status}")
    if _is_markdown(page) and page.markdown:
        head.append(f"extracted: {_extracted(page)}")
    tail = [f"[{fact}]" for fact in _facts(page)]
    text = page.markdown
    if not _is_markdown(page):  # a source as the site wrote it, whose invisible characters a model would read
        text, invisible = clean(text)
        if invisible:
            tail.append(f"[{invisible:,} invisible characters are not shown; markdown of this Page holds them]")
    if page.window.closing:
        tail.append(page.window.closing + " --raw" * _is_raw(page))
    parts = ["\n".join(head), text.strip("\n"), "\n".join(tail)]
    return "\n\n".join(part for part in parts if part)


def _described(page: Page) -> list[tuple[str, str]]:
    known = {"title": page.title, **{k: page.metadata.get(k, "") for k in ("site", "author", "published")}}
    return [(name, one_line(value)) for name, value in known.items() if value]


def _is_markdown(page: Page) -> bool:
    """Return whether the text is Markdown that extraction wrote, and not a source shown as it is."""
    return page.kind == "html" and page.extractor in ("article", "page", "text")


def _extracted(page: Page) -> str:
    what = {"article": "article", "page": "whole page, no article was found", "text": "plain text of the page"}
    return f"{what[page.extractor]}; {page.kept_share:.0%} of the page's words"


def _facts(page: Page) -> list[str]:
    """Return what a reader must know of what is shown, one line each."""
    facts = []
    if page.saved is not None:
        saved = page.saved
        facts.append(
            f"saved: {saved.path or saved.name}, {saved.bytes:,} bytes, {saved.content_type}, sha256 {saved.sha256}"
        )
    if page.cached_seconds is not None:
        facts.append(f"from memory, read {_age(page.cached_seconds)} ago; --fresh asks the site again")
    if page.source.insecure_redirect:
        facts.append("a redirect led from https to http: anyone on the way could have changed this text")
    if page.truncated_body:
        announced = f" of {page.announced_bytes:,} announced" if page.announced_bytes else ""
        facts.append(f"body cut: {page.body_bytes:,} bytes kept{announced}")
    if not (page.markdown or page.window.total or page.source.bytes or page.saved):
        facts.append(f"status {page.status}, empty body")
    if page.hidden:
        facts.append(f"hidden: {page.hidden:,} invisible elements or characters removed")
    facts += page.limits
    facts += page.notes
    if page.window.note:
        facts.append(page.window.note)
    return [one_line(fact) for fact in facts]


def _forms(page: Page, most: int, columns: int) -> dict[str, str]:
    lines = indented(page.markdown, columns) if page.kind == "json" else ""
    text = lines or page.markdown
    cut = cut_at_block(text, most)
    part = text[:cut].rstrip("\n") if cut < len(text) else text
    facts = _facts(page)
    closing = _closing_of_lines(lines, cut) if lines else _closing(page, cut)
    if lines:
        facts.insert(0, "shown indented; markdown of this Page holds it as it came")
    if _is_markdown(page) and page.markdown:
        facts.insert(0, _extracted(page))
        body, plain = as_cell(part), wrapped(part, columns)
    else:
        body, plain = as_fence(part, _LANGUAGE.get(page.kind, "")), wrapped(part, columns, source=True)
    markdown = [_header(page), body if part.strip() else ""]
    if facts:
        markdown.append(f"*{literal(' · '.join(facts))}*")
    if closing:
        markdown.append(closing[0])
    said = [_plain_header(page), plain, "\n".join(f"[{fact}]" for fact in facts), closing[1] if closing else ""]
    inner = "\n\n".join(part for part in markdown if part)
    return {
        "text/markdown": f"{OPEN}\n\n{inner}\n\n{CLOSE}",
        "text/plain": "\n\n".join(part for part in said if part.strip()),
    }


def _header(page: Page) -> str:
    """Return the header line: title as link, site, author, date, and when this was read."""
    title = link(one_line(page.title or page.url, 200), page.url)
    return " · ".join([f"**{title}**", *map(literal, _byline(page))])


def _byline(page: Page) -> list[str]:
    line = [one_line(page.metadata.get(name, ""), 120) for name in ("site", "author")]
    published = one_line(page.metadata.get("published", ""), 40)
    line.append(f"published {published[:10]}" if published else "")
    if page.status and not 200 <= page.status < 300:
        line.append(f"status {page.status}")
    if page.source.fetched:
        line.append(f"read {_minute(page.source.fetched)}")
    return list(dict.fromkeys(part for part in line if part))  # a site that signs as its own author is named once


def _plain_header(page: Page) -> str:
    lines = [one_line(page.title, 200)] if page.title else []
    lines.append(one_line(page.url, 2048))
    lines.append(" · ".join(_byline(page)))
    return "\n".join(line for line in lines if line)


def _closing(page: Page, cut: int) -> tuple[str, str] | None:
    """Return how to read on, as Markdown and plain, when not all of the text is shown."""
    window = page.window
    held = len(page.markdown)
    if cut >= held and not window.truncated:
        return None
    shown = window.shown_bytes - len(page.markdown[cut:].encode())
    # A Page made without a window (in a test, or by hand) holds all of its text.
    total = window.total_bytes or len(page.markdown.encode())
    said = (
        f"[truncated at {max(shown, 0) if window.total_bytes else len(page.markdown[:cut].encode())} of {total} bytes]"
    )
    ways = []
    if cut < held:
        ways.append(("show()", f"of this Page shows all {held:,} characters of this part"))
    if page.source.method in READS and page.source.requested:
        again = f"%webfetch {one_line(page.source.requested, 2048)} --offset {window.offset + cut}"
        ways.append((again + " --raw" * _is_raw(page), "reads on"))
    elif window.truncated:
        ways.append(("next()", "of this Page reads on"))
    return _said_with(said, ways)


def _closing_of_lines(lines: str, cut: int) -> tuple[str, str] | None:
    """Return the same for indented JSON, whose characters are not those of the source."""
    if cut >= len(lines):
        return None
    said = f"[truncated at line {lines.count(chr(10), 0, cut):,} of {lines.count(chr(10)) + 1:,}]"
    return _said_with(said, [("show()", "of this Page shows all of it"), ("json()", "of this Page holds it as values")])


def _said_with(said: str, ways: list[tuple[str, str]]) -> tuple[str, str]:
    # No variable is named: what the reader called the Page, if anything, isn't known.
    markdown = literal(said) + " " + " · ".join(f"{code_span(command)} {what}" for command, what in ways)
    return markdown, said + "".join(f"\n  {command}   {what}" for command, what in ways)


def _is_raw(page: Page) -> bool:
    """Return whether the source is shown where an article could be."""
    return page.extractor == "as-is" and kind_of(page.content_type.partition(";")[0].strip().lower()) == "html"


def _age(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def _minute(moment: str) -> str:
    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return one_line(moment, 40)


@functools.cache
def settings() -> WebDisplay:
    """Return the display settings; unreadable ones must not keep a result from being shown."""
    from jupyter_webresearch.config import WebDisplay
    from jupyter_webresearch.config_loading import load_settings
    from jupyter_webresearch.errors import WebResearchError

    try:
        return load_settings().display
    except WebResearchError:
        return WebDisplay()
