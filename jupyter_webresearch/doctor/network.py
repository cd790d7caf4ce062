"""How connections leave: whom TLS trusts, from which address, and through which proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from jupyter_webresearch.config import Settings
from jupyter_webresearch.doctor.connection import try_connection
from jupyter_webresearch.doctor.finding import Finding
from jupyter_webresearch.errors import WebResearchError

__all__ = ["certificates", "proxies", "source_addresses", "upstream_proxy"]

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def certificates(settings: Settings) -> Finding:
    """Load the authorities that TLS trusts."""
    from jupyter_webresearch.net.trust import check_ca_bundle, tls_context

    bundle = settings.policy.ca_bundle
    try:
        count = tls_context().cert_store_stats()["x509_ca"]
        check_ca_bundle(bundle)
    except OSError as error:
        return Finding("certificates", "fail", str(error), "install or mend this machine's certificate authorities")
    except WebResearchError as error:
        return Finding("certificates", "fail", error.message, "correct or remove it; until then nothing starts")
    # A folder of authorities is read at each handshake and can't be counted.
    detail = f"{count} authorities" if count else "the authorities in the system's folder"
    return Finding("certificates", "ok", f"{detail}, and those in {bundle}" if bundle else detail)


def source_addresses(settings: Settings) -> Finding:
    """Bind the addresses that connections are to come from."""
    from jupyter_webresearch.net.source_address import check_source_addresses

    try:
        check_source_addresses(settings.policy)
    except WebResearchError as error:
        mend = "correct or remove it; until then nothing starts"
        return Finding("source addresses", "fail", error.message, mend)
    chosen = [address for address in (settings.policy.source_ipv4, settings.policy.source_ipv6) if address]
    return Finding("source addresses", "ok", ", ".join(chosen) or "whichever this machine chooses")


def proxies(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Whether the environment names proxies that are not used.

    Parameters
    ----------
    settings
        Whether they are to be used.
    environ
        Environment variables.
    """
    found = sorted(name for name in environ if name.upper() in PROXY_VARIABLES and environ[name])
    if not found:
        return Finding("proxies", "ok", "the environment names none")
    names = ", ".join(found)
    if settings.policy.upstream_proxy:
        return Finding("proxies", "ok", f"{names} is set and not used: WebPolicy.upstream_proxy is")
    if settings.policy.trust_env_proxy:
        return Finding("proxies", "ok", f"{names} is set and used (WebPolicy.trust_env_proxy)")
    return Finding(
        "proxies",
        "warn",
        f"{names} is set and not used: pages are read directly, so that every address is checked",
        "allow direct connections to the web from this machine, or set WebPolicy.upstream_proxy",
    )


def upstream_proxy(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Connect to the proxy that everything goes out through, without asking it for anything, and read its credentials.

    Parameters
    ----------
    settings
        Which proxy.
    environ
        Where it may be named, and its credentials kept.
    """
    from jupyter_webresearch.net.proxy_choice import choose_proxy

    name = "upstream proxy"
    try:
        choice = choose_proxy(settings.policy, environ)
    except WebResearchError as error:
        return Finding(name, "fail", error.message, "correct or remove it; until then nothing starts")
    if choice is None:
        return Finding(name, "ok", "none, connections go out directly")
    place = f"[{choice.host}]:{choice.port}" if ":" in choice.host else f"{choice.host}:{choice.port}"
    if choice.credentials is not None:
        try:
            choice.credentials()
        except WebResearchError as error:
            mend = "mend WebPolicy.upstream_proxy_credentials; until then no page is read"
            return Finding(name, "fail", f"{place}: its credentials: {error.message}", mend)
    try:
        asyncio.run(try_connection(choice.host, choice.port, settings.policy))
    except WebResearchError as error:
        mend = "start it, or correct its address; until then no page is read"
        return Finding(name, "fail", f"{place}: {error.message}", mend)
    told = [
        f"{place} takes connections",
        *(["its credentials can be read"] if choice.credentials is not None else []),
        *(["it chooses the addresses that names lead to"] if choice.resolves_names else []),
        *([f"not used for {', '.join(choice.spared)} (NO_PROXY)"] if choice.spared else []),
    ]
    return Finding(name, "ok", "; ".join(told))
