"""Ledgers of every kind with a time that tests set."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from jupyter_webresearch.policy.budgets.file import FileLedger
from jupyter_webresearch.policy.budgets.limit import Ledger
from jupyter_webresearch.policy.budgets.memory import MemoryLedger
from jupyter_webresearch.policy.budgets.redis import RedisLedger
from tests.policy.budgets.redis_server import RedisServer

__all__ = ["RedisRig", "Rig", "SetClock", "make_rig"]

KINDS = ("memory", "file", "redis")


class SetClock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.wall = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
        self.seconds = 1000.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.seconds += seconds


class Rig:
    """A ledger whose time is a clock of ours."""

    margin = 0.000001
    """Seconds within which moments can't be told apart."""

    def __init__(self, ledger: Ledger, clock: SetClock) -> None:
        self.ledger = ledger
        self._clock = clock

    def now(self) -> int:
        """Microseconds of its clock."""
        return round(self._clock.seconds * 1_000_000)

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def told(self, seconds: float | None) -> float | None:
        """Return seconds that a ledger told, the time that has passed by itself put back."""
        return seconds


class RedisRig(Rig):
    """A ledger whose time is Redis's. It can't be set: what is counted grows older instead."""

    margin = 2.0

    def __init__(self, server: RedisServer) -> None:
        self.ledger = RedisLedger(server.url)
        self._client = server.client()
        self._shifted = 0

    def now(self) -> int:
        seconds, microseconds = self._client.time()  # type: ignore[misc]
        return int(seconds) * 1_000_000 + int(microseconds) + self._shifted

    def advance(self, seconds: float) -> None:
        shift = round(seconds * 1_000_000)
        self._shifted += shift
        for key in self._client.scan_iter():
            if self._client.type(key) == b"zset":
                older = {unit: stamp - shift for unit, stamp in self._client.zrange(key, 0, -1, withscores=True)}  # type: ignore[union-attr]
                self._client.zadd(key, older)

    def told(self, seconds: float | None) -> float | None:
        return None if seconds is None else 5.0 * round((seconds + self.margin / 2) / 5)

    def close(self) -> None:
        self._client.close()


def make_rig(kind: str, folder: Path, server: RedisServer) -> Rig:
    clock = SetClock()
    if kind == "memory":
        return Rig(MemoryLedger(clock), clock)
    if kind == "file":
        return Rig(FileLedger(folder / "private" / "budgets.sqlite", clock), clock)
    with server.client() as client:
        client.flushall()
    return RedisRig(server)
