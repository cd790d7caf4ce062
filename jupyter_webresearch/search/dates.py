"""Dates as services write them, and the ranges of time that they can be asked for."""

from __future__ import annotations

import re
from datetime import date, time
from typing import Any

__all__ = ["RANGES", "covering_range", "iso_date"]

RANGES = (("day", 1), ("week", 7), ("month", 31), ("year", 365))
"""Ranges that services know, with the days that they hold for sure to be no more than."""

# 2024 | 2024-05 | 2024-05-01, with a time after it, or the last without separators as Yandex writes it.
_ISO = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.[0-9]{1,9})?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
)
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2}))?")
_IN_WORDS = re.compile(r"([A-Z][a-z]{2})[a-z]* ([0-9]{1,2}), ([0-9]{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def iso_date(value: Any) -> str:
    """Return a date or time in ISO 8601, as precise as it came; an empty string for what is none.

    ``2024-05-01``, ``20240501T040000`` and ``May 1, 2024`` are read; ``2 days ago`` is not: the day on which that was
    said is not known.
    """
    if not isinstance(value, str) or len(value) > 40:
        return ""
    text = value.strip()
    if match := _COMPACT.fullmatch(text):
        year, month, day, *clock = match.groups()
        return _checked(year, month, day, ":".join(clock) if clock[0] else None, None)
    if match := _IN_WORDS.fullmatch(text):
        name, day, year = match.groups()
        month = str(_MONTHS.index(name) + 1) if name in _MONTHS else "0"
        return _checked(year, month.zfill(2), day.zfill(2), None, None)
    if match := _ISO.fullmatch(text):
        return _checked(*match.groups())
    return ""


def _checked(year: str, month: str | None, day: str | None, clock: str | None, zone: str | None) -> str:
    try:
        date(int(year), int(month or 1), int(day or 1))
        if clock:
            time.fromisoformat(clock)
    except ValueError:
        return ""
    written = "-".join(part for part in (year, month, day) if part)
    return written + (f"T{clock}{zone or ''}" if clock else "")


def covering_range(since: date, today: date) -> str:
    """Return the shortest of :data:`RANGES` that reaches back to a day; an empty string when none does.

    Parameters
    ----------
    since
        The first day that is wanted.
    today
        The present day.
    """
    age = (today - since).days
    return next((name for name, days in RANGES if age <= days), "")
