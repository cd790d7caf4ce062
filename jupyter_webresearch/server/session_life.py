"""Ending sessions: a kernel's when the kernel ends, a user's when too many others came after."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tornado.ioloop import IOLoop, PeriodicCallback

__all__ = ["KERNEL_ACTIONS", "MAX_USERS", "SessionLife"]

KERNEL_ACTIONS = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"
"""Schema of Jupyter's events on kernels."""

MAX_USERS = 64
"""User sessions that are held at once: a server without authentication gives every client a new name."""

SWEEP_SECONDS = 30.0
SETTLE_SECONDS = 1.0


class SessionLife:
    """Watches who has asked for something. Used on the server's loop only.

    A shutdown is learnt from Jupyter's event; a kernel that died after its automatic restarts emits none, so that a
    sweep looks for ids that the kernel manager no longer knows. A restart shuts down as well, but keeps the id: whether
    the id is still known, a moment later, tells the two apart.

    Parameters
    ----------
    is_kernel
        Whether the kernel manager knows an id.
    forget_kernel
        Drops what is held for a kernel, by its id.
    forget_user
        Drops what is held for a user, by the session's id.
    """

    def __init__(
        self,
        is_kernel: Callable[[str], bool],
        forget_kernel: Callable[[str], None],
        forget_user: Callable[[str], None],
    ) -> None:
        self._is_kernel = is_kernel
        self._forget_kernel = forget_kernel
        self._forget_user = forget_user
        self._kernels: set[str] = set()
        self._users: OrderedDict[str, None] = OrderedDict()
        self._timer: PeriodicCallback | None = None

    def saw_kernel(self, kernel_id: str) -> None:
        """Take note that a kernel asked for something."""
        self._kernels.add(kernel_id)

    def saw_user(self, session_id: str) -> None:
        """Take note that a user asked for something; the one who has not for longest makes room."""
        self._users[session_id] = None
        self._users.move_to_end(session_id)
        while len(self._users) > MAX_USERS:
            self._forget_user(self._users.popitem(last=False)[0])

    def start(self) -> None:
        """Begin to sweep."""
        self._timer = PeriodicCallback(self.sweep, SWEEP_SECONDS * 1000)
        self._timer.start()

    def stop(self) -> None:
        """End sweeping."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    async def on_action(self, logger: Any, schema_id: str, data: dict[str, Any]) -> None:
        """Listen to one event of :data:`KERNEL_ACTIONS`.

        Parameters
        ----------
        logger, schema_id
            Who says it and of what kind; given by Jupyter's event system, not needed here.
        data
            The event: ``action`` and ``kernel_id``.
        """
        if data.get("action") == "shutdown" and data.get("kernel_id") in self._kernels:
            IOLoop.current().call_later(SETTLE_SECONDS, self.sweep)

    def sweep(self) -> None:
        """Drop what is held for kernels that are no more."""
        for kernel_id in [kernel_id for kernel_id in self._kernels if not self._is_kernel(kernel_id)]:
            self._kernels.discard(kernel_id)
            self._forget_kernel(kernel_id)
