"""The journal's events as Jupyter's own, which front ends and extensions listen to.

Every subscriber of the server gets the events of all its kernels. So they hold no text of a page, neither title nor
excerpt; the reason of a refusal, which in the journal may quote a site or a model, is told in the words of our
vocabulary; and what else came from outside is redacted once more.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import fields
from pathlib import Path
from typing import Any

from jupyter_webresearch.errors import CODES
from jupyter_webresearch.journal.event import Event

__all__ = ["APPROVAL", "OPERATION", "POLICY", "emit", "register"]

_log = logging.getLogger(__name__)

OPERATION = "https://schema.jupyter.org/jupyter_webresearch/operation/v1"
APPROVAL = "https://schema.jupyter.org/jupyter_webresearch/approval/v1"
POLICY = "https://schema.jupyter.org/jupyter_webresearch/policy/v1"

_FOLDER = Path(__file__).parent / "events"
_FILES = {OPERATION: "operation.yaml", APPROVAL: "approval.yaml", POLICY: "policy.yaml"}
_SCHEMA_OF_KIND = {"approval": APPROVAL, "policy": POLICY}  # every other kind is an operation

_WHO = ("session", "channel", "kernel", "notebook")
_WHEN = ("operation", "outcome", "time")
# fmt: off
_TOLD = {
    OPERATION: (
        *_WHEN, "kind", *_WHO, "arguments", "method", "url", "final_url", "status", "bytes", "seconds", "cost", "spent",
        "score", "category", "source", "risk", "code", "reason", "setting", "provider", "query", "results",
    ),
    APPROVAL: (*_WHEN, *_WHO, "url", "risk", "scope"),
    POLICY: (*_WHEN, *_WHO, "scope"),
}
# fmt: on
_ALWAYS = ("risk", "scope")
_DEFAULTS = {field.name: field.default for field in fields(Event)}
_URLS = ("url", "final_url")
_TEXTS = ("query", "scope", "category", "provider")
_LONGEST_TEXT = 1000  # characters


def register(event_logger: Any) -> None:
    """Make the schemas known to a server; those that are known already stay.

    Listeners of everything get only what is known when they begin to listen, so this comes before the server starts.
    """
    for schema_id, name in _FILES.items():
        if schema_id not in event_logger.schemas:
            event_logger.register_event_schema(_FOLDER / name)


def emit(event_logger: Any, loop: asyncio.AbstractEventLoop, event: Event) -> None:
    """Tell an event to whoever listens, soon; from any thread. What goes wrong there is logged and raised to nobody.

    Parameters
    ----------
    event_logger
        The server's ``jupyter_events.EventLogger``.
    loop
        The server's.
    event
        As the journal has it.
    """
    try:
        loop.call_soon_threadsafe(_emit, event_logger, *_told(event))
    except Exception:  # e.g. the server has stopped
        _log.debug("Web Research: an event can't be told", exc_info=True)


def _emit(event_logger: Any, schema_id: str, data: dict[str, Any]) -> None:
    try:
        event_logger.emit(schema_id=schema_id, data=data)
    except Exception:  # best effort: the journal has it
        _log.debug("Web Research: an event can't be told", exc_info=True)


def _told(event: Event) -> tuple[str, dict[str, Any]]:
    # By the first event: a server that is never asked loads nothing of the extraction, which redaction cleans with.
    from jupyter_webresearch.redaction import redact_text, redact_url

    schema_id = _SCHEMA_OF_KIND.get(event.kind, OPERATION)
    known = {name: getattr(event, name) for name in _TOLD[schema_id]}
    told = {name: value for name, value in known.items() if value != _DEFAULTS[name] or name in _ALWAYS}
    for name in told.keys() & set(_URLS):
        # What an approval is about is a host or another entry of a list, which reads as no URL.
        told[name] = redact_url(told[name]) if schema_id == OPERATION else redact_text(told[name])
    for name in told.keys() & set(_TEXTS):
        told[name] = redact_text(told[name])[:_LONGEST_TEXT]
    if "reason" in told:
        told["reason"] = CODES[event.code].meaning if event.code in CODES else ""
    return schema_id, told
