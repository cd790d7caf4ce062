"""A certificate authority for one test."""

from __future__ import annotations

import ssl
from functools import cached_property

import trustme


class Authority:
    """Issues certificates that only :attr:`client` trusts."""

    def __init__(self) -> None:
        self._ca = trustme.CA()

    @cached_property
    def client(self) -> ssl.SSLContext:
        """Context of a client that trusts this authority and nobody else."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._ca.configure_trust(context)
        return context

    @property
    def pem(self) -> bytes:
        """The authority's own certificate."""
        return self._ca.cert_pem.bytes()

    def server(self, *hosts: str) -> ssl.SSLContext:
        """Context of a server with a certificate for these hosts, ``*.host`` and addresses included."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*hosts).configure_cert(context)
        return context
