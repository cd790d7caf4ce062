"""Retry-After: how long a site asks to wait."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST", "RETRY_STATUSES", "seconds_to_wait"]

RETRY_STATUSES = frozenset({429, 503})
"""The statuses whose Retry-After is heeded (RFC 6585, 4; RFC 9110, 15.6.4)."""

LONGEST = 365 * 86400.0
"""Seconds; a longer wait is reported as this."""

_SECONDS = re.compile(r"[0-9]+")


def seconds_to_wait(value: str, now: datetime) -> float | None:
    """Read a Retry-After field (RFC 9110, 10.2.3).

    Parameters
    ----------
    value
        Seconds or an HTTP date, as sent.
    now
        The current time, aware.

    Returns
    -------
    float or None
        Seconds, from 0 to :data:`LONGEST`; None when there is nothing readable (empty, negative, words).
    """
    value = value.strip(" \t")
    if _SECONDS.fullmatch(value):
        return min(float(value[:400]), LONGEST)
    try:
        date = parsedate_to_datetime(value[:64])
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        return min(max((date - now).total_seconds(), 0.0), LONGEST)
    except (ValueError, TypeError, OverflowError):
        return None
