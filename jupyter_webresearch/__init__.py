"""Read the web from a notebook: guarded, inert, and shown where it came from."""

from __future__ import annotations

__version__ = "0.1.0"
