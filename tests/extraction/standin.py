"""An extraction that does what the page says, to see what becomes of a worker that does it.

A page is ``action`` or ``action unless stage ...``: in those stages it behaves. Everything native is bound at import,
before the fences close, as an attacker's code would be there without asking the interpreter.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from jupyter_webresearch.models import Extraction

ROOT = str(Path(__file__).parents[2])


def command(before: str = "pass") -> tuple[str, ...]:
    """Return the command of a worker that runs this module's extraction, after some statement."""
    code = (
        f"import sys; sys.path.insert(0, {ROOT!r}); from tests.extraction.standin import extract; "
        f"from jupyter_webresearch.extraction import sandbox, worker; {before}; worker.main(lambda: extract)"
    )
    return (sys.executable, "-I", "-c", code)


COMMAND = command()
WITHOUT_DEATH_SIGNAL = command("sandbox._PR_SET_PDEATHSIG = 0")

LIBC = ctypes.CDLL(None, use_errno=True)
NATIVE = {name: getattr(LIBC, name) for name in ("socket", "open", "fork", "kill", "unlink", "memset", "dup", "pipe")}
PIPE = (ctypes.c_int * 2)()
_kept: list[bytearray] = []


def extract(data: bytes, *, url: str, content_type: str, charset_label: str, stage: str, limits: object) -> Extraction:
    action, _, good = data.decode(errors="replace").rstrip().partition(" unless ")
    if data.startswith(b"<!doctype") or stage in good.split():
        return Extraction("html", f"{stage} stage", extractor=stage)
    return Extraction("html", ACTIONS[action]() or "", extractor=stage)


def _stuck() -> None:
    """Stay in C code that holds the interpreter's lock: no Python signal handler or thread runs any more."""
    re.match(r"(a+)+b", "a" * 64)


def _crash() -> None:
    NATIVE["memset"](None, 1, 1)


def _memory() -> None:
    while True:
        _kept.append(bytearray(16 * 1024 * 1024))


def _grow() -> str:
    _kept.append(bytearray(os.urandom(1)) * (120 * 1024 * 1024))
    return str(os.getpid())


def _flood() -> None:
    while True:
        os.write(1, b"\xff" * 65536)


def _flood_valid_start() -> None:
    os.write(1, struct.pack(">II", 2**32 - 1, 2**32 - 1))
    _flood()


def _frame(header: bytes, body: bytes = b"") -> None:
    os.write(1, struct.pack(">II", len(header), len(body)) + header + body)
    time.sleep(60)


def _short() -> None:
    os.write(1, struct.pack(">II", 100, 100) + b"{")
    os._exit(0)


def _raise() -> None:
    raise RuntimeError("secret text of the page")


def _probe() -> str:
    """Try everything that is forbidden; return what came of each."""
    attempts = {
        "socket": lambda: socket.socket(),
        "socketpair": lambda: socket.socketpair(),
        "read a file": lambda: Path("/etc/hostname").read_bytes(),
        "read this file": lambda: Path(__file__).read_bytes(),
        "write a file": lambda: Path(f"/tmp/webresearch-{os.getpid()}").write_bytes(b"x"),
        "low-level open": lambda: os.open("/etc/hostname", os.O_RDONLY),
        "list a folder": lambda: list(Path("/").iterdir()),
        "remove a file": lambda: Path(f"/tmp/webresearch-{os.getpid()}").unlink(),
        "fork": lambda: os.fork(),
        "subprocess": lambda: subprocess.run(["/bin/true"], check=True),
        "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "system": lambda: os.system("true"),
        "signal the parent": lambda: os.kill(os.getppid(), signal.SIGCONT),
        "duplicate a descriptor": lambda: os.dup(0),
        "pipe": lambda: os.pipe(),
        "load a library": lambda: ctypes.CDLL("libc.so.6"),
        "import from disk": lambda: __import__("wsgiref.simple_server"),
        "native socket": lambda: _native("socket", socket.AF_INET, socket.SOCK_STREAM, 0),
        "native unix socket": lambda: _native("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0),
        "native open": lambda: _native("open", b"/etc/hostname", os.O_RDONLY),
        "native dup": lambda: _native("dup", 0),
        "native pipe": lambda: _native("pipe", PIPE),
    }
    if sys.platform == "linux":
        attempts["native fork"] = _native_fork
        attempts["native kill"] = lambda: _native("kill", os.getppid(), 0)
        attempts["native unlink"] = lambda: _native("unlink", b"/tmp/webresearch-no-such-file")
    results = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            results[name] = "done"
        except (OSError, ImportError) as error:
            results[name] = getattr(error, "strerror", None) or str(error)
    return "probe " + json.dumps(results)


def _native(name: str, *arguments: object) -> None:
    if NATIVE[name](*arguments) == -1:
        raise OSError(ctypes.get_errno(), errno.errorcode[ctypes.get_errno()])


def _native_fork() -> None:
    result = NATIVE["fork"]()
    if result == 0:
        os._exit(0)
    if result == -1:
        raise OSError(ctypes.get_errno(), errno.errorcode[ctypes.get_errno()])


ACTIONS = {
    "sleep": lambda: time.sleep(60),
    "stuck": _stuck,
    "crash": _crash,
    "exit": lambda: os._exit(0),
    "memory": _memory,
    "grow": _grow,
    "flood": _flood,
    "flood-in-frame": _flood_valid_start,
    "short": _short,
    "not-json": lambda: _frame(b"not json"),
    "pickle": lambda: _frame(b"cos\nsystem\n(S'true'\ntR."),
    "wrong-id": lambda: _frame(b'{"id":99999}\n{}'),
    "not-an-object": lambda: _frame(b"[1]"),
    "raise": _raise,
    "empty": lambda: "* _ *",
    "nap": lambda: time.sleep(0.5) or str(os.getpid()),
    "pid": lambda: str(os.getpid()),
    "large": lambda: "x" * (6 * 1024 * 1024),
    "environment": lambda: "environment " + json.dumps(dict(os.environ)),
    "probe": _probe,
}
