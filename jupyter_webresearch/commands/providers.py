"""``jupyter webresearch providers``: whom a search can be put to, and what that takes."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import sys
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import write_json, write_line
from jupyter_webresearch.errors import BadInput, Failed

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings
    from jupyter_webresearch.search.offers import Offer
    from jupyter_webresearch.search.plugins import Plugin, Variable
    from jupyter_webresearch.search.registry import Registry

__all__ = ["add_to", "run", "tried"]

ACTIONS = ("enable", "disable", "setup")
ENABLED, DISABLED = "WebSearch.enabled_plugins", "WebSearch.disabled_plugins"

EPILOG = """\
enable and disable are for plugins, whose code runs with your rights: a folder in webresearch/providers below Jupyter's
data directory runs once it is enabled, an installed package unless it is disabled. They change
jupyter_webresearch_config.json in Jupyter's config directory, for servers and kernels that start afterwards.

setup asks for the keys of a provider without showing them, keeps them in jupyter_webresearch_keys.json there, readable
for you alone, and searches once to see whether they work. An environment variable, or WebSearch.keys, comes first.

examples:
  jupyter webresearch providers
  jupyter webresearch providers --json
  jupyter webresearch providers setup brave
  jupyter webresearch providers enable acme"""


def add_to(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "providers",
        help="list search providers, set them up",
        description="List search providers: whether each can be asked, what it can do, and what is missing or broken.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("action", nargs="?", choices=ACTIONS, metavar="enable|disable|setup", help="list when omitted")
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the plugin or provider")
    parser.add_argument("--json", action="store_true", help="print the list as a JSON array of objects")
    parser.add_argument("--no-try", action="store_true", help="of setup: do not search")
    parser.set_defaults(run=run, usage_error=_usage_error)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """List providers, or change what holds for one.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    settings
        Settings to work with.

    Raises
    ------
    WebResearchError
        ``provider_unavailable`` for an unknown name, ``config`` for a file that can't be read or written, and what a
        search to try a key ends with.
    """
    from jupyter_webresearch.search.registry import Registry

    with contextlib.closing(Registry(settings.search)) as registry:
        if arguments.action == "setup":
            return _set_up(registry, arguments.name, settings, tries=not arguments.no_try)
        if arguments.action is not None:
            return _switch(registry.plugin(arguments.name), on=arguments.action == "enable")
        rows = registry.rows()
        if arguments.json:
            write_json([row.to_json() for row in rows], indent=2)
        else:
            _write(rows)
    return 0


def tried(settings: Settings, name: str) -> str:
    """Ask a provider for one result, under the policy and in the journal, and return what to tell.

    Parameters
    ----------
    settings
        Settings to work with.
    name
        Of the provider.

    Raises
    ------
    WebResearchError
        When it gave no answer.
    """
    from jupyter_webresearch.kernel.local_client import LocalClient
    from jupyter_webresearch.kernel.started_by import check_command_line
    from jupyter_webresearch.search.question import SearchRequest

    check_command_line(settings.kernel)
    with contextlib.closing(LocalClient(settings, channel="cli")) as client:
        response = client.search(SearchRequest("Jupyter notebook", providers=(name,), max_results=1, fresh=True))
    return "it answers" if response.results else "it answers, and found nothing"


def _usage_error(arguments: argparse.Namespace) -> str | None:
    if arguments.action is not None and not arguments.name:
        return f"providers {arguments.action} needs the NAME of one"
    if arguments.action is not None and arguments.json:
        return "--json is for the list"
    if arguments.no_try and arguments.action != "setup":
        return "--no-try is for setup"
    return None


# ------------------------------------------------------------------ the list


def _write(rows: list[Offer]) -> None:
    table = [_columns(row) for row in rows]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    for row in table:
        padded = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        write_line("  ".join([*padded, row[4]]).rstrip())


def _columns(row: Offer) -> tuple[str, str, str, str, str]:
    provider = row.provider
    keyless = provider is not None and provider.about.keyless
    state = ("ready, no key" if keyless else "ready") if row.is_configured else "not ready"
    origin = row.origin if row.plugin is None else f"{row.origin} {row.plugin.name}"
    origin += f", replaces {row.replaces}" if row.replaces else ""
    named = provider.display_name if provider is not None else ""
    return row.name, named, state, ", ".join(row.abilities), f"{origin}  {row.obstacle}".rstrip()


# ------------------------------------------------------------------ enable, disable


def _switch(plugin: Plugin, *, on: bool) -> int:
    """Have a plugin run or not from the next start on, and see that it is so."""
    from jupyter_webresearch.config_editing import change_list, users_file

    if on and plugin.fault:
        raise BadInput("provider_unavailable", f"{plugin.name} can't be enabled: {plugin.fault}", setting="")
    name, path, is_folder = plugin.name, users_file(), plugin.origin == "folder"
    if on:
        if is_folder:
            change_list(path, ENABLED, lambda names: _with(names, name), _in_force()[ENABLED][0])
        change_list(path, DISABLED, lambda names: _without(names, name))
    else:
        if is_folder:
            change_list(path, ENABLED, lambda names: _without(names, name))
        if not is_folder or name in _in_force()[ENABLED][0]:
            change_list(path, DISABLED, lambda names: _with(names, name))
    now = _in_force()
    runs = (not is_folder or name in now[ENABLED][0]) and name not in now[DISABLED][0]
    if runs != on:
        setting = DISABLED if name in now[DISABLED][0] else ENABLED
        raise Failed("config", f"{name} stays {'off' if on else 'on'}: {setting} is {now[setting][1]}", setting=setting)
    where = plugin.place if is_folder else "an installed package"
    write_line(f"{name} ({where}) is {'on' if on else 'off'} for servers and kernels that start from now on")
    return 0


def _in_force() -> dict[str, tuple[list[str], str]]:
    """Return both lists with where they come from, as the next start will have them."""
    from jupyter_webresearch.config_loading import explain

    return {s.name: (list(s.value), f"set by {s.source}") for s in explain() if s.name in (ENABLED, DISABLED)}


def _with(names: list[str], name: str) -> list[str]:
    return names if name in names else [*names, name]


def _without(names: list[str], name: str) -> list[str]:
    return [each for each in names if each != name]


# ------------------------------------------------------------------ setup


def _set_up(registry: Registry, name: str, settings: Settings, *, tries: bool) -> int:
    from jupyter_webresearch.search.registry import Registry

    variables = registry.variables(name)
    if not variables:
        write_line(f"{name} needs no key")
        return 0
    values = {variable.name: value for variable in variables if (value := _asked(variable))}
    if not values:
        write_line("nothing was given; nothing is changed")
        return 0
    registry.key_file.keep(values)
    write_line(f"kept in {registry.key_file.path}: {', '.join(values)}")
    for variable in values:
        if variable in settings.search.keys:
            write_line(f"WebSearch.keys names {variable}, too, and comes first")
        elif os.environ.get(variable):
            write_line(f"{variable} is set in the environment, too, and comes first")
    with contextlib.closing(Registry(settings.search)) as afresh:  # in which plugins find what was kept
        _try(afresh, name, settings, tries=tries)
    return 0


def _asked(variable: Variable) -> str:
    """Ask a person, without an echo; a pipe gives a line for each variable."""
    told = f" ({variable.prompt})" if variable.prompt else ""
    prompt = f"{variable.name}{told}{f', to be had at {variable.url}' if variable.url else ''}; Enter leaves it: "
    try:
        if sys.stdin is None or not sys.stdin.isatty():
            value = sys.stdin.readline() if sys.stdin is not None else ""
        else:
            value = getpass.getpass(prompt)
    except EOFError:
        value = ""
    value = value.strip()
    if len(value) > 8192 or not value.isprintable():
        raise BadInput("bad_request", f"what was given for {variable.name} is no key; nothing is kept", setting="")
    return value


def _try(registry: Registry, name: str, settings: Settings, *, tries: bool) -> None:
    offers = [row for row in registry.rows() if name in (row.name, row.plugin.name if row.plugin is not None else "")]
    for offer in offers:
        if not offer.enabled and offer.plugin is not None:
            write_line(f"{offer.name} is not enabled: jupyter webresearch providers enable {offer.plugin.name}")
        elif offer.provider is None or not offer.is_configured:
            write_line(f"{offer.name} is not ready yet, {offer.obstacle}")
        elif tries and offer.provider.supports_search() and "web" in offer.abilities:
            write_line(f"{offer.name}: {tried(settings, offer.name)}")
