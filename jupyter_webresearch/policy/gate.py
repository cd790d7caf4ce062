"""The policy as one operation meets it: the admission that knows session, lists, robots.txt, classifier and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.policy.addresses import IPAddress
from jupyter_webresearch.policy.budgets.budgets import Budgets
from jupyter_webresearch.policy.classifier import Classifier
from jupyter_webresearch.policy.credentials import Credentials
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.judgement import Judgement
from jupyter_webresearch.policy.lists import Lists
from jupyter_webresearch.policy.redactor import Redactor
from jupyter_webresearch.policy.robots import Robots
from jupyter_webresearch.policy.switch import Switch
from jupyter_webresearch.policy.urls import CheckedURL
from jupyter_webresearch.session import Session

__all__ = ["Gate", "Policy"]


@dataclass(frozen=True)
class Policy:
    """What decides, made once for an engine."""

    guard: Guard
    switch: Switch
    lists: Lists
    robots: Robots
    classifier: Classifier
    budgets: Budgets
    credentials: Credentials
    send_request_id: bool


class Gate:
    """Lets out the requests of one operation; see :class:`~jupyter_webresearch.policy.admission.Admission`.

    The order is: switch, URL, lists, room in the budgets, classifier, before any DNS query: the name of a host may be
    the message, and asking for its robots.txt sends it. Then robots.txt; the addresses; and last the budgets again,
    which are charged only then: what is refused is free.

    Parameters
    ----------
    policy
        What decides.
    kind
        ``fetch``, ``search``, ``image`` or ``browser``.
    session
        For whom.
    caller
        Who asks.
    operation
        Id, sent as X-Request-ID.
    """

    def __init__(self, policy: Policy, kind: str, session: Session, caller: Caller, operation: str) -> None:
        self._policy = policy
        self._kind = kind
        self._session = session
        self._caller = caller
        self._operation = operation
        self._judged_hosts: set[str] = set()
        self._opened = False
        self._sent = False
        self.deadline: float | None = None
        """When the operation has to be over, on the clock's monotonic scale."""
        self.judgement: Judgement | None = None
        """The classifier's, the last one."""
        self.reserved = 0.0
        """Dollars set aside for this operation."""

    @property
    def spent(self) -> float:
        """Dollars that it costs: what was set aside, as soon as a request was sent."""
        return self.reserved if self._sent else 0.0

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        """Ask switch, guard and lists; see :meth:`Admission.check_url`."""
        self._policy.switch.check(self._kind)
        checked = self._policy.guard.check_url(url)
        self._policy.lists.check(checked.host, self._session.asks, method=method, agent=self._caller.is_agent)
        return checked

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        """Ask the guard; see :meth:`Admission.check_addresses`."""
        return self._policy.guard.check_addresses(url, answers)

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        """Ask budgets, classifier and robots.txt; see :meth:`Admission.admit`."""
        if self._opened:
            await self._policy.budgets.check_hop(url.host)
        else:
            await self._policy.budgets.check(self._kind, self._session.account, url.host)
        # Of redirects only those to another host: the site chose where on its own host it leads.
        if not (redirected and url.host in self._judged_hosts):
            await self._judge(url, method, body)
        await self._policy.robots.check(url, _ForRobots(self), deadline=self.deadline)

    async def charge(self, url: CheckedURL) -> None:
        """Charge the budgets; see :meth:`Admission.charge`."""
        if self._opened:
            await self._policy.budgets.hop(url.host)
        else:
            self.reserved = await self._policy.budgets.open(self._kind, self._session.account, url.host)
            self._opened = True

    def note_sending(self) -> None:
        """Count what was set aside as spent; see :meth:`Admission.note_sending`."""
        self._sent = True

    def check_search(self) -> None:
        """Ask the switch, and whether this session searches.

        Raises
        ------
        Refused
            ``disabled``.
        """
        self._policy.switch.check("search")
        if not self._policy.lists.search_is_on(self._session.asks):
            message = "this session, or its notebook's metadata, has switched search off; %webresearch search on"
            raise Refused("disabled", message, setting="")

    async def admit_search(self, query: str, providers: Sequence[str]) -> None:
        """Ask classifier and budgets about a search, and charge it.

        Parameters
        ----------
        query
            What is looked for.
        providers
            Who will be asked; those that answer from memory apart.

        Raises
        ------
        Refused
            ``classifier`` or ``over_budget``; nothing was charged.
        Failed
            ``budget_unavailable``.
        """
        await self._policy.budgets.check("search", self._session.account, "", providers)
        if self._policy.classifier.is_on:
            self.judgement = await self._policy.classifier.judge(
                session=self._session.id,
                kind="search",
                method="GET",
                url="",
                body=query.encode(),
                task=self._policy.lists.task(self._session.asks),
            )
            self._policy.classifier.decide(self.judgement, "GET")
        self.reserved = await self._policy.budgets.open("search", self._session.account, "", providers)
        self._opened = True

    @property
    def guard(self) -> Guard:
        """What judges addresses; for requests to providers, which are no URL of a caller's."""
        return self._policy.guard

    def allows_service(self, host: str) -> bool:
        """Whether the operator's list of hosts covers a service that the package asks by itself."""
        return self._policy.lists.ceiling.covering(host) is not None

    async def _judge(self, url: CheckedURL, method: str, body: bytes | None) -> None:
        if not self._policy.classifier.is_on:
            return
        self.judgement = await self._policy.classifier.judge(
            session=self._session.id,
            kind=self._kind,
            method=method,
            url=url.href,
            body=body,
            task=self._policy.lists.task(self._session.asks),
        )
        self._policy.classifier.decide(self.judgement, method)
        self._judged_hosts.add(url.host)

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        """Add the operation's id, and a credential for this very origin; see :meth:`Admission.headers`."""
        credential = await self._policy.credentials.header_for(url, redirected=redirected)
        return (*self.request_id(), *((credential,) if credential else ()))

    def request_id(self) -> Sequence[tuple[str, str]]:
        """Return the field that carries the operation's id, if it is sent."""
        return (("X-Request-ID", self._operation),) if self._policy.send_request_id else ()

    def redactor(self) -> Redactor | None:
        """Return what keeps sent secrets out of the answer; see :meth:`Admission.redactor`."""
        return self._policy.credentials.redactor()


class _ForRobots:
    """Lets out the request for a robots.txt: under the same guard and lists, and free."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def check_url(self, url: str, method: str = "GET") -> CheckedURL:
        return self._gate.check_url(url, method)

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        return self._gate.check_addresses(url, answers)

    async def admit(self, url: CheckedURL, *, method: str, body: bytes | None, redirected: bool) -> None:
        """Ask nobody."""

    async def charge(self, url: CheckedURL) -> None:
        """Charge nothing."""

    def note_sending(self) -> None:
        """Spend nothing."""

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        return self._gate.request_id()

    def redactor(self) -> Redactor | None:
        return self._gate.redactor()
