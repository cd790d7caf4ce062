"""A real Redis on loopback that keeps nothing on disk."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType

import redis

__all__ = ["RedisServer", "free_port"]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """One redis-server; it can be ended and started again at the same port.

    Parameters
    ----------
    folder
        Where it runs.
    *options
        Of redis-server, e.g. ``--requirepass``.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        program = shutil.which("redis-server")
        assert program, "the tests need redis-server (apt install redis-server)"
        self.port = free_port()
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), *options]
        self._command += ["--save", "", "--appendonly", "no"]
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        log = ""
        for line in self._process.stdout:
            log += line
            if "Ready to accept connections" in line:
                return
        raise AssertionError(f"redis-server ended: {log}")

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout
            self._process.stdout.close()
            self._process = None

    def client(self, **options: object) -> redis.Redis:
        """Return a plain client, to look from outside."""
        return redis.Redis(port=self.port, **options)  # type: ignore[arg-type]

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
