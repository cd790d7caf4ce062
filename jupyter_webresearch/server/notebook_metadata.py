"""What the saved notebooks of kernels ask of the policy, read anew when they were saved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from jupyter_core.utils import ensure_async
from tornado.web import HTTPError

from jupyter_webresearch.server.patience import PATIENCE, in_time

if TYPE_CHECKING:
    from jupyter_webresearch.policy.asks import NotebookAsk

__all__ = ["NotebookMetadata"]


class NotebookMetadata:
    """Reads the metadata of notebooks through Jupyter's contents manager. Used on the server's loop only.

    Parameters
    ----------
    contents
        Jupyter's contents manager.
    patience
        Seconds for one answer of it.
    """

    def __init__(self, contents: Any, patience: float = PATIENCE) -> None:
        self._contents = contents
        self._patience = patience
        self._read: dict[str, dict[str, tuple[Any, NotebookAsk]]] = {}  # by kernel and path: time of saving, and ask

    async def ask(self, kernel_id: str, paths: Sequence[str]) -> NotebookAsk:
        """Return what a kernel's notebooks ask, of several the narrowest; nothing where there is none.

        Parameters
        ----------
        kernel_id
            Whose notebooks they are.
        paths
            Of the notebooks below the server's root.

        Raises
        ------
        Failed
            ``config`` when a notebook can't be read now, and could not be before: it might ask for less than all.
        """
        # Not with the module: a server must not import the policy before its first request.
        from jupyter_webresearch.policy.asks import NotebookAsk

        read = self._read.setdefault(kernel_id, {})
        asks = [await self._of(path, read) for path in paths]
        for path in read.keys() - set(paths):
            del read[path]
        return reduce(NotebookAsk.and_that, asks) if asks else NotebookAsk()

    async def _of(self, path: str, read: dict[str, tuple[Any, NotebookAsk]]) -> NotebookAsk:
        """Return what one notebook asks; one that is not there any more, or can't be read now, what it last did."""
        from jupyter_webresearch.notebook_ask import unknown_ask
        from jupyter_webresearch.policy.asks import NotebookAsk

        try:
            about = await self._get(path, content=False)
            saved = about["last_modified"]
            if path not in read or saved is None or read[path][0] != saved:
                read[path] = saved, await self._ask_in(path)
        except Exception as error:  # whatever the manager's maker lets it raise, TimeoutError among others
            if path not in read:
                if isinstance(error, HTTPError) and error.status_code == 404:  # it was never saved
                    return NotebookAsk()
                raise unknown_ask(path) from error
        return read[path][1]

    def forget(self, kernel_id: str) -> None:
        """Drop what is known of a kernel that has ended."""
        self._read.pop(kernel_id, None)

    async def _ask_in(self, path: str) -> NotebookAsk:
        """Read a notebook as text, and its metadata on a thread: Jupyter's own reading would hold the loop up."""
        from jupyter_webresearch.notebook_ask import NotANotebook, ask_in, ask_of

        try:
            model = await self._get(path, content=True, type="file", format="text")
            return await asyncio.to_thread(ask_in, model["content"])
        except (HTTPError, NotANotebook, TypeError):  # a manager that has notebooks otherwise, e.g. as Markdown
            model = await self._get(path, content=True, type="notebook")
            return ask_of(model["content"])

    async def _get(self, path: str, **arguments: Any) -> Any:
        return await in_time(ensure_async(self._contents.get(path, **arguments)), self._patience)
