"""``jupyter webresearch check-url``: what the policy says of URLs, before any DNS query or packet."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.extract import read_input
from jupyter_webresearch.commands.output import write_json, write_line
from jupyter_webresearch.errors import Refused, WebResearchError

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings
    from jupyter_webresearch.policy.url_check import URLCheck

__all__ = ["add_to", "run", "urls_of"]

EPILOG = """\
Each line of output is "allowed" or "refused", the code, and the URL, between tabs. The exit status is 0 when all are
allowed and 1 when any is refused.

A file holds one URL a line. Nothing is stripped, since spaces around a URL are an attack; only what follows a tab is
a comment.

examples:
  jupyter webresearch check-url https://example.org/ http://169.254.169.254/
  jupyter webresearch check-url --from-file urls.txt --json"""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "check-url",
        help="say whether the policy allows URLs",
        description="Judge URLs by the policy: by what they are, and by the operator's list of hosts and what "
        "WebPolicy.ask gives a session that has asked for none. No name is resolved and no packet is sent: an allowed "
        "host can still be refused for its addresses when it is read.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("urls", nargs="*", metavar="URL")
    parser.add_argument("--from-file", metavar="F", help="read URLs from a file; - for standard input")
    parser.add_argument("--json", action="store_true", help="one JSON object a line: url, verdict, code, reason")
    parser.set_defaults(run=run, usage_error=_usage_error)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Judge and print.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    settings
        Settings to work with.

    Raises
    ------
    Refused
        With the code of the first URL that is refused, after all have been judged.
    """
    from jupyter_webresearch.policy.guard import Guard
    from jupyter_webresearch.policy.lists import Lists, on_hub
    from jupyter_webresearch.policy.url_check import URLCheck

    urls = arguments.urls if arguments.from_file is None else urls_of(read_input(arguments.from_file))
    check = URLCheck(Guard(settings.policy), Lists(settings.policy, on_hub=on_hub(os.environ)))
    refused = []
    for url in urls:
        verdict = check.verdict(url)
        if verdict.verdict == "refused":
            refused.append(verdict)
        if arguments.json:
            write_json(verdict.to_json())
        else:
            write_line(verdict.verdict, verdict.code, url)
    if refused:
        first = refused[0]
        count = "" if len(urls) == 1 else f"{len(refused)} of {len(urls)} URLs are refused, the first since: "
        raise Refused(first.code, count + first.reason, setting=_setting(check, first.url))
    return 0


def _setting(check: URLCheck, url: str) -> str:
    """Return the setting that governs a refusal, which a verdict does not hold; empty when none does."""
    try:
        check.check(url)
    except WebResearchError as error:
        return error.setting or ""
    return ""


def urls_of(data: bytes) -> list[str]:
    r"""Return the URLs of a file: one a line, comments after a tab, empty lines passed over.

    Only ``\n`` and ``\r\n`` end a line: other characters that Python would split at belong to the URL. A line that
    begins with a tab has no URL before a comment and is judged as it stands. Bytes that are not UTF-8 become lone
    surrogates, which no URL may hold.
    """
    lines = [line.removesuffix("\r") for line in data.decode("utf-8", "surrogateescape").split("\n")]
    return [line.partition("\t")[0] or line for line in lines if line]


def _usage_error(arguments: argparse.Namespace) -> str | None:
    if bool(arguments.urls) == (arguments.from_file is not None):
        return "give either URLs or --from-file"
    return None
