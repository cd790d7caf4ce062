"""Links of a page as absolute URLs."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit, urlunsplit

import idna
from lxml import etree

from jupyter_webresearch.extraction.escape import link_destination

__all__ = ["LinkResolver", "base_of"]

# The URL Standard strips C0 controls and spaces at the ends, and deletes tabs and newlines inside.
_EDGES = "".join(map(chr, range(0x21)))
_INSIDE = re.compile(r"[\t\n\r]")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_NO_HOST = re.compile(r"(?:https?:)?//(?:[/?#]|$)", re.IGNORECASE)
_MAX_URL = 4096


def base_of(root: etree._Element, url: str) -> str:
    """Return the base of relative links: ``<base href>`` when it is http(s), else the page's URL.

    Parameters
    ----------
    root
        The document's root element.
    url
        The page's own, absolute.
    """
    for element in root.iter("base"):
        href = element.get("href")
        if href is not None:
            return LinkResolver(url).absolute(href) or url
    return url


class LinkResolver:
    """Resolves what a page wrote in ``href`` and ``src``.

    Parameters
    ----------
    base
        Absolute http(s) URL that relative links start from.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._page = base.partition("#")[0]
        self._known: dict[str, str | None] = {}

    def __call__(self, href: str | None) -> str | None:
        """Return an absolute http, https or mailto URL, safe in Markdown; None for any other, and for this page."""
        if not href or len(href) > _MAX_URL:
            return None
        if href not in self._known:
            self._known[href] = self._resolve(href)
        return self._known[href]

    def _resolve(self, href: str) -> str | None:
        href = _INSIDE.sub("", href.strip(_EDGES))
        if not href or href.startswith("#"):
            return None
        if href[:7].lower() == "mailto:":
            return link_destination("mailto:" + href[7:])
        url = self.absolute(href)
        if url is None or (url.partition("#")[0] == self._page and "#" in url):
            return None
        return link_destination(url)

    def absolute(self, href: str) -> str | None:
        """Return the absolute http(s) URL, or None."""
        href = _INSIDE.sub("", href.strip(_EDGES))
        scheme = _SCHEME.match(href)
        if scheme and scheme.group(1).lower() not in ("http", "https"):
            return None
        query = href.find("?")
        path = href if query < 0 else href[:query]
        href = path.replace("\\", "/") + href[len(path) :]
        if _NO_HOST.match(href):
            return None
        try:
            url = urljoin(self._base, href)
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
                return None
            if not parts.hostname.isascii():
                host = idna.encode(parts.hostname, uts46=True).decode("ascii")
                port = f":{parts.port}" if parts.port else ""
                url = urlunsplit(parts._replace(netloc=host + port))
        except ValueError:
            return None
        return url
