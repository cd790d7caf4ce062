"""The lists of a session as an object of JSON: what each entry covers, and what was dropped and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.policy.asks import NOWHERE, Asks
from jupyter_webresearch.policy.egress import Dropped, HostEntry, HostList

if TYPE_CHECKING:
    from jupyter_webresearch.policy.lists import Lists

__all__ = ["report"]

_SHOWN = 200  # characters of what someone wrote


def report(lists: Lists, asks: Asks) -> dict[str, Any]:
    """Return both lists of a session and what bounds them.

    Each list has ``is_set``, ``reach`` (all of it in a line, ``nowhere`` where it covers nothing), ``entries`` as
    ``{"entry", "covers"}`` and ``dropped`` as ``{"entry", "reason"}``.

    Parameters
    ----------
    lists
        The policy.
    asks
        Of the session.
    """
    return {
        "ceiling": _part(lists.ceiling, is_set=lists.ceiling_is_set, covers=lambda entry: entry.description),
        "ask": _ask(lists, asks),
        "acting": _acting(lists, asks),
        "notebook": _notebook(lists, asks),
        "task": lists.task(asks),
        "search": lists.search_is_on(asks),
    }


def _part(
    hosts: HostList, *, is_set: bool, covers: Callable[[HostEntry], str], reach: HostList | str | None = None
) -> dict[str, Any]:
    return {
        "is_set": is_set,
        "reach": str(hosts if reach is None else reach),
        "entries": [{"entry": entry.text, "covers": covers(entry)} for entry in hosts.entries],
        "dropped": _dropped(hosts.dropped),
    }


def _dropped(entries: Iterable[Dropped]) -> list[dict[str, str]]:
    return [
        {"entry": one_line(entry.text, _SHOWN) or repr(entry.text[:_SHOWN]), "reason": entry.reason}
        for entry in entries
    ]


def _ask(lists: Lists, asks: Asks) -> dict[str, Any]:
    """Say what the session may read, by its own ask or else by the metadata and ``WebPolicy.ask``."""
    if asks.allow is not None:
        asked, source = asks.allow.joined(asks.approved), "session"
    elif asks.approved.entries:
        asked, source = asks.approved, "answers"
    else:
        asked, source = NOWHERE, ""
    part = _part(asked, is_set=bool(source), covers=_inside(asked, lists.ceiling), reach=_reach(lists, asks))
    return {**part, "source": source or "WebPolicy.ask", "rule": lists.rule, "denied": sorted(asks.denied)}


def _reach(lists: Lists, asks: Asks) -> str:
    reading = str(lists.reading(asks))
    if lists.rule != "prompt" or asks.allow is not None:
        return reading
    rest = "each host when a person has allowed it"
    return f"{reading}; {rest}" if asks.approved.entries else rest


def _inside(hosts: HostList, ceiling: HostList) -> Callable[[HostEntry], str]:
    shares = hosts.shares(ceiling)

    def covers(entry: HostEntry) -> str:
        if ceiling.encloses(entry):
            return entry.description
        share = HostList(tuple(shares[entry]))
        return f"{share} of it; the rest lies outside the ceiling" if share.entries else "nothing: outside the ceiling"

    return covers


def _acting(lists: Lists, asks: Asks) -> dict[str, Any]:
    reading = lists.reading(asks)
    act = asks.act or NOWHERE

    def covers(entry: HostEntry) -> str:
        if not lists.acting_ceiling.encloses(entry):
            return "nothing: outside the ceiling for acting"
        if not reading.encloses(entry) or entry.text in asks.denied:
            return "nothing while this session may not read it"
        return entry.description

    reach = HostList(tuple(entry for entry in act.entries if not covers(entry).startswith("nothing")))
    part = _part(act, is_set=asks.act is not None, covers=covers, reach=reach)
    bound = lists.acting_ceiling
    ceiling = _part(bound, is_set=lists.acting_ceiling_is_set, covers=lambda entry: entry.description)
    if not lists.acting_ceiling_is_set and bound.entries:
        ceiling |= {"reach": "whatever a person asks", "entries": []}
    return {**part, "ceiling": ceiling}


def _notebook(lists: Lists, asks: Asks) -> dict[str, Any]:
    notebook = asks.notebook
    kept = lists.kept(notebook)
    allow = NOWHERE if kept is None else kept
    is_set = kept is not None
    reach = allow.within(lists.ceiling) if is_set else ""
    part = _part(allow, is_set=is_set, covers=_inside(allow, lists.ceiling), reach=reach)
    own = {"search": notebook.search, "task": notebook.task, "faults": _dropped(notebook.faults)}
    return {**part, **own, "replaced": asks.allow is not None}
