"""How many workers: cores and memory as the container has them, in every layout of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from jupyter_webresearch.config import WebExtraction
from jupyter_webresearch.extraction.capacity import available_cores, available_memory, worker_count
from jupyter_webresearch.extraction.pool import ExtractionPool

GIB = 1024**3
TOTAL = psutil.virtual_memory().total
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
SMALL = 300 * 1024 * 1024


def lay_out(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("cores", "gib", "workers"),
    [(1, 64, 1), (2, 64, 2), (8, 2, 2), (8, 2.9, 2), (8, 1, 1), (8, 0.5, 1), (1, 0.1, 1), (64, 16, 16)],
)
def test_as_many_as_cores_but_no_more_than_memory(cores, gib, workers):
    assert worker_count(cores, int(gib * GIB)) == workers


@pytest.mark.parametrize(
    ("files", "memory"),
    [
        ({}, TOTAL),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{SMALL}\n"}, SMALL),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": f"{SMALL}\n",
          "sys/fs/cgroup/a/b/memory.max": "max\n"}, SMALL),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": f"{2 * SMALL}\n",
          "sys/fs/cgroup/a/b/memory.max": f"{SMALL}\n"}, SMALL),
        # A container sees its host's path, which is not there, and its own limit at the mount.
        ({"proc/self/cgroup": "0::/../../kubepods/x\n", "sys/fs/cgroup/memory.max": f"{SMALL}\n"}, SMALL),
        ({"proc/self/cgroup": "5:memory:/docker/x\n0::/\n",
          "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{SMALL}\n"}, SMALL),
        ({"proc/self/cgroup": "5:cpu,memory:/x\n",
          "sys/fs/cgroup/memory/x/memory.limit_in_bytes": f"{SMALL}\n"}, SMALL),
        ({"proc/self/cgroup": "5:memory:/\n",
          "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, TOTAL),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, TOTAL),
        ({"proc/self/cgroup": "nonsense", "sys/fs/cgroup/memory.max": "-5\n"}, TOTAL),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "²\n"}, TOTAL),
    ],
)  # fmt: skip
def test_memory(tmp_path, files, memory):
    assert available_memory(lay_out(tmp_path, files)) == memory


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, CORES),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, CORES),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, min(2, CORES)),
        ({"proc/self/cgroup": "3:cpu,cpuacct:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000\n",
          "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"proc/self/cgroup": "3:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
          "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, CORES),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "0 0\n"}, CORES),
    ],
)  # fmt: skip
def test_cores(tmp_path, files, cores):
    assert available_cores(lay_out(tmp_path, files)) == cores


async def test_the_setting_wins():
    for workers, size in ((3, 3), (0, worker_count(available_cores(), available_memory()))):
        pool = ExtractionPool(WebExtraction(workers=workers))
        assert pool.size == size
        await pool.close()
