"""Which upstream proxy is used: the one that is set, else, where an operator trusts it, the environment's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.policy.urls import canonical_host
from jupyter_webresearch.secrets_source import read_secret

__all__ = ["ProxyChoice", "choose_proxy"]

_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_SPARING = ("NO_PROXY", "no_proxy")


@dataclass(frozen=True)
class ProxyChoice:
    """A proxy and what is asked of it.

    Attributes
    ----------
    host, port
        Where it is; a name, or an address without brackets.
    resolves_names
        Whether it is asked for names instead of addresses.
    credentials
        Reads ``user:password``, on a thread; None where it needs none.
    spared
        Hosts, with all below them, that are reached without it; ``*`` is every host.
    """

    host: str
    port: int
    resolves_names: bool = False
    credentials: Callable[[], str] | None = None
    spared: tuple[str, ...] = ()

    def spares(self, host: str) -> bool:
        """Whether a canonical host is reached without the proxy."""
        return any(entry in ("*", host) or host.endswith(f".{entry}") for entry in self.spared)


def choose_proxy(policy: WebPolicy, environ: Mapping[str, str] = os.environ) -> ProxyChoice | None:
    """Return the proxy that all connections go through, or None.

    Parameters
    ----------
    policy
        Its ``upstream_proxy`` and what belongs to it.
    environ
        Looked at with ``trust_env_proxy`` and without ``upstream_proxy`` only.

    Raises
    ------
    Failed
        ``config``: the environment names a proxy that can't be used; it is never passed over.
    """
    if policy.upstream_proxy:
        parts = urlsplit(policy.upstream_proxy)
        credentials = _reader(policy, environ)
        return ProxyChoice(parts.hostname or "", parts.port or 80, policy.upstream_proxy_resolves, credentials)
    if not policy.trust_env_proxy:
        return None
    for variable in _VARIABLES:
        if environ.get(variable):
            return _of_environment(variable, policy, environ)
    return None


def _of_environment(variable: str, policy: WebPolicy, environ: Mapping[str, str]) -> ProxyChoice:
    value = environ[variable].strip()
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host = None
    if not host or parts.scheme != "http" or parts.path not in ("", "/") or parts.query or parts.fragment:
        message = f"{variable}, which WebPolicy.trust_env_proxy trusts, is not http://[USER:PASSWORD@]HOST:PORT"
        raise Failed("config", message, setting="WebPolicy.trust_env_proxy")
    credentials = _reader(policy, environ)
    if credentials is None and parts.username is not None:
        credentials = _given(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
    return ProxyChoice(host, port, policy.upstream_proxy_resolves, credentials, tuple(_spared(environ)))


def _reader(policy: WebPolicy, environ: Mapping[str, str]) -> Callable[[], str] | None:
    source = policy.upstream_proxy_credentials
    return (lambda: read_secret(source, environ)) if source else None


def _given(credentials: str) -> Callable[[], str]:
    return lambda: credentials


def _spared(environ: Mapping[str, str]) -> list[str]:
    """Read NO_PROXY: hosts between commas, with or without a dot or ``*.`` in front; what is none spares nothing."""
    text = next((environ[name] for name in _SPARING if environ.get(name)), "")
    spared = []
    for entry in text.split(","):
        name = entry.strip().removeprefix("*.").removeprefix(".")
        if name == "*":
            spared.append(name)
            continue
        try:
            spared.append(canonical_host(f"[{name}]" if name.count(":") > 1 and "[" not in name else name))
        except WebResearchError:
            continue
    return spared
