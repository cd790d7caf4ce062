"""Readers of what settings hold: each returns the canonical form, or raises ValueError saying what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from jupyter_webresearch.errors import WebResearchError

__all__ = [
    "agent_token",
    "credentials_table",
    "endpoint",
    "price_table",
    "proxy_address",
    "secret_source",
    "storage_address",
    "without_password",
]

_SOURCE = re.compile(r"(?:env:\S+|file:(?:/|[A-Za-z]:[\\/])(?:.*\S)?|keyring:[^\s/][^/]*/\S(?:.*\S)?)")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
_CREDENTIAL_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_AGENT_TOKEN = re.compile(r"[A-Za-z_-]{1,64}")  # RFC 9309, 2.2.1


def agent_token(text: str) -> str:
    """Return the product token by which robots.txt names us."""
    if not _AGENT_TOKEN.fullmatch(text):
        raise ValueError("a token has letters, _ and - only (RFC 9309), at most 64")
    return text


def secret_source(text: str) -> str:
    """Return where a secret is kept: ``env:NAME``, ``file:/path`` or ``keyring:SERVICE/USER``."""
    if not _SOURCE.fullmatch(text):
        raise ValueError("it is none of env:NAME, file:/absolute/path and keyring:SERVICE/USER")
    return text


def credentials_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return credentials by exact host, each with ``name``, ``header``, ``source`` and ``prefix``."""
    from jupyter_webresearch.policy.urls import canonical_host

    credentials: dict[str, Any] = {}
    for host, row in table.items():
        if not isinstance(host, str) or not isinstance(row, Mapping):
            raise ValueError("it maps a host to {'name': ..., 'source': ...}")  # noqa: TRY004 - the readers' one error
        try:
            canonical = canonical_host(host)
        except WebResearchError as error:
            raise ValueError(f"{host!r} is not an exact host: {error.message}") from error
        if ":" in canonical or canonical in credentials:
            raise ValueError(f"{host!r} is {'named twice' if canonical in credentials else 'an address'}")
        unknown = set(row) - {"name", "header", "source", "prefix"}
        if unknown or not all(isinstance(value, str) for value in row.values()):
            raise ValueError(f"{host}: takes texts for name, header, source and prefix only")
        name, header = row.get("name", canonical), row.get("header", "Authorization")
        if not _CREDENTIAL_NAME.fullmatch(name):
            raise ValueError(f"{host}: the name {name!r} has other characters than letters, digits, '.', '_' and '-'")
        if not _HEADER_NAME.fullmatch(header) or header.lower() in ("host", "content-length", "cookie"):
            raise ValueError(f"{host}: {header!r} is not a header that can carry a credential")
        prefix = row.get("prefix", "Bearer " if header.lower() == "authorization" else "")
        if not re.fullmatch(r"[ -~]{0,100}", prefix):
            raise ValueError(f"{host}: the prefix has other characters than printable ASCII")
        try:
            source = secret_source(row.get("source", ""))
        except ValueError as error:
            raise ValueError(f"{host}: source: {error}") from error
        credentials[canonical] = {"name": name, "header": header, "source": source, "prefix": prefix}
    return credentials


def price_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return dollars by provider."""
    for name, price in table.items():
        is_number = isinstance(price, (int, float)) and not isinstance(price, bool)
        if not isinstance(name, str) or not is_number or not 0 <= price <= 1000:  # no NaN either
            raise ValueError(f"{name!r}: {price!r} is not a price of 0 to 1,000 dollars")
    return {name: float(price) for name, price in table.items()}


def endpoint(text: str) -> str:
    """Return an absolute http(s) URL of the operator's, without user name, query or fragment."""
    parts = _split(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it is not an absolute http(s) URL")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("it may hold no user name, password, query or fragment")
    return text


def proxy_address(text: str) -> str:
    """Return ``http://HOST:PORT`` of a proxy."""
    parts = urlsplit(endpoint(text))
    if parts.scheme != "http" or parts.port is None or parts.path not in ("", "/"):
        raise ValueError("it has the form http://HOST:PORT; credentials have a setting of their own")
    return text.rstrip("/")


def storage_address(text: str) -> str:
    """Return ``memory://`` or the URL of a Redis server."""
    if text == "memory://":
        return text
    parts = _split(text)
    place = {"redis": parts.hostname, "rediss": parts.hostname, "unix": parts.path}.get(parts.scheme)
    if not place:
        raise ValueError("it is none of memory://, redis://HOST:PORT/DB, rediss://HOST:PORT/DB and unix:///path")
    if "@" in parts.path + parts.query + parts.fragment:
        raise ValueError("'/', '?', '#' and '@' in a password are written %2F, %3F, %23 and %40")
    return text


def without_password(url: str) -> str:
    """Return a URL with what may be a secret in it left out, for whoever is shown the settings.

    What stands before the last ``@`` goes, wherever a parser would end the password, and so does the query.
    """
    return re.sub(r"[?#].*", "?...", re.sub(r"//.*@", "//...@", url))


def _split(text: str) -> SplitResult:
    """Take a URL apart; the messages of urllib would repeat its parts, of which one may be a password."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises for one out of range
    except ValueError:
        raise ValueError("it is not a URL, or its port is none") from None
    if re.search(r"[\s\\]", text):
        raise ValueError("it holds a space or a backslash")
    return parts
