"""``%webresearch``: what bounds this notebook, and what it has done."""

from __future__ import annotations

import argparse
from collections import ChainMap
from collections.abc import Collection, Mapping
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class, needs_local_scope, no_var_expand

from jupyter_webresearch.errors import Refused, WebResearchError
from jupyter_webresearch.extraction.sanitise import one_line
from jupyter_webresearch.kernel.client import Client, connect
from jupyter_webresearch.kernel.command_line import split_words, values_of
from jupyter_webresearch.kernel.research_subcommands import MAGIC, MOST, NEWEST, SUBCOMMANDS, documentation, parser
from jupyter_webresearch.policy.policy_change import PolicyChange
from jupyter_webresearch.surfaces import SURFACES, operation_of_subcommand

__all__ = ["ResearchMagics"]


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
        """Show and change what bounds this notebook, and see what it has done."""
        values, _ = values_of(split_words(line), ChainMap(dict(local_ns or {}), self._shell.user_ns))
        name, *written = values or ["help"]
        name = "help" if name in ("-h", "--help") else name
        _check_name(name)
        if name == "task":  # its words are text, whatever they begin with
            return self._task(written)
        if {"-h", "--help"}.intersection(written):
            return self._explain(name)
        return getattr(self, "_" + name.replace("-", "_"))(parser(name).parse_args(written))

    webresearch.__doc__ = documentation()

    # ------------------------------------------------------------------ subcommands

    def _help(self, arguments: argparse.Namespace) -> None:
        if arguments.subcommand is not None:
            self._explain(arguments.subcommand)
            return
        from jupyter_webresearch.kernel.research_forms import help_forms

        self._show(help_forms(self._operations()))

    def _policy(self, _arguments: argparse.Namespace) -> None:
        from jupyter_webresearch.kernel.research_forms import policy_forms

        self._show(policy_forms(self._client.policy()))

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
        from jupyter_webresearch.journal.by_operation import by_operation

        if arguments.n is not None and not 1 <= arguments.n <= MOST:
            raise UsageError(f"{MAGIC} journal -n takes a number from 1 to {MOST:,}")
        events = self._client.events(limit=MOST)
        found = events if arguments.events else by_operation(events)
        shown = found[-(arguments.n or (MOST if arguments.all else NEWEST)) :]
        what = "events" if arguments.events else "operations"
        before = " of the newest" * (len(events) == MOST)
        more = f"; {MAGIC} journal --all returns all" * (len(shown) < len(found) and not arguments.n)
        print(f"{len(shown):,} of{before} {len(found):,} {what}{more}")  # noqa: T201
        if fault := self._client.policy().get("journal_fault"):
            print(one_line(fault, 500))  # noqa: T201
        return shown if arguments.list else _frame(shown, arguments.events)

    def _budgets(self, _arguments: argparse.Namespace) -> None:
        from jupyter_webresearch.kernel.research_forms import budgets_forms

        self._show(budgets_forms(self._client.policy()))

    # ------------------------------------------------------------------ what they share

    def _show(self, forms: dict[str, str]) -> None:
        self._shell.display_pub.publish(forms)

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
        print(parser(name).format_help().rstrip())  # noqa: T201

    def _operations(self) -> Collection[str]:
        try:
            return self._client.operations()
        except WebResearchError:  # the help is there whatever else is not
            return tuple(SURFACES)

    def _check_on(self, name: str) -> None:
        operation = operation_of_subcommand(name)
        if operation is not None and operation not in self._client.operations():
            raise Refused("disabled", f"{operation} is switched off", setting="")


def _check_name(name: str) -> None:
    if name not in SUBCOMMANDS:
        raise UsageError(f"{MAGIC} has no {one_line(name, 40)!r}; {MAGIC} help lists what it has")


def _frame(found: list[dict[str, Any]], as_events: bool) -> Any:
    from jupyter_webresearch.journal import by_operation, reader

    try:
        return reader.to_dataframe(found) if as_events else by_operation.to_dataframe(found)
    except ImportError as error:
        raise UsageError(f"{error}; or {MAGIC} journal --list") from None
