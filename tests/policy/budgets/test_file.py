"""The file: who may use it, what becomes of damage, locks and clocks that are set."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.policy.budgets.file import FileLedger
from jupyter_webresearch.policy.budgets.limit import Limit
from tests.policy.budgets.rigs import SetClock

MINUTE = Limit("WebBudgets.server_per_minute", "server:minute", 3, 60.0)
TOTAL = Limit("WebBudgets.kernel_total", "session:a:total", 5, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "webresearch" / "budgets.sqlite"


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def ledger(path: Path, clock: SetClock) -> AsyncIterator[FileLedger]:
    made = FileLedger(path, clock)
    yield made
    await made.close()


async def unavailable(ledger: FileLedger) -> str:
    """Return why every method fails; nothing may pass uncounted."""
    with pytest.raises(Failed) as failed:
        await ledger.take([MINUTE])
    assert failed.value.code == "budget_unavailable"
    for call in (ledger.give_back([TOTAL]), ledger.uses([TOTAL]), ledger.forget("session:a:")):
        with pytest.raises(Failed) as other:
            await call
        assert other.value.message == failed.value.message
    return failed.value.message


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


async def test_it_is_private_whatever_the_umask(ledger: FileLedger, path: Path) -> None:
    before = os.umask(0)
    try:
        assert await ledger.take([MINUTE]) is None
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir() if stat.S_IMODE(entry.stat().st_mode) != 0o600] == []


async def test_a_folder_that_others_can_read_is_closed_to_them(ledger: FileLedger, path: Path) -> None:
    path.parent.mkdir(mode=0o755)
    assert await ledger.take([MINUTE]) is None
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_nothing_is_opened_before_it_is_needed(ledger: FileLedger, path: Path) -> None:
    assert not path.parent.exists()


async def test_it_survives_the_process(ledger: FileLedger, path: Path, clock: SetClock) -> None:
    assert await ledger.take([MINUTE, TOTAL]) is None
    await ledger.close()
    again = FileLedger(path, clock)
    assert [use.used for use in await again.uses([MINUTE, TOTAL])] == [1, 1]
    await again.close()


async def test_a_closed_one_lets_nothing_through(ledger: FileLedger) -> None:
    assert await ledger.take([MINUTE]) is None
    await ledger.close()
    await ledger.close()
    assert "closed" in await unavailable(ledger)


# ---------------------------------------------------------------------- files that are not used


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
async def test_a_damaged_file_is_not_used(ledger: FileLedger, path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    message = await unavailable(ledger)
    assert str(path) in message
    assert "delete the file" in message
    assert path.read_bytes() == content
    path.unlink()  # as the message says
    assert await ledger.take([MINUTE]) is None


async def test_a_file_that_is_damaged_while_it_is_open_is_not_used(ledger: FileLedger, path: Path) -> None:
    assert await ledger.take([MINUTE]) is None
    with path.open("r+b") as file:
        file.write(b"\xff" * 8192)
    await unavailable(ledger)


@pytest.mark.parametrize("dangling", [False, True])
async def test_a_link_is_not_followed(ledger: FileLedger, path: Path, tmp_path: Path, dangling: bool) -> None:
    target = tmp_path / "target"
    if not dangling:
        target.write_bytes(b"")
    path.parent.mkdir()
    path.symlink_to(target)
    assert "link" in await unavailable(ledger)
    assert not target.exists() if dangling else target.read_bytes() == b""


async def test_a_linked_folder_is_not_followed(ledger: FileLedger, path: Path, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    path.parent.symlink_to(tmp_path / "target")
    assert "link" in await unavailable(ledger)
    assert list((tmp_path / "target").iterdir()) == []


async def test_a_folder_in_its_place_is_not_used(ledger: FileLedger, path: Path) -> None:
    path.mkdir(parents=True)
    assert "not a plain file" in await unavailable(ledger)


async def test_what_belongs_to_another_user_is_not_used(
    ledger: FileLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: path.parent.stat().st_uid + 1)
    assert "another user" in await unavailable(ledger)


async def test_where_nothing_can_be_written_nothing_passes(path: Path, clock: SetClock) -> None:
    path.parent.write_bytes(b"a file where the folder should be")
    for unwritable in (path, Path("/proc/webresearch/budgets.sqlite")):
        ledger = FileLedger(unwritable, clock)
        await unavailable(ledger)
        await ledger.close()


async def test_another_version_or_program_is_not_written_over(path: Path, clock: SetClock) -> None:
    for make in ("PRAGMA user_version = 2", "CREATE TABLE log (line TEXT)"):
        path.parent.mkdir(exist_ok=True)
        connection = sqlite3.connect(path)
        connection.execute(make)
        connection.close()
        ledger = FileLedger(path, clock)
        assert "format" in await unavailable(ledger)
        await ledger.close()
        path.unlink()


async def test_one_that_was_deleted_is_made_again(ledger: FileLedger, path: Path) -> None:
    assert await ledger.take([MINUTE]) is None
    shutil.rmtree(path.parent)
    assert await ledger.take([MINUTE]) is None
    assert rows(path, "SELECT count(*) FROM log") == [(1,)]


# ---------------------------------------------------------------------- locks


async def test_one_that_others_hold_is_waited_for(ledger: FileLedger, path: Path) -> None:
    assert await ledger.take([MINUTE]) is None
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(0.2, other.execute, ["COMMIT"])
    release.start()
    assert await ledger.take([MINUTE]) is None
    release.join()
    other.close()


async def test_the_wait_is_bounded_for_all_that_wait_together_and_nothing_is_charged(
    ledger: FileLedger, path: Path
) -> None:
    assert await ledger.take([MINUTE]) is None
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    started = asyncio.get_running_loop().time()
    answers = await asyncio.gather(*(ledger.take([MINUTE]) for _ in range(8)), return_exceptions=True)
    assert asyncio.get_running_loop().time() - started < 4  # one after the other they would take 7 s
    assert {type(answer) for answer in answers} == {Failed}
    other.execute("COMMIT")
    assert (await ledger.uses([MINUTE]))[0].used == 1
    assert other.execute("SELECT count(*) FROM log").fetchone() == (1,)
    other.close()


async def test_the_loop_goes_on_while_the_file_is_held(ledger: FileLedger, path: Path) -> None:
    assert await ledger.take([MINUTE]) is None
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    taking = asyncio.create_task(ledger.take([MINUTE]))
    for _ in range(20):  # a loop that waits for the file would wait for ever: only this task lets it go
        await asyncio.sleep(0)
    assert not taking.done()
    other.execute("COMMIT")
    other.close()
    assert await taking is None


KILLED = """
import os, signal, sqlite3, sys
rows = sqlite3.connect(sys.argv[1], isolation_level=None)
rows.execute("BEGIN IMMEDIATE")
rows.execute("PRAGMA cache_size = 0")
rows.execute("PRAGMA cache_spill = 1")
rows.executemany("INSERT INTO log SELECT ?, stamp, ends FROM log LIMIT 1", [("server:minute",)] * 20_000)
os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_what_a_process_had_half_written_when_it_was_killed_does_not_count(
    ledger: FileLedger, path: Path
) -> None:
    assert await ledger.take([MINUTE]) is None
    killed = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-journal").stat().st_size > 0
    assert path.stat().st_size > 100_000  # part of it was in the file already
    assert (await ledger.uses([MINUTE]))[0].used == 1


# ---------------------------------------------------------------------- clocks and old rows


@pytest.mark.parametrize("back", [timedelta(seconds=20), timedelta(days=365)])
async def test_a_clock_set_back_neither_frees_nor_blocks_for_ever(
    ledger: FileLedger, clock: SetClock, back: timedelta
) -> None:
    for _ in range(3):
        assert await ledger.take([MINUTE]) is None
        clock.advance(5)
    clock.wall -= back
    shortage = await ledger.take([MINUTE])
    assert shortage is not None
    assert shortage.retry_after == 60.0  # all three were taken in what is now the future
    assert (await ledger.uses([MINUTE]))[0].used == 3
    clock.advance(shortage.retry_after - 0.001)
    assert await ledger.take([MINUTE]) is not None
    clock.advance(0.001)
    assert await ledger.take([MINUTE]) is None


async def test_old_rows_go(ledger: FileLedger, path: Path, clock: SetClock) -> None:
    for number in range(20):
        site = Limit("WebBudgets.site_per_minute", f"site:{number}", 3, 60.0)
        total = Limit("WebBudgets.kernel_total", f"session:{number}:total", 3, None)
        assert await ledger.take([site, total]) is None
    clock.advance(60)
    assert await ledger.take([MINUTE]) is None
    assert rows(path, "SELECT key FROM log") == [("server:minute",)]
    assert rows(path, "SELECT count(*) FROM total") == [(20,)]
    clock.advance(31 * 24 * 3600)
    assert await ledger.take([TOTAL]) is None
    assert rows(path, "SELECT key FROM total") == [("session:a:total",)]
