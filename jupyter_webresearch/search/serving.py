"""Through what each provider is asked: the way of the web for public services, a way of its own for an operator's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.operations import Operation
from jupyter_webresearch.policy.urls import CheckedURL
from jupyter_webresearch.search.admission import ProviderAdmission
from jupyter_webresearch.search.service import Service

if TYPE_CHECKING:
    from jupyter_webresearch.search.searching import Searching

__all__ = ["Serving"]


class Serving:
    """Makes the service of a provider for one search.

    Parameters
    ----------
    public
        Retrieves from services that came with the package: guarded like any page, through the upstream proxy if there
        is one.
    own
        Retrieves from services whose base URL is the operator's, by whatever name the machine knows them.
    clock
        Time.
    """

    def __init__(self, public: Retriever, own: Retriever, clock: Clock) -> None:
        self._public = public
        self._own = own
        self._clock = clock

    def __call__(self, provider: Searching, operation: Operation, deadline: float) -> Service:
        """Return the service.

        Parameters
        ----------
        provider
            Who is asked.
        operation
            On whose behalf.
        deadline
            On the clock's monotonic scale.

        Raises
        ------
        Refused
            ``not_allowed`` when the operator's list of hosts leaves the provider's out.
        """
        base_url: str = getattr(provider, "base_url", "")
        if not base_url:  # a plugin, or a child process: its requests are its own
            operation.gate.note_sending()
            return Service(self._public, _Nothing(), "https://nowhere.invalid", self._clock, deadline=deadline)
        configured: bool = getattr(provider, "base_is_configured", False)
        admission = ProviderAdmission(operation.gate, base_url, is_configured=configured)
        retriever = self._own if configured else self._public
        return Service(retriever, admission, base_url, self._clock, deadline=deadline)


class _Nothing:
    """Lets out nothing."""

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        raise Refused("not_allowed", "this provider has no service that is asked from here", setting="")

    def check_addresses(self, url: CheckedURL, answers: Any) -> Any:
        raise Refused("not_allowed", "this provider has no service that is asked from here", setting="")

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        raise Refused("not_allowed", "this provider has no service that is asked from here", setting="")

    async def charge(self, url: CheckedURL) -> None:
        """Charge nothing."""

    def note_sending(self) -> None:
        """Nothing is sent."""

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Any:
        return ()

    def redactor(self) -> None:
        return None
