"""``jupyter webresearch disable`` and ``enable``: the switch of this user's running Jupyter servers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import complain, one_line, write_line
from jupyter_webresearch.commands.own_servers import ask, own_servers
from jupyter_webresearch.config import OPERATIONS
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.surfaces import SURFACES

if TYPE_CHECKING:
    from traitlets.config import Config

__all__ = ["add_to", "run"]

TIMEOUT = 30.0  # seconds; running operations are cancelled before the server answers
INSTEAD = (
    "WebPolicy.enabled and WebPolicy.disabled_operations in jupyter_webresearch_config.py switch what starts later"
)

EPILOGS = {
    "disable": """\
It works at once, on every running Jupyter server of yours with Web Research, until that server ends: what runs is
cancelled, and nothing is read any more. WebPolicy.enabled and WebPolicy.disabled_operations are the settings that last.

examples:
  jupyter webresearch disable
  jupyter webresearch disable fetch""",
    "enable": """\
It works at once, on every running Jupyter server of yours with Web Research: what `disable` switched off there is on
again. What WebPolicy.enabled and WebPolicy.disabled_operations switch off stays off.

examples:
  jupyter webresearch enable
  jupyter webresearch enable fetch""",
}


def add_to(commands: Any) -> None:
    """Declare both commands and their arguments."""
    for name, what in (("disable", "off"), ("enable", "on")):
        parser = commands.add_parser(
            name,
            help=f"switch reading {what} on running servers",
            description=f"Switch reading the web, or one way of it, {what} on your running Jupyter servers.",
            epilog=EPILOGS[name],
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument("operation", nargs="?", metavar="OPERATION", help="everything when omitted")
        parser.set_defaults(run_unloaded=run, on=name == "enable", usage_error=_usage_error)


def run(arguments: argparse.Namespace, cli: Config) -> int:
    """Switch, and print what each server says; 1 when one did not do it, which is said for each.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    cli
        Settings of the command line; the switch needs none.

    Raises
    ------
    Failed
        ``not_found`` when no server of this user's has Web Research.
    """
    asked = {"operation": arguments.operation, "enabled": arguments.on}
    status, answered = 0, False
    for address, token in own_servers():
        try:
            answer = ask(address, token, "POST", "switch", asked, timeout=TIMEOUT)
            told = None if answer is None else _told(answer)
        except WebResearchError as error:
            status = 1
            if address.url not in error.message:
                error.message = f"{address.url}: {error.message}"
            complain(error)
            continue
        if told is not None:  # None without our extension
            answered = True
            write_line(address.url, told)
    if not (status or answered):
        raise Failed("not_found", f"no Jupyter server of yours with Web Research is running; {INSTEAD}")
    return status


def _told(answer: dict[str, Any]) -> str:
    """Say what of all that there is here is off, and what is on."""
    if not isinstance(answer.get("operations"), list):
        raise Failed("unreachable", "the answer is not one of a Jupyter server with Web Research")
    on = [one_line(str(name)) for name in answer["operations"]]
    off = [name for name in SURFACES if name not in on]
    if not on:
        return "off: everything"
    return f"off: {', '.join(off)}; on: {', '.join(on)}" if off else f"on: {', '.join(on)}"


def _usage_error(arguments: argparse.Namespace) -> str | None:
    if arguments.operation is None or arguments.operation in OPERATIONS:
        return None
    return f"{one_line(arguments.operation)[:40]!r} is none of {', '.join(OPERATIONS)}"
