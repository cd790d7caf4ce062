"""``jupyter webresearch extract``: make a Page of bytes at hand, offline."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.fetch import show
from jupyter_webresearch.commands.output import PhaseLine, write_json
from jupyter_webresearch.errors import Failed, WebResearchError

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["add_to", "read_input", "run"]

INPUT_LIMIT = 256 * 1024 * 1024
"""Most bytes of a file that are read; what lies beyond ``WebFetch.max_body`` is cut or refused all the same."""

EPILOG = """\
examples:
  jupyter webresearch extract page.html --url https://example.org/page
  curl -s https://example.org/data.csv | jupyter webresearch extract - --url https://example.org/data.csv --json"""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "extract",
        help="make Markdown of a file, offline",
        description="Print a file as fetch would print the page. Nothing is sent or looked up.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the body as it came; - for standard input")
    parser.add_argument("--url", required=True, help="where it came from: links are resolved against it")
    parser.add_argument("--content-type", metavar="T", help="as in the HTTP header; recognised when omitted")
    parser.add_argument("--json", action="store_true", help="print the Page as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line that shows what is going on")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Extract and print; errors as for :meth:`jupyter_webresearch.engine.Engine.extract`.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    settings
        Settings to work with.
    """
    from jupyter_webresearch.kernel.local_client import LocalClient

    data = read_input(arguments.file)
    try:
        with contextlib.closing(LocalClient(settings, channel="cli")) as client, PhaseLine(arguments.quiet) as on_phase:
            page = client.extract(data, url=arguments.url, content_type=arguments.content_type, on_phase=on_phase)
    except WebResearchError as error:
        if arguments.json:
            write_json(error.to_json())
        raise
    if arguments.json:
        write_json(page.to_json())
    else:
        show(page)
    return 0


def read_input(name: str) -> bytes:
    """Return the bytes of a file, or of standard input for ``-``.

    Raises
    ------
    Failed
        ``not_found`` when the file can't be read; ``too_large`` when it does not end.
    """
    try:
        if name == "-":
            if sys.stdin is None:
                raise Failed("not_found", "standard input is closed; name a file")
            data = sys.stdin.buffer.read(INPUT_LIMIT + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(INPUT_LIMIT + 1)
    except (OSError, ValueError) as error:
        raise Failed("not_found", f"{name} can't be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > INPUT_LIMIT:
        raise Failed("too_large", f"{name} holds more than {INPUT_LIMIT:,} bytes", setting="")
    return data
