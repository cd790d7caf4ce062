"""A tree as Markdown of our own dialect, inert under any renderer."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from itertools import pairwise

from lxml import etree

from jupyter_webresearch.extraction import inline
from jupyter_webresearch.extraction.escape import escape_block_start, escape_text, fence_for
from jupyter_webresearch.extraction.images import description, is_figure
from jupyter_webresearch.extraction.sanitise import clean, words_key
from jupyter_webresearch.extraction.tables import CELLS, ROW_GROUPS, CellBudget, grid_of, is_data_table, rows_of
from jupyter_webresearch.extraction.tex import cell_tex
from jupyter_webresearch.extraction.tree import BLOCK, HEADINGS, PageTree, element_text, tag_of
from jupyter_webresearch.extraction.urls import LinkResolver
from jupyter_webresearch.models import Link, Table
from jupyter_webresearch.plain import plain_inline

__all__ = ["Renderer"]

UNSEEN = frozenset({
    "script", "style", "template", "noscript", "head", "svg", "iframe", "object", "embed", "canvas", "select",
    "option", "input", "textarea", "audio", "video", "link", "meta", "datalist", "map", "param", "source",
    "track", "title", "math",
})  # fmt: skip
"""Elements without text for readers."""

_MAX_INDENT = 8  # lists and quotes nested deeper are written flat, or indentation would outgrow the text
_SPACE = re.compile(r"[^\S\n]*\n[^\S\n]*|[^\S\n]+")
_WHITE = re.compile(r"\s+")
_LIST_START = re.compile(r"(?:- |\d+\. )")
# For renderers without footnotes "[^1]: word" defines a link; a word more and it does not.
_DESTINATION = re.compile(r"\S+(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?")
_SPAN_COPIES = 1_000_000  # characters that spanned cells may repeat on one page


class Renderer:
    """Renders one page.

    Parameters
    ----------
    page
        The tree, standardised.
    live
        The elements in which there is something to show.
    resolve
        Makes links absolute.
    budget
        The cells that the page may fill.
    titles
        Forms of the page's title: a heading of the first level that repeats one is left out.

    Attributes
    ----------
    links, tables
        What was rendered, in order.
    """

    def __init__(
        self,
        page: PageTree,
        live: Container[etree._Element],
        resolve: LinkResolver,
        budget: CellBudget,
        titles: tuple[str, ...] = (),
    ) -> None:
        self.page = page
        self.live = live
        self.resolve = resolve
        self.budget = budget
        self.links: list[Link] = []
        self.tables: list[Table] = []
        self._titles = {words_key(title) for title in titles}
        self._mixed = _inline_with_blocks(page.body, live)
        self._unwritten = set(page.notes)
        self._indent = 0
        self._in_link = False
        self._in_table = False
        self._link: str | None = None  # of an <a> around blocks: the first text inside takes it
        self._notes: list[tuple[str, str]] = []
        self._copies = 0
        self._images: set[str] = set()
        self._hidden = 0

    def render(self) -> str:
        """Return the Markdown of the body."""
        blocks = self._blocks(self.page.body)
        for label, text in self._notes:
            blocks.append(f"[^{label}]: " + text.replace("\n", "\n    "))
        return "\n\n".join(blocks)

    @property
    def hidden(self) -> int:
        """Invisible characters that were removed from the text so far."""
        return self._hidden

    # Blocks

    def _blocks(self, element: etree._Element) -> list[str]:
        blocks: list[str] = []
        run: list[str] = []
        self._text(element.text, run)
        for child in element:
            if child in self.live:
                tag = tag_of(child)
                if tag in BLOCK or child in self._mixed:
                    self._flush(run, blocks)
                    blocks.extend(self._block(child, tag))
                else:
                    self._inline_element(child, tag, run)
            elif child.tag == "br":
                run.append("\n")
            elif child.tag in BLOCK:
                self._flush(run, blocks)
            if child.tail:
                self._text(child.tail, run)
        self._flush(run, blocks)
        return blocks

    def _flush(self, run: list[str], blocks: list[str]) -> None:
        if not run or (len(run) == 1 and run[0] == " "):
            run.clear()
            return
        text = "".join(run)
        run.clear()
        # Plain words, which most are, need none of it.
        parts = inline.split_display(inline.finish(text)) if inline.MARKED.search(text) else (text.strip(" "),)
        for part in parts:
            if part.startswith("$$"):
                blocks.append(part)
            elif part:
                if self._link and not self._in_link:
                    part = self._linked(part, self._link)
                    self._link = None
                blocks.append(escape_block_start(part).replace("\n", "  \n"))

    def _block(self, element: etree._Element, tag: str) -> list[str]:
        if element in self._unwritten:
            return self._note(element)
        if tag in HEADINGS:
            return self._heading(element, int(tag[1]))
        if tag == "pre":
            return self._code(element)
        if tag in ("ul", "ol", "menu", "dir"):
            return self._list(element, tag == "ol")
        if tag == "blockquote":
            return self._quote(element)
        if tag == "table" and is_data_table(element):
            return self._table(element)
        if tag == "dt":
            return [f"**{b}**" if "\n" not in b and "*" not in b else b for b in self._blocks(element)]
        if tag == "a":
            return self._linked_blocks(element)
        if tag == "hr":
            return []
        return self._blocks(element)

    def _linked_blocks(self, element: etree._Element) -> list[str]:
        outer, self._link = self._link, self.resolve(element.get("href"))
        blocks = self._blocks(element)
        self._link = outer
        return blocks

    def _heading(self, element: etree._Element, level: int) -> list[str]:
        text = self._line(element).strip("#").strip()
        text = re.sub(r"^\*\*([^*]+)\*\*$", r"\1", text)
        if not text or (level == 1 and self._repeats_title(element)):
            return []
        if self._link:
            text = self._linked(text, self._link)
            self._link = None
        return [f"{'#' * level} {text}"]

    def _repeats_title(self, element: etree._Element) -> bool:
        text = words_key(element_text(element))
        return any(text == title or (len(text) > 15 and title.startswith(text)) for title in self._titles)

    def _line(self, element: etree._Element) -> str:
        """Return everything inside an element as one line."""
        run: list[str] = []
        self._everything(element, run)
        text = "".join(run)
        if inline.MARKED.search(text) is None:
            return text.strip(" ")
        return _WHITE.sub(" ", inline.one_line_math(inline.finish(text))).strip()

    def _everything(self, element: etree._Element, run: list[str]) -> None:
        self._text(element.text, run)
        for child in element:
            if child in self.live:
                tag = tag_of(child)
                if tag in BLOCK:
                    run.append(" ")
                    self._everything(child, run)
                    run.append(" ")
                else:
                    self._inline_element(child, tag, run)
            elif child.tag == "br" or child.tag in BLOCK:
                run.append(" ")
            if child.tail:
                self._text(child.tail, run)

    def _code(self, element: etree._Element) -> list[str]:
        code, hidden = clean(element_text(element))
        self._hidden += hidden
        code = code.strip("\n").rstrip()
        if not code.strip():
            return []
        fence = fence_for(code)
        return [f"{fence}{self.page.languages.get(element, '')}\n{code}\n{fence}"]

    def _list(self, element: etree._Element, ordered: bool) -> list[str]:
        if self._indent >= _MAX_INDENT:
            return self._blocks(element)
        self._indent += 1
        items: list[str] = []
        start = (element.get("start") or "").strip()[:9]
        number = int(start) if start.isascii() and start.isdigit() else 1
        for blocks, tag in self._entries(element):
            if tag in ("ul", "ol") and items:
                items[-1] += "\n" + _indented("\n".join(blocks), 3 if ordered else 2)
                continue
            marker = f"{number}. " if ordered else "- "
            number += 1
            text = blocks[0]
            for previous, block in pairwise(blocks):
                tight = _LIST_START.match(block) and not _LIST_START.match(previous)
                text += ("\n" if tight else "\n\n") + block
            items.append(marker + _indented(text, len(marker)).lstrip(" "))
        self._indent -= 1
        return ["\n".join(items)] if items else []

    def _entries(self, element: etree._Element) -> Iterator[tuple[list[str], str]]:
        """Yield what each child of a list holds, with its tag; text that stands between items is one too."""
        for text, child in _parts(element):
            blocks: list[str] = []
            run: list[str] = []
            self._text(text, run)
            self._flush(run, blocks)
            if blocks:
                yield blocks, ""
            if child is not None and child in self.live:
                tag = tag_of(child)
                if tag in BLOCK or child in self._mixed:
                    blocks = self._block(child, tag)
                else:
                    self._inline_element(child, tag, run)
                    blocks = []
                    self._flush(run, blocks)
                if blocks:
                    yield blocks, tag

    def _quote(self, element: etree._Element) -> list[str]:
        if self._indent >= _MAX_INDENT:
            return self._blocks(element)
        self._indent += 1
        text = "\n\n".join(self._blocks(element))
        self._indent -= 1
        return ["\n".join(f"> {line}" if line else ">" for line in text.split("\n"))] if text else []

    def _note(self, element: etree._Element) -> list[str]:
        self._unwritten.discard(element)
        label = self.page.notes[element]
        text = re.sub(rf"^\W{{0,2}}{label}[\\\].):]*\s+", "", "\n\n".join(self._blocks(element)))
        first, end, rest = text.partition("\n")
        if _DESTINATION.fullmatch(first):
            text = f"{first} ↩{end}{rest}"
        if text:
            self._notes.append((label, text))
        return []

    # Tables

    def _strays(self, table: etree._Element) -> list[str]:
        """Return what stands in a table outside its cells, which readers see before it (HTML Standard, 13.2.6.1)."""
        blocks: list[str] = []
        run: list[str] = []
        caption = table.find("caption")
        for parent in (table, *(part for part in table if part.tag in ROW_GROUPS), *rows_of(table)):
            known = CELLS if parent.tag == "tr" else ("tr",) if parent is not table else ("tr", *ROW_GROUPS)
            for text, child in _parts(parent):
                self._text(text, run)
                if child is None or child not in self.live or child.tag in known or child is caption:
                    continue
                if child.tag in BLOCK or child in self._mixed:
                    self._flush(run, blocks)
                    blocks.extend(self._block(child, tag_of(child)))
                else:
                    self._inline_element(child, tag_of(child), run)
            self._flush(run, blocks)
        return blocks

    def _table(self, table: etree._Element) -> list[str]:
        strays = self._strays(table)
        grid = grid_of(table, self.budget)
        self._in_table = True
        texts: dict[etree._Element, str] = {}
        rows: list[list[str]] = []
        for line in grid:
            row: list[str] = []
            if len(set(line)) == 1:
                line = [line[0], *[None] * (len(line) - 1)]
            for cell in line:
                if cell is None:
                    row.append("")
                elif cell not in texts:
                    texts[cell] = self._line(cell)
                    row.append(texts[cell])
                else:
                    self._copies += len(texts[cell])
                    row.append(texts[cell] if self._copies <= _SPAN_COPIES else "")
            if any(row):
                rows.append(row)
        self._in_table = False
        if not rows:
            return strays
        caption_element = table.find("caption")
        caption = self._line(caption_element) if caption_element is not None else ""
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|" + " --- |" * len(rows[0]))
        plain = [tuple(map(plain_inline, row)) for row in rows]
        self.tables.append(Table(plain[0], tuple(plain[1:]), plain_inline(caption)))
        return [*strays, *([escape_block_start(caption)] if caption else []), "\n".join(lines)]

    # Inline

    def _text(self, text: str | None, run: list[str]) -> None:
        if not text:
            return
        if text.isspace():
            run.append(" ")
            return
        text, hidden = clean(text)
        self._hidden += hidden
        run.append(escape_text(_WHITE.sub(" ", text)))

    def _inline_element(self, element: etree._Element, tag: str, run: list[str]) -> None:
        formula = self.page.formulas.get(element)
        if formula:
            run.append(cell_tex(inline.formula(formula)) if self._in_table else inline.formula(formula))
        elif element in self.page.note_marks:
            self._note_mark(element, run)
        elif tag == "br":
            run.append("\n")
        elif tag == "img":
            self._image(element, run)
        elif tag in inline.CODE:
            code, hidden = clean(element_text(element))
            self._hidden += hidden
            code = _WHITE.sub(" ", code).strip()
            run.append(escape_text(code) if self._in_table and "|" in code else inline.code(code))
        elif tag == "a":
            self._anchor(element, run)
        elif tag in inline.STYLES:
            opening, closing = inline.STYLES[tag]
            run.append(opening)
            self._everything(element, run)
            run.append(closing)
        else:
            self._everything(element, run)

    def _note_mark(self, element: etree._Element, run: list[str]) -> None:
        label = self.page.notes[self.page.note_marks[element]]
        run.append(label if self._in_link or self._link else inline.note_mark(label))

    def _anchor(self, element: etree._Element, run: list[str]) -> None:
        url = None if self._in_link or self._link else self.resolve(element.get("href"))
        if url is None:
            self._everything(element, run)
            return
        inner: list[str] = []
        self._in_link = True
        self._everything(element, inner)
        self._in_link = False
        raw = "".join(inner)
        text = inline.finish(raw)
        if not text:
            run.append(" ")
            return
        run.append(" " if raw[0] in " \n" else "")
        run.append(self._linked(text, url))
        run.append(" " if raw[-1] in " \n" else "")

    def _linked(self, text: str, url: str) -> str:
        text = _WHITE.sub(" ", inline.one_line_math(text)).strip()
        self.links.append(Link(plain_inline(text), url))
        # Some parsers unescape the text of a link and read it again.
        text = text.replace("\\[", "&#91;").replace("\\]", "&#93;")
        return f"[{text}]({url})"

    def _image(self, element: etree._Element, run: list[str]) -> None:
        """Write an image as a link, once; one without a description only where it is a figure of the text."""
        url = self.resolve(element.get("src"))
        if url is None or url.startswith("mailto:") or url in self._images:
            return
        alt = description(element, self._titles)
        if not alt and (self._in_link or not is_figure(element)):
            return
        self._images.add(url)
        text = "image: " + escape_text(alt) if alt else "image"
        run.append(text if self._in_link or self._link else f"[{text}]({url})")


def _parts(element: etree._Element) -> Iterator[tuple[str | None, etree._Element | None]]:
    """Yield each text directly inside an element with the child that follows it."""
    text = element.text
    for child in element:
        yield text, child
        text = child.tail
    yield text, None


def _indented(text: str, width: int) -> str:
    pad = " " * width
    return "\n".join(pad + line if line else line for line in text.split("\n"))


def _inline_with_blocks(body: etree._Element, live: Container[etree._Element]) -> set[etree._Element]:
    """Return the inline elements that hold a block with something to show."""
    found: set[etree._Element] = set()
    for element in body.iter(*BLOCK):
        if element in live:
            parent = element.getparent()
            while parent is not None and parent.tag not in BLOCK and parent not in found:
                found.add(parent)
                parent = parent.getparent()
    return found
