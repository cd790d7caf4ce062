"""How many workers this machine, or this container, can hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

__all__ = ["available_cores", "available_memory", "worker_count"]

GIB = 1024**3


def worker_count(cores: int, memory: int) -> int:
    """Return as many workers as cores, but no more than memory / 1 GiB, and at least one.

    Parameters
    ----------
    cores
        At least 1.
    memory
        Bytes that workers may use.
    """
    return max(1, min(cores, memory // GIB))


def available_cores(root: Path = Path("/")) -> int:
    """Return the cores this process may use: its affinity, within the container's CPU quota rounded up.

    Parameters
    ----------
    root
        Where ``proc`` and ``sys`` are.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    for folder in _cgroup_folders(root, "cpu"):
        quota, period = _quota(folder)
        if quota > 0 and period > 0:
            cores = min(cores, -(-quota // period))
    return max(1, cores)


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory this process may use: the machine's, within the container's limit.

    Parameters
    ----------
    root
        Where ``proc`` and ``sys`` are.
    """
    limits = [int(psutil.virtual_memory().total)]
    for folder in _cgroup_folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            value = _read(folder / name)
            if value.isdecimal():
                limits.append(int(value))
    return min(limits)


def _quota(folder: Path) -> tuple[int, int]:
    """Return CPU quota and period of a cgroup in microseconds, zeros when there is none (cgroup v2, then v1)."""
    values = _read(folder / "cpu.max").split() or [
        _read(folder / "cpu.cfs_quota_us"),
        _read(folder / "cpu.cfs_period_us"),
    ]
    if len(values) == 2 and all(value.isdecimal() for value in values):
        return int(values[0]), int(values[1])
    return 0, 0


def _cgroup_folders(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's cgroup and of every one above it (cgroups(7)); each can set a limit.

    Inside a container the path may be the host's and absent here, while the container's own limit lies at the mount.
    """
    mount = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0" and not names:
            base = mount
        elif controller in names.split(","):
            base = mount / controller
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        for part in (inner, *inner.parents):
            yield base / part


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
