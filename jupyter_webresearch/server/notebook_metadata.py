"""What the saved notebooks of kernels ask of the policy, read anew when they were saved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from jupyter_core.utils import ensure_async
from tornado.web import HTTPError

if TYPE_CHECKING:
    from jupyter_webresearch.policy.asks import NotebookAsk

__all__ = ["NotebookMetadata"]


class NotebookMetadata:
    """Reads the metadata of notebooks through Jupyter's contents manager. Used on the server's loop only.

    Parameters
    ----------
    contents
        Jupyter's contents manager.
    """

    def __init__(self, contents: Any) -> None:
        self._contents = contents
        self._read: dict[str, tuple[tuple[str, Any], NotebookAsk]] = {}  # by kernel: path and time of saving, and ask

    async def ask(self, kernel_id: str, path: str) -> NotebookAsk:
        """Return what a kernel's notebook asks; nothing when there is none, or it was deleted.

        Parameters
        ----------
        kernel_id
            Whose notebook it is.
        path
            Of the notebook below the server's root, or an empty string.

        Raises
        ------
        Failed
            ``config`` when the notebook can't be read now, and could not be before: it might ask for less than all.
        """
        # Not with the module: a server must not import the policy before its first request.
        from jupyter_webresearch.notebook_ask import NotANotebook, unknown_ask
        from jupyter_webresearch.policy.asks import NotebookAsk

        if not path:
            self.forget(kernel_id)
            return NotebookAsk()
        try:
            about = await ensure_async(self._contents.get(path, content=False))
            version = (path, about["last_modified"])
            known = self._read.get(kernel_id)
            if known is None or known[0] != version:
                known = self._read[kernel_id] = version, await self._ask_in(path)
            return known[1]
        except (HTTPError, NotANotebook, OSError, LookupError) as error:
            if isinstance(error, HTTPError) and error.status_code == 404:
                self.forget(kernel_id)
                return NotebookAsk()
            known = self._read.get(kernel_id)
            if known is None or known[0][0] != path:
                raise unknown_ask(path) from error
            return known[1]

    def forget(self, kernel_id: str) -> None:
        """Drop what is known of a kernel that has ended."""
        self._read.pop(kernel_id, None)

    async def _ask_in(self, path: str) -> NotebookAsk:
        """Read a notebook as text, and its metadata on a thread: Jupyter's own reading would hold the loop up."""
        from jupyter_webresearch.notebook_ask import NotANotebook, ask_in, ask_of

        try:
            model = await ensure_async(self._contents.get(path, content=True, type="file", format="text"))
            return await asyncio.to_thread(ask_in, model["content"])
        except (HTTPError, NotANotebook, TypeError):  # a manager that has notebooks otherwise, e.g. as Markdown
            model = await ensure_async(self._contents.get(path, content=True, type="notebook"))
            return ask_of(model["content"])
