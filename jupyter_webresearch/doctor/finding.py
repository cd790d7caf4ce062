"""What one check found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """What one check found; no secret stands in it.

    Attributes
    ----------
    name
        Of the check.
    state
        ``ok``; ``warn``: it works, with less than it could; ``fail``: pages can't be read.
    detail
        What was found.
    mend
        What to do, empty when there is nothing to do.
    """

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    mend: str = ""

    def to_json(self) -> dict[str, str]:
        """Return one object of ``jupyter webresearch doctor --json``."""
        return asdict(self)
