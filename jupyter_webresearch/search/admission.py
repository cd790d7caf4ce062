"""What lets out requests to a provider: to its own origin, on behalf of one search, and nowhere else.

A base URL that the operator configured, such as a SearXNG on a private address, is exempt from the guard's rules on
addresses, for that origin only. One that came with the package is public like any other host, and has to be on the
operator's list where there is one. The URLs of results never pass here.
"""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.policy.addresses import IPAddress, parse_address
from jupyter_webresearch.policy.gate import Gate
from jupyter_webresearch.policy.urls import CheckedURL, parse_url

__all__ = ["ProviderAdmission"]


class ProviderAdmission:
    """Lets out the requests to one provider; see :class:`~jupyter_webresearch.policy.admission.Admission`.

    Parameters
    ----------
    gate
        Of the search, which the policy has let pass.
    base_url
        The provider's.
    is_configured
        Whether the base URL is the operator's own.

    Raises
    ------
    BadInput
        ``invalid_url``.
    Refused
        ``not_allowed`` when the operator's list of hosts leaves the provider's out.
    """

    def __init__(self, gate: Gate, base_url: str, *, is_configured: bool) -> None:
        self._gate = gate
        self._is_configured = is_configured
        url = parse_url(base_url) if is_configured else gate.guard.check_url(base_url)
        self._origin = url.origin
        if not is_configured and not gate.allows_service(url.host):
            raise Refused("not_allowed", f"{url.host} is not on the operator's list of hosts that may be read")

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        """Refuse any other origin; see :meth:`~jupyter_webresearch.policy.admission.Admission.check_url`."""
        checked = parse_url(url)
        if checked.origin != self._origin:
            raise Refused("not_allowed", f"{checked.origin} is not the provider's own", setting="")
        return checked

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        """Ask the guard; see :meth:`~jupyter_webresearch.policy.admission.Admission.check_addresses`.

        The addresses of an operator's own service are taken as they are.
        """
        if not self._is_configured:
            return self._gate.guard.check_addresses(url, answers)
        addresses = [parse_address(answer) for answer in answers]
        known = tuple(dict.fromkeys(address for address in addresses if address is not None))
        if not known:
            raise Failed("unresolved", f"{url.host} has no address; is it spelt right?", setting="")
        return known

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        """Let it go; see :meth:`~jupyter_webresearch.policy.admission.Admission.admit`.

        The search itself has met classifier and budgets, and robots.txt is about documents.
        """

    async def charge(self, url: CheckedURL) -> None:
        """Charge nothing; see :meth:`~jupyter_webresearch.policy.admission.Admission.charge`.

        A search is one, however many providers and requests it takes.
        """

    def note_sending(self) -> None:
        """Count the price of the search as spent."""
        self._gate.note_sending()

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        """Add nothing; see :meth:`~jupyter_webresearch.policy.admission.Admission.headers`.

        A provider gets its own key from its own module.
        """
        return ()

    def redactor(self) -> None:
        """Return None: what comes back is read by its module alone."""
