"""What a worker can't do once it is warm: open anything, start anything, outgrow its memory, or outlive its parent.

Several fences stand behind each other because no single one exists everywhere: on Linux all of them, on macOS without
the address space and the system call filter, on Windows the audit hook alone (and, everywhere, the parent's kill).
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from typing import Any

from jupyter_webresearch.extraction import seccomp

__all__ = ["confine", "die_with_parent", "end_after"]

_PR_SET_PDEATHSIG = 1

# Audit events (Python's "Audit events table") by their first word or whole name.
_REFUSED_MODULES = frozenset(
    {"ctypes", "ensurepip", "fcntl", "mmap", "pty", "shutil", "socket", "subprocess", "winreg"}
)
_REFUSED_EVENTS = frozenset(
    {
        "open", "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link",
        "os.listdir", "os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.scandir", "os.spawn",
        "os.startfile", "os.startfile/2", "os.symlink", "os.system", "os.truncate", "os.utime",
    }
)  # fmt: skip


def die_with_parent(parent: int) -> None:
    """Make this process end with the one that started it; call it first of all.

    An idle worker also ends when its input ends, and a busy one by :func:`end_after`. The kernel's death signal
    (PR_SET_PDEATHSIG, Linux) closes what is between, at once. It is tied to the thread that started the worker,
    which is why the pool starts workers from its event loop's thread.

    Parameters
    ----------
    parent
        Process id of the one that started this one: it may have died before the signal was asked for.
    """
    if sys.platform == "win32":
        return
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def end_after(seconds: float | None) -> None:
    """Have this process ended after that time even inside C code, or call it off with None.

    The second fuse behind the pool's kill, for when there is no pool any more.

    Parameters
    ----------
    seconds
        Wall time from now.
    """
    if sys.platform == "win32":
        if seconds is None:
            faulthandler.cancel_dump_traceback_later()
        else:
            faulthandler.dump_traceback_later(seconds, exit=True)
    else:
        signal.setitimer(signal.ITIMER_REAL, seconds or 0)


def confine(address_space: int, cpu_seconds: int) -> tuple[str, ...]:
    """Close the fences around this process, for good.

    Parameters
    ----------
    address_space
        Bytes that this process may map.
    cpu_seconds
        Processor time that this process may use in its life.

    Returns
    -------
    tuple[str, ...]
        Names of the fences that stand.
    """
    fences = ["audit hook"]
    if sys.platform != "win32":
        import resource

        wanted = (
            ("address space", resource.RLIMIT_AS, address_space),
            ("processor time", resource.RLIMIT_CPU, cpu_seconds),
            ("core file", resource.RLIMIT_CORE, 0),
            ("file size", resource.RLIMIT_FSIZE, 0),
            ("descriptors", resource.RLIMIT_NOFILE, 3),
            ("processes", resource.RLIMIT_NPROC, 0),
        )
        os.closerange(3, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))
        for name, kind, value in wanted:
            try:
                _, hard = resource.getrlimit(kind)
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(kind, (value, value))
            except (OSError, ValueError):
                continue
            fences.append(name)
    if seccomp.install():
        fences.append("system calls")
    # Last: it also refuses what the lines above use.
    sys.addaudithook(_refuse)
    return tuple(fences)


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if event in _REFUSED_EVENTS or event.partition(".")[0] in _REFUSED_MODULES:
        raise PermissionError(f"{event} is not for an extraction worker")
