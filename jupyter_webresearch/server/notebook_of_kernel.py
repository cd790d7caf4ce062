"""Which notebooks a kernel runs for, as the server knows it at the moment."""

from __future__ import annotations

import logging
from typing import Any

from jupyter_webresearch.server.patience import PATIENCE, in_time

__all__ = ["NotebookOfKernel"]

_log = logging.getLogger(__name__)


class NotebookOfKernel:
    """Asks the session manager anew each time, since notebooks are renamed. Used on the server's loop only.

    Parameters
    ----------
    sessions
        Jupyter's session manager.
    patience
        Seconds for one answer of it.
    """

    def __init__(self, sessions: Any, patience: float = PATIENCE) -> None:
        self._sessions = sessions
        self._patience = patience
        self._known: dict[str, list[str]] = {}

    async def paths(self, kernel_id: str) -> list[str] | None:
        """Return the paths of a kernel's notebooks below the server's root; most kernels have one.

        Where the session manager fails they are those known before, or None: there may be some.
        """
        try:
            sessions = await in_time(self._sessions.list_sessions(), self._patience)
            # A console on the same kernel is a session, too.
            mine = [one for one in sessions if one["type"] == "notebook" and one["kernel"].get("id") == kernel_id]
            self._known[kernel_id] = [str(one["path"]) for one in mine]
        except Exception:
            _log.exception("Web Research: the session manager can't say which notebooks a kernel has")
        return self._known.get(kernel_id)

    def forget(self, kernel_id: str) -> None:
        """Drop what is known of a kernel that has ended."""
        self._known.pop(kernel_id, None)
