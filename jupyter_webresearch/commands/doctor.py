"""``jupyter webresearch doctor``: what works on this machine and how to mend the rest."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import one_line, write_json, write_line

if TYPE_CHECKING:
    from traitlets.config import Config

    from jupyter_webresearch.doctor import Finding

__all__ = ["add_to", "run"]


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "doctor",
        help="say what works on this machine and how to mend the rest",
        description="Try what reading a page needs on this machine, and what the policy, the budgets and the journal "
        "need, by this terminal's settings: a running server has those that it was started with. Nothing is sent to "
        "the web. The exit status is 1 when something does not work.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array of objects")
    parser.set_defaults(run_unloaded=run)


def run(arguments: argparse.Namespace, cli: Config) -> int:
    """Examine and print; 1 when a check failed.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    cli
        Settings of the command line, ``--Class.trait=value``.
    """
    from jupyter_webresearch.doctor import examine

    findings = []
    for finding in examine(cli):
        findings.append(finding)
        if not arguments.json:
            _write(finding)
    if arguments.json:
        write_json([finding.to_json() for finding in findings], indent=2)
    return 1 if any(finding.state == "fail" for finding in findings) else 0


def _write(finding: Finding) -> None:
    _write_wrapped(f"{finding.state:<4}  ", f"{finding.name}: {finding.detail}")
    if finding.mend:
        _write_wrapped("      -> ", finding.mend)


def _write_wrapped(begin: str, text: str) -> None:
    """Write one line; on a terminal as many as are needed, between words and indented alike."""
    # What names this interpreter is a command, which can be copied from one line only.
    if sys.stdout is None or not sys.stdout.isatty() or sys.executable in text:
        write_line(begin + text)
        return
    columns = shutil.get_terminal_size().columns
    wrapper = textwrap.TextWrapper(
        columns,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in wrapper.wrap(one_line(text)):
        write_line(line)
