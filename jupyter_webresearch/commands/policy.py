"""``jupyter webresearch policy``: what may be reached, and what bounds it."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import write_json, write_text

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["add_to", "run"]

EPILOG = """\
A list covers hosts: example.com is that host, *.example.com is the host and every name below it, and
internet:unrestricted is anywhere public. What can't be read covers nothing, and is named here.

examples:
  jupyter webresearch policy
  jupyter webresearch policy --json --WebPolicy.ceiling='["*.example.com"]'"""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "policy",
        help="show what may be read, and what bounds it",
        description="Show both lists of hosts, the operator's and the session's, what each entry covers, what was "
        "dropped and why, and what else bounds reading.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the policy as a session that has asked for nothing meets it.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    settings
        Settings to work with.
    """
    from jupyter_webresearch.kernel.local_client import LocalClient
    from jupyter_webresearch.policy.report_text import policy_text

    with contextlib.closing(LocalClient(settings, channel="cli")) as client:
        report = client.policy()
    if arguments.json:
        write_json(report, indent=2)
    else:
        write_text(policy_text(report))
    return 0
