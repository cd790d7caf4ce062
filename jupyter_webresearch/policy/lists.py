"""Which hosts a session may read, and on which it may act: the operator's ceilings and what the session asks for.

The narrower always wins. A notebook's metadata narrows what ``WebPolicy.ask`` gives a session that has asked for no
hosts; what the session itself asks for replaces both, inside the ceiling. On which hosts a session may act is a list
of its own, and only a person's ask fills it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.errors import BadInput, Refused
from jupyter_webresearch.models import READS
from jupyter_webresearch.policy.addresses import parse_address
from jupyter_webresearch.policy.asks import NOWHERE, Asks, NotebookAsk
from jupyter_webresearch.policy.egress import UNRESTRICTED, Dropped, HostEntry, HostList
from jupyter_webresearch.policy.grants import acting_grants, agents_attempts, outside, taken_back
from jupyter_webresearch.policy.opened import Opened
from jupyter_webresearch.policy.policy_change import MAX_ENTRIES, Grant, PolicyChange

__all__ = ["Asks", "Grant", "Lists", "NotebookAsk", "PolicyChange", "on_hub"]

_ANYWHERE = HostList((HostEntry(UNRESTRICTED),))

_CEILING = "WebPolicy.ceiling"
_ASK = "WebPolicy.ask"
_ACTING_CEILING = "WebPolicy.acting_ceiling"

_WHO_CAN = "only the operator can change that: ask whoever runs this server"


def on_hub(environ: Mapping[str, str]) -> bool:
    """Whether a JupyterHub started this process; in a kernel, by the environment as it was started."""
    return bool(environ.get("JUPYTERHUB_API_URL"))


class Lists:
    """Decide for one policy.

    Parameters
    ----------
    policy
        Its lists are read now; later changes to it are not seen.
    on_hub
        Whether this is a JupyterHub, where nobody acts anywhere unless the operator names the hosts.

    Attributes
    ----------
    ceiling, acting_ceiling
        What the operator allows; an unset one is what it stands for.
    ceiling_is_set, acting_ceiling_is_set
        Whether the operator said so.
    rule
        What a session may read that has asked for no hosts: ``WebPolicy.ask``.
    """

    def __init__(self, policy: WebPolicy, *, on_hub: bool) -> None:
        self._opened = Opened.of(policy)
        self.ceiling_is_set = policy.ceiling is not None
        self.ceiling = _ANYWHERE if policy.ceiling is None else HostList.read(policy.ceiling, self._opened)
        self.acting_ceiling_is_set = policy.acting_ceiling is not None
        unset = NOWHERE if on_hub else _ANYWHERE
        self.acting_ceiling = unset if policy.acting_ceiling is None else HostList.read_acting(policy.acting_ceiling)
        self.rule: str = policy.ask
        self._writing_is_acting = policy.write_methods == "acting"
        self._on_hub = on_hub

    # ------------------------------------------------------------------ decisions

    def check(self, host: str, asks: Asks, *, method: str, agent: bool) -> None:
        """Decide whether a session may send a request to a host.

        Parameters
        ----------
        host
            In canonical form.
        asks
            Of the session.
        method
            Of HTTP, upper case. Anything but GET and HEAD may change something: from an agent, and by
            ``WebPolicy.write_methods`` from everyone, it counts as acting.
        agent
            Whether a model chose the request.

        Raises
        ------
        Refused
            ``not_allowed``, ``needs_approval`` with the host to ask a person about, or ``acting_not_allowed``.
        """
        if method.upper() not in READS and (agent or self._writing_is_acting):
            self.check_acting(host, asks)
        else:
            self._check_reading(host, asks)

    def check_acting(self, host: str, asks: Asks) -> None:
        """Decide whether a session may change something on a host: it has to be on both of its lists.

        Parameters
        ----------
        host
            In canonical form.
        asks
            Of the session.

        Raises
        ------
        Refused
            As :meth:`check`.
        """
        self._check_reading(host, asks)
        if self.acting_ceiling.covering(host) is None:
            raise self._outside_acting_ceiling(host)
        act = asks.act or NOWHERE
        if act.covering(host) is None:
            raise Refused(
                "acting_not_allowed",
                f"{host} is not on the list of hosts where this session may change something ({act}); "
                f"{_way_to_act_on(host)}",
                setting="",
            )

    def _check_reading(self, host: str, asks: Asks) -> None:
        entry = HostEntry.of(host).text
        if self.ceiling.covering(host) is None:
            raise self._outside_ceiling(host)
        if entry in asks.denied:
            message = f"you said no to {host} in this session; %webresearch allow {entry} lifts that"
            raise Refused("not_allowed", message, setting="")
        if asks.allow is not None:
            if asks.allow.covering(host) is None and asks.approved.covering(host) is None:
                message = (
                    f"{host} is not among the hosts that this session asked for ({asks.allow}); %webresearch allow"
                )
                raise Refused("not_allowed", f"{message} {entry} adds it", setting="")
            return
        kept = self.kept(asks.notebook)
        if kept is not None and kept.covering(host) is None:
            message = f"this notebook's metadata keeps to other hosts ({kept}); %webresearch allow {entry} lifts that"
            raise Refused("not_allowed", message, setting="")
        if self.rule == "listed":
            message = f"this session has asked for no hosts; %webresearch allow {entry} asks for this one"
            raise Refused("not_allowed", message, setting=_ASK)
        if self.rule == "prompt" and asks.approved.covering(host) is None:
            message = f"a person has to allow {host} first, by %webresearch allow {entry}"
            raise Refused("needs_approval", message, host=entry)

    def _outside_ceiling(self, what: str) -> Refused:
        listed = "no host may be read here" if not self.ceiling.entries else f"what may be read is {self.ceiling}"
        return Refused("not_allowed", f"{what} is not on the operator's list: {listed}; {_WHO_CAN}", setting=_CEILING)

    def _outside_acting_ceiling(self, what: str) -> Refused:
        if self._on_hub and not self.acting_ceiling_is_set:
            message = f"nobody acts anywhere on this JupyterHub, {what} included, while the operator names no host"
        else:
            message = f"{what} is not on the operator's list of hosts to act on, {self.acting_ceiling}"
        return Refused("acting_not_allowed", f"{message}; {_WHO_CAN}", setting=_ACTING_CEILING)

    # ------------------------------------------------------------------ what is in force

    def reading(self, asks: Asks) -> HostList:
        """Return the hosts that a session may read without another question, those apart that were denied."""
        if asks.allow is not None:
            return asks.allow.joined(asks.approved).within(self.ceiling)
        given = {"open": self.ceiling, "prompt": asks.approved.within(self.ceiling)}.get(self.rule, NOWHERE)
        kept = self.kept(asks.notebook)
        return given if kept is None else given.within(kept)

    def kept(self, notebook: NotebookAsk) -> HostList | None:
        """Return the hosts that a notebook's metadata keep to, or None; of addresses only those that are opened."""
        return None if notebook.allow is None else notebook.allow.opened_by(self._opened)

    def task(self, asks: Asks) -> str:
        """Return what the session is for, or an empty string."""
        return (asks.notebook.task if asks.task is None else asks.task) or ""

    def search_is_on(self, asks: Asks) -> bool:
        """Whether the session searches."""
        asked = asks.notebook.search if asks.search is None else asks.search
        return asked is not False

    def report(self, asks: Asks) -> dict[str, Any]:
        """Return both lists, what each entry covers, and what was dropped and why, as an object of JSON."""
        from jupyter_webresearch.policy.lists_report import report

        return report(self, asks)

    def warnings(self) -> list[str]:
        """Return what whoever runs this should know at the start, one line each."""
        found = []
        for setting, hosts, is_set in (
            (_CEILING, self.ceiling, self.ceiling_is_set),
            (_ACTING_CEILING, self.acting_ceiling, self.acting_ceiling_is_set),
        ):
            found += [f"{setting}: {entry.text!r} covers nothing: {entry.reason}" for entry in hosts.dropped]
            if is_set and hosts.dropped and not hosts.entries:
                found.append(f"{setting}: no entry could be read, so it is nowhere")
        if self._on_hub and not self.ceiling_is_set:
            found.append(
                f"{_CEILING} is not set: every notebook of this JupyterHub may read anywhere public; set it in an "
                f"operator's file, to ['{UNRESTRICTED}'] where that is meant"
            )
        return found

    # ------------------------------------------------------------------ changes

    def change(self, asks: Asks, change: PolicyChange) -> list[Grant]:
        """Change what a session asks for, wholly or, when something is refused, not at all.

        An entry of which the ceiling covers a part is granted for that part.

        Parameters
        ----------
        asks
            Of the session.
        change
            What a person wants changed.

        Returns
        -------
        list[Grant]
            What was granted, denied and taken back.

        Raises
        ------
        BadInput
            ``bad_request``: nothing of a list can be read, or it is too long.
        Refused
            ``not_allowed`` or ``acting_not_allowed``, naming both lists: all that was asked for lies outside the
            operator's.
        """
        new = replace(asks, denied=set(asks.denied))
        if change.reset:
            new.allow, new.approved, new.denied = None, NOWHERE, set()
        grants = [*self._allow(new, change), *self._deny(new, change), *self._act(new, change)]
        grants += taken_back(asks, new, self.ceiling, self.acting_ceiling)
        new.search = new.search if change.search is None else change.search
        new.task = new.task if change.task is None else change.task
        for each in fields(asks):
            setattr(asks, each.name, getattr(new, each.name))
        return grants

    def denials(self, change: PolicyChange, *, agent: bool) -> list[Grant]:
        """Return what is denied by rule of a change that was refused.

        Parameters
        ----------
        change
            What was to be changed.
        agent
            Whether an agent asked, to whom all of it is denied; else it is what lies outside the operator's lists.
        """
        asked, act = HostList.read(change.allow, self._opened), HostList.read_acting(change.act or ())
        if agent:
            return agents_attempts(asked, act)
        acting = acting_grants(act, self.ceiling, self.acting_ceiling)
        return [*outside(asked, self.ceiling), *(grant for grant in acting if not grant.granted)]

    def _allow(self, asks: Asks, change: PolicyChange) -> list[Grant]:
        if change.only:
            asks.allow, asks.approved = NOWHERE, NOWHERE
        if not change.allow:
            return []
        asked = _read_some(HostList.read(change.allow, self._opened))
        granted = asked.within(self.ceiling).entries
        if not granted:
            raise self._outside_ceiling(str(asked))
        if change.answered and asks.allow is None and self.rule == "prompt":
            asks.approved = _bounded(asks.approved.joined(asked))
        else:
            asks.allow = _bounded((asks.allow or NOWHERE).joined(asked))
        asks.denied = {entry for entry in asks.denied if not asked.encloses(HostEntry(entry))}
        scope = f"read, by a person's {'answer' if change.answered else 'ask'}, for this session"
        return [*(Grant(True, scope, entry.text) for entry in granted), *outside(asked, self.ceiling)]

    def _deny(self, asks: Asks, change: PolicyChange) -> list[Grant]:
        if not change.deny:
            return []
        denied = HostList.read(change.deny, self._opened)
        wide = [entry for entry in denied.entries if entry.text == UNRESTRICTED or entry.text.startswith("*.")]
        if denied.dropped or wide:
            raise BadInput("bad_request", "deny names the hosts that were asked about, and nothing else")
        asks.denied |= {entry.text for entry in denied.entries}
        if len(asks.denied) > MAX_ENTRIES:
            raise BadInput("bad_request", f"a session denies at most {MAX_ENTRIES:,} hosts")
        return [Grant(False, "read, by a person's answer, for this session", entry.text) for entry in denied.entries]

    def _act(self, asks: Asks, change: PolicyChange) -> list[Grant]:
        if change.act is None:
            return []
        asked = _read_some(HostList.read_acting(change.act)) if change.act else NOWHERE
        granted = [entry for entry in asked.entries if self.acting_ceiling.encloses(entry)]
        if asked.entries and not granted:
            raise self._outside_acting_ceiling(str(asked))
        if granted and not any(self.ceiling.encloses(entry) for entry in granted):
            raise self._outside_ceiling(str(asked))
        asks.act = _bounded(asked)
        return acting_grants(asked, self.ceiling, self.acting_ceiling)


def _way_to_act_on(host: str) -> str:
    if parse_address(host) is not None:
        return "nothing is changed on an address, only on hosts with a name"
    return f"a person adds it by %webresearch allow-actions {host}"


def _read_some(hosts: HostList) -> HostList:
    """Return a list that a person wrote; one of which nothing can be read is a slip, not a wish to be nowhere."""
    if not hosts.entries:
        raise BadInput("bad_request", f"{_named(hosts.dropped)}; nothing was changed")
    return hosts


def _named(dropped: tuple[Dropped, ...]) -> str:
    named = "; ".join(f"{entry.text[:100]!r} covers nothing: {entry.reason}" for entry in dropped[:3])
    return named if len(dropped) <= 3 else f"{named}; and {len(dropped) - 3} more"


def _bounded(hosts: HostList) -> HostList:
    if len(hosts.entries) + len(hosts.dropped) > MAX_ENTRIES:
        raise BadInput("bad_request", f"a session asks for at most {MAX_ENTRIES:,} entries")
    return hosts
