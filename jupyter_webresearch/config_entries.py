"""Readers of what settings hold: each returns the canonical form, or raises ValueError saying what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from jupyter_webresearch.errors import WebResearchError

__all__ = [
    "SLOW_PROVIDERS",
    "agent_token",
    "credentials_table",
    "endpoint",
    "key_table",
    "plugin_name",
    "price_table",
    "provider_name",
    "proxy_address",
    "secret_source",
    "storage_address",
    "timeout_table",
    "without_password",
]

_SOURCE = re.compile(r"(?:env:\S+|file:(?:/|[A-Za-z]:[\\/])(?:.*\S)?|keyring:[^\s/][^/]*/\S(?:.*\S)?)")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
_CREDENTIAL_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_AGENT_TOKEN = re.compile(r"[A-Za-z_-]{1,64}")  # RFC 9309, 2.2.1
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_PLUGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,127}")

SLOW_PROVIDERS: Mapping[str, float] = {"xai": 90.0, "ddgs": 30.0}
"""Seconds for one call of those that need more than others."""


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


def provider_name(text: str) -> str:
    """Return the name of a provider of search."""
    if not _PROVIDER.fullmatch(text):
        raise ValueError("it has other characters than a-z, 0-9 and '-', begins with '-', or is longer than 64")
    return text


def plugin_name(text: str) -> str:
    """Return the name of a plugin: of its folder, or of its entry point."""
    if not _PLUGIN.fullmatch(text):
        raise ValueError("it has other characters than letters, digits, '_' and '-', or is longer than 64")
    return text


def key_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return sources of secrets by provider or environment variable."""
    for number, (name, source) in enumerate(table.items(), 1):
        # A name that can't be read is not repeated: it may be a key at the wrong place.
        if not isinstance(name, str) or not (_PROVIDER.fullmatch(name) or _VARIABLE.fullmatch(name)):
            raise ValueError(f"entry {number} is named by neither a provider nor an environment variable")
        try:
            secret_source(source if isinstance(source, str) else "")
        except ValueError as error:
            raise ValueError(f"{name}: {error}; the key itself does not belong here") from error
    return dict(table)


def timeout_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return seconds by provider, :data:`SLOW_PROVIDERS` among them."""
    for name, seconds in table.items():
        is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        if not isinstance(name, str) or not _PROVIDER.fullmatch(name) or not is_number or not 1 <= seconds <= 600:
            raise ValueError(f"{name!r}: {seconds!r} is not a provider's time of 1 to 600 seconds")
    return {**SLOW_PROVIDERS, **{name: float(seconds) for name, seconds in table.items()}}


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
