"""Whether a kernel started this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from jupyter_webresearch.errors import Refused

if TYPE_CHECKING:
    from jupyter_webresearch.config import WebKernel

__all__ = ["check_command_line", "is_in_kernel"]

# jupyter_client and jupyter_server set them for kernels, and what a kernel starts inherits them.
KERNEL_VARIABLES = ("JPY_PARENT_PID", "JPY_SESSION_NAME")


def is_in_kernel(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process inherits the environment of a kernel, as by ``!`` in a cell.

    A kernel that something else than Jupyter started may not have it, and code may take it away.
    """
    return any(environ.get(variable) for variable in KERNEL_VARIABLES)


def check_command_line(settings: WebKernel, environ: Mapping[str, str] = os.environ) -> None:
    """Return when a command line may read in its own process.

    Parameters
    ----------
    settings
        What kernels may do by themselves.
    environ
        Of this process.

    Raises
    ------
    Refused
        ``unauthorized`` where a kernel started it and ``WebKernel.local_mode`` is ``deny``.
    """
    if settings.local_mode == "deny" and is_in_kernel(environ):
        raise Refused(
            "unauthorized",
            "a kernel started this command, and kernels read through their Jupyter server only here; "
            "use the magic of that name instead",
            setting="WebKernel.local_mode",
        )
