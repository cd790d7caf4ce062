"""Repair of a selection: what belongs to the chosen text although its words alone did not say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lxml import etree

from jupyter_webresearch.extraction.leaves import Leaf, Leaves
from jupyter_webresearch.extraction.tables import is_data_table
from jupyter_webresearch.extraction.tree import HEADINGS, PageTree

__all__ = ["repair"]

_CHROME_TAGS = frozenset({"nav", "footer", "aside"})
_CHROME_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|menu|sidebar|related|share|sharing|social|newsletter|promo|advert|ads?|cookie|breadcrumbs?"
    r"|comments?|toc|pagination|pager|subscribe|recommend\w*|byline|outbrain|taboola)(?=$|[\s_-])",
    re.IGNORECASE,
)
_DECORATION = re.compile(r"avatar|icon|logo|emoji|pixel|spacer|sprite|badge|gravatar", re.IGNORECASE)
_TEXT_BLOCKS = frozenset({"p", "blockquote", "dd", "div", "dt", "figcaption", "li", "section"})
_INNER = frozenset({"p", "li", "td", "th", "tr", "tbody", "thead", "ul", "ol", "pre", "table", "dl", "dd", "dt"})
_CONTAINER_SHARE = 0.8
_MAX_LEAVES_FOR_CARDS = 20_000
_CARD_DEPTH = 8  # levels above a leaf that may be the box of an entry
_TWIN_WORDS = 10
_CARDS_CHOSEN = 0.3


def repair(page: PageTree, leaves: Leaves) -> None:
    """Mark further leaves with ``keep``; only inside the element that holds most of the chosen text.

    Parameters
    ----------
    page
        The tree.
    leaves
        Of that tree, the chosen ones marked.
    """
    _Repair(page, leaves).run()


class _Repair:
    def __init__(self, page: PageTree, leaves: Leaves) -> None:
        self.page = page
        self.leaves = leaves
        self.all = leaves.all
        self.container = _container(page.body, self.all)
        self.inside = leaves.range_of(self.container)
        kept = [i for i in self.inside if self.all[i].keep] or list(self.inside)
        self.first, self.last = kept[0], kept[-1]
        self.chrome: dict[etree._Element, bool] = {}

    def run(self) -> None:
        self._twins()
        self._tables()
        self._code()
        self._lists()
        self._siblings()
        self._between()
        self._repeats()
        self._headings()
        self._notes()
        self._images()

    def _is_chrome(self, element: etree._Element) -> bool:
        """Return whether an element lies in furniture of the page, below the container."""
        way = []
        node: etree._Element | None = element
        verdict = False
        while node is not None and node is not self.container:
            if node in self.chrome:
                verdict = self.chrome[node]
                break
            way.append(node)
            if node.tag in _CHROME_TAGS or _CHROME_NAMES.search(_names(node)):
                verdict = True
                break
            node = node.getparent()
        for node in way:
            self.chrome[node] = verdict
        return verdict

    def _repeats(self) -> None:
        """Keep what says the same as a chosen brother: a refrain, a line of a log. trafilatura tells it once."""
        chosen = {_saying(self.all[i]) for i in self.inside if self.all[i].keep}
        for i in self.inside:
            leaf = self.all[i]
            if leaf.words and not leaf.keep and _saying(leaf) in chosen:
                leaf.keep = True

    def _twins(self) -> None:
        """Keep the text of boxes built like the container: the other posts of a thread, the next part of an article."""
        container = self.container
        if not container.get("class") or len(self.all) > _MAX_LEAVES_FOR_CARDS:
            return
        path = _path(container)
        for twin, span in self.leaves.within.items():
            if twin.tag != container.tag or twin is container or _path(twin) != path or twin in _up(container):
                continue
            leaves = self.all[span.start : span.stop]
            words = sum(len(leaf.words) for leaf in leaves)
            if words < _TWIN_WORDS or sum(leaf.linked for leaf in leaves) > 0.5 * words or self._is_chrome(twin):
                continue
            for leaf in leaves:
                leaf.keep = leaf.keep or (bool(leaf.words) and not leaf.only_links)

    def _tables(self) -> None:
        """Keep data tables whole: of which some was chosen, between chosen text, or in the main part of the page."""
        main = self._main()
        for table, span in self.leaves.within.items():
            if table.tag != "table" or not span or not is_data_table(table) or self._is_chrome(table):
                continue
            leaves = self.all[span.start : span.stop]
            words = sum(len(leaf.words) for leaf in leaves)
            linked = sum(leaf.linked for leaf in leaves)
            kept = sum(leaf.keep for leaf in leaves)
            inside = self.inside.start <= span.start and span.stop <= self.inside.stop
            between = inside and self.first <= span.start <= self.last
            near = main.start <= span.start < main.stop and words >= 20 and linked < 0.2 * words
            if kept >= 0.3 * len(leaves) or near or between or (kept and linked < 0.6 * words):
                for leaf in leaves:
                    leaf.keep = True

    def _main(self) -> range:
        """Return the leaves of the outermost ``main`` or ``article`` around the container."""
        found = [node for node in _up(self.container) if node.tag in ("main", "article") or node.get("role") == "main"]
        return self.leaves.range_of(found[-1]) if found else self.inside

    def _code(self) -> None:
        for i in self.inside:
            leaf = self.all[i]
            near = self.first - 3 <= i <= self.last + 3
            if not leaf.keep and near and leaf.block.tag == "pre" and not self._is_chrome(leaf.block):
                leaf.keep = True

    def _lists(self) -> None:
        """Keep the items of a list of which half was chosen."""
        for element, span in self._ranges("ul", "ol", "dl"):
            items = [leaf for leaf in self.all[span.start : span.stop] if leaf.words and _is_item(leaf.block, element)]
            if len(items) < 2 or sum(leaf.keep for leaf in items) < 0.5 * len(items):
                continue
            links = all(leaf.only_links for leaf in items)
            for leaf in items:
                if links or not leaf.only_links:
                    leaf.keep = True

    def _siblings(self) -> None:
        """Keep what is built like chosen text in boxes beside chosen boxes: the other entries of a list of cards."""
        if len(self.inside) > _MAX_LEAVES_FOR_CARDS:
            return
        groups: dict[tuple[etree._Element | None, object, str], dict[etree._Element, list[Leaf]]] = {}
        for i in self.inside:
            leaf = self.all[i]
            if not leaf.words:
                continue
            for node, _ in zip(_up(leaf.block), range(_CARD_DEPTH), strict=False):
                if node is self.container:
                    break
                key = (node.getparent(), node.tag, node.get("class") or "")
                groups.setdefault(key, {}).setdefault(node, []).append(leaf)
        for boxes in groups.values():
            chosen = [leaves for leaves in boxes.values() if any(leaf.keep for leaf in leaves)]
            if len(boxes) < 3 or len(chosen) < _CARDS_CHOSEN * len(boxes):
                continue
            shapes = {_shape(leaf) for leaves in chosen for leaf in leaves if leaf.keep}
            for box, leaves in boxes.items():
                for leaf in leaves:
                    if not leaf.keep and _shape(leaf) in shapes and not self._is_chrome(box):
                        leaf.keep = True

    def _between(self) -> None:
        """Keep paragraphs between two chosen ones, and formulas beside chosen text."""
        kept = {leaf.block for leaf in self.all if leaf.keep}
        for i in range(self.first + 1, self.last):
            leaf = self.all[i]
            if leaf.keep or i not in self.inside or not (leaf.texts or leaf.tails):
                continue
            if any(element in self.page.formulas for element in leaf.texts):
                leaf.keep = self.all[i - 1].keep or self.all[i + 1].keep
            elif (
                leaf.block.tag in _TEXT_BLOCKS
                and leaf.linked <= 0.5 * len(leaf.words)
                and (len(leaf.words) >= 4 or (not leaf.words and leaf.block.tag == "p"))
            ):
                before = _any_in(kept, leaf.block.itersiblings(preceding=True))
                after = _any_in(kept, leaf.block.itersiblings())
                leaf.keep = before and after and not self._is_chrome(leaf.block)

    def _headings(self) -> None:
        """Keep headings whose section has chosen text."""
        for i, leaf in enumerate(self.all):
            heading = None if leaf.keep or not leaf.words else _heading_of(leaf.block)
            if heading is None or (leaf.only_links and len(leaf.words) > 12):
                continue
            if i not in self.inside and not (i < self.first and heading.tag == "h1"):
                continue
            if self._section_kept(i, heading) and not self._is_chrome(heading):
                leaf.keep = True

    def _section_kept(self, i: int, heading: etree._Element) -> bool:
        for leaf in self.all[i + 1 : i + 6]:
            if leaf.keep:
                return True
            other = _heading_of(leaf.block)
            if other is not None and other is not heading and str(other.tag) <= str(heading.tag) and leaf.words:
                return False
        return False

    def _notes(self) -> None:
        marks = self.page.note_marks
        if not marks:
            return
        wanted = {marks[e] for leaf in self.all if leaf.keep for e in _marked(leaf, marks)}
        for leaf in self.all:
            if not leaf.keep and any(node in wanted for node in _up(leaf.block)):
                leaf.keep = True

    def _images(self) -> None:
        """Keep pictures that stand between chosen text and are not decoration."""
        for i in range(max(0, self.first - 2), min(len(self.all), self.last + 2)):
            leaf = self.all[i]
            if leaf.keep or not leaf.images or leaf.words or i not in self.inside:
                continue
            leaf.keep = not _is_decoration(leaf.images[0]) and not self._is_chrome(leaf.images[0])

    def _ranges(self, *tags: str) -> Iterator[tuple[etree._Element, range]]:
        for element, span in self.leaves.within.items():
            if element.tag in tags and span and self.inside.start <= span.start and span.stop <= self.inside.stop:
                yield element, span


def _container(body: etree._Element, leaves: Sequence[Leaf]) -> etree._Element:
    """Return the deepest element that holds most of the chosen words."""
    weights: dict[etree._Element, int] = {}
    total = 0
    for leaf in leaves:
        if leaf.keep:
            total += len(leaf.words)
            for node in _up(leaf.block):
                weights[node] = weights.get(node, 0) + len(leaf.words)
    container = body
    while True:
        inner = next((c for c in container if weights.get(c, 0) >= _CONTAINER_SHARE * total), None)
        if inner is None:
            break
        container = inner
    while container.tag in _INNER and container is not body:
        parent = container.getparent()
        if parent is None:
            break
        container = parent
    return container


def _up(element: etree._Element) -> Iterator[etree._Element]:
    yield element
    yield from element.iterancestors()


def _saying(leaf: Leaf) -> tuple[object, object, str]:
    return leaf.block.getparent(), leaf.block.tag, " ".join(leaf.words)


def _shape(leaf: Leaf) -> tuple[object, str, bool]:
    return leaf.block.tag, leaf.block.get("class") or "", leaf.only_links


def _path(element: etree._Element) -> tuple[tuple[object, str], ...]:
    """Return tag and class of an element and of what is around it."""
    return tuple((node.tag, node.get("class") or "") for node, _ in zip(_up(element), range(3), strict=False))


def _names(element: etree._Element) -> str:
    return f"{element.get('class') or ''} {element.get('id') or ''}"


def _is_item(block: etree._Element, element: etree._Element) -> bool:
    parent = block.getparent()
    return parent is element or (parent is not None and parent.getparent() is element)


def _any_in(kept: set[etree._Element], siblings: Iterator[etree._Element]) -> bool:
    return any(sibling in kept for sibling, _ in zip(siblings, range(2), strict=False))


def _heading_of(element: etree._Element) -> etree._Element | None:
    return next((node for node in _up(element) if node.tag in HEADINGS), None)


def _marked(leaf: Leaf, marks: dict[etree._Element, etree._Element]) -> Iterator[etree._Element]:
    """Yield the note marks in a leaf: its own elements, or what is one level around them."""
    for element in leaf.texts:
        if element in marks:
            yield element
        parent = element.getparent()
        if parent is not None and parent in marks:
            yield parent


def _is_decoration(image: etree._Element) -> bool:
    for name, least in (("width", 60), ("height", 40)):
        digits = re.match(r"\d{1,6}", image.get(name) or "")
        if digits and int(digits.group()) < least:
            return True
    return _DECORATION.search(f"{_names(image)} {(image.get('src') or '')[:200]}") is not None
