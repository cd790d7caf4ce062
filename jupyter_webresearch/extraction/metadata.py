"""What a page says about itself: title, site, author, dates; each value one clean line.

Open Graph and ``<meta>``, JSON-LD and the visible page are read in that order of trust. The date falls back on
htmldate, within bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from htmldate import find_date
from lxml import etree

from jupyter_webresearch.extraction.linked_data import Article, article_of
from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.extraction.tree import PageTree, element_text, finder
from jupyter_webresearch.extraction.urls import LinkResolver

__all__ = ["Metadata", "read_metadata"]

_META = finder("//meta[@content and (@name or @property or @itemprop or @http-equiv)]")
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8}){0,3}")
_DAY = re.compile(r"((?:19|20)\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?!\d)")
_SEPARATOR = re.compile(r"\s+[|\-–—·•:»/]+\s+|\s*[|»]\s*")
_AUTHORS = finder(
    "//*[@rel='author' or @itemprop='author' or contains(@class,'author-name') or contains(@class,'author_name') or "
    "contains(@class,'byline-name') or @class='author' or @class='byline']|//a[contains(@href,'/author/')]"
)
_TIMES = finder("//time[@datetime]|//*[@itemprop='datePublished' and (@content or @datetime)]")
_BY = re.compile(r"^\s*(?:by|von|par|por|di|door|от|автор)[\s:]+", re.IGNORECASE)
_NOT_A_NAME = re.compile(
    r"https?:|www\.|@|\d{4}|[{}<>|]|^(?:admin|staff|editor|guest|unknown|none|null|user)$", re.IGNORECASE
)
_MAX_DATE_TREE = 30_000  # elements beyond which the visible text is not searched for a date

_TITLES = ("og:title", "twitter:title", "dc.title", "citation_title", "headline")
_SITES = ("og:site_name", "application-name", "citation_journal_title", "publisher")
_AUTHOR_NAMES = ("author", "article:author", "citation_author", "dc.creator", "parsely-author", "sailthru.author",
                 "byl", "twitter:data1")  # fmt: skip
_PUBLISHED = (
    "article:published_time", "og:published_time", "datepublished", "citation_publication_date", "citation_date",
    "date", "dc.date", "dc.date.issued", "dcterms.created", "parsely-pub-date", "sailthru.date", "pubdate",
    "publish-date", "publishdate", "publication_date", "published_time", "article.published", "displaydate",
)  # fmt: skip
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified")
_DESCRIPTIONS = ("og:description", "description", "twitter:description", "dc.description")


class Metadata:
    """What was read.

    Attributes
    ----------
    title
        The page's title, or an empty string.
    titles
        Every form of it, for telling whether a heading repeats it.
    values
        ``site``, ``author``, ``published``, ``modified``, ``description``, ``language``, ``canonical``, where known.
    """

    def __init__(self, title: str, titles: tuple[str, ...], values: dict[str, str]) -> None:
        self.title = title
        self.titles = titles
        self.values = values


def read_metadata(page: PageTree, resolve: LinkResolver, url: str, elements: int) -> Metadata:
    """Read the metadata of a page; ``elements`` is the size of its tree.

    Parameters
    ----------
    page
        The tree.
    resolve
        Makes links absolute.
    url
        The page's own.
    elements
        Size of the tree; beyond 30,000 the visible text is not searched for a date.
    """
    meta = _meta(page.root)
    article = article_of(page.root)
    document_title = _first_text(page.root, "title")
    heading = _only_heading(page.body)
    titles = tuple(filter(None, (_first(meta, _TITLES), article.headline, heading, document_title)))
    site = _first(meta, _SITES) or article.publisher
    title = _first(meta, _TITLES) or article.headline or document_title or heading
    values = {
        "site": site,
        "author": _author(page, meta, article),
        "published": _published(page, meta, article, url, elements),
        "modified": _day(_first(meta, _MODIFIED)) or _day(article.modified),
        "description": _first(meta, _DESCRIPTIONS),
        "language": _language(page.root, meta),
        "canonical": _canonical(page.root, resolve),
    }
    clean = {name: one_line(value) for name, value in values.items() if value}
    return Metadata(
        one_line(_without_site(one_line(title), site, heading), 300),
        titles,
        {name: value for name, value in clean.items() if value},
    )


def _meta(root: etree._Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in _META(root):
        name = element.get("property") or element.get("name") or element.get("itemprop") or element.get("http-equiv")
        content = (element.get("content") or "").strip()
        if name and content:
            found.setdefault(name.strip().lower(), content)
    return found


def _first(meta: dict[str, str], names: tuple[str, ...]) -> str:
    return next((meta[name] for name in names if name in meta), "")


def _first_text(root: etree._Element, tag: str) -> str:
    element = next(root.iter(tag), None)
    return one_line(element_text(element)) if element is not None else ""


def _only_heading(body: etree._Element) -> str:
    """Return the text of the page's first level-one heading that has any."""
    for element in body.iter("h1"):
        text = one_line(element_text(element))
        if text:
            return text
    return ""


def _without_site(title: str, site: str, heading: str) -> str:
    """Return a document title without the site's name, which pages put at its end or beginning."""
    parts = [part for part in _SEPARATOR.split(title) if part]
    if len(parts) < 2:
        return title
    for part in parts:
        if heading and _same(part, heading):
            return part
    if site and _same(parts[-1], site):
        return title[: title.rindex(parts[-1])].rstrip(" |-–—·•:»/")
    if site and _same(parts[0], site):
        return title[title.index(parts[0]) + len(parts[0]) :].lstrip(" |-–—·•:»/")
    return title


def _same(one: str, other: str) -> bool:
    return re.sub(r"\W+", "", one).lower() == re.sub(r"\W+", "", other).lower()


def _author(page: PageTree, meta: dict[str, str], article: Article) -> str:
    for value in (*(meta.get(name, "") for name in _AUTHOR_NAMES[:1]), article.author, _first(meta, _AUTHOR_NAMES[1:])):
        if _is_name(value):
            return value
    for element in _AUTHORS(page.body)[:20]:
        value = _BY.sub("", one_line(element_text(element)))
        if _is_name(value):
            return value
    return ""


def _is_name(value: str) -> bool:
    return 2 < len(value) < 100 and len(value.split()) <= 12 and _NOT_A_NAME.search(value) is None


def _published(page: PageTree, meta: dict[str, str], article: Article, url: str, elements: int) -> str:
    for value in _dates(page, meta, article):
        day = _day(value)
        if day:
            return day
    if elements > _MAX_DATE_TREE:
        return ""
    try:
        return find_date(page.root, url=url, extensive_search=False, original_date=True) or ""
    except (ValueError, TypeError, AttributeError, OverflowError):
        return ""


def _dates(page: PageTree, meta: dict[str, str], article: Article) -> Iterator[str]:
    yield article.published
    for name in _PUBLISHED:
        yield meta.get(name, "")
    for element in _TIMES(page.body)[:3]:
        yield element.get("content") or element.get("datetime") or ""


def _day(value: str) -> str:
    """Return the ISO day that a date and time begins with, or an empty string."""
    match = _DAY.search(value[:40])
    if match is None:
        return ""
    try:
        return date(*map(int, match.groups())).isoformat()
    except ValueError:
        return ""


def _language(root: etree._Element, meta: dict[str, str]) -> str:
    for value in (root.get("lang"), root.get("xml:lang"), meta.get("content-language"), meta.get("og:locale")):
        match = _LANGUAGE.fullmatch((value or "").strip())
        if match:
            return match.group().replace("_", "-")
    return ""


def _canonical(root: etree._Element, resolve: LinkResolver) -> str:
    for element in root.iter("link"):
        if "canonical" in (element.get("rel") or "").lower().split():
            return resolve.absolute(element.get("href") or "") or ""
    return ""
