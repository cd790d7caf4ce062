"""What a person asks to change in the policy of a session, and what became of it.

Plain data with a JSON form; importing it costs nothing heavy, so that a kernel can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from jupyter_webresearch.errors import BadInput

__all__ = ["MAX_ENTRIES", "MAX_TASK", "Grant", "PolicyChange", "task_fault"]

MAX_ENTRIES = 1000
"""Entries of one list that a session or a notebook asks for."""

MAX_TASK = 2000
"""Characters of a task."""

_MAX_ENTRY = 1000  # characters; a host name has 253
_LISTS = ("allow", "act", "deny")


@dataclass(frozen=True)
class PolicyChange:
    """A change of what one session asks for; the operator's ceilings bound all of it.

    Attributes
    ----------
    allow
        Entries of the egress grammar that the session wants to read.
    only
        Whether ``allow`` replaces what the session asked for before, instead of adding to it.
    reset
        Forget first which hosts the session asked to read and what a person answered about others, so that the
        notebook's metadata and ``WebPolicy.ask`` hold again. Acting list, search and task stay.
    act
        Exact hosts on which the session may act, in place of those before; empty is nowhere, None leaves them.
    search
        Whether the session searches; None leaves it.
    task
        What the session is for, as the classifier is told; None leaves it.
    deny
        Hosts that a person was asked about and refused.
    answered
        Whether ``allow`` is a person's answer to such a question.
    """

    allow: tuple[str, ...] = ()
    only: bool = False
    reset: bool = False
    act: tuple[str, ...] | None = None
    search: bool | None = None
    task: str | None = None
    deny: tuple[str, ...] = ()
    answered: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, readable by :meth:`from_json`."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @staticmethod
    def from_json(data: object) -> PolicyChange:
        """Rebuild what :meth:`to_json` wrote; what is left out stays as it is.

        Raises
        ------
        BadInput
            ``bad_request``, naming what is unknown, of a wrong type or too long.
        """
        if not isinstance(data, Mapping):
            raise BadInput("bad_request", "a change of the policy is an object")
        unknown = [str(name) for name in data if name not in PolicyChange.__dataclass_fields__]
        if unknown:
            raise BadInput("bad_request", f"a change of the policy has no {', '.join(unknown)[:200]}")
        values: dict[str, Any] = {}
        for name, value in data.items():
            if value is None and name in ("act", "search", "task"):
                continue
            fault = _fault(name, value)
            if fault:
                raise BadInput("bad_request", f"{name}: {fault}")
            values[name] = tuple(value) if name in _LISTS else value
        return PolicyChange(**values)


@dataclass(frozen=True)
class Grant:
    """What was decided on one host or entry, for the journal.

    Attributes
    ----------
    granted
        True for a grant, and for a denial that was taken back; False for a denial, and for a grant that was taken back.
    scope
        What for, by whom or what, and for how long.
    host
        The host or entry; empty where none was named.
    risk
        ``read`` or ``act``.
    """

    granted: bool
    scope: str
    host: str
    risk: str = "read"


def task_fault(task: object) -> str:
    """Say why something can't be a task; empty when it can."""
    if not isinstance(task, str):
        return "it is not text"
    if len(task) > MAX_TASK:
        return f"it is longer than {MAX_TASK:,} characters"
    return "" if task.replace("\n", "").isprintable() else "it holds a character that can't be printed"


def _fault(name: str, value: object) -> str:
    if name == "task":
        return task_fault(value)
    if name not in _LISTS:
        return "" if isinstance(value, bool) else "it is neither true nor false"
    if not isinstance(value, (list, tuple)) or not all(isinstance(entry, str) for entry in value):
        return "it is not a list of texts"
    if len(value) > MAX_ENTRIES:
        return f"it has more than {MAX_ENTRIES:,} entries"
    return f"an entry is longer than {_MAX_ENTRY:,} characters" if any(len(x) > _MAX_ENTRY for x in value) else ""
