"""What lets a request out: every request carries its admission, and the transport sends none without.

An admission belongs to one operation. It judges a URL before any DNS query, the addresses before any connection, and
each request before it is sent; and it knows what is added to a request that it lets go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from jupyter_webresearch.policy.addresses import IPAddress
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.redactor import Redactor
from jupyter_webresearch.policy.urls import CheckedURL

__all__ = ["Admission", "GuardAdmission"]


class Admission(Protocol):
    """The policy as one operation meets it."""

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        """Read a URL and decide all that can be decided without DNS.

        Parameters
        ----------
        url
            As the caller or a redirect has it.
        method
            What is to be sent there.

        Raises
        ------
        BadInput, Refused
            As :meth:`jupyter_webresearch.policy.guard.Guard.check_url`, and whatever the policy adds.
        """
        ...

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        """Judge every address of a host; see :meth:`jupyter_webresearch.policy.guard.Guard.check_addresses`.

        Parameters
        ----------
        url
            Whose host was resolved.
        answers
            Addresses as text.
        """
        ...

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        """Decide whether this request is sent now: room in the budgets, classifier, robots.txt. Nothing is charged.

        Parameters
        ----------
        url
            Judged by :meth:`check_url`.
        method, body
            What is to be sent.
        redirected
            Whether it follows a redirect.

        Raises
        ------
        Refused, Failed
            Nothing is sent then.
        """
        ...

    async def charge(self, url: CheckedURL) -> None:
        """Count an admitted request: its addresses have been judged, or there are none, and a connection is made next.

        Parameters
        ----------
        url
            Where it goes.

        Raises
        ------
        Refused, Failed
            Nothing is sent then, and nothing was charged for it.
        """
        ...

    def note_sending(self) -> None:
        """Take note that the connection stands: from here on the site may have got the request."""
        ...

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        """Return the header fields that we add to this request, e.g. a credential.

        Parameters
        ----------
        url
            Where they go.
        redirected
            Whether the request follows a redirect.

        Raises
        ------
        Failed
            ``credential_unavailable``.
        """
        ...

    def redactor(self) -> Redactor | None:
        """Return what replaces secrets in one answer; None where no secret was sent. Asked once it has arrived."""
        ...


class GuardAdmission:
    """Lets out whatever the guard does; for requests that belong to no session."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        """Ask the guard; see :meth:`Admission.check_url`."""
        return self._guard.check_url(url)

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        """Ask the guard; see :meth:`Admission.check_addresses`."""
        return self._guard.check_addresses(url, answers)

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        """Let it go; see :meth:`Admission.admit`."""

    async def charge(self, url: CheckedURL) -> None:
        """Count nothing; see :meth:`Admission.charge`."""

    def note_sending(self) -> None:
        """Take no notice; see :meth:`Admission.note_sending`."""

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        """Add nothing; see :meth:`Admission.headers`."""
        return ()

    def redactor(self) -> None:
        """Return None: no secret was sent."""
