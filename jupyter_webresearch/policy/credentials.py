"""The operator's credentials: which request carries one, and what is seen of it afterwards."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import partial

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.redactor import Redactor, SecretForms
from jupyter_webresearch.policy.urls import CheckedURL
from jupyter_webresearch.secrets_source import SecretThreads, read_secret

__all__ = ["SHORTEST", "Credentials"]

SHORTEST = 8
"""Characters; a shorter secret would be found in pages that do not hold it."""

REMEMBERED = 4
"""Secrets of one host that are looked for in answers: the one in use, and what it replaced."""


class Credentials:
    """Knows which header goes to which host. Used on one loop.

    A secret is read for each request that carries it, so that a changed one holds at once; and it is remembered, to be
    found in whatever answer holds it from then on.

    Parameters
    ----------
    table
        ``WebPolicy.credentials`` in its canonical form: by host, ``name``, ``header``, ``source`` and ``prefix``.
    environ
        The environment that sources ``env:NAME`` mean.
    """

    def __init__(self, table: Mapping[str, Mapping[str, str]], environ: Mapping[str, str] = os.environ) -> None:
        self._table = {host: dict(row) for host, row in table.items()}
        self._environ = environ
        self._sent: dict[str, list[str]] = {}
        self._forms: SecretForms | None = None
        self._lock = threading.Lock()
        self._threads = SecretThreads()

    async def header_for(self, url: CheckedURL, *, redirected: bool) -> tuple[str, str] | None:
        """Return the header that a request carries: to the exact host, over https on port 443, and as asked for.

        Parameters
        ----------
        url
            Where the request goes.
        redirected
            Whether it follows a redirect; then it carries none, wherever it leads.

        Raises
        ------
        Failed
            ``credential_unavailable``: there is one, and it can't be read or can't be sent safely.
        """
        row = self._table.get(url.host)
        if row is None or redirected or url.scheme != "https" or url.port != 443:
            return None
        secret = await self._threads.run(partial(self._read, url.host))
        return row["header"], row["prefix"] + secret

    def redactor(self) -> Redactor | None:
        """Return what finds every secret sent so far in one answer; None while none was sent."""
        return Redactor(self._forms) if self._forms is not None else None

    def names(self) -> dict[str, str]:
        """Return the names of the credentials by host."""
        return {host: row["name"] for host, row in self._table.items()}

    def _read(self, host: str) -> str:
        label = self._label(host)
        try:
            secret = read_secret(self._table[host]["source"], self._environ)
        except Failed as error:
            raise Failed(error.code, f"{label}: {error.message}") from None
        if len(secret) < SHORTEST:
            message = (
                f"{label} is shorter than {SHORTEST} characters: in an answer it could not be told from other text"
            )
            raise Failed("credential_unavailable", message)
        self._remember(host, secret)
        return secret

    def _remember(self, host: str, secret: str) -> None:
        """Have the secret looked for, before it is sent."""
        with self._lock:
            known = self._sent.get(host, [])
            if secret in known:
                return
            sent = self._sent | {host: [*known, secret][-REMEMBERED:]}
            self._forms = SecretForms({one: self._label(owner) for owner, several in sent.items() for one in several})
            self._sent = sent

    def _label(self, host: str) -> str:
        return f"credential:{self._table[host]['name']}"
