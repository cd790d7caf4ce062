"""Our side of a search with the package ``ddgs``: start its process, hear what it says, and kill it in time."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

__all__ = ["PACKAGE", "DDGSProcess", "WorkerAnswer", "ddgs_paths"]

PACKAGE = "ddgs"

MOST_ANSWER = 1024 * 1024
"""Bytes of all that a worker may say; twenty results are a hundredth of it."""

PATIENCE = 2.0
"""Seconds that a reader may take to notice that the process was killed."""

# What is needed beside the package itself: what it imports, from wherever a user has it.
_NEEDED = (PACKAGE, "primp", "lxml", "click")
_KEPT_VARIABLES = (
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    *(("PATH",) if sys.platform == "win32" else ()),
)
# Our package comes from its own folder. What the package ``ddgs`` needs comes from the folders that are named and from
# Python's own, which go first; from no folder that the environment, the user or a .pth file adds.
_BOOT = (
    "import json, sys; ours, *others = json.loads(sys.argv[1])['paths']; sys.path.insert(0, ours); "
    "import jupyter_webresearch; del sys.path[0]; sys.path.extend([*others, ours]); "
    "from jupyter_webresearch.search.ddgs_worker import main; main()"
)
if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
else:
    _CREATION_FLAGS = 0


@dataclass(frozen=True)
class WorkerAnswer:
    """What a worker said.

    Attributes
    ----------
    rows
        Results as the package gave them.
    end
        ``ok``, ``rate_limited``, ``timeout``, ``unreachable``, ``missing``, ``no_engine``, ``error``, or ``crash`` when
        it ended without a word; ``protocol`` when it said what it should not.
    detail
        Names of errors, for people.
    """

    rows: tuple[Mapping[str, Any], ...]
    end: str
    detail: str = ""


def ddgs_paths() -> tuple[str, ...]:
    """Return the folders from which the package is imported; empty where it is not installed. Nothing is imported."""
    paths = []
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is None and name == PACKAGE:
            return ()
        for location in (spec and spec.submodule_search_locations) or ():
            paths.append(str(Path(location).resolve().parent))
    return tuple(dict.fromkeys(paths))


class DDGSProcess:
    """One search in a process of its own, which ends with it.

    Parameters
    ----------
    paths
        From which the package is imported, see :func:`ddgs_paths`.
    proxy
        Through which the package asks; what ``DDGS_PROXY`` says.
    """

    def __init__(self, paths: Sequence[str], proxy: str = "") -> None:
        self._paths = [str(Path(__file__).resolve().parents[2]), *paths]
        self._environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        self._environment |= {"LC_ALL": "C", "TZ": "UTC", **({"DDGS_PROXY": proxy} if proxy else {})}

    async def search(self, request: Mapping[str, Any], seconds: float) -> WorkerAnswer:
        """Search; whatever becomes of it, no process is left.

        On Linux the process also ends with the thread that this runs on, elsewhere soon after its time.

        Parameters
        ----------
        request
            ``query``, ``kind``, ``backend``, ``timelimit``, ``limit`` and ``timeout`` (seconds of one request).
        seconds
            Wall time for all of it.

        Raises
        ------
        TimeoutError
            When the time is over.
        OSError
            When no process can be started.
        """
        settings = {"parent": os.getpid(), "seconds": seconds, "paths": self._paths}
        process = subprocess.Popen(  # noqa: S603, ASYNC220 - our own interpreter; by this thread, whose end it shares
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, json.dumps(settings)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            close_fds=True,
            cwd=Path(sys.executable).anchor or None,
            env=self._environment,
            start_new_session=True,
            creationflags=_CREATION_FLAGS,
        )
        reading = threading.Lock()
        try:
            with anyio.fail_after(seconds):
                said = await anyio.to_thread.run_sync(
                    _exchange, process, reading, dict(request), abandon_on_cancel=True
                )
        finally:
            _kill(process)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_bury, process, reading)
        return _read(said)


def _exchange(process: subprocess.Popen[bytes], reading: threading.Lock, request: dict[str, Any]) -> bytes:
    """Send the request and return all that comes back, a byte more than allowed at most; blocks."""
    with reading:
        if process.stdin is None or process.stdout is None or process.stdin.closed:
            return b""
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
        said = bytearray()
        descriptor = process.stdout.fileno()
        while len(said) <= MOST_ANSWER and (part := os.read(descriptor, min(65536, MOST_ANSWER + 1 - len(said)))):
            said += part
        return bytes(said)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and whatever it has started: its session is its own, and it is not yet waited for."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _bury(process: subprocess.Popen[bytes], reading: threading.Lock) -> None:
    """Wait for the killed process and close its pipes; not under a reader, which one that got away could still hold."""
    process.wait()
    if reading.acquire(timeout=PATIENCE):
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        reading.release()


def _read(said: bytes) -> WorkerAnswer:
    if len(said) > MOST_ANSWER:
        return WorkerAnswer((), "protocol", "too long an answer")
    *lines, rest = said.split(b"\n")
    try:
        values = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return WorkerAnswer((), "protocol", "no JSON")
    if not all(isinstance(value, dict) for value in values):
        return WorkerAnswer((), "protocol", "no object")
    if rest or not values or not isinstance(values[-1].get("end"), str):
        return WorkerAnswer((), "crash")
    rows = tuple(value["row"] for value in values[:-1] if isinstance(value.get("row"), dict))
    return WorkerAnswer(rows, values[-1]["end"], str(values[-1].get("detail", ""))[:200])
