"""What a change of a session's asks grants, denies and takes back, each with its scope, for the journal."""

from __future__ import annotations

from jupyter_webresearch.policy.asks import NOWHERE, Asks
from jupyter_webresearch.policy.egress import HostEntry, HostList
from jupyter_webresearch.policy.policy_change import Grant

__all__ = ["acting_grants", "agents_attempts", "outside", "taken_back"]

_BY_CEILING = "by WebPolicy.ceiling, until the operator changes that"
_BY_ACTING_CEILING = "by WebPolicy.acting_ceiling, until the operator changes that"
_BY_PERSON = "by a person's ask, for this session"
_BY_RULE = "by the rule that no agent changes what it may reach, always"


def outside(asked: HostList, ceiling: HostList) -> list[Grant]:
    """Return the denials of what the operator's list of hosts to read covers no part of.

    Parameters
    ----------
    asked
        What was asked for.
    ceiling
        The operator's list.
    """
    denied = [entry for entry, share in asked.shares(ceiling).items() if not share]
    return [Grant(False, f"read, {_BY_CEILING}", entry.text) for entry in denied]


def acting_grants(asked: HostList, ceiling: HostList, acting_ceiling: HostList) -> list[Grant]:
    """Return what is granted and denied of the hosts to act on: each has to be on both of the operator's lists.

    Parameters
    ----------
    asked
        What was asked for.
    ceiling, acting_ceiling
        The operator's lists.
    """
    return [_acting_grant(entry, ceiling, acting_ceiling) for entry in asked.entries]


def _acting_grant(entry: HostEntry, ceiling: HostList, acting_ceiling: HostList) -> Grant:
    if not acting_ceiling.encloses(entry):
        return Grant(False, f"act, {_BY_ACTING_CEILING}", entry.text, "act")
    if not ceiling.encloses(entry):
        return Grant(False, f"act, {_BY_CEILING}", entry.text, "act")
    return Grant(True, f"act, {_BY_PERSON}", entry.text, "act")


def agents_attempts(asked: HostList, act: HostList) -> list[Grant]:
    """Return the denials of all that an agent wanted changed.

    Parameters
    ----------
    asked, act
        Hosts to read and to act on that it named.
    """
    denied = [Grant(False, f"read, {_BY_RULE}", entry.text) for entry in asked.entries]
    denied += [Grant(False, f"act, {_BY_RULE}", entry.text, "act") for entry in act.entries]
    return denied or [Grant(False, f"a change of the policy, {_BY_RULE}", "")]


def taken_back(before: Asks, after: Asks, ceiling: HostList, acting_ceiling: HostList) -> list[Grant]:
    """Return which grants, and which denials of a person's, a change leaves no more.

    Parameters
    ----------
    before, after
        The asks that were replaced, and what replaced them.
    ceiling, acting_ceiling
        The operator's lists: what lies outside was never granted.
    """
    reads, acts = _reads(after), after.act or NOWHERE
    read = [entry.text for entry in _reads(before).within(ceiling).entries if not reads.encloses(entry)]
    act = [
        grant.host
        for grant in acting_grants(before.act or NOWHERE, ceiling, acting_ceiling)
        if grant.granted and acts.covering(grant.host) is None
    ]
    # A denial that a grant lifts is told by the grant.
    lifted = [text for text in sorted(before.denied - after.denied) if not reads.encloses(HostEntry(text))]
    return [
        *(Grant(False, f"read, a grant taken back {_BY_PERSON}", text) for text in read),
        *(Grant(False, f"act, a grant taken back {_BY_PERSON}", text, "act") for text in act),
        *(Grant(True, f"read, a denial taken back {_BY_PERSON}", text) for text in lifted),
    ]


def _reads(asks: Asks) -> HostList:
    return (asks.allow or NOWHERE).joined(asks.approved)
