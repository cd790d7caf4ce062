"""Which process wrote what: to tell, later, whether it is still there to write the end of what it began."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

__all__ = ["Writer"]

LONGEST_OPERATION = 3600.0
"""Seconds after which an operation of a process that can't be seen from here is over."""

_SAME_START = 2.0  # how far apart two readings of one process's start may lie
_PROC = Path("/proc")


@dataclass(frozen=True)
class Writer:
    """One process, so that another one is not taken for it.

    Attributes
    ----------
    host
        Name of the machine: a home directory may be shared by several.
    boot
        Id of the machine's start, or empty where there is none.
    namespace
        Of process ids, on Linux: containers count them each for itself.
    pid
        Id of the process.
    started
        When it started, on whatever scale the machine tells; 0 when it does not.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    started: float

    @classmethod
    def of_this_process(cls) -> Writer:
        """Return who runs this."""
        boot = _read(_PROC / "sys/kernel/random/boot_id")
        try:
            namespace = str((_PROC / "self/ns/pid").readlink())
        except OSError:
            namespace = ""
        return cls(platform.node(), boot, namespace, os.getpid(), _start(os.getpid()) or 0.0)

    def is_gone(self, here: Writer, age: float) -> bool:
        """Whether the process has ended.

        Parameters
        ----------
        here
            The process that asks.
        age
            Seconds since it began what it has not ended: decides where the process can't be seen.
        """
        if self.host == here.host and self.boot != here.boot:
            return True
        if (self.host, self.namespace) != (here.host, here.namespace) or not self.started:
            return age > LONGEST_OPERATION
        started = _start(self.pid)
        return started is None or (bool(started) and abs(started - self.started) > _SAME_START)

    def to_text(self) -> str:
        """Return the form that :meth:`from_text` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Writer:
        """Read what :meth:`to_text` wrote; ValueError or TypeError for anything else."""
        return cls(**json.loads(text))


def _start(pid: int) -> float | None:
    """Return when a process started, 0 if that is not told, None if there is no such process or only its remains."""
    if (_PROC / "self/stat").exists():
        # In ticks since the machine's start: psutil adds the start by a clock that may be set meanwhile.
        try:
            fields = (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        except OSError:
            return 0.0
        return None if fields[0] in "ZX" else float(fields[19])
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.NoSuchProcess:
        return None
    except (psutil.Error, OSError):
        return 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
