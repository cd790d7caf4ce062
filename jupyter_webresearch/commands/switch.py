"""``jupyter webresearch disable`` and ``enable``: the switch of this user's running Jupyter servers."""

from __future__ import annotations

import argparse
import http.client
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.commands.output import one_line, write_line
from jupyter_webresearch.errors import Failed, Refused, WebResearchError

if TYPE_CHECKING:
    from traitlets.config import Config

    from jupyter_webresearch.kernel.discovery import ServerAddress

__all__ = ["add_to", "run"]

TIMEOUT = 30.0  # seconds; running operations are cancelled before the server answers
MOST = 64 * 1024  # bytes of an answer
INSTEAD = (
    "WebPolicy.enabled and WebPolicy.disabled_operations in jupyter_webresearch_config.py switch what starts later"
)

EPILOG = """\
It works at once, on every running Jupyter server of yours with Web Research, until that server ends: what runs is
cancelled, and nothing is read any more. WebPolicy.enabled and WebPolicy.disabled_operations are the settings that last;
what they switch off can't be switched on here.

examples:
  jupyter webresearch disable
  jupyter webresearch enable fetch"""


def add_to(commands: Any) -> None:
    """Declare both commands and their arguments."""
    for name, what in (("disable", "off"), ("enable", "on")):
        parser = commands.add_parser(
            name,
            help=f"switch reading {what} on running servers",
            description=f"Switch reading the web, or one way of it, {what} on your running Jupyter servers.",
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument("operation", nargs="?", metavar="OPERATION", help="everything when omitted")
        parser.set_defaults(run_unloaded=run, on=name == "enable")


def run(arguments: argparse.Namespace, cli: Config) -> int:
    """Switch, and print what each server says.

    Parameters
    ----------
    arguments
        What the parser of :mod:`jupyter_webresearch.cli` made of the command line.
    cli
        Settings of the command line; the switch needs none.

    Raises
    ------
    Failed
        ``not_found`` when no server of this user's has Web Research.
    WebResearchError
        What the first server that did not do it said, after all have been asked.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    refused: list[WebResearchError] = []
    answered = 0
    for address, token in _servers(os.environ, Path(jupyter_runtime_dir())):
        try:
            operations = _switch(address, token, arguments.operation, arguments.on)
        except WebResearchError as error:
            refused.append(error)
            write_line(address.url, error.code, error.message)
            continue
        if operations is None:  # without our extension
            continue
        answered += 1
        write_line(address.url, "on", ", ".join(operations) or "nothing")
    if refused:
        raise refused[0]
    if not answered:
        raise Failed("not_found", f"no Jupyter server of yours with Web Research is running; {INSTEAD}")
    return 0


def _servers(environ: Mapping[str, str], runtime_dir: Path) -> Iterator[tuple[ServerAddress, str]]:
    """Yield this user's servers with what lets the user in: a Hub's word on its own, then the runtime files'."""
    from jupyter_webresearch.kernel.discovery import CERT_VARIABLE, address_of, hub_address
    from jupyter_webresearch.running_servers import running_servers

    seen = set()
    found = [(hub_address(environ), environ.get("JUPYTERHUB_API_TOKEN", ""))]
    for info in running_servers(runtime_dir, with_tokens=True):
        found.append((address_of(info, certificate=environ.get(CERT_VARIABLE, "")), str(info.get("token") or "")))
    for address, token in found:
        if address is not None and address.url not in seen:
            seen.add(address.url)
            yield address, token


def _switch(address: ServerAddress, token: str, operation: str | None, on: bool) -> list[str] | None:
    """Ask one server; None when it does not know us."""
    from jupyter_webresearch.kernel.connection import NOT_UNDERSTOOD, connect_to
    from jupyter_webresearch.socket_owner import belongs_to

    body = json.dumps({"operation": operation, "enabled": on})
    headers = {"Content-Type": "application/json", **({"Authorization": f"token {token}"} if token else {})}
    try:
        connection = connect_to(address)
        try:
            if hasattr(os, "getuid") and not belongs_to(os.getuid(), connection.sock):
                raise _not_yours(address)
            connection.sock.settimeout(TIMEOUT)
            connection.request("POST", f"{address.base}webresearch/switch", body, headers)
            response = connection.getresponse()
            text = response.read(MOST)
        finally:
            connection.close()
        if response.status == 404:
            return None
        answer = dict(json.loads(text))
        if response.status == 200:
            return [one_line(str(name)) for name in answer["operations"]]
    except (OSError, http.client.HTTPException, *NOT_UNDERSTOOD) as error:
        raise Failed("unreachable", f"the Jupyter server at {address.url} can't be asked") from error
    if response.status == 403 and not token:
        raise Refused("unauthorized", f"the Jupyter server at {address.url} gives its user no token; use its own page")
    raise WebResearchError.from_json(answer)


def _not_yours(address: ServerAddress) -> Refused:
    """Return the error for another user's process, which may pose as a server that has crashed to get its token."""
    return Refused("unauthorized", f"what listens at {address.url} is not a process of yours; it was told nothing")
