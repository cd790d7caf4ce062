"""Images: the address that a lazy loader or ``srcset`` names, and what a page says is to be seen."""

from __future__ import annotations

import re

from lxml import etree

from jupyter_webresearch.extraction.sanitise import one_line, words_key
from jupyter_webresearch.extraction.tree import element_text, finder, remove

__all__ = ["description", "is_figure", "largest_of", "resolve_lazy", "unwrap_noscript"]

_PLACEHOLDER = re.compile(
    r"^data:|(?:placeholder|blank|spacer|lazy|loading|1x1|transparent)[^/]*\.(?:gif|png|svg|jpe?g)"
)
_LAZY = (
    "data-src",
    "data-lazy-src",
    "data-original",
    "data-actualsrc",
    "data-orig-file",
    "data-hi-res-src",
    "data-url",
)
_LAZY_SETS = ("data-srcset", "data-lazy-srcset", "srcset")
_FILE_NAME = re.compile(r"(?i)\S+\.(?:jpe?g|png|gif|webp|avif|svg)|(?:img|dsc|image|photo|screenshot)[\W_]*\d*")
_CAPTIONED = frozenset({"figure", "a", "li", "td"})
_LONGEST_DESCRIPTION = 200
_NOSCRIPT_IMAGES = finder("//noscript[.//img]")


def unwrap_noscript(root: etree._Element) -> None:
    """Make ordinary elements of ``noscript`` elements that hold an image."""
    for element in _NOSCRIPT_IMAGES(root):
        previous = element.getprevious()
        if previous is not None and previous.tag == "img" and not element.text and not previous.tail:
            remove(previous)
        element.tag = "span"


def resolve_lazy(root: etree._Element) -> None:
    """Give every image the address that a reader would have seen, and drop tracking pixels."""
    for image in list(root.iter("img")):
        if image.get("width") in ("0", "1") or image.get("height") in ("0", "1"):
            image.set("src", "")
            continue
        source = (image.get("src") or "").strip()
        if source and not _PLACEHOLDER.search(source[:500].lower()):
            continue
        image.set("src", _lazy_source(image) or (source if not source.startswith("data:") else ""))


def _lazy_source(image: etree._Element) -> str:
    for name in _LAZY:
        value = (image.get(name) or "").strip()
        if value and not value.startswith(("data:", "{", "[")):
            return value
    for name in _LAZY_SETS:
        value = largest_of(image.get(name) or "")
        if value:
            return value
    parent = image.getparent()
    if parent is not None and parent.tag == "picture":
        for source in parent.iterchildren("source"):
            value = largest_of(source.get("srcset") or source.get("data-srcset") or "")
            if value:
                return value
    return ""


def largest_of(srcset: str) -> str:
    """Return the address of the largest candidate of a ``srcset``, or an empty string."""
    best, best_size = "", -1.0
    for candidate in re.split(r",\s+|,$", srcset[:20_000].strip()):
        address, _, descriptor = candidate.strip().partition(" ")
        if not address or address.startswith("data:"):
            continue
        try:
            size = float(descriptor.strip()[:-1] or 1)
        except ValueError:
            size = 0.0
        if size > best_size:
            best, best_size = address, size
    return best


def description(image: etree._Element, titles: set[str]) -> str:
    """Return what the page says is on an image, unless it is a file name, a title, or said around the image anyway.

    Parameters
    ----------
    image
        An ``img``.
    titles
        Keys (:func:`~jupyter_webresearch.extraction.sanitise.words_key`) of the page's title.
    """
    text = one_line(image.get("alt") or "", _LONGEST_DESCRIPTION)
    key = words_key(text)
    if not key or key in titles or _FILE_NAME.fullmatch(text):
        return ""
    around = next((node for node in image.iterancestors() if node.tag in _CAPTIONED), None)
    if around is not None and f" {key} " in f" {words_key(element_text(around)[:2000])} ":
        return ""
    return text


def is_figure(image: etree._Element) -> bool:
    """Return whether an image is a figure of the text."""
    return any(node.tag == "figure" for node in image.iterancestors())
