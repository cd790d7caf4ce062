"""The article that a page's JSON-LD describes (schema.org), within bounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from lxml import etree

from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.extraction.tree import element_text, finder

__all__ = ["Article", "article_of"]

_SCRIPTS = finder("//script[@type='application/ld+json']")
_MAX_SCRIPTS = 10
_MAX_SIZE = 256 * 1024
_MAX_NODES = 2000


@dataclass(frozen=True)
class Article:
    """What JSON-LD says of the page's main article; empty strings where it says nothing."""

    headline: str = ""
    author: str = ""
    publisher: str = ""
    published: str = ""
    modified: str = ""


def article_of(root: etree._Element) -> Article:
    """Return the first article (or the first thing with a headline) that the page's JSON-LD describes."""
    best = Article()
    for script in _SCRIPTS(root)[:_MAX_SCRIPTS]:
        text = element_text(script)
        if len(text) > _MAX_SIZE:
            continue
        try:
            data = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        for node in _nodes(data):
            if _is_article(node):
                return _article(node)
            if not best.headline and ("headline" in node or "datePublished" in node):
                best = _article(node)
    return best


def _nodes(data: Any) -> list[dict[str, Any]]:
    """Return the objects inside, breadth first."""
    queue: list[Any] = [data]
    found: list[dict[str, Any]] = []
    for seen, value in enumerate(queue):
        if seen > _MAX_NODES:
            break
        if isinstance(value, dict):
            found.append(value)
            queue.extend(v for v in value.values() if isinstance(v, (dict, list)))
        elif isinstance(value, list):
            queue.extend(v for v in value if isinstance(v, (dict, list)))
    return found


def _is_article(node: dict[str, Any]) -> bool:
    kinds = node.get("@type")
    names = kinds if isinstance(kinds, list) else [kinds]
    return any(isinstance(name, str) and name.endswith(("Article", "Posting", "Report")) for name in names)


def _article(node: dict[str, Any]) -> Article:
    return Article(
        _text(node.get("headline")) or _text(node.get("name")),
        _names(node.get("author")) or _names(node.get("creator")),
        _names(node.get("publisher")),
        _text(node.get("datePublished")) or _text(node.get("dateCreated")),
        _text(node.get("dateModified")),
    )


def _text(value: Any) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _names(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    names = [_text(v.get("name") if isinstance(v, dict) else v) for v in values[:8]]
    return ", ".join(dict.fromkeys(name for name in names if name and not name.startswith("http")))
