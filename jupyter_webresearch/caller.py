"""Who asks for an operation, as far as policy and journal need to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Caller"]


@dataclass(frozen=True)
class Caller:
    """Who asks.

    Attributes
    ----------
    channel
        ``kernel`` for code of a notebook (magics and the Python API), ``rest`` for a user of the routes, ``cli`` for
        the command line, ``tool`` for an agent.
    kernel
        The kernel's id, or an empty string.
    notebook
        Path of its notebook now, as the server knows it, or an empty string.
    """

    channel: Literal["kernel", "rest", "cli", "tool"] = "kernel"
    kernel: str = ""
    notebook: str = ""

    @property
    def is_agent(self) -> bool:
        """Whether a model, not a person's cell, chose what is asked."""
        return self.channel == "tool"
