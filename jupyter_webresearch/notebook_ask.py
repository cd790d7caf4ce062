"""What the file of a notebook asks of the policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.asks import NotebookAsk

__all__ = ["NotANotebook", "ask_in", "ask_of", "unknown_ask"]

KEY = "webresearch"
"""Of a notebook's metadata."""


class NotANotebook(Exception):
    """The text is no notebook that can be read."""


def ask_in(text: str | bytes) -> NotebookAsk:
    """Return what the text of a notebook file asks; an empty file, of which Jupyter makes a notebook, asks nothing.

    Raises
    ------
    NotANotebook
        When it isn't JSON, or has not the form of a notebook.
    """
    if not text.strip():
        return NotebookAsk()
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotANotebook from error
    return ask_of(notebook)


def ask_of(notebook: Any) -> NotebookAsk:
    """Return what a notebook asks, given as JSON or as what Jupyter makes of it.

    Raises
    ------
    NotANotebook
        When it has not the form of a notebook.
    """
    metadata = notebook.get("metadata") if isinstance(notebook, Mapping) else None
    if not isinstance(metadata, Mapping):
        raise NotANotebook
    return NotebookAsk.from_metadata(metadata.get(KEY))


def unknown_ask(notebook: str) -> Failed:
    """Return the error for a notebook that can't be read: it might ask for less than is let through without it."""
    return Failed(
        "config",
        f"the notebook {notebook[:200]} can't be read, and its metadata might allow less than is allowed without them; "
        "save it again, or close it",
        setting="",
    )
