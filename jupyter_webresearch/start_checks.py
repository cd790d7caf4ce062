"""What of the settings only this machine can tell to be wrong; found at the start, before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jupyter_webresearch.config import Settings
from jupyter_webresearch.net.proxy_choice import choose_proxy
from jupyter_webresearch.net.source_address import check_source_addresses
from jupyter_webresearch.net.trust import check_ca_bundle
from jupyter_webresearch.policy.budgets.storage import MEMORY, redis_ledger

__all__ = ["check_start"]


def check_start(settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
    """Return when nothing speaks against a start with these settings on this machine.

    Parameters
    ----------
    settings
        Validated by themselves.
    environ
        Where proxies may be named.

    Raises
    ------
    Failed
        ``config``: a source address that this machine has not, a bundle of authorities that can't be read, a proxy
        of the environment that can't be used, or a storage of budgets that can't: the package for it is missing, or its
        URL is none. Nothing is connected to.
    """
    check_source_addresses(settings.policy)
    check_ca_bundle(settings.policy.ca_bundle)
    choose_proxy(settings.policy, environ)
    if settings.budgets.storage != MEMORY:
        redis_ledger(settings.budgets.storage)
