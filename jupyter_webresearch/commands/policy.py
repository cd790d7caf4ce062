"""``jupyter webresearch policy``: what may be reached, and what bounds it."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import write_json, write_text
from jupyter_webresearch.errors import Failed, WebResearchError

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["add_to", "run"]

TIMEOUT = 10.0  # seconds that a server has to answer

HERE = "By this terminal's settings, as `jupyter webresearch fetch` has them:"

EPILOG = """\
A list covers hosts: example.com is that host, *.example.com is the host and every name below it, and
internet:unrestricted is anywhere public. What can't be read covers nothing, and is named here.

What this terminal's settings say comes first. A running server has those that it was started with: what it says to its
user comes after, for each of yours. What a notebook's session asked for, %webresearch policy shows there.

examples:
  jupyter webresearch policy
  jupyter webresearch policy --json --WebPolicy.ceiling='["*.example.com"]'"""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "policy",
        help="show what may be read, and what bounds it",
        description="Show both lists of hosts, the operator's and the session's, what each entry covers, what was "
        "dropped and why, and what else bounds reading: by this terminal's settings, and on your running servers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object; servers holds a policy or an error for each"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the policy as a session that has asked for nothing meets it, here and on running servers.

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
    servers = dict(_servers())
    if arguments.json:
        told = {url: each.to_json() if isinstance(each, WebResearchError) else each for url, each in servers.items()}
        write_json({**report, "servers": told}, indent=2)
        return 0
    write_text(f"{HERE}\n{_indented(policy_text(report))}")
    for url, each in servers.items():
        text = f"{each.message} [{each.code}]" if isinstance(each, WebResearchError) else policy_text(each)
        write_text(f"\nOn your running server {url}:\n{_indented(text)}")
    return 0


def _servers() -> Iterator[tuple[str, dict[str, Any] | WebResearchError]]:
    """Yield what each running server of this user's with Web Research says, or why it does not."""
    from jupyter_webresearch.commands.own_servers import ask, own_servers

    for address, token in own_servers():
        try:
            answer = ask(address, token, "GET", "policy", timeout=TIMEOUT)
            if answer is not None:  # with our extension
                _check(answer)
                yield address.url, answer
        except WebResearchError as error:
            yield address.url, error


def _check(answer: dict[str, Any]) -> None:
    """Refuse what is no policy as this version words it."""
    from jupyter_webresearch.policy.report_text import policy_text

    try:
        policy_text(answer)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Failed("unreachable", "it answers as another version of Web Research does") from error


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
