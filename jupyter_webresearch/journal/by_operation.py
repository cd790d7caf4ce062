"""The journal by operation: one row from the event that began it and the one that ended it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.models import pandas_module

if TYPE_CHECKING:
    import pandas

__all__ = ["COLUMNS", "RUNNING", "by_operation", "to_dataframe"]

COLUMNS = ("time", "outcome", "code", "status", "url", "bytes", "seconds", "kind", "source", "notebook")

RUNNING = "running"
"""The outcome of what has begun and not ended."""


def by_operation(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each operation, in the order in which they began.

    Parameters
    ----------
    events
        As :func:`jupyter_webresearch.journal.reader.read_events` returns them.

    Returns
    -------
    list of dict
        With the keys :data:`COLUMNS`: ``time`` is when it began, ``url`` where it ended, or else what it was about;
        what is not known, or not yet, is None.
    """
    rows: dict[str, dict[str, Any]] = {}
    for event in events:
        row = _row(event)
        began = rows.get(event["operation"])
        rows[event["operation"]] = row if began is None else {**row, "time": began["time"]}
    return list(rows.values())


def to_dataframe(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return such rows as a DataFrame.

    Raises
    ------
    ImportError
        When pandas is not installed.
    """
    pandas = pandas_module()
    frame = pandas.DataFrame(rows, columns=list(COLUMNS))
    frame["time"] = pandas.to_datetime(frame["time"], utc=True, format="ISO8601").dt.floor("s")
    types = {"status": "Int64", "bytes": "Int64", "seconds": "float64"}
    return frame.astype(types)  # type: ignore[no-any-return]  # pandas is imported on use


def _row(event: Mapping[str, Any]) -> dict[str, Any]:
    running = event["outcome"] == "started"
    return {
        "time": event["time"] if running else _earlier(event["time"], event["seconds"]),
        "outcome": RUNNING if running else event["outcome"],
        "code": event["code"],
        "status": event["status"] or None,
        "url": event["final_url"] or event["url"] or event["query"] or event["scope"],
        "bytes": event["bytes"] or None,
        "seconds": None if running else event["seconds"],
        "kind": event["kind"],
        "source": event["source"],
        "notebook": event["notebook"],
    }


def _earlier(time: str, seconds: float) -> str:
    """Return when what ended at a time began."""
    began = datetime.fromisoformat(time.replace("Z", "+00:00")) - timedelta(seconds=seconds)
    return began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
