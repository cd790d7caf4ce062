"""What this user's running Jupyter servers say of themselves in their runtime files."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["running_servers", "server_port"]

_INFO_LIMIT = 64 * 1024


def running_servers(runtime_dir: Path, *, with_tokens: bool = False) -> list[dict[str, Any]]:
    """Return what this user's running servers say of themselves, newest first.

    Files that another user owns, that are no plain files, or whose process is gone are passed over.

    Parameters
    ----------
    runtime_dir
        Jupyter's runtime folder.
    with_tokens
        Whether the caller acts as the user, and needs what lets them in.
    """
    found = []
    try:
        files = list(runtime_dir.glob("jpserver-*.json"))
    except OSError:
        return []
    for file in files:
        try:
            status = file.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _INFO_LIMIT or not _is_ours(status):
                continue
            info = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(info, dict) and _is_alive(info.get("pid")):
            if not with_tokens:
                info.pop("token", None)
            found.append((status.st_mtime, info))
    return [info for _, info in sorted(found, key=lambda pair: -pair[0])]


def server_port(info: Mapping[str, Any]) -> int:
    """Return the TCP port that a server's file names, or 0."""
    port = info.get("port")
    return port if isinstance(port, int) and 0 < port < 65536 else 0


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _is_alive(pid: Any) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    if os.name == "nt":  # os.kill(pid, 0) would end the process there
        return True
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
