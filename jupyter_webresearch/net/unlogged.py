"""Keeps what sites send out of the HTTP library's log.

httpcore writes the header of each answer to its debugging log as it arrives, and of one that is not HTTP the raw bytes:
whatever secret a site sends back would stand there before anyone could replace it.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar

__all__ = ["keep_unlogged"]

_unlogged: ContextVar[bool] = ContextVar("_unlogged", default=False)
_LOG = "httpcore.http11"


def keep_unlogged() -> None:
    """Have nothing logged by httpcore in the context that calls, an operation's task; others' log goes on."""
    logging.getLogger(_LOG).addFilter(_is_others)
    _unlogged.set(True)


def _is_others(_record: logging.LogRecord) -> bool:
    return not _unlogged.get()
