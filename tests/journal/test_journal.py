"""One journal: what is written, how it is kept, what happens to what can't be."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.journal import journal as journal_module
from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.file import journal_files, lock_file
from jupyter_webresearch.journal.installation_key import installation_key
from jupyter_webresearch.journal.journal import Journal
from jupyter_webresearch.journal.lock import exclusive
from jupyter_webresearch.journal.reader import read_events
from tests.journal.writing import SMALL, event, journal_in, operations, query, tear, write

FULL = Event(
    operation="0a1b", outcome="completed", kind="search", time="2026-12-01T10:00:00.123+00:00", session="kernel:1",
    channel="tool", kernel="1", notebook="a/b.ipynb", arguments="f" * 64, method="GET", url="https://example.org/",
    final_url="https://example.org/b", status=200, bytes=12, seconds=0.25, cost=0.001, spent=0.002, score=0.5,
    category="other", source="live", risk="act", code="robots", reason="r", setting="WebPolicy.robots",
    title="\ud800 潮", excerpt="e", provider="p", query="q", results=0, scope="s",
)  # fmt: skip


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    journal = journal_in(tmp_path / "webresearch")
    await journal.open()
    yield journal
    await journal.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "webresearch"


async def test_an_event_comes_back_as_it_was(journal: Journal, folder: Path) -> None:
    await journal.write(FULL, event("b"))
    first, second = read_events(folder)
    assert first.pop("number") + 1 == second.pop("number")
    assert list(first) == list(FULL.to_json())
    assert first == FULL.to_json()
    assert second == event("b").to_json()


async def test_events_are_in_the_file_when_write_returns(journal: Journal, folder: Path) -> None:
    for number in range(5):
        await journal.write(event(str(number)))
        assert query(folder / "journal.sqlite", "SELECT count(*) FROM events") == [(number + 1,)]


async def test_what_waits_is_written_in_one_transaction(
    journal: Journal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transactions = []
    original = journal._file.transaction

    def counting(*arguments: Any) -> Any:
        transactions.append(1)
        return original(*arguments)

    monkeypatch.setattr(journal._file, "transaction", counting)
    with exclusive(lock_file(folder), 1):
        writing = [asyncio.ensure_future(journal.write(event(str(number)))) for number in range(100)]
        while not transactions:
            await asyncio.sleep(0)
    await asyncio.gather(*writing)
    assert operations(read_events(folder)) == [str(number) for number in range(100)]
    assert len(transactions) <= 3


async def test_the_loop_is_not_held_up(journal: Journal, folder: Path) -> None:
    with exclusive(lock_file(folder), 1):
        writing = asyncio.ensure_future(journal.write(event()))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not writing.done()
    await writing


async def test_a_cancelled_write_is_written(journal: Journal, folder: Path) -> None:
    with exclusive(lock_file(folder), 1):
        writing = asyncio.ensure_future(journal.write(event("kept")))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
    await journal.close()
    assert operations(read_events(folder)) == ["kept"]


async def test_closing_writes_what_waits_and_is_done_once(journal: Journal, folder: Path) -> None:
    with exclusive(lock_file(folder), 1):
        writing = asyncio.ensure_future(journal.write(event("a")))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(journal.close())
        await asyncio.sleep(0)
    await asyncio.gather(closing, writing)
    await journal.close()
    assert operations(read_events(folder)) == ["a"]
    assert journal._threads._threads
    assert not [thread for thread in journal._threads._threads if thread.is_alive()]


async def test_listeners_hear_of_events_when_they_are_written(folder: Path) -> None:
    heard: list[tuple[str, int]] = []

    def listen(told: Event) -> None:
        heard.append((told.operation, len(query(folder / "journal.sqlite", "SELECT 1 FROM events"))))
        raise RuntimeError("a listener's own fault")

    journal = journal_in(folder, on_event=listen)
    await journal.write(event("a"), event("b"))
    await journal.write(event("c"))
    await journal.close()
    assert heard == [("a", 2), ("b", 2), ("c", 3)]


# The file


async def test_nobody_else_can_read_it(journal: Journal, folder: Path) -> None:
    seen = set()

    def modes(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO running VALUES ('x', 'y', 'z')")
        seen.update((path.name, stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir())

    before = os.umask(0)
    try:
        await journal.write(event())
        journal._file.transaction(modes, 1)
    finally:
        os.umask(before)
    assert seen == {
        ("journal.sqlite", 0o600),
        ("journal.sqlite-journal", 0o600),
        ("journal.lock", 0o600),
        ("installation.key", 0o600),
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_what_others_could_read_is_closed_to_them(folder: Path) -> None:
    journal = journal_in(folder)
    await journal.write(event("a"))
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
    await journal.write(event("b"))
    await journal.close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "journal.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'policy'",
        "DELETE FROM events",
        "DELETE FROM events WHERE operation = 'a'",
        "REPLACE INTO events SELECT number, time, operation, outcome, 'policy', session, kernel, more FROM events",
        "INSERT INTO events SELECT 1, time, operation, outcome, 'policy', session, kernel, more FROM events",
        "INSERT INTO events SELECT number, time, 'x', outcome, kind, session, kernel, more FROM events "
        "WHERE true ON CONFLICT DO UPDATE SET kind = 'policy'",
    ],
)
async def test_it_is_only_added_to(journal: Journal, folder: Path, statement: str) -> None:
    await journal.write(event("a"), event("b"))
    before = read_events(folder)
    with pytest.raises(sqlite3.IntegrityError, match="only added to"):
        query(folder / "journal.sqlite", statement)
    assert read_events(folder) == before


@pytest.mark.parametrize("files", [1, 2, 3])
def test_a_full_file_makes_room_for_a_new_one(folder: Path, files: int) -> None:
    for number in range(8):
        write(folder, *(event(f"{number}-{i}", title="t" * 1000) for i in range(80)), max_size=SMALL, files=files)
    names = ["journal.sqlite", "journal.1.sqlite", "journal.2.sqlite"][:files]
    assert [path.name for path in journal_files(folder)] == names
    assert len(list(folder.glob("journal*.sqlite*"))) == files
    for path in journal_files(folder):
        assert SMALL <= path.stat().st_size < 3 * SMALL
    kept = operations(read_events(folder))
    assert kept == [f"{number}-{i}" for number in range(8 - files, 8) for i in range(80)]


def test_fewer_files_than_before_are_kept(folder: Path) -> None:
    for number in range(6):
        write(folder, *(event(str(number), title="t" * 1000) for _ in range(80)), max_size=SMALL, files=5)
    assert len(journal_files(folder)) == 5
    write(folder, event(), max_size=SMALL, files=2)
    assert [path.name for path in journal_files(folder)] == ["journal.sqlite", "journal.1.sqlite"]


def test_a_rotation_that_a_crash_cut_short_is_gone_on_with(folder: Path) -> None:
    for number in range(3):
        write(folder, *(event(str(number), title="t" * 1000) for _ in range(80)), max_size=SMALL, files=9)
    (folder / "journal.2.sqlite").rename(folder / "journal.3.sqlite")  # the gap is 2
    (folder / "journal.1.sqlite").rename(folder / "journal.2.sqlite")  # the gap is 1
    (folder / "journal.sqlite").rename(folder / "journal.1.sqlite")  # no current file
    write(folder, *(event("3", title="t" * 1000) for _ in range(80)), max_size=SMALL, files=9)
    (folder / "journal.2.sqlite").rename(folder / "journal.7.sqlite")  # some are missing in between
    (folder / "journal.3.sqlite").rename(folder / "journal.8.sqlite")
    write(folder, event("4"), max_size=SMALL, files=9)
    assert operations(read_events(folder)) == [str(number) for number in range(4) for _ in range(80)] + ["4"]
    assert [path.name[8:-7] for path in journal_files(folder)] == ["", "1", "2", "7", "8"]


@pytest.mark.parametrize("damage", ["not a database", "cut", "another database", "garbled"])
def test_a_damaged_file_is_moved_aside(folder: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    write(folder, *(event("old", title="t" * 1000) for _ in range(50)))
    path = folder / "journal.sqlite"
    last = read_events(folder)[-1]["number"]
    whole = path.read_bytes()
    if damage == "another database":
        path.unlink()
        query(path, "CREATE TABLE mine (a)")
    else:
        path.write_bytes(
            {
                "not a database": b"x" * 5000,
                "cut": whole[: len(whole) // 2],
                "garbled": whole[:4096] + b"\xa5" * (len(whole) - 4096),
            }[damage]
        )
    before = path.read_bytes()
    write(folder, event("new", "started"))
    write(folder, event("new"))
    rows = read_events(folder)
    assert operations(rows) == ["new", "new"]
    assert rows[0]["number"] > last
    (aside,) = folder.glob("journal.corrupt-*.sqlite")
    assert aside.read_bytes() == before
    (record,) = caplog.records
    assert (record.levelname, aside.name in record.message) == ("WARNING", True)


def test_a_full_file_with_a_torn_transaction_is_mended_before_it_is_renamed(folder: Path) -> None:
    write(folder, *(event(str(number), title="t" * 1000) for number in range(80)), max_size=SMALL)
    tear(folder / "journal.sqlite")
    write(folder, event("after"), max_size=SMALL)
    assert operations(read_events(folder)) == [*map(str, range(80)), "after"]
    assert query(folder / "journal.1.sqlite", "PRAGMA integrity_check") == [("ok",)]


async def test_what_had_ended_is_not_thought_to_run_after_damage(folder: Path) -> None:
    journal = journal_in(folder, max_size=SMALL)
    await journal.write(event("a", "started"), *(event("b", title="t" * 1000) for _ in range(80)))
    await journal.write(event("a"))  # in a new file; in the old one it runs
    (folder / "journal.sqlite").write_bytes(b"x" * 5000)
    await journal.write(event("c"))
    await journal.close()
    assert query(folder / "journal.1.sqlite", "SELECT operation FROM running") == [("a",)]
    assert query(folder / "journal.sqlite", "SELECT operation FROM running") == []


def test_damaged_files_do_not_pile_up(folder: Path) -> None:
    for _ in range(6):
        write(folder, event(), files=3)
        (folder / "journal.sqlite").write_bytes(b"x" * 5000)
    assert len(list(folder.glob("journal.corrupt-*"))) == 3


async def test_one_of_a_later_version_is_left_alone(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal = journal_in(folder, required=True)
    await journal.write(event("a"))
    query(folder / "journal.sqlite", "PRAGMA user_version = 2")
    with pytest.raises(Failed, match="another version"):
        await journal.write(event("b"))
    await journal.close()
    assert query(folder / "journal.sqlite", "SELECT operation FROM events") == [("a",)]


# What can't be written; full disks and read-only folders are in test_unavailable.py


def make_link(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere, target_is_directory=True)


def link_file(name: str) -> Any:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder.with_name("victim")).write_bytes(b"")
        (folder / name).symlink_to(folder.with_name("victim"))

    return make


def make_folder(folder: Path) -> None:
    (folder / "journal.sqlite").unlink()
    (folder / "journal.sqlite").mkdir()


REFUSED = {
    "a link to a folder": make_link,
    "a link to a file": link_file("journal.sqlite"),
    "a link beside it": link_file("journal.sqlite-journal"),
    "a link for WAL": link_file("journal.sqlite-wal"),
    "a link as the lock": link_file("journal.lock"),
    "a folder": make_folder,
}


@pytest.mark.parametrize("prepare", REFUSED.values(), ids=REFUSED)
async def test_links_are_not_followed(folder: Path, prepare: Any) -> None:
    journal = journal_in(folder, required=True)
    await journal.write(event("a"))
    prepare(folder)
    with pytest.raises(Failed) as refused:
        await journal.write(event("b"))
    assert refused.value.code == "journal_unavailable"
    assert str(folder) not in refused.value.message
    await journal.close()
    victim = folder.with_name("victim")
    assert not victim.exists() or victim.read_bytes() == b""


async def test_one_warning_and_then_the_number_of_what_was_lost(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "_WAIT", 0.01)
    monkeypatch.setattr(journal_module, "_WAIT_AGAIN", 0.01)
    told: list[Event] = []
    journal = journal_in(folder, on_event=told.append)
    await journal.write(event("a", "started"))
    for lost in (1, 2):
        caplog.clear()
        with exclusive(lock_file(folder), 1):
            await journal.write(*(event(f"lost {lost}-{number}") for number in range(lost)))
            await asyncio.gather(journal.write(event("a")), journal.write(event("started", "started")))
        await journal.write(event("works again"))
        (record,) = caplog.records
        assert record.levelname == "WARNING"
        assert "another process has held it locked" in record.message
    await journal.close()
    rows = read_events(folder)
    assert [row["operation"] for row in rows if row["kind"] == "fetch"] == ["a", "works again", "works again"]
    scopes = [(row["outcome"], row["scope"]) for row in rows if row["kind"] == "policy"]
    assert scopes == [
        ("completed", "3 events could not be written"),
        ("completed", "4 events could not be written"),
    ]
    # What went on without the journal is told to listeners all the same, and nothing is thought to run.
    assert [one.operation for one in told if one.kind == "fetch"][:4] == ["a", "lost 1-0", "a", "started"]
    assert query(folder / "journal.sqlite", "SELECT * FROM running") == []


async def test_required_refuses_while_it_can_not_be_written(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "_WAIT", 0.01)
    told: list[Event] = []
    journal = journal_in(folder, required=True, on_event=told.append)
    await journal.write(event("a"))
    with exclusive(lock_file(folder), 1), pytest.raises(Failed) as refused:
        await journal.write(event("b"))
    assert (refused.value.code, refused.value.setting) == ("journal_unavailable", "WebJournal.required")
    assert refused.value.retryable
    await journal.write(event("c"))
    await journal.close()
    with pytest.raises(Failed, match="closed"):
        await journal.write(event("d"))
    fetches = [row["operation"] for row in read_events(folder) if row["kind"] == "fetch"]
    assert fetches == ["a", "c"] == [one.operation for one in told if one.kind == "fetch"]


async def test_a_fault_of_ours_fails_no_operation(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    await journal.write(event("a", score=object()))
    assert "fault while writing" in caplog.text
    await journal.write(event("b"))


async def test_a_folder_that_is_deleted_meanwhile_is_made_again(journal: Journal, folder: Path) -> None:
    await journal.write(event("a"))
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    await journal.write(event("b"))
    assert operations(read_events(folder)) == ["b"]


# The key


async def test_arguments_are_hashed_under_the_key_of_this_installation(journal: Journal, folder: Path) -> None:
    key = (folder / "installation.key").read_bytes()
    assert len(key) == 32
    body = b"\xff" * 10
    canonical = (
        '{"body":"sha256:' + hashlib.sha256(body).hexdigest() + '","n":[1,null],"url":"https://example.org/é"}'
    ).encode()
    value = {"url": "https://example.org/é", "n": (1, None), "body": body}
    assert journal.arguments_hash(value) == hmac.new(key, canonical, "sha256").hexdigest()
    assert journal.arguments_hash({"a": 1, "b": 2}) == journal.arguments_hash({"b": 2, "a": 1})
    assert journal.arguments_hash({"a": "\ud800"}) != journal.arguments_hash({"a": "?"})
    with pytest.raises(TypeError):
        journal.arguments_hash(object())


async def test_another_journal_has_the_same_key(journal: Journal, folder: Path, tmp_path: Path) -> None:
    again, other = journal_in(folder), journal_in(tmp_path / "other")
    for each in (again, other):
        await each.open()
    assert again.arguments_hash("a") == journal.arguments_hash("a") != other.arguments_hash("a")
    for each in (again, other):
        await each.close()


def test_who_waits_for_the_key_takes_the_one_that_was_made_meanwhile(tmp_path: Path) -> None:
    taken: list[bytes] = []
    lock = lock_file(tmp_path)
    with exclusive(lock, 1):
        taking = threading.Thread(target=lambda: taken.append(installation_key(tmp_path, lock, 30)))
        taking.start()
        taking.join(0.1)  # time to do it wrong
        (tmp_path / "installation.key").write_bytes(b"k" * 32)
    taking.join()
    assert taken == [b"k" * 32]


async def test_a_key_that_was_cut_is_replaced(folder: Path) -> None:
    journal = journal_in(folder)
    await journal.open()
    await journal.close()
    (folder / "installation.key").write_bytes(b"x")
    (folder / "installation.key.new").write_bytes(b"y")
    journal = journal_in(folder)
    await journal.open()
    await journal.close()
    assert len((folder / "installation.key").read_bytes()) == 32
