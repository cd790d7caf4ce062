"""What scholarly services have in common: identifiers, dates in parts, names, and marks of retraction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from jupyter_webresearch.search.rows import listed, text

__all__ = ["date_in_parts", "details", "doi", "doi_url", "says_retracted", "url_for"]

_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.[0-9]{4,9}/\S{1,300})", re.IGNORECASE)
# "RETRACTED: ...", "[Retracted article] ...", "WITHDRAWN: ..."; a notice begins with "Retraction".
_RETRACTED = re.compile(
    r"[\[(]?(?:retracted|withdrawn|removed)(?: (?:article|chapter|paper))?(?:[\])]|:|\s*[-–—])", re.IGNORECASE
)


def doi(value: Any) -> str:
    """Return a DOI in lower case, as DOIs are compared, without what stands before ``10.``; else an empty string."""
    match = _DOI.fullmatch(text(value, 350))
    return match[1].lower() if match else ""


def doi_url(name: str) -> str:
    """Return the URL of a DOI, or an empty string for none; old ones hold ``<`` and ``#``."""
    return "https://doi.org/" + quote(name, safe="/:;()._-") if name else ""


def url_for(site: str, *urls: str) -> str:
    """Return the first URL that is of a site, or else the first one.

    Parameters
    ----------
    site
        Canonical host, or an empty string.
    *urls
        As :func:`~jupyter_webresearch.search.rows.link` gives them, the best first; empty ones are passed over.
    """
    known = [url for url in urls if url]
    return next((url for url in known if site and _is_of(url, site)), known[0] if known else "")


def _is_of(url: str, site: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == site or host.endswith("." + site)


def date_in_parts(value: Any) -> str:
    """Return a date that came as ``[2024, 5, 1]``, ``[2024, 5]`` or ``[2024]``, as precise as it is.

    ``[null]``, which stands for no date, gives an empty string.
    """
    parts: list[str] = []
    for part, lowest, highest, width in zip(listed(value), (1000, 1, 1), (9999, 12, 31), (4, 2, 2), strict=False):
        if isinstance(part, bool) or not isinstance(part, int) or not lowest <= part <= highest:
            break
        parts.append(f"{part:0{width}}")
    return "-".join(parts)


def details(**values: Any) -> Mapping[str, str]:
    """Return the texts and numbers among some values, by name.

    Parameters
    ----------
    **values
        As a service sent them.
    """
    return {name: said for name, value in values.items() if (said := text(value))}


def says_retracted(title: str) -> bool:
    """Whether a title is marked as that of a work which was retracted, withdrawn or removed."""
    return _RETRACTED.match(title) is not None
