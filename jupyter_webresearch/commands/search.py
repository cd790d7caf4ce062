"""``jupyter webresearch search``: ask search providers."""

from __future__ import annotations

import argparse
import contextlib
from datetime import date
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.fetch import at_least
from jupyter_webresearch.commands.output import PhaseLine, write_json, write_text
from jupyter_webresearch.errors import BadInput, WebResearchError
from jupyter_webresearch.search.question import KINDS, MOST_RESULTS, SearchRequest

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["add_to", "run"]

EPILOG = f"""\
examples:
  jupyter webresearch search tidal range in the Bay of Fundy
  jupyter webresearch search '"exact phrase" tides' --max-results 15
  jupyter webresearch search --kind papers --since 2024 sea level rise
  jupyter webresearch search tides --provider wikipedia,crossref --json

Several words are one query; quotes for the provider go inside of the shell's. At most {MOST_RESULTS} results are given.

With --json, standard output holds the answer as one JSON object, or the error (message, reason, code) when there is
none; the error is on standard error, too. That nothing was found is an answer, and the status is 0."""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "search",
        help="ask search providers",
        description="Search with one provider or several, and print what they found.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    parser.add_argument(
        "--provider",
        action="append",
        default=[],
        metavar="P[,P...]",
        help="whom to ask, by name; `jupyter webresearch providers` lists them",
    )
    parser.add_argument("--max-results", type=at_least(1), metavar="N", help=f"at most N results, 1 to {MOST_RESULTS}")
    parser.add_argument("--kind", choices=KINDS, default="web", help="of results; web when omitted")
    parser.add_argument(
        "--since", default="", metavar="D", help="from this day on: 2024, 2024-05, 2024-05-01, or 7d, 4w, 6m, 1y back"
    )
    parser.add_argument("--site", default="", metavar="HOST", help="from this host and those below it")
    parser.add_argument("--fresh", action="store_true", help="ask again, even if the same was asked a moment ago")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line that shows what is going on")
    parser.set_defaults(run=run, usage_error=_usage_error)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Search and print; errors as for :meth:`jupyter_webresearch.engine.Engine.search`, and ``unauthorized``.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    settings
        Settings to work with.
    """
    from jupyter_webresearch.kernel.local_client import LocalClient
    from jupyter_webresearch.kernel.search_display import plain_form
    from jupyter_webresearch.kernel.started_by import check_command_line

    try:
        check_command_line(settings.kernel)
        with contextlib.closing(LocalClient(settings, channel="cli")) as client, PhaseLine(arguments.quiet) as on_phase:
            response = client.search(_request(arguments), on_phase)
    except WebResearchError as error:
        if arguments.json:
            write_json(error.to_json())
        raise
    if arguments.json:
        write_json(response.to_json())
    else:
        write_text(plain_form(response))
    return 0


def _request(arguments: argparse.Namespace) -> SearchRequest:
    return SearchRequest(
        query=" ".join(arguments.query),
        providers=tuple(name.strip() for names in arguments.provider for name in names.split(",") if name.strip()),
        max_results=arguments.max_results,
        kind=arguments.kind,
        since=arguments.since,
        site=arguments.site,
        fresh=arguments.fresh,
    )


def _usage_error(arguments: argparse.Namespace) -> str | None:
    from jupyter_webresearch.search.searching import question_of

    try:
        question_of(_request(arguments), 1, date.today())
    except BadInput as error:
        return error.message
    return None
