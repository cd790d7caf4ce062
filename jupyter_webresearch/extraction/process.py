"""The pool's side of one worker process: start it, hand it a page, kill it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from jupyter_webresearch.extraction.frames import (
    FrameError,
    decode_lines,
    encode_lines,
    read_extraction,
    read_frame,
    write_frame,
)
from jupyter_webresearch.models import Extraction

__all__ = ["StageFailed", "WorkerProcess", "worker_command"]

# What Python itself needs to start, where it is set: nothing that says who runs it or what it may reach.
_KEPT_VARIABLES = (
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    *(("PATH",) if sys.platform == "win32" else ()),
)
_SET_VARIABLES = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
# The package comes from its own folder, whatever other copy is installed; once it is found the folder goes to the
# end, so that nothing beside it shadows a module of Python's.
_BOOT = (
    "import json, sys; paths = json.loads(sys.argv[1])['paths']; sys.path.insert(0, paths[0]); "
    "import jupyter_webresearch; sys.path.append(sys.path.pop(0)); sys.path.extend(paths[1:]); "
    "from jupyter_webresearch.extraction.worker import main; main()"
)
if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
else:
    _CREATION_FLAGS = 0
_LARGEST_READY = 64 * 1024


class StageFailed(Exception):
    """A worker gave no extraction.

    Attributes
    ----------
    reason
        ``time``, ``memory``, ``size`` (of the answer), ``empty`` (no words), ``large`` (for its stage), ``error`` (in
        the extraction), ``crash``, ``protocol``, ``start`` or ``closed``.
    detail
        What is known of it, for people; nothing of the page.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


def worker_command() -> tuple[str, ...]:
    """Return the command that runs a worker, isolated from the environment, the working folder and user startup."""
    return (sys.executable, "-I", "-X", "utf8", "-c", _BOOT)


def import_paths() -> list[str]:
    """Return where our packages come from: isolated mode looks at neither PYTHONPATH nor a user's own packages.

    The first is the folder of this very package. They are added behind the interpreter's own folders and shadow nothing
    there.
    """
    paths = [str(Path(__file__).resolve().parents[2])]
    for name in ("trafilatura", "lxml"):
        spec = importlib.util.find_spec(name)
        for location in (spec and spec.submodule_search_locations) or ():
            paths.append(str(Path(location).resolve().parent))
    return list(dict.fromkeys(paths))


def _environment() -> dict[str, str]:
    return _SET_VARIABLES | {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


class WorkerProcess:
    """One worker: a process in a session of its own, with two pipes and nothing else of ours.

    Parameters
    ----------
    command
        What to run; see :func:`worker_command`.
    address_space
        Bytes that it may map.
    cpu_seconds
        Processor time of its whole life.
    parsing
        Held while an answer is parsed: that is Python work, and one at a time leaves the interpreter to the event
        loops.

    Raises
    ------
    OSError
        When the process can't be started.

    Notes
    -----
    Make it on a thread that lives as long as the worker should: on Linux the worker is killed when that thread ends.
    The blocking methods are for other threads; :meth:`kill` is for any, and makes them return.
    """

    def __init__(
        self, command: Sequence[str], *, address_space: int, cpu_seconds: int, parsing: threading.Lock
    ) -> None:
        settings = {
            "parent": os.getpid(),
            "address_space": address_space,
            "cpu_seconds": cpu_seconds,
            "paths": import_paths(),
        }
        self.pages = 0
        self._parsing = parsing
        # Held while the pipes are used, so that they are closed neither under a reader nor before it began.
        self._busy = threading.Lock()
        self._reaped = False
        self.fences: tuple[str, ...] = ()
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [*command, json.dumps(settings)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            close_fds=True,
            cwd=Path(sys.executable).anchor or None,
            env=_environment(),
            start_new_session=True,
            creationflags=_CREATION_FLAGS,
        )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def memory(self) -> int:
        """Resident bytes, 0 when the process is gone."""
        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def wait_ready(self) -> None:
        """Block until the worker is warm and fenced in.

        Raises
        ------
        StageFailed
            When it says or shows that it is not.
        """
        with self._pipes(), _protocol():
            header, _ = self._read(_LARGEST_READY)
            first = next(decode_lines(header), {})
        if first.get("ready") is not True:
            raise StageFailed("start", str(first.get("detail", "")))
        self.fences = tuple(str(name) for name in first.get("fences", ()))

    def exchange(self, request: dict[str, Any], body: bytes) -> Extraction:
        """Block until the worker answered one page.

        Parameters
        ----------
        request
            ``url``, ``content_type``, ``charset_label``, ``stage``, ``limits``, ``seconds`` (after which the worker
            ends itself) and ``max_answer`` (bytes).
        body
            The page.

        Raises
        ------
        StageFailed
            When it gave no extraction; unless the reason is ``error``, ``size``, ``large`` or ``empty`` the worker is
            of no more use.
        """
        self.pages += 1
        number = self.pages
        with self._pipes(), _protocol():
            try:
                write_frame(self._write, encode_lines(request | {"id": number}), body)
            except OSError as error:
                raise StageFailed("crash") from error
            header, markdown = self._read(request["max_answer"] + _LARGEST_READY)
        with _protocol(), self._parsing:
            lines = decode_lines(header)
            first = next(lines, {})
            if first.get("id") != number:
                raise FrameError("an answer to another page")
            if "failed" not in first:
                return read_extraction(lines, markdown)
        reason = first["failed"] if first["failed"] in ("memory", "size", "error", "empty", "large") else "protocol"
        raise StageFailed(reason, str(first.get("detail", "")))

    def kill(self) -> None:
        """Kill the worker and whatever it may have started; takes milliseconds, does nothing twice."""
        if self._process.poll() is None:
            if sys.platform != "win32":
                # Its session is its own, so the group is it and its children.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()

    def reap(self) -> None:
        """Block until the killed process is gone and nobody uses its pipes, and close them."""
        self._process.wait()
        with self._busy:
            self._reaped = True
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    @contextlib.contextmanager
    def _pipes(self) -> Iterator[None]:
        with self._busy:
            if self._reaped:
                raise StageFailed("crash")
            yield

    def _write(self, data: memoryview) -> int:
        return os.write(self._process.stdin.fileno(), data)  # type: ignore[union-attr]  # it is a pipe

    def _read(self, limit: int) -> tuple[bytearray, bytearray]:
        descriptor = self._process.stdout.fileno()  # type: ignore[union-attr]  # it is a pipe
        try:
            frame = read_frame(lambda size: os.read(descriptor, size), limit)
        except (OSError, EOFError) as error:
            raise StageFailed("crash") from error
        if frame is None:
            raise StageFailed("crash")
        return frame


@contextlib.contextmanager
def _protocol() -> Iterator[None]:
    try:
        yield
    except FrameError as error:
        raise StageFailed("protocol", str(error)) from error
