"""Where each operation that can be switched off meets people and programs.

One table: whoever shows magics, commands or routes asks it what to leave out, and one test asks each of them whether
what is off is nowhere to be found. An operation without a row can't be used here yet, and is told to nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_webresearch.config import OPERATIONS

__all__ = [
    "SURFACES",
    "Surface",
    "commands_of",
    "magics_of",
    "offered",
    "operation_of_command",
    "operation_of_subcommand",
    "report_of",
]


@dataclass(frozen=True)
class Surface:
    """Where one operation is found.

    Attributes
    ----------
    magics
        Names, without the percent sign.
    subcommands
        Of ``%webresearch``.
    commands
        Of ``jupyter webresearch``.
    routes
        Below ``webresearch/``, without what follows in the path.
    """

    magics: tuple[str, ...] = ()
    subcommands: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()


SURFACES = {
    "fetch": Surface(magics=("webfetch",), commands=("fetch",), routes=("fetch", "batch", "saved")),
    "search": Surface(
        magics=("websearch",),
        subcommands=("search", "providers"),
        commands=("search", "providers"),
        routes=("search", "providers"),
    ),
}
"""By operation, in the order of :data:`jupyter_webresearch.config.OPERATIONS`."""


def offered(on: Collection[str]) -> tuple[str, ...]:
    """Return which of the operations that are on can be used here."""
    return tuple(operation for operation in SURFACES if operation in on)


def report_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an engine says of a session's policy without what belongs to operations that are not offered."""
    operations = offered(report["operations"])
    hidden = {f"WebBudgets.{name}_per_minute" for name in OPERATIONS if name not in operations}
    budgets = [row for row in report["budgets"] if row["name"] not in hidden]
    return {**report, "operations": list(operations), "budgets": budgets}


def magics_of(operations: Iterable[str]) -> frozenset[str]:
    """Return the names of the magics of operations."""
    return frozenset(name for operation in operations for name in SURFACES[operation].magics)


def commands_of(operations: Iterable[str]) -> frozenset[str]:
    """Return the names of the commands of operations."""
    return frozenset(name for operation in operations for name in SURFACES[operation].commands)


def operation_of_command(command: str) -> str | None:
    """Return the operation that a command belongs to; None for one that is always there."""
    return next((operation for operation, surface in SURFACES.items() if command in surface.commands), None)


def operation_of_subcommand(subcommand: str) -> str | None:
    """Return the operation that a subcommand of ``%webresearch`` belongs to; None for one that is always there."""
    return next((operation for operation, surface in SURFACES.items() if subcommand in surface.subcommands), None)
