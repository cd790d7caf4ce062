"""What a notebook and a session ask for. Neither widens anything: see :mod:`jupyter_webresearch.policy.lists`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from jupyter_webresearch.policy.egress import Dropped, HostList
from jupyter_webresearch.policy.opened import ANY_NETWORK
from jupyter_webresearch.policy.policy_change import MAX_ENTRIES, task_fault

__all__ = ["NOWHERE", "Asks", "NotebookAsk"]

NOWHERE = HostList()

_NAMED = 20  # unknown keys that are named
_ACTING = ("act", "acting", "allow_actions", "allow-actions")


@dataclass(frozen=True)
class NotebookAsk:
    """What the metadata of a notebook says, under the key ``webresearch``.

    Attributes
    ----------
    allow
        The hosts that its sessions keep to, or None when it names none.
    search
        Whether they search, or None.
    task
        What the notebook is for, or None.
    faults
        Keys that can't be read, and why.
    """

    allow: HostList | None = None
    search: bool | None = None
    task: str | None = None
    faults: tuple[Dropped, ...] = ()

    @staticmethod
    def from_metadata(value: object) -> NotebookAsk:
        """Read ``metadata["webresearch"]``, or None where a notebook has none.

        A value of the wrong type narrows to nowhere and is named; an unknown key is named and passed over.
        """
        if value is None:
            return NotebookAsk()
        if not isinstance(value, Mapping):
            return NotebookAsk(NOWHERE, False, None, (Dropped("webresearch", "it is not an object"),))
        allow, faults = _read_allow(value)
        search = value.get("search")
        if "search" in value and not isinstance(search, bool):
            search, faults = False, [*faults, Dropped("search", "it is neither true nor false; nothing is searched")]
        task = value.get("task")
        if "task" in value and (fault := task_fault(task)):
            task, allow, faults = None, NOWHERE, [*faults, Dropped("task", f"{fault}; nothing is read")]
        unknown = [str(key) for key in value if key not in ("allow", "search", "task")]
        faults += [Dropped(key, _why_unknown(key)) for key in unknown[:_NAMED]]
        if len(unknown) > _NAMED:
            faults.append(Dropped("...", f"{len(unknown) - _NAMED:,} more keys are unknown"))
        return NotebookAsk(allow, search, task, tuple(faults))

    def and_that(self, other: NotebookAsk) -> NotebookAsk:
        """Return what two notebooks of one kernel ask together: each narrows; the first that says a task says it."""
        given = [allow for allow in (self.allow, other.allow) if allow is not None]
        search = [search for search in (self.search, other.search) if search is not None]
        return NotebookAsk(
            reduce(HostList.within, given) if given else None,
            all(search) if search else None,
            other.task if self.task is None else self.task,
            self.faults + other.faults,
        )


@dataclass
class Asks:
    """What one session asks for; it outlives a restart of its kernel. Used on the engine's loop only.

    Attributes
    ----------
    notebook
        What the metadata of its notebook says.
    allow
        The hosts that the session asked to read, in place of the notebook's; None when it asked for none.
    act
        The hosts on which it asked to act, or None.
    search, task
        In place of the notebook's; None when the session said nothing.
    approved
        Hosts that a person allowed when asked, while the session had asked for none itself.
    denied
        Hosts that a person refused when asked, as entries.
    """

    notebook: NotebookAsk = NotebookAsk()
    allow: HostList | None = None
    act: HostList | None = None
    search: bool | None = None
    task: str | None = None
    approved: HostList = NOWHERE
    denied: set[str] = field(default_factory=set)


def _read_allow(value: Mapping[str, object]) -> tuple[HostList | None, list[Dropped]]:
    if "allow" not in value:
        return None, []
    entries = value["allow"]
    if not isinstance(entries, (list, tuple)):
        return NOWHERE, [Dropped("allow", "it is not a list; nothing is read")]
    if len(entries) > MAX_ENTRIES:
        return NOWHERE, [Dropped("allow", f"it has more than {MAX_ENTRIES:,} entries; nothing is read")]
    others = tuple(
        Dropped(json.dumps(entry, default=repr)[:100], "it is not text")
        for entry in entries
        if not isinstance(entry, str)
    )
    # Which addresses the operator has opened, a notebook does not know: `Lists` drops the others.
    read = HostList.read((entry for entry in entries if isinstance(entry, str)), ANY_NETWORK)
    return HostList(read.entries, read.dropped + others), []


def _why_unknown(key: str) -> str:
    if key in _ACTING:
        return "metadata lets no session act; %webresearch allow-actions does"
    return "it is none of allow, search and task"
