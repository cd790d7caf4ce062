"""Bytes to an Extraction: pure, without any I/O, so that it can run where nothing can be opened."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from typing import Literal

from lxml import html
from trafilatura.external import justext_rescue
from trafilatura.settings import Extractor

from jupyter_webresearch.extraction import charset, flat, limits, sanitise, tree, urls
from jupyter_webresearch.extraction.charset_labels import CODECS
from jupyter_webresearch.extraction.escape import escape_block_start, escape_text
from jupyter_webresearch.extraction.leaves import collect, words_of
from jupyter_webresearch.extraction.limits import Limits, TooLargeForArticle, bound_source
from jupyter_webresearch.extraction.markdown import Renderer
from jupyter_webresearch.extraction.metadata import read_metadata
from jupyter_webresearch.extraction.select import drop_chrome, prune, select
from jupyter_webresearch.extraction.standardise import standardise
from jupyter_webresearch.extraction.tables import CellBudget, spanned_area
from jupyter_webresearch.kinds import kind_of
from jupyter_webresearch.models import Extraction

__all__ = ["STAGES", "Limits", "Stage", "TooLargeForArticle", "extract_document", "warm_up"]

Stage = Literal["article", "page", "text", "raw"]
STAGES: tuple[Stage, ...] = ("article", "page", "text", "raw")
_DEPTH_OF_OUR_OWN = 20  # nesting that the parser may add to what the source says
# trafilatura's time: some 50 us an element, but each cell that a span covers is one too.
_MAX_ARTICLE_ELEMENTS = 40_000
_MAX_ARTICLE_AREA = 20_000
_WORD = re.compile(r"\w+")
_MAX_MARKS = 1_500_000
_MAX_MARKED_TEXT = 4_000_000
_PLAIN = ("limits: plain text, since the page's markup would lose some of it",)


def extract_document(
    data: bytes,
    *,
    url: str,
    content_type: str,
    charset_label: str = "",
    stage: Stage = "article",
    limits: Limits,
) -> Extraction:
    """Make text of a body.

    Parameters
    ----------
    data
        Decoded body bytes.
    url
        Final URL, the base of relative links.
    content_type
        Media type; parameters are ignored.
    charset_label
        The charset parameter of the Content-Type header.
    stage
        ``article`` for the main text (the whole page when there is none), ``page`` for the whole page, ``text`` for
        markup stripped without a tree, ``raw`` for the decoded source.
    limits
        What of the page is read.

    Returns
    -------
    Extraction
        With empty ``markdown`` when the body holds no word.

    Raises
    ------
    TooLargeForArticle
        In stage ``article``, before anything costly was done.
    """
    kind = kind_of(content_type.partition(";")[0].strip().lower()) or "text"
    source, encoding = charset.decode(data, charset_label, markup=kind in ("html", "xml"))
    source, controls = sanitise.clean_source(source)
    if kind != "html" or stage == "raw":
        return Extraction("text" if kind == "html" else kind, source, hidden=controls, charset=encoding)
    notes: tuple[str, ...] = ()
    if stage == "text":
        extraction = _text_page(source)
    else:
        if stage == "article" and _start_tags(source) > _MAX_ARTICLE_ELEMENTS:
            raise TooLargeForArticle
        bounded = bound_source(source, limits)
        notes = bounded.notes
        page = tree.parse(bounded.source, for_article=stage == "article")
        if page is None:
            extraction = _text_page(bounded.source)
        elif _lost(tree.ink_of(page.root), bounded.ink):
            extraction, notes = _text_page(source), _PLAIN
        else:
            extraction = _tree_page(page, url, stage, limits, flattened=any("nesting" in note for note in notes))
    return replace(extraction, charset=encoding, hidden=extraction.hidden + controls, limits=notes + extraction.limits)


def _start_tags(source: str) -> int:
    """Return about how many elements a source has, at the speed of a count."""
    return source.count("<") - source.count("</") - source.count("<!")


def _lost(found: int, wanted: int) -> bool:
    """Return whether more is missing than two ways of counting differ by."""
    return found < wanted - max(20, wanted // 50)


def _tree_page(page: tree.PageTree, url: str, stage: Stage, bounds: Limits, *, flattened: bool) -> Extraction:
    notes = []
    depth = tree.flatten(page, bounds.max_depth + _DEPTH_OF_OUR_OWN)
    if depth:
        notes.append(limits.limit_note("nesting", bounds.max_depth, depth))
    resolve = urls.LinkResolver(urls.base_of(page.root, url))
    standardise(page)
    elements = tree.element_count(page.root)
    metadata = read_metadata(page, resolve, url, elements)
    leaves = collect(page)
    total = sum(len(leaf.words) for leaf in leaves.all)
    article, text = False, ""
    # What lay too deep stands in no structure by which an article could be told from the rest.
    if stage == "article" and not (flattened or depth):
        if elements > _MAX_ARTICLE_ELEMENTS or spanned_area(page.body) > _MAX_ARTICLE_AREA:
            raise TooLargeForArticle
        article, text = select(page, leaves, url)
    if not article:
        drop_chrome(leaves, page.body)
    kept = sum(len(leaf.words) for leaf in leaves.all if leaf.keep)
    if not article and len(words_of(text)) > kept:
        return Extraction(
            "html",
            _paragraphs(text),
            metadata.title,
            metadata.values,
            extractor="article",
            hidden=page.hidden,
            limits=tuple(notes),
        )
    live = prune(leaves)
    budget = CellBudget(bounds.max_cells)
    renderer = Renderer(page, live, resolve, budget, metadata.titles)
    markdown = renderer.render()
    if _WORD.search(markdown) is None:
        # The title may be all there is.
        renderer = Renderer(page, live, resolve, CellBudget(bounds.max_cells))
        markdown = renderer.render()
    if budget.wanted > budget.limit:
        notes.append(limits.limit_note("cells", budget.limit, budget.wanted))
    return Extraction(
        "html",
        markdown if _WORD.search(markdown) else "",
        title=metadata.title,
        metadata=metadata.values,
        links=tuple(renderer.links),
        tables=tuple(renderer.tables),
        extractor="article" if article else "page",
        kept_share=round(kept / total, 4) if total else 1.0,
        hidden=page.hidden + renderer.hidden,
        limits=tuple(notes),
    )


def _text_page(source: str) -> Extraction:
    notes = []
    # Each of these is looked at alone, so that there is a time which their number can take.
    pieces = source.split("<", _MAX_MARKS)
    if len(pieces) > _MAX_MARKS:
        notes.append(limits.limit_note("characters of source", len(source) - len(pieces[-1]), len(source)))
        source = source[: len(source) - len(pieces[-1]) - 1]
    del pieces
    text, hidden = sanitise.clean("\n".join(flat.paragraphs_of(source)))
    if sum(map(text.count, ":@._!")) > _MAX_MARKS and len(text) > _MAX_MARKED_TEXT:
        notes.append(limits.limit_note("characters", _MAX_MARKED_TEXT, len(text)))
        text = text[:_MAX_MARKED_TEXT]
    markdown = _paragraphs(text) if _WORD.search(text) else ""
    return Extraction("html", markdown, extractor="text", hidden=hidden, limits=tuple(notes))


def _paragraphs(text: str) -> str:
    """Return lines of text as paragraphs."""
    text = escape_block_start(escape_text(sanitise.clean(text)[0]))
    return "\n\n".join(line for line in map(str.strip, text.split("\n")) if line)


def warm_up() -> None:
    """Import every module, codec and word list that an extraction can need, so that no file is opened later."""
    for codec in CODECS.values():
        b"a".decode(codec, "replace")
    datetime.strptime("2024-02-29", "%Y-%m-%d").replace(tzinfo=timezone.utc)
    sentence = "Some words of a sentence, é. " * 40
    sample = (
        f"<html><body><article><h1>A title</h1><p>{sentence}<a href='//b\u00fccher.example'>x</a></p>"
        "<p>29 February 2024</p></article></body></html>"
    )
    # trafilatura's last resort reads jusText's lists of words on first use.
    justext_rescue(html.document_fromstring(sample), Extractor())
    for encoded in (sample.encode(), sample.encode("cp1252")):
        for stage in STAGES:
            extract_document(
                encoded, url="https://example.org/", content_type="text/html", stage=stage, limits=Limits()
            )
