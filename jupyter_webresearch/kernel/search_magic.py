"""``%websearch`` and ``%%websearch``."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from jupyter_webresearch.errors import Refused, WebResearchError
from jupyter_webresearch.kernel.cancellation import Interrupted
from jupyter_webresearch.kernel.client import Client, connect
from jupyter_webresearch.kernel.progress import LiveLine, surface_of
from jupyter_webresearch.kernel.search_line import HELP, OPTIONS, SearchLine, parse, queries_of, without_comment
from jupyter_webresearch.search.question import KINDS

if TYPE_CHECKING:
    from jupyter_webresearch.kernel.searches import Searches
    from jupyter_webresearch.search.response import SearchResponse

__all__ = ["SearchMagics", "search_completions"]


@magics_class
class SearchMagics(Magics):
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
        self._given = client

    @property
    def _client(self) -> Client:
        return self._given or connect()

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def websearch(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> SearchResponse | Searches | None:
        """Search the web."""
        namespace = ChainMap(dict(local_ns or {}), self._shell.user_ns)
        bare = line if cell is None else without_comment(line).rstrip()
        silent = cell is not None and bare.endswith(";")  # behind a line magic, MagicLine took it away
        read = parse(bare[:-1] if silent else bare, namespace, magic="%websearch" if cell is None else "%%websearch")
        if read.help:
            self._explain()
            return None
        try:
            result = self._one(read) if cell is None and not read.batch else self._many(read, cell or "")
        except KeyboardInterrupt:
            raise Interrupted("the search was interrupted") from None
        if read.into is not None:
            self._shell.user_ns[read.into] = result
        return None if silent else result

    websearch.__doc__ = HELP

    def _one(self, read: SearchLine) -> SearchResponse:
        if not read.queries:
            raise UsageError("%websearch takes a query; %websearch --help says what else")
        request = read.request(read.queries[0])
        with LiveLine(surface_of(self._shell), request.query) as live:
            return self._client.search(request, live)

    def _many(self, read: SearchLine, cell: str) -> Searches:
        from jupyter_webresearch.kernel.searches import Searches

        queries = [*read.queries, *queries_of(cell)]
        if not queries:
            if read.batch:
                raise UsageError("the list holds no query")
            raise UsageError("%%websearch takes one query a line below it; lines that begin with # are left out")
        with LiveLine(surface_of(self._shell), f"{len(queries)} queries") as live:
            done: set[int] = set()

            def on_done(index: int) -> None:
                done.add(index)
                live(f"{len(done)} answered")

            return Searches(queries, self._client.search_many([read.request(query) for query in queries], on_done))

    def _explain(self) -> None:
        """Print the help, but not of what is switched off; where nobody can be asked whether it is, print it."""
        try:
            is_on = "search" in self._client.operations()
        except WebResearchError:
            is_on = True
        if not is_on:
            raise Refused("disabled", "search is switched off")
        print(HELP)  # noqa: T201  # what --help is for


def search_completions(_shell: Any, event: Any) -> list[str]:
    """Return what a TAB can complete: an option, or a kind of results behind ``--kind``.

    Parameters
    ----------
    _shell
        IPython's.
    event
        IPython's: ``line`` and ``symbol``.
    """
    words = event.line.split()
    before = words[-2:-1] if event.symbol else words[-1:]
    if before == ["--kind"]:
        return list(KINDS)
    return list(OPTIONS) if event.symbol.startswith("-") else []
