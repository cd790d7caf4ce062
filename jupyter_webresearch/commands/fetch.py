"""``jupyter webresearch fetch``: read one URL."""

from __future__ import annotations

import argparse
import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import PhaseLine, write_json, write_line, write_text
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page
from jupyter_webresearch.reading import MIN_BYTES

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["add_to", "at_least", "run"]

EPILOG = """\
examples:
  jupyter webresearch fetch https://example.org/article
  jupyter webresearch fetch example.org --offset 40000
  jupyter webresearch fetch https://example.org/api -X POST -H 'Accept: application/json' -d '{"q": 1}'
  jupyter webresearch fetch https://example.org/paper.pdf --save paper.pdf
  jupyter webresearch fetch http://10.0.0.5/ --WebPolicy.allow_private_networks=10.0.0.0/24

With --json, standard output holds the Page as one JSON object, or the error (message, reason, code) when there is
no page to show; the error is on standard error, too."""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "fetch",
        help="read a page as Markdown",
        description="Read one URL, guarded, and print it as Markdown.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("url", metavar="URL", help="absolute http(s) URL; a bare host becomes https://host/")
    parser.add_argument(
        "--max-bytes", type=at_least(MIN_BYTES), metavar="N", help="most bytes of text to print (UTF-8)"
    )
    parser.add_argument("--offset", type=at_least(0), default=0, metavar="N", help="character from which to print")
    parser.add_argument("--raw", action="store_true", help="the decoded source instead of Markdown")
    parser.add_argument("-X", "--method", metavar="M", help="HTTP method; GET, or POST with a body, when omitted")
    parser.add_argument(
        "-H", "--header", action="append", default=[], type=_header, metavar="'NAME: VALUE'", help="a request header"
    )
    parser.add_argument("-d", "--data", metavar="BODY", help="request body, sent as UTF-8")
    parser.add_argument("--any-status", action="store_true", help="print the page whatever the status")
    parser.add_argument("--save", metavar="PATH", help="write the body to this file, or into this folder, instead")
    parser.add_argument("--force", action="store_true", help="with --save: replace a file that is there")
    parser.add_argument("--json", action="store_true", help="print the Page as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line that shows what is going on")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Read the URL and print it; errors as for :meth:`jupyter_webresearch.engine.Engine.fetch`, and ``unauthorized``.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    settings
        Settings to work with.
    """
    from jupyter_webresearch.kernel.approval import Approval, ask_at_terminal
    from jupyter_webresearch.kernel.local_client import LocalClient
    from jupyter_webresearch.kernel.started_by import check_command_line

    body = None if arguments.data is None else arguments.data.encode("utf-8", "surrogateescape")
    request = FetchRequest(
        url=arguments.url,
        method=(arguments.method or ("GET" if body is None else "POST")).upper(),
        headers=tuple(arguments.header),
        body=body,
        offset=arguments.offset,
        max_bytes=arguments.max_bytes,
        raw=arguments.raw,
        any_status=arguments.any_status,
    )
    try:
        check_command_line(settings.kernel)
        with contextlib.closing(LocalClient(settings, channel="cli")) as client:

            def read() -> Page:
                with PhaseLine(arguments.quiet) as on_phase:
                    if arguments.save is None:
                        return client.fetch(request, on_phase)
                    folder, name = _target(arguments.save)
                    return client.save(request, folder, name, arguments.force, on_phase)

            page = Approval(client, ask_at_terminal).reading(request, read)
            result = page.to_json() if arguments.json else {}
    except WebResearchError as error:
        if arguments.json:
            write_json(error.to_json())
        raise
    if arguments.json:
        write_json(result)
    elif page.saved is not None:
        write_line(
            f"saved {page.saved.bytes:,} bytes ({page.saved.content_type}) to {_shown_path(arguments.save, page)}"
        )
    else:
        show(page)
    return 0


def show(page: Page) -> None:
    """Print a Page as text."""
    from jupyter_webresearch.kernel.display import answer_text

    write_text(answer_text(page))


def _target(save: str) -> tuple[Path, str | None]:
    """Return the folder that bounds where a file may go, and its name; no name for a folder."""
    path = Path(save)
    return (path, None) if path.is_dir() else (path.parent, path.name)


def _shown_path(save: str, page: Page) -> Path:
    folder, _ = _target(save)
    return folder / (page.saved.path if page.saved else "")


def at_least(low: int) -> Any:
    """Return what reads a whole number that is not below ``low``."""

    def number(text: str) -> int:
        if not re.fullmatch("[0-9]{1,18}", text) or int(text) < low:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {low}")
        return int(text)

    return number


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form 'Name: value'")
    return name.strip(), value.strip()
