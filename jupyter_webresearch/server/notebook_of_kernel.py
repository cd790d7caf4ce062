"""Which notebook a kernel runs for, as the server knows it at the moment."""

from __future__ import annotations

import logging
from typing import Any

from tornado.web import HTTPError

__all__ = ["NotebookOfKernel"]

_log = logging.getLogger(__name__)


class NotebookOfKernel:
    """Asks the session manager anew each time, since notebooks are renamed. Used on the server's loop only.

    Parameters
    ----------
    sessions
        Jupyter's session manager.
    """

    def __init__(self, sessions: Any) -> None:
        self._sessions = sessions
        self._known: dict[str, str] = {}

    async def path(self, kernel_id: str) -> str:
        """Return the path of a kernel's notebook below the server's root, or an empty string.

        A session manager that fails fails no operation: the notebook then is the one known before.
        """
        try:
            # A console on the same kernel is a session, too.
            session = await self._sessions.get_session(kernel_id=kernel_id, type="notebook")
            self._known[kernel_id] = str(session["path"])
        except HTTPError as error:
            if error.status_code == 404:
                self._known.pop(kernel_id, None)
        except Exception:
            _log.exception("Web Research: the session manager can't say which notebook a kernel has")
        return self._known.get(kernel_id, "")

    def forget(self, kernel_id: str) -> None:
        """Drop what is known of a kernel that has ended."""
        self._known.pop(kernel_id, None)
