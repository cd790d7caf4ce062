"""What a process without a server of ours knows of the notebook that it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.kernel.proof import KernelIdentity

if TYPE_CHECKING:
    from jupyter_webresearch.policy.asks import NotebookAsk

__all__ = ["OwnNotebook"]

VSCODE_VARIABLE = "__vsc_ipynb_file__"
"""Name among a notebook's variables under which VS Code keeps the path of its file."""

NAME_VARIABLE = "JPY_SESSION_NAME"
"""Set by a Jupyter server for a session's kernel: a path below a folder that only that server knows."""


class OwnNotebook:
    """The notebook of this process's kernel.

    Parameters
    ----------
    shell
        The IPython shell; None outside of IPython.
    environ
        The process's environment.
    """

    def __init__(self, shell: Any = None, environ: Mapping[str, str] = os.environ) -> None:
        self._shell = shell
        self._environ = environ
        self._read: tuple[tuple[str, int, int], NotebookAsk] | None = None

    @property
    def kernel(self) -> str:
        """The kernel's id, or an empty string."""
        identity = KernelIdentity.of_shell(self._shell)
        return identity.kernel_id if identity is not None else ""

    @property
    def name(self) -> str:
        """What the journal calls the notebook, or an empty string."""
        return self._file or (self._environ.get(NAME_VARIABLE, "") if self._shell is not None else "")

    @property
    def _file(self) -> str:
        path = getattr(self._shell, "user_ns", {}).get(VSCODE_VARIABLE)
        return path if isinstance(path, str) else ""

    def ask(self) -> NotebookAsk:
        """Return what the notebook's file asks of the policy; nothing where it is unknown or was never there.

        One that is not there any more, or can't be read now, asks what it last did.

        Raises
        ------
        Failed
            ``config`` when it can't be read now, and could not be before.
        """
        from jupyter_webresearch.notebook_ask import NotANotebook, ask_in, unknown_ask
        from jupyter_webresearch.policy.asks import NotebookAsk

        path = self._file
        if not path:
            return NotebookAsk()
        try:
            status = Path(path).stat()
            version = (path, status.st_mtime_ns, status.st_size)
            if self._read is None or self._read[0] != version:
                self._read = version, ask_in(Path(path).read_bytes())
        except (OSError, ValueError, NotANotebook) as error:
            if self._read is None or self._read[0][0] != path:
                if isinstance(error, FileNotFoundError):
                    return NotebookAsk()
                raise unknown_ask(path) from error
        return self._read[1]
