"""Events and journals for tests, and a program that writes in processes of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import WebJournal
from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.journal import Journal

SMALL = 64 * 1024  # bytes, the least that WebJournal.max_size allows
CHECKOUT = Path(__file__).parents[2]


class KeepingHandler(logging.Handler):
    """Keeps the messages of log records."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def event(operation: str = "a", outcome: str = "completed", **fields: Any) -> Event:
    given: dict[str, Any] = {"kind": "fetch", "time": "2026-12-01T10:00:00.000+00:00", **fields}
    return Event(operation=operation, outcome=outcome, **given)  # type: ignore[arg-type]


def journal_in(
    folder: Path, *, on_event: Callable[[Event], None] | None = None, clock: Any = None, **settings: Any
) -> Journal:
    return Journal(folder, WebJournal(**settings), clock or SystemClock(), on_event=on_event)


def write(folder: Path, *events: Event, **settings: Any) -> None:
    """Write with a journal that is opened and closed for it."""

    async def run() -> None:
        journal = journal_in(folder, **settings)
        await journal.open()
        await journal.write(*events)
        await journal.close()

    asyncio.run(run())


def start(program: str, *arguments: object, environ: dict[str, str] | None = None, **options: Any) -> subprocess.Popen:
    """Start a Python program that finds this module."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=CHECKOUT,
        env={**os.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(*processes: subprocess.Popen, seconds: float = 100) -> list[str]:
    """Wait for programs to succeed and return what they printed."""
    try:
        printed = [process.communicate(timeout=seconds)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0] * len(processes)
    return printed


def query(path: Path, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql, arguments).fetchall()


def operations(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [row["operation"] for row in rows]


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


TEARING = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")  # has it write before the end
connection.execute("BEGIN IMMEDIATE")
(last,) = connection.execute("SELECT max(number) FROM events").fetchone()
for number in range(last + 1, last + 200):
    connection.execute("INSERT INTO events VALUES (?, '', 'torn', '', '', '', '', ?)", (number, "x" * 2000))
    connection.execute("INSERT INTO running VALUES (?, '', ?)", (str(number), "x" * 2000))
connection.execute("PRAGMA shrink_memory")
for number in range(200):  # has it write the oldest of what it holds, too
    connection.execute("INSERT INTO running VALUES (?, '', ?)", (f"more {number}", "x" * 2000))
os._exit(0)
"""


def tear(path: Path) -> None:
    """Have a process die in a transaction that it has written half of."""
    before = path.read_bytes()
    subprocess.run([sys.executable, "-c", TEARING, str(path)], check=True)
    assert path.read_bytes()[: len(before)] != before
