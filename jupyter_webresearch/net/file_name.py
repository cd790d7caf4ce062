"""The file name that a site gives a body: to offer, not yet to trust."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, unquote_to_bytes, urlsplit

__all__ = ["offered_name"]

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 - a token of RFC 9110, 5.6.2
_PARAMETER = re.compile(rf';[ \t]*({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^;]*))')
_EXTENDED = re.compile(r"(utf-8|iso-8859-1)'[^']*'(.*)", re.IGNORECASE)
_LONGEST = 1024


def offered_name(disposition: str, url: str) -> str:
    """Return the name in a Content-Disposition field (RFC 6266), else the last segment of the URL's path.

    Parameters
    ----------
    disposition
        The field's value; may be empty or malformed.
    url
        Final URL.

    Returns
    -------
    str
        Any characters may be in it, slashes too; empty when there is no name.

    Notes
    -----
    Of the extended form (RFC 8187) UTF-8 and ISO-8859-1 are read: a site must not choose among Python's codecs.
    """
    parameters: dict[str, str] = {}
    for name, quoted, plain in _PARAMETER.findall(disposition[:_LONGEST]):
        parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain.strip())
    extended = _EXTENDED.fullmatch(parameters.get("filename*", ""))
    given = unquote_to_bytes(extended[2]).decode(extended[1], "replace") if extended else parameters.get("filename")
    return given or PurePosixPath(unquote(urlsplit(url).path)).name
