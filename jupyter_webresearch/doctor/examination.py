"""All checks, in the order in which a person reads them: what is installed, this machine, its network, the policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from traitlets.config import Config

from jupyter_webresearch.config import Settings
from jupyter_webresearch.doctor import installation, network, policy, storage, workers
from jupyter_webresearch.doctor.finding import Finding

__all__ = ["examine"]


def examine(cli: Config | None = None, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Run every check, one after the other.

    Parameters
    ----------
    cli
        What the command line sets.
    environ
        Environment variables.

    Yields
    ------
    Finding
        As soon as its check is done.
    """
    settings = Settings()

    def load() -> Finding:
        nonlocal settings
        settings, finding = installation.read_settings(cli, environ)
        return finding

    checks: dict[str, Callable[[], Finding]] = {
        "python": installation.python,
        "packages": installation.packages,
        "settings": load,
        "server extension": installation.server_extension,
        "extraction workers": lambda: workers.extraction_workers(settings),
        "temporary folder": lambda: storage.temporary_folder(settings),
        "runtime folder": storage.runtime_folder,
        "journal": lambda: storage.journal(settings),
        "budgets": lambda: storage.budgets(settings),
        "certificates": lambda: network.certificates(settings),
        "source addresses": lambda: network.source_addresses(settings),
        "proxies": lambda: network.proxies(settings, environ),
        "upstream proxy": lambda: network.upstream_proxy(settings, environ),
        "hosts": lambda: policy.hosts(settings, environ),
        "robots and identity": lambda: policy.robots_and_identity(settings, environ),
        "credentials": lambda: policy.credentials(settings, environ),
        "classifier": lambda: policy.classifier(settings, environ),
    }
    for name, check in checks.items():
        try:
            yield check()
        except Exception as error:  # the other checks still tell something
            yield Finding(name, "fail", f"{type(error).__name__}: {error}", "report this as a fault of ours")
