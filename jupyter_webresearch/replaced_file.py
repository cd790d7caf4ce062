"""Small files that are replaced as a whole, so that nobody ever reads half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file; OSError when it can't be. Its folder is made, for its user alone, if it is not there.

    Parameters
    ----------
    path
        Of the file.
    text
        What it is to hold.
    mode
        Its permissions; until it is written they are 0600.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if mode != 0o600:
            draft.chmod(mode)
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
