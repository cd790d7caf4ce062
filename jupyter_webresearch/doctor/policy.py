"""What the policy says and needs: hosts, identity, credentials, the classifier."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from jupyter_webresearch.config import Settings, WebClassifier
from jupyter_webresearch.doctor.connection import try_connection
from jupyter_webresearch.doctor.finding import Finding
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.policy.urls import CheckedURL, parse_url

__all__ = ["classifier", "credentials", "hosts", "robots_and_identity"]

_ROBOTS = {
    "full": "robots.txt is obeyed as crawlers do",
    "named": "robots.txt is obeyed where it names {agent}",
    "off": "robots.txt is not looked at",
}


def hosts(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Read the lists of hosts, and name what of them covers nothing.

    Parameters
    ----------
    settings
        The operator's lists.
    environ
        Tells a JupyterHub.
    """
    from jupyter_webresearch.policy.lists import Lists, on_hub

    lists = Lists(settings.policy, on_hub=on_hub(environ))
    detail = f"may be read: {lists.ceiling}"
    warnings = lists.warnings()
    if not warnings:
        return Finding("hosts", "ok", detail)
    mend = "correct what WebPolicy.ceiling and WebPolicy.acting_ceiling say; `jupyter webresearch policy` shows both"
    return Finding("hosts", "warn", "; ".join([detail, *warnings]), mend)


def robots_and_identity(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Say what sites see of us, and whether they can reach anybody.

    Parameters
    ----------
    settings
        User-Agent and robots.txt.
    environ
        Tells a JupyterHub.
    """
    from jupyter_webresearch.net.headers import user_agent
    from jupyter_webresearch.policy.lists import on_hub

    robots = _ROBOTS[settings.policy.robots].format(agent=settings.fetch.agent)
    detail = f"sites see {user_agent(settings.fetch)}; {robots}"
    if on_hub(environ) and not settings.fetch.contact:
        mend = "set WebFetch.contact to an e-mail address or URL, so that a site owner writes before banning the hub"
        return Finding("robots and identity", "warn", f"{detail}; nobody is named to write to", mend)
    return Finding("robots and identity", "ok", detail)


def credentials(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Read each secret as for a request to its host, and let it go again.

    Parameters
    ----------
    settings
        Hosts and sources.
    environ
        Where secrets may be kept.
    """
    names = {host: row["name"] for host, row in settings.policy.credentials.items()}
    if not names:
        return Finding("credentials", "ok", "none")
    faults = asyncio.run(_unreadable(settings, environ))
    if faults:
        mend = "mend the source in WebPolicy.credentials; until then nothing of that host is read over https"
        return Finding("credentials", "fail", "; ".join(faults), mend)
    return Finding("credentials", "ok", ", ".join(f"{name} for {host}" for host, name in names.items()))


async def _unreadable(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    from jupyter_webresearch.policy.credentials import Credentials

    known = Credentials(settings.policy.credentials, environ)
    faults = []
    for host in settings.policy.credentials:
        try:
            await known.header_for(parse_url(f"https://{host}/"), redirected=False)
        except WebResearchError as error:
            faults.append(f"{host}: {error.message}")
    return faults


def classifier(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Connect to the model that judges requests, without asking it anything, and read its key.

    Parameters
    ----------
    settings
        Which model, and where.
    environ
        Where its key may be kept.
    """
    chosen = settings.classifier
    if not chosen.url:
        return Finding("classifier", "ok", "off")
    try:
        url = parse_url(chosen.url)
    except WebResearchError as error:
        mend = "correct WebClassifier.url; until then nothing starts"
        return Finding("classifier", "fail", f"{chosen.url}: {error.message}", mend)
    detail = f"{chosen.model} at {chosen.url}" if chosen.model else chosen.url
    faults = _classifier_faults(chosen, url, settings, environ)
    if faults:
        mend = "mend that; until then GET and HEAD go out without its judgement, and nothing else does"
        return Finding("classifier", "warn", "; ".join([detail, *faults]), mend)
    return Finding("classifier", "ok", f"{detail} takes connections")


def _classifier_faults(
    chosen: WebClassifier, url: CheckedURL, settings: Settings, environ: Mapping[str, str]
) -> list[str]:
    from jupyter_webresearch.secrets_source import read_secret

    faults = [] if chosen.model else ["WebClassifier.model is not set"]
    if chosen.key:
        try:
            read_secret(chosen.key, environ)
        except WebResearchError as error:
            faults.append(f"its key: {error.message}")
    try:
        asyncio.run(try_connection(url.host, url.port, settings.policy))
    except WebResearchError as error:
        faults.append(error.message)
    return faults
