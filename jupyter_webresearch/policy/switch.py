"""The switch: which operations are on, now."""

from __future__ import annotations

from jupyter_webresearch.config import OPERATIONS, WebPolicy
from jupyter_webresearch.errors import BadInput, Refused

__all__ = ["Switch"]


class Switch:
    """Operations that are on: what the settings leave, less what was switched off since. Used from any thread.

    Parameters
    ----------
    policy
        ``enabled`` and ``disabled_operations``; what they switch off stays off.
    """

    def __init__(self, policy: WebPolicy) -> None:
        self._settled = frozenset(OPERATIONS if not policy.enabled else policy.disabled_operations)
        self._everything = not policy.enabled
        self._off: frozenset[str] = frozenset()

    def is_on(self, operation: str) -> bool:
        """Whether an operation is on; one that can't be switched, such as ``extract``, always is."""
        return operation not in self._settled and operation not in self._off

    def operations(self) -> tuple[str, ...]:
        """Return the operations that are on, in the order of :data:`~jupyter_webresearch.config.OPERATIONS`."""
        return tuple(operation for operation in OPERATIONS if self.is_on(operation))

    def check(self, operation: str) -> None:
        """Return when an operation is on.

        Raises
        ------
        Refused
            ``disabled``.
        """
        if self.is_on(operation):
            return
        if operation in self._settled:
            name = "enabled" if self._everything else "disabled_operations"
            raise Refused("disabled", f"{operation} is switched off by a setting", setting=f"WebPolicy.{name}")
        raise Refused(
            "disabled",
            f"{operation} was switched off on this server; `jupyter webresearch enable {operation}` switches it on",
            setting="",
        )

    def named(self, operation: str | None) -> frozenset[str]:
        """Return what a name stands for: one operation, or all for None.

        Raises
        ------
        BadInput
            ``bad_request`` for what is no operation.
        """
        if operation is not None and operation not in OPERATIONS:
            raise BadInput("bad_request", f"{operation[:40]!r} is none of {', '.join(OPERATIONS)}")
        return frozenset(OPERATIONS if operation is None else (operation,))

    def set(self, operation: str | None, on: bool) -> None:
        """Switch one operation, or all.

        Parameters
        ----------
        operation
            One of :data:`~jupyter_webresearch.config.OPERATIONS`; None for all of them.
        on
            Whether it shall be on.

        Raises
        ------
        BadInput
            ``bad_request`` for what is no operation.
        Refused
            ``disabled`` when a setting keeps off what was to be switched on; nothing is changed then.
        """
        named = self.named(operation)
        if not on:
            self._off |= named
            return
        if not named - self._settled:
            name = "enabled" if self._everything else "disabled_operations"
            what = operation or "everything"
            raise Refused("disabled", f"{what} is kept off by a setting", setting=f"WebPolicy.{name}")
        self._off -= named
