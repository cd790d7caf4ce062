"""``jupyter webresearch doctor``: what works on this machine and how to mend the rest."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import write_json, write_line

if TYPE_CHECKING:
    from traitlets.config import Config

__all__ = ["add_to", "run"]


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "doctor",
        help="say what works on this machine and how to mend the rest",
        description="Try what reading a page needs on this machine. Nothing is sent to the web. The exit status is 1 "
        "when something does not work.",
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
            write_line(f"{finding.state:<4}  {finding.name}: {finding.detail}")
            if finding.mend:
                write_line(f"      -> {finding.mend}")
    if arguments.json:
        write_json([finding.to_json() for finding in findings], indent=2)
    return 1 if any(finding.state == "fail" for finding in findings) else 0
