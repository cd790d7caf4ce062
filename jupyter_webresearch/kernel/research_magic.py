"""``%webresearch``: what bounds this notebook, and what it has done."""

from __future__ import annotations

import argparse
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class, needs_local_scope, no_var_expand

from jupyter_webresearch.errors import Refused, WebResearchError
from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.client import Client, connect
from jupyter_webresearch.kernel.command_line import Parser, split_words, values_of
from jupyter_webresearch.policy.policy_change import PolicyChange
from jupyter_webresearch.surfaces import SURFACES, magics_of

__all__ = ["ResearchMagics", "completions", "help_text"]

MAGIC = "%webresearch"
NEWEST = 100
MOST = 10_000  # events; the server gives no more at once


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
    operation
        The operation without which it is not there.
    """

    usage: str
    about: str
    declare: Callable[[argparse.ArgumentParser], object] = lambda parser: None
    operation: str | None = None


def _declare_allow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "hosts", nargs="*", metavar="HOST", help="example.com, *.example.com, or internet:unrestricted for anywhere"
    )
    parser.add_argument("--only", action="store_true", help="these hosts instead of those asked for before")
    parser.add_argument(
        "--reset", action="store_true", help="forget what was asked for, so that the notebook's metadata hold again"
    )


def _declare_actions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="an exact host; the list takes the place of the last")
    parser.add_argument("--none", action="store_true", help="act nowhere")


def _declare_journal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=int, default=NEWEST, metavar="N", help=f"the newest N events; {NEWEST} when omitted")
    parser.add_argument("--all", action="store_true", help=f"every event of this session, up to {MOST:,}")
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
        operation="search",
    ),
    "task": Subcommand(
        'task "..."',
        "say what this session is for; alone it shows that",
        lambda parser: parser.add_argument("words", nargs="*", metavar="TEXT"),
    ),
    "journal": Subcommand(
        "journal [-n N] [--all] [--list]", "return what this session has done, a DataFrame", _declare_journal
    ),
    "budgets": Subcommand("budgets", "show what is used of each budget"),
    "help": Subcommand(
        "help [SUBCOMMAND]",
        "show this",
        lambda parser: parser.add_argument("subcommand", nargs="?", metavar="SUBCOMMAND"),
    ),
}


def _shown(operations: Collection[str]) -> list[str]:
    return [name for name, sub in SUBCOMMANDS.items() if sub.operation is None or sub.operation in operations]


def help_text(operations: Collection[str]) -> str:
    """Return the help: nothing that is switched off is in it.

    Parameters
    ----------
    operations
        Those that are on.
    """
    lines = [f"    {MAGIC} {SUBCOMMANDS[name].usage:<34} {SUBCOMMANDS[name].about}" for name in _shown(operations)]
    readers = ", ".join(f"%{name} --help" for name in sorted(magics_of(operations)))
    return "\n".join(
        [
            "What bounds this notebook, and what it has done.",
            "",
            *lines,
            "",
            f"{MAGIC} SUBCOMMAND --help says more. Nothing here widens what the operator allows.",
            f"What reads the web: {readers}." if readers else "Reading the web is switched off.",
        ]
    )


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
        return _shown(operations)
    if words[0] == "help":
        return _shown(operations)
    if words[0] not in _shown(operations) or not event.symbol.startswith("-"):
        return []
    return [option for action in _parser(words[0])._actions for option in action.option_strings]


def _parser(name: str) -> Parser:
    about = SUBCOMMANDS[name].about
    parser = Parser(prog=f"{MAGIC} {name}", description=f"{about[0].upper()}{about[1:]}.", add_help=False)
    SUBCOMMANDS[name].declare(parser)
    parser.add_argument("-h", "--help", action="store_true", help="show this")
    return parser


@magics_class
class ResearchMagics(Magics):
    """The magic of one shell.

    Parameters
    ----------
    shell
        The IPython shell.
    client
        What does the work; this process's own when omitted.
    """

    def __init__(self, shell: Any, client: Client | None = None) -> None:
        super().__init__(shell)
        self._shell = shell
        self._given = client

    @property
    def _client(self) -> Client:
        return self._given or connect()

    @no_var_expand
    @needs_local_scope
    @line_magic
    def webresearch(self, line: str, local_ns: Mapping[str, Any] | None = None) -> Any:
        """Show and change what bounds this notebook, and see what it has done: `%webresearch help`."""
        values, _ = values_of(split_words(line), ChainMap(dict(local_ns or {}), self._shell.user_ns))
        name, *written = values or ["help"]
        name = "help" if name in ("-h", "--help") else name
        _check_name(name)
        if name == "task":  # its words are text, whatever they begin with
            return self._task(written)
        if {"-h", "--help"}.intersection(written):
            return self._explain(name)
        return getattr(self, "_" + name.replace("-", "_"))(_parser(name).parse_args(written))

    # ------------------------------------------------------------------ subcommands

    def _help(self, arguments: argparse.Namespace) -> None:
        if arguments.subcommand is not None:
            self._explain(arguments.subcommand)
            return
        print(help_text(self._operations()))  # noqa: T201

    def _policy(self, _arguments: argparse.Namespace) -> None:
        from jupyter_webresearch.policy.report_text import policy_text

        print(policy_text(self._client.policy()))  # noqa: T201

    def _allow(self, arguments: argparse.Namespace) -> None:
        if not (arguments.hosts or arguments.only or arguments.reset):
            raise UsageError(f"{MAGIC} allow takes hosts; {MAGIC} allow --help says more")
        self._tell("ask", allow=arguments.hosts, only=arguments.only, reset=arguments.reset)

    def _allow_actions(self, arguments: argparse.Namespace) -> None:
        if bool(arguments.hosts) == arguments.none:
            raise UsageError(f"{MAGIC} allow-actions takes either hosts or --none")
        self._tell("acting", act=arguments.hosts)

    def _search(self, arguments: argparse.Namespace) -> None:
        self._check_on("search")
        report = self._change(search=arguments.state == "on")
        print(f"search is {'on' if report['search'] else 'off'} in this session")  # noqa: T201

    def _task(self, words: list[str]) -> None:
        if words in (["-h"], ["--help"]):
            self._explain("task")
            return
        report = self._change(task=" ".join(words)) if words else self._client.policy()
        print(one_line(report["task"], 2000) or "no task is stated")  # noqa: T201

    def _journal(self, arguments: argparse.Namespace) -> Any:
        if not 1 <= arguments.n <= MOST:
            raise UsageError(f"{MAGIC} journal -n takes a number from 1 to {MOST:,}")
        events = self._client.events(limit=MOST if arguments.all else arguments.n)
        return events if arguments.list else _frame(events)

    def _budgets(self, _arguments: argparse.Namespace) -> None:
        report = self._client.policy()
        for row in report["budgets"]:
            span = f" in {row['seconds']:g} s" if row["seconds"] else ""
            again = f"; room again in {row['frees_in']:.0f} s" if row["frees_in"] else ""
            print(f"{row['name']}: {row['used']:g} of {row['size']:g}{span}{again}")  # noqa: T201
        if not report["budgets"]:
            print(report.get("budgets_fault") or "no budget is set")  # noqa: T201
        if report["dollars_spent"]:
            print(f"spent by this session: {report['dollars_spent']:g} dollars")  # noqa: T201

    # ------------------------------------------------------------------ what they share

    def _change(self, **change: Any) -> dict[str, Any]:
        return self._client.change_policy(PolicyChange.from_json(change))

    def _tell(self, part: str, **change: Any) -> None:
        """Change the policy, and print what then holds of one of its lists."""
        told = self._change(**change)[part]
        print(f"this session {'reads' if part == 'ask' else 'acts on'}: {told['reach']}")  # noqa: T201
        for row in told["entries"]:
            if row["covers"].startswith("nothing"):
                print(f"  {row['entry']}: {row['covers']}")  # noqa: T201
        for row in told["dropped"]:
            print(f"  {one_line(row['entry'], 200)}: dropped, {row['reason']}")  # noqa: T201

    def _explain(self, name: str) -> None:
        _check_name(name)
        self._check_on(name)
        print(_parser(name).format_help().rstrip())  # noqa: T201

    def _operations(self) -> Collection[str]:
        try:
            return self._client.operations()
        except WebResearchError:  # the help is there whatever else is not
            return tuple(SURFACES)

    def _check_on(self, name: str) -> None:
        operation = SUBCOMMANDS[name].operation
        if operation in SURFACES and operation not in self._client.operations():
            raise Refused("disabled", f"{operation} is switched off")


def _check_name(name: str) -> None:
    if name not in SUBCOMMANDS:
        raise UsageError(f"{MAGIC} has no {one_line(name, 40)!r}; {MAGIC} help lists what it has")


def _frame(events: list[dict[str, Any]]) -> Any:
    from jupyter_webresearch.journal.reader import to_dataframe

    try:
        return to_dataframe(events)
    except ImportError as error:
        raise UsageError(f"{error}; or {MAGIC} journal --list") from None
