"""``jupyter webresearch journal``: what was done, and what is being done."""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, get_args

from jupyter_webresearch.commands.output import remark, write_json, write_line
from jupyter_webresearch.config import OPERATIONS
from jupyter_webresearch.journal.event import KINDS, Outcome
from jupyter_webresearch.surfaces import SURFACES

if TYPE_CHECKING:
    from traitlets.config import Config

__all__ = ["add_to", "run"]

FEW, FEW_BEFORE = 100, 10  # events without --limit, and with --follow

HEADER = ("time", "outcome", "kind", "result", "bytes", "seconds", "cost", "url", "notebook")

EPILOG = """\
Each line is time, outcome, kind, HTTP status or code, bytes, seconds, cost, URL and notebook, between tabs, with a
header on a terminal; with --json an object with every field. Secrets in URLs are replaced by REDACTED. Times without an
offset are local ones.

examples:
  jupyter webresearch journal --limit 20
  jupyter webresearch journal --follow --outcome refused
  jupyter webresearch journal --since 24h --json"""

_AGO = re.compile("([0-9]{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "journal",
        help="show what was done",
        description="Show this user's journal: every operation, when it began and how it ended.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what is done from now on, until Ctrl-C")
    parser.add_argument(
        "--limit",
        type=_count,
        metavar="N",
        help=f"the newest N events; {FEW}, or {FEW_BEFORE} before those that follow, when omitted",
    )
    parser.add_argument("--kernel", default="", metavar="ID", help="only of this kernel")
    there = ", ".join(kind for kind in KINDS if kind not in OPERATIONS or kind in SURFACES)
    parser.add_argument("--kind", default="", choices=KINDS, metavar="KIND", help=f"only of this kind: {there}")
    parser.add_argument("--outcome", default="", choices=get_args(Outcome), help="only with this outcome")
    parser.add_argument(
        "--since",
        type=_moment,
        metavar="TIME",
        help="only from then on: 2026-12-01, 2026-12-01T10:00, 30m, 24h or 7d ago",
    )
    parser.set_defaults(run_unloaded=run)


def run(arguments: argparse.Namespace, _cli: Config) -> int:
    """Print events; errors as for :func:`jupyter_webresearch.journal.reader.read_events`.

    Following ends by Ctrl-C, as it is told to, and in silence.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    """
    from jupyter_webresearch.journal.private import journal_folder
    from jupyter_webresearch.journal.reader import follow, read_events

    filters = {name: getattr(arguments, name) for name in ("kernel", "kind", "outcome", "since")}
    limit = arguments.limit
    if not arguments.json and sys.stdout is not None and sys.stdout.isatty():
        write_line(*HEADER)
    if arguments.follow:
        limit = FEW_BEFORE if limit is None else limit
        try:
            _print(follow(journal_folder(), limit=limit, wait=_until_nobody_reads(), **filters), arguments.json)
        except KeyboardInterrupt:
            return 130
    elif not _print(read_events(journal_folder(), limit=FEW if limit is None else limit, **filters), arguments.json):
        chosen = " of those" if any(filters.values()) or limit == 0 else ""
        remark(f"the journal in {journal_folder()} holds no events{chosen}")
    return 0


def _print(events: Iterable[dict[str, Any]], as_json: bool) -> int:
    """Print events as they come, and return how many."""
    count = 0
    for count, event in enumerate(events, 1):  # noqa: B007  # the last one is returned
        if as_json:
            write_json(event)
        else:
            write_line(*_columns(event))
        if sys.stdout is not None:
            sys.stdout.flush()
    return count


def _columns(event: dict[str, Any]) -> list[str]:
    ended = event["outcome"] != "started"
    result = event["code"] or (str(event["status"]) if event["status"] else "-")
    url = event["final_url"] or event["url"]
    return [
        event["time"],
        event["outcome"],
        event["kind"],
        result,
        f"{event['bytes']:,} B" if ended and event["bytes"] else "-",
        f"{event['seconds']:.3f} s" if ended else "-",
        f"${event['cost']:.4f}" if event["cost"] else "-",
        url or event["query"] or event["scope"] or "-",
        event["notebook"] or "-",
    ]


def _until_nobody_reads() -> Callable[[float], object]:
    """Return what waits for some seconds, and raises BrokenPipeError as soon as nobody reads what we write any more.

    A write would find that out too, but in a quiet journal the next one may be hours away.
    """
    if sys.platform == "win32" or not _is_pipe():
        return time.sleep
    import select

    poll = select.poll()
    poll.register(sys.stdout, 0)  # nothing but errors

    def wait(seconds: float) -> None:
        if poll.poll(1000 * seconds):
            raise BrokenPipeError

    return wait


def _is_pipe() -> bool:
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _count(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _moment(text: str) -> datetime:
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return datetime.now(timezone.utc) - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
        return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a time such as 2026-12-01T10:00 nor 30m, 24h or 7d"
        ) from None
