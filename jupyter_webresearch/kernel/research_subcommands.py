"""The subcommands of ``%webresearch``: how each is written, and what it does."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from jupyter_webresearch.kernel.command_line import Parser
from jupyter_webresearch.surfaces import operation_of_subcommand

__all__ = ["MAGIC", "MOST", "NEWEST", "SUBCOMMANDS", "Subcommand", "completions", "documentation", "offered", "parser"]

MAGIC = "%webresearch"
NEWEST = 100
MOST = 10_000  # events; the server gives no more at once

ABOUT = "What bounds this notebook, and what it has done."


@dataclass(frozen=True)
class Subcommand:
    """One subcommand.

    Attributes
    ----------
    usage
        How it is written.
    about
        What it does, in one line.
    declare
        Adds its arguments to a parser.
    """

    usage: str
    about: str
    declare: Callable[[argparse.ArgumentParser], object] = lambda parser: None


def _declare_allow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "hosts", nargs="*", metavar="HOST", help="example.com, *.example.com, or internet:unrestricted for anywhere"
    )
    parser.add_argument("--only", action="store_true", help="these hosts instead of those asked for before")
    parser.add_argument(
        "--reset",
        action="store_true",
        help="forget first all hosts asked for by allow, and each yes and no to a question about a host: the "
        "notebook's metadata and WebPolicy.ask hold again; the acting list, search and the task stay",
    )


def _declare_actions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="an exact host; the list takes the place of the last")
    parser.add_argument("--none", action="store_true", help="act nowhere")


def _declare_journal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=int, metavar="N", help=f"the newest N; {NEWEST} when omitted")
    parser.add_argument("--all", action="store_true", help=f"all, as far as the newest {MOST:,} events go back")
    parser.add_argument(
        "--events", action="store_true", help="events instead of operations, as they were written, with every column"
    )
    parser.add_argument("--list", action="store_true", help="a list of dicts instead of a DataFrame")


SUBCOMMANDS = {
    "policy": Subcommand("policy", "show both lists of hosts, and what else bounds this session"),
    "allow": Subcommand(
        "allow HOST... [--only] [--reset]", "ask for hosts to read, inside the operator's list", _declare_allow
    ),
    "allow-actions": Subcommand(
        "allow-actions HOST... | --none", "say on which hosts something may be changed", _declare_actions
    ),
    "search": Subcommand(
        "search on|off",
        "let this session search, or not",
        lambda parser: parser.add_argument("state", choices=("on", "off")),
    ),
    "task": Subcommand(
        'task "..."',
        "say what this session is for; alone it shows that",
        lambda parser: parser.add_argument("words", nargs="*", metavar="TEXT"),
    ),
    "journal": Subcommand(
        "journal [-n N] [--all] [--events]",
        "return what this session has done: a DataFrame, a row an operation",
        _declare_journal,
    ),
    "budgets": Subcommand("budgets", "show what is used of each budget"),
    "help": Subcommand(
        "help [SUBCOMMAND]",
        "show this",
        lambda parser: parser.add_argument("subcommand", nargs="?", metavar="SUBCOMMAND"),
    ),
}


def offered(operations: Collection[str]) -> list[str]:
    """Return the names of the subcommands that are there when some operations are on."""
    return [name for name in SUBCOMMANDS if operation_of_subcommand(name) in (None, *operations)]


def documentation() -> str:
    """Return what ``%webresearch?`` shows: it is written once, so that nothing is in it that can be switched off."""
    lines = [f"    {MAGIC} {SUBCOMMANDS[name].usage:<34} {SUBCOMMANDS[name].about}" for name in offered(())]
    return "\n".join([ABOUT, "", *lines, "", f"{MAGIC} SUBCOMMAND --help says more."])


def completions(operations: Collection[str], event: Any) -> list[str]:
    """Return what a TAB can complete: a subcommand, or the options of the one that is written.

    Parameters
    ----------
    operations
        Those that are on.
    event
        IPython's: ``line`` and ``symbol``.
    """
    words = event.line.split()[1:]
    if len(words) < 1 or (len(words) == 1 and event.symbol == words[0]):
        return offered(operations)
    if words[0] == "help":
        return offered(operations)
    if words[0] not in offered(operations) or not event.symbol.startswith("-"):
        return []
    return [option for action in parser(words[0])._actions for option in action.option_strings]


def parser(name: str) -> Parser:
    """Return the parser of a subcommand's arguments."""
    about = SUBCOMMANDS[name].about
    made = Parser(prog=f"{MAGIC} {name}", description=f"{about[0].upper()}{about[1:]}.", add_help=False)
    SUBCOMMANDS[name].declare(made)
    made.add_argument("-h", "--help", action="store_true", help="show this")
    return made
