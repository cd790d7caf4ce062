"""``jupyter webresearch config``: every setting, its value and where that came from."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import write_json, write_line

if TYPE_CHECKING:
    from traitlets.config import Config

__all__ = ["add_to", "run"]

EPILOG = """\
A value comes from the command line, else the environment, else a file, else it is the default. Files are named
jupyter_webresearch_config.py or .json and lie in the directories that `jupyter --paths` lists under config. What the
operator's files (/etc/jupyter, /usr/local/etc/jupyter, this environment's etc/jupyter) say of a binding setting, such
as those of WebPolicy, narrows whatever the other sources say. Passwords in URLs are not shown.

examples:
  jupyter webresearch config
  jupyter webresearch config --changed
  jupyter webresearch config --json --WebFetch.timeout=10"""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "config",
        help="show every setting and where its value comes from",
        description="Show every setting that this terminal has, its value and where that comes from. A running server "
        "has those that it was started with.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array of objects")
    parser.add_argument("--changed", action="store_true", help="only what differs from the default or was narrowed")
    parser.set_defaults(run_unloaded=run)


def run(arguments: argparse.Namespace, cli: Config) -> int:
    """Print the settings; errors as for :func:`jupyter_webresearch.config_loading.explain`.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    cli
        Settings of the command line, ``--Class.trait=value``.
    """
    from jupyter_webresearch.config_loading import explain

    settings = [setting for setting in explain(cli=cli) if setting.is_changed or not arguments.changed]
    if arguments.json:
        write_json([setting.to_json() for setting in settings], indent=2)
        return 0
    for setting in settings:
        # The unit of a list, a text or a table is that of its parts, or their form.
        unit = setting.to_json()["unit"] if isinstance(setting.value, (int, float)) else ""
        write_line(f"{setting.name} = {json.dumps(setting.shown, ensure_ascii=False)} {unit}".rstrip(), setting.source)
    return 0
