"""Events as rows of the database, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.writer import Writer

__all__ = ["COLUMNS", "close_interrupted", "forget_running", "insert", "row_to_json", "time_text"]

COLUMNS = ("number", "time", "operation", "outcome", "kind", "session", "kernel", "more")
"""Of the table ``events``; ``more`` is JSON of the fields that have no column and are not what they mostly are."""

_REASON = "the process ended before the operation did"
_FIELDS = {field.name: field.default for field in fields(Event)}
_OTHERS = {name: default for name, default in _FIELDS.items() if name not in COLUMNS}
_INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 -- ours


def time_text(moment: datetime) -> str:
    """Return a time as events have it."""
    return moment.isoformat(timespec="milliseconds")


def insert(connection: sqlite3.Connection, events: Iterable[Event], *, first: int, writer: str) -> None:
    """Add events, and keep what begins in the list of what runs until its end is added.

    Parameters
    ----------
    connection
        Within a transaction.
    events
        In order.
    first
        Number of the first.
    writer
        The process that would add the end.
    """
    for number, event in enumerate(events, first):
        known = event.to_json()
        more = {name: known[name] for name, default in _OTHERS.items() if known[name] != default}
        columns = [_storable(str(known[name])) for name in COLUMNS[1:-1]]
        connection.execute(_INSERT, (number, *columns, json.dumps(more)))
        operation = _storable(event.operation)
        if event.outcome == "started":
            row = (operation, writer, json.dumps(known))
            connection.execute("INSERT OR REPLACE INTO running VALUES (?, ?, ?)", row)
        else:
            connection.execute("DELETE FROM running WHERE operation = ?", (operation,))


def forget_running(connection: sqlite3.Connection, operations: Iterable[str]) -> None:
    """Take operations off the list of what runs, whose end could not be added.

    Parameters
    ----------
    connection
        Within a transaction.
    operations
        Ids.
    """
    connection.executemany("DELETE FROM running WHERE operation = ?", ((_storable(each),) for each in operations))


def close_interrupted(connection: sqlite3.Connection, here: Writer, now: datetime) -> list[Event]:
    """Return an end for each operation whose process is gone; to be added in the same transaction.

    Parameters
    ----------
    connection
        Within a transaction.
    here
        This process.
    now
        The time.
    """
    running = connection.execute("SELECT writer, event FROM running").fetchall()
    started = [_event(text) for writer, text in running if _is_gone(writer, text, here, now)]
    return [
        replace(event, outcome="failed", time=time_text(now), code="cancelled", reason=_REASON) for event in started
    ]


def row_to_json(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return a row's event as JSON: its number and every field."""
    columns = dict(zip(COLUMNS, row, strict=True))
    more = json.loads(columns.pop("more"))
    return {"number": columns["number"], **dict.fromkeys(_FIELDS), **_OTHERS, **columns, **more}


def _is_gone(writer: str, event: str, here: Writer, now: datetime) -> bool:
    try:
        age = now - datetime.fromisoformat(_event(event).time.replace("Z", "+00:00"))
        return Writer.from_text(writer).is_gone(here, age.total_seconds())
    except (ValueError, TypeError):  # no process of ours wrote that
        return True


def _event(text: str) -> Event:
    return Event(**{name: value for name, value in json.loads(text).items() if name in _FIELDS})


def _storable(text: str) -> str:
    """Return text without lone surrogates, which UTF-8 has not."""
    return text.encode("utf-8", "replace").decode("utf-8")
