"""``%webfetch`` and ``%%webfetch``, and the loading of all magics."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from jupyter_webresearch.errors import Refused, WebResearchError
from jupyter_webresearch.kernel.approval import Approval, ask_in_shell
from jupyter_webresearch.kernel.cancellation import Interrupted
from jupyter_webresearch.kernel.client import Client, connect
from jupyter_webresearch.kernel.command_line import HELP, OPTIONS, Command, check_whole, parse, without_comment
from jupyter_webresearch.kernel.discovering_client import own_settings
from jupyter_webresearch.kernel.input_lines import MAGIC_NAMES, MagicLine
from jupyter_webresearch.kernel.outcomes import Outcomes
from jupyter_webresearch.kernel.progress import LiveLine, surface_of
from jupyter_webresearch.kernel.research_magic import ResearchMagics
from jupyter_webresearch.kernel.research_subcommands import completions
from jupyter_webresearch.kernel.search_magic import SearchMagics, search_completions
from jupyter_webresearch.models import PHASES, FetchRequest
from jupyter_webresearch.page import Page
from jupyter_webresearch.surfaces import SURFACES, magics_of, offered

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings

__all__ = ["WebResearchMagics", "load", "unload"]


@magics_class
class WebResearchMagics(Magics):
    """The magics of one shell.

    Parameters
    ----------
    shell
        The IPython shell.
    client
        What does the work; this process's own when omitted.
    """

    def __init__(self, shell: Any, client: Client | None = None) -> None:
        super().__init__(shell)
        self._shell = shell
        self._client = client

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def webfetch(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> Page | Outcomes | None:
        """Read a web page."""
        namespace = ChainMap(dict(local_ns or {}), self._shell.user_ns)
        bare = line if cell is None else without_comment(line).rstrip()
        silent = cell is not None and bare.endswith(";")  # behind a line magic, MagicLine took it away
        command = parse(bare[:-1] if silent else bare, namespace, magic="%webfetch" if cell is None else "%%webfetch")
        if command.help:
            self._check_on()
            print(HELP)  # noqa: T201  # what --help is for
            return None
        try:
            result = self._one(command) if cell is None and not command.batch else self._many(command, cell or "")
        except KeyboardInterrupt:
            raise Interrupted("the reading was interrupted") from None
        if command.into is not None:
            self._shell.user_ns[command.into] = result
        return None if silent else result

    webfetch.__doc__ = HELP

    def _one(self, command: Command) -> Page:
        if len(command.urls) != 1:
            more = f"one URL, not {len(command.urls)}; many go into a %%webfetch cell, one a line" * bool(command.urls)
            raise UsageError(f"%webfetch takes {more or 'a URL; %webfetch --help says what else'}")
        check_whole(command.urls[0])
        request = command.request(command.urls[0])
        client = self._client or connect()

        def read() -> Page:
            with LiveLine(surface_of(self._shell), request.url) as live:
                if command.save is not None:
                    return client.save(request, Path.cwd(), command.save or None, command.force, live)
                return client.fetch(request, live)

        return Approval(client, ask_in_shell(self._shell)).reading(request, read)

    def _many(self, command: Command, cell: str) -> Outcomes:
        if command.save is not None:
            raise UsageError("--save goes with one URL, on a %webfetch line")
        lines = (without_comment(line).strip() for line in cell.splitlines())
        urls = [*command.urls, *filter(None, lines)]
        if not urls:
            if command.batch:
                raise UsageError("the list holds no URL")
            raise UsageError("%%webfetch takes one URL a line below it; lines that begin with # are left out")
        client = self._client or connect()

        def read(requests: Sequence[FetchRequest]) -> list[Page | WebResearchError]:
            states: dict[int, str] = {}
            with LiveLine(surface_of(self._shell), f"{len(requests)} pages") as live:

                def on_event(index: int, phase: str) -> None:
                    states[index] = phase
                    counts = [(list(states.values()).count(name), name) for name in PHASES]
                    live(", ".join(f"{count} {name}" for count, name in counts if count))

                return client.fetch_many(requests, on_event)

        requests = [command.request(url) for url in urls]
        return Outcomes(urls, Approval(client, ask_in_shell(self._shell)).reading_many(requests, read))

    def _check_on(self) -> None:
        """Refuse to explain what is switched off; where nobody can be asked whether it is, explain."""
        client = self._client or connect()
        try:
            if "fetch" in client.operations():
                return
            (verdict,) = client.check_urls(["https://example.org/"])  # which knows why
        except WebResearchError:
            return
        if verdict.code == "disabled":
            raise Refused("disabled", verdict.reason, setting="")


_MAGICS = tuple(mark + name for name in sorted(MAGIC_NAMES) for mark in ("%", "%%"))


def load(shell: Any, client: Client | None = None, settings: Settings | None = None) -> None:
    """Register the magics and the reading of their lines; a second call changes nothing.

    The magics of operations that the settings switch off are left out.

    Parameters
    ----------
    shell
        The IPython shell.
    client
        What reads for the magics; None finds the kernel's server when it is first needed.
    settings
        None reads them as the kernel's own would be. No server is asked: it may not know this kernel yet.
    """
    operations = _operations(settings)
    shell.register_magics(WebResearchMagics(shell, client))
    shell.register_magics(SearchMagics(shell, client))
    shell.register_magics(ResearchMagics(shell, client))
    for name in magics_of(SURFACES) - magics_of(operations):
        _remove(shell, name)
    transformers = shell.input_transformer_manager.token_transformers
    if MagicLine not in transformers:
        transformers.append(MagicLine)
        for name, complete in (("webfetch", _options_for), ("websearch", search_completions)):
            if shell.find_magic(name) is not None:
                for mark in ("%", "%%"):
                    shell.set_hook("complete_command", complete, str_key=mark + name)
        shell.set_hook(
            "complete_command",
            lambda _shell, event: completions(operations, event),
            str_key="%webresearch",
        )


def _operations(settings: Settings | None) -> tuple[str, ...]:
    """Return what the settings leave on; where they can't be read everything, since each call then says so."""
    from jupyter_webresearch.policy.switch import Switch

    try:
        return offered(Switch((settings or own_settings()).policy).operations())
    except WebResearchError:
        return offered(SURFACES)


def _remove(shell: Any, name: str) -> None:
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(name, None)


def unload(shell: Any) -> None:
    """Take away what :func:`load` registered."""
    for name in MAGIC_NAMES:
        _remove(shell, name)
    transformers = shell.input_transformer_manager.token_transformers
    if MagicLine in transformers:
        transformers.remove(MagicLine)
    for magic in _MAGICS:
        shell.strdispatchers["complete_command"].strs.pop(magic, None)


def _options_for(_shell: Any, event: Any) -> list[str]:
    """Return the options that a TAB can complete."""
    return list(OPTIONS) if event.symbol.startswith("-") else []
