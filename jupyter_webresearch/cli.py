"""The command line: ``jupyter webresearch``.

Exit status: 0 success, 1 refused or failed, 2 usage, 130 interrupted. What went wrong is one line on standard error,
``jupyter webresearch: CODE: message``, with a code of :data:`jupyter_webresearch.errors.CODES`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from jupyter_webresearch import __version__
from jupyter_webresearch.commands import check_url, config, doctor, extract, fetch
from jupyter_webresearch.commands.output import NAME, complain, give_up_output, prepare_streams
from jupyter_webresearch.errors import BadInput, Failed, WebResearchError

__all__ = ["main"]

_SETTING = re.compile(r"--\w+\.\w+=")

EPILOG = """\
Every setting can be given as --Class.trait=value, e.g. --WebFetch.timeout=10 or --WebPolicy.allowed_ports=443,8443;
`jupyter webresearch config` lists them.

examples:
  jupyter webresearch fetch https://example.org/article
  jupyter webresearch extract page.html --url https://example.org/page
  jupyter webresearch check-url https://example.org/
  jupyter webresearch doctor"""


class _Usage(Exception):
    """The arguments can't be understood."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Usage(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv
        Arguments after the program's name; None takes those of the process.

    Returns
    -------
    int
        The exit status.
    """
    prepare_streams()
    try:
        status = _run(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except _Usage as error:
        complain(BadInput("bad_request", str(error)))
        return 2
    except WebResearchError as error:
        complain(error)
        return 130 if error.code == "cancelled" else 1
    except KeyboardInterrupt:
        complain(Failed("cancelled", "interrupted"))
        return 130
    except BrokenPipeError:  # whoever read our output, e.g. `head`, has enough
        give_up_output()
        return 141  # what a shell reports of a program that SIGPIPE ended
    except OSError as error:
        give_up_output()
        complain(Failed("internal", f"the output can't be written: {error.strerror or error}"))
        return 1
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        complain(Failed("internal", f"{told}; please report it, with what PYTHONDEVMODE=1 shows"))
        return 1
    return status


def _run(argv: list[str]) -> int:
    ours, theirs = _split(argv)
    try:
        arguments = _parser().parse_args(ours)
    except SystemExit as done:  # --help and --version have printed what was asked
        return int(done.code or 0)
    usage_error = getattr(arguments, "usage_error", None)
    if usage_error is not None and (message := usage_error(arguments)):
        raise _Usage(message)

    from jupyter_webresearch.config_sources import command_line_config, command_line_level

    try:
        cli = command_line_config(theirs)
        command_line_level(cli)
    except Failed as error:
        raise _Usage(error.message) from error
    if "run_unloaded" in arguments:  # it loads settings itself, and reports what is wrong with them
        return int(arguments.run_unloaded(arguments, cli))

    from jupyter_webresearch.config_loading import load_settings

    return int(arguments.run(arguments, load_settings(cli=cli)))


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Take settings out of the arguments: our parser has flags of its own, that of traitlets would misread them."""
    end = argv.index("--") if "--" in argv else len(argv)
    settings = [argument for argument in argv[:end] if _SETTING.match(argument)]
    return [argument for argument in argv[:end] if not _SETTING.match(argument)] + argv[end:], settings


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=NAME,
        description="Read the web: guarded, inert, and shown where it came from.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"jupyter-webresearch {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (fetch, extract, check_url, config, doctor):
        command.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
