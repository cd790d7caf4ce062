"""The secret of this installation under which arguments are hashed.

Whoever has the journal without the key can't try out which arguments have a hash.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from pathlib import Path
from typing import Any

from jupyter_webresearch.journal.lock import exclusive
from jupyter_webresearch.journal.private import create_private, exists_private, private_folder

__all__ = ["arguments_hash", "installation_key"]

SIZE = 32
_NAME = "installation.key"


def installation_key(folder: Path, lock: Path, wait: float) -> bytes:
    """Return the key, made if it is not there; every process gets the same. OSError when it can't be had.

    Parameters
    ----------
    folder
        Where it lies.
    lock
        The file by which processes exclude each other.
    wait
        Longest wait for them, in seconds.
    """
    private_folder(folder)
    path = folder / _NAME
    key = _read(path)
    if key is None:
        with exclusive(lock, wait):
            key = _read(path) or _make(path)
    return key


def arguments_hash(key: bytes, value: object) -> str:
    """Return the HMAC-SHA256, hexadecimal, of a value's canonical JSON.

    Parameters
    ----------
    key
        Of this installation.
    value
        What ``json`` can write, and bytes, which stand as their SHA-256.
    """
    return hmac.new(key, _canonical_json(value), hashlib.sha256).hexdigest()


def _canonical_json(value: object) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_bytes_as_text)
    return text.encode("utf-8", "surrogatepass")


def _bytes_as_text(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"sha256:{hashlib.sha256(value).hexdigest()}"
    raise TypeError(f"{type(value).__name__} has no canonical JSON")


def _read(path: Path) -> bytes | None:
    key = path.read_bytes() if exists_private(path) else b""
    return key if len(key) == SIZE else None


def _make(path: Path) -> bytes:
    key = secrets.token_bytes(SIZE)
    new = path.with_name(f"{_NAME}.new")
    new.unlink(missing_ok=True)  # of a process that died here
    create_private(new)
    new.write_bytes(key)
    new.replace(path)  # whole or not at all
    return key
