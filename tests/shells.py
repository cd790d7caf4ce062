"""IPython shells of a test's own, in this process."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

__all__ = ["bare_shell"]


@contextmanager
def bare_shell() -> Iterator[InteractiveShell]:
    """Make a shell without history and colours, and let it go afterwards.

    Left to itself IPython keeps each shell, with all that ran in it, until the process ends, and then collects garbage
    once for each: minutes after the last test, on a heap that hundreds of them have filled.
    """
    shell = InteractiveShell(
        config=Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    )
    try:
        yield shell
    finally:
        shell.restore_sys_module_state()
        atexit.unregister(shell.atexit_operations)
        atexit.unregister(shell.magics_manager.registry["ScriptMagics"].kill_bg_processes)
