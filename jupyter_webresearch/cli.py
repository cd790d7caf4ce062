"""The command line: ``jupyter webresearch``.

Exit status: 0 success, 1 refused or failed, 2 usage, 130 interrupted. What went wrong is one line on standard error,
``jupyter webresearch: CODE: message``, with a code of :data:`jupyter_webresearch.errors.CODES`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from jupyter_webresearch import __version__
from jupyter_webresearch.commands import (
    check_url,
    config,
    doctor,
    extract,
    fetch,
    journal,
    policy,
    providers,
    search,
    switch,
)
from jupyter_webresearch.commands.output import NAME, complain, give_up_output, prepare_streams, telling_warnings
from jupyter_webresearch.errors import BadInput, Failed, WebResearchError
from jupyter_webresearch.surfaces import SURFACES, commands_of, offered, operation_of_command

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["main"]

_SETTING = re.compile(r"--\w+\.\w+=")

COMMANDS = {
    "fetch": fetch,
    "search": search,
    "providers": providers,
    "extract": extract,
    "check-url": check_url,
    "policy": policy,
    "journal": journal,
    "disable, enable": switch,
    "config": config,
    "doctor": doctor,
}
"""Modules by the commands that they declare, in the order of the help."""

EPILOG = """\
Every setting can be given as --Class.trait=value, e.g. --WebFetch.timeout=10 or --WebPolicy.allowed_ports=443,8443;
`jupyter webresearch config` lists them.

examples:
"""
EXAMPLES = {
    "fetch": "fetch https://example.org/article",
    "search": "search tidal range in the Bay of Fundy",
    "providers": "providers setup brave",
    "extract": "extract page.html --url https://example.org/page",
    "check-url": "check-url https://example.org/",
    "policy": "policy",
    "journal": "journal --follow",
    "doctor": "doctor",
}


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
        with telling_warnings():
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
    from jupyter_webresearch.config_loading import load_settings
    from jupyter_webresearch.config_sources import command_line_config, command_line_level

    ours, theirs = _split(argv)
    usage: Failed | None = None
    settings: Settings | WebResearchError
    try:
        cli = command_line_config(theirs)
        command_line_level(cli)
    except Failed as error:
        usage, settings = error, error
    else:
        try:
            settings = load_settings(cli=cli)
        except WebResearchError as error:
            settings = error
    try:
        arguments = _parser(_hidden(settings, ours)).parse_args(ours)
    except SystemExit as done:  # --help and --version have printed what was asked
        return int(done.code or 0)
    usage_error = getattr(arguments, "usage_error", None)
    if usage_error is not None and (message := usage_error(arguments)):
        raise _Usage(message)
    if usage is not None:
        raise _Usage(usage.message) from usage
    if "run_unloaded" in arguments:  # it loads settings itself, and reports what is wrong with them
        return int(arguments.run_unloaded(arguments, cli))
    if isinstance(settings, WebResearchError):
        raise settings
    return int(arguments.run(arguments, settings))


def _hidden(settings: Settings | WebResearchError, ours: list[str]) -> frozenset[str]:
    """Return the commands that the settings switch off; naming one is not a slip of the hand but refused."""
    from jupyter_webresearch.policy.switch import Switch

    if isinstance(settings, WebResearchError):
        return frozenset()
    off = Switch(settings.policy)
    named = operation_of_command(next((word for word in ours if not word.startswith("-")), ""))
    if named is not None:
        off.check(named)
    return commands_of(SURFACES) - commands_of(offered(off.operations()))


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Take settings out of the arguments: our parser has flags of its own, that of traitlets would misread them."""
    end = argv.index("--") if "--" in argv else len(argv)
    settings = [argument for argument in argv[:end] if _SETTING.match(argument)]
    return [argument for argument in argv[:end] if not _SETTING.match(argument)] + argv[end:], settings


def _parser(hidden: frozenset[str]) -> argparse.ArgumentParser:
    examples = [f"  {NAME} {example}" for command, example in EXAMPLES.items() if command not in hidden]
    parser = _Parser(
        prog=NAME,
        description="Read the web: guarded, inert, and shown where it came from.",
        epilog=EPILOG + "\n".join(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"jupyter-webresearch {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        if name not in hidden:
            command.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
