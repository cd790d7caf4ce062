"""What is read: which events, in which order, from files that are rotated, damaged or not there."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pandas
import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.journal import reader
from jupyter_webresearch.journal.file import journal_files, lock_file
from jupyter_webresearch.journal.lock import exclusive
from jupyter_webresearch.journal.reader import follow, read_events, to_dataframe
from tests.journal.writing import SMALL, event, operations, query, tear, write

BEGIN = datetime(2026, 12, 1, tzinfo=timezone.utc)


def at(minutes: float) -> str:
    return (BEGIN + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of several files: event ``n`` is of minute ``n``."""
    folder = tmp_path / "webresearch"
    for first in range(0, 240, 60):
        events = [
            event(
                str(number),
                "refused" if number % 2 else "completed",
                kind="search" if number % 3 else "fetch",
                kernel=f"k{number % 5}",
                session=f"kernel:k{number % 5}",
                time=at(number),
                title="t" * 1200,
            )
            for number in range(first, first + 60)
        ]
        write(folder, *events, max_size=SMALL, files=9)
    assert len(journal_files(folder)) == 4
    return folder


@pytest.mark.parametrize("window", [1, 7, 2000])
def test_all_of_them_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    for name in ("_BEFORE", "_AFTER"):
        monkeypatch.setattr(reader, name, getattr(reader, name).replace("2000", str(window)))
    assert operations(read_events(folder)) == [str(number) for number in range(240)]
    assert operations(list(follow(folder, limit=1000, wait=lambda _: True))) == [str(number) for number in range(240)]


@pytest.mark.parametrize("limit", [0, 1, 59, 60, 61, 239, 240, 241])
def test_the_newest(folder: Path, limit: int) -> None:
    assert operations(read_events(folder, limit=limit)) == [str(number) for number in range(max(240 - limit, 0), 240)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"outcome": "refused"}, lambda n: n % 2 == 1),
        ({"kind": "fetch"}, lambda n: n % 3 == 0),
        ({"kernel": "k4"}, lambda n: n % 5 == 4),
        ({"session": "kernel:k4", "kind": "fetch", "outcome": "completed"}, lambda n: n % 30 == 24),
        ({"since": BEGIN + timedelta(minutes=100)}, lambda n: n >= 100),
        ({"since": (BEGIN + timedelta(minutes=99.5)).astimezone(timezone(timedelta(hours=-7)))}, lambda n: n >= 100),
        ({"since": BEGIN + timedelta(minutes=240)}, lambda _: False),
        ({"kernel": "unknown"}, lambda _: False),
    ],
)  # fmt: skip
def test_some_of_them(folder: Path, wanted, expected) -> None:
    numbers = [str(number) for number in range(240) if expected(number)]
    assert operations(read_events(folder, **wanted)) == numbers
    assert operations(read_events(folder, limit=3, **wanted)) == numbers[-3:]
    assert operations(list(follow(folder, limit=3, wait=lambda _: True, **wanted))) == numbers[-3:]


def test_what_comes_after_a_number(folder: Path) -> None:
    rows = read_events(folder)
    assert read_events(folder, after=rows[100]["number"]) == rows[101:]
    assert read_events(folder, after=rows[-1]["number"]) == []


def test_times_out_of_order_are_found(tmp_path: Path) -> None:
    write(tmp_path, event("new", time=at(10)), event("late", time=at(0)), event("newer", time=at(11)))
    assert operations(read_events(tmp_path, since=BEGIN + timedelta(minutes=5))) == ["new", "newer"]


def test_following_goes_on_over_rotations_and_from_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "webresearch"
    steps = iter(range(6))

    def write_some(_seconds: float) -> bool:
        step = next(steps)
        write(folder, *(event(f"{step}-{i}", title="t" * 1200) for i in range(step * 30)), max_size=SMALL, files=9)
        return step == 5

    seen = operations(list(follow(folder, limit=5, wait=write_some)))
    assert seen == [f"{step}-{i}" for step in range(5) for i in range(step * 30)]
    assert len(journal_files(folder)) > 2


def test_following_only_what_is_new_of_one_kind(folder: Path) -> None:
    turns = iter([False, True])

    def write_two(_seconds: float) -> bool:
        write(folder, event("a"), event("b", kind="image"))
        return next(turns)

    assert operations(list(follow(folder, kind="image", wait=write_two))) == ["b"]


def test_following_goes_on_after_damage(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    steps = iter(range(3))

    def damage(_seconds: float) -> bool:
        step = next(steps)
        if step == 0:
            (folder / "journal.sqlite").write_bytes(b"x" * 5000)
            write(folder, event("after"))
        elif step == 1:
            for path in folder.iterdir():
                path.unlink()
            write(folder, event("anew"))
        return step == 2

    assert operations(list(follow(folder, wait=damage))) == ["after", "anew"]


def test_there_is_none_yet(tmp_path: Path) -> None:
    assert read_events(tmp_path / "nowhere") == []
    assert read_events(tmp_path) == []
    (tmp_path / "journal.sqlite").touch(0o600)  # a writer is about to begin
    assert read_events(tmp_path) == []
    assert not (tmp_path / "nowhere").exists()


def test_a_damaged_file_is_passed_over(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "journal.2.sqlite").write_bytes(b"x" * 5000)
    assert operations(read_events(folder)) == [str(number) for number in range(240) if not 60 <= number < 120]
    assert "journal.2.sqlite" in caplog.text


@pytest.mark.parametrize("fault", ["a link", "a folder", "locked"])
def test_what_can_not_be_read_is_said(folder: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "journal.sqlite"
    monkeypatch.setattr(reader, "_WAIT", 0.05)
    if fault == "a link":
        path.rename(folder / "elsewhere")
        path.symlink_to(folder / "elsewhere")
    elif fault == "a folder":
        path.unlink()
        path.mkdir()
    with exclusive(lock_file(folder) if fault == "locked" else folder / "other.lock", 1), pytest.raises(Failed) as said:
        read_events(folder)
    assert said.value.code == "journal_unavailable"


def test_a_transaction_that_was_cut_is_undone_by_a_reader(folder: Path) -> None:
    before = read_events(folder)
    tear(folder / "journal.sqlite")
    assert read_events(folder) == before
    assert query(folder / "journal.sqlite", "PRAGMA integrity_check") == [("ok",)]


def test_a_data_frame(folder: Path) -> None:
    rows = read_events(folder)
    frame = to_dataframe(rows)
    assert list(frame.index) == [row["number"] for row in rows]
    assert frame["time"].dt.tz is not None
    assert list(frame.columns) == [name for name in rows[0] if name != "number"]
    assert frame["bytes"].sum() == 0
    assert len(frame[frame["time"] >= pandas.Timestamp(at(200))]) == 40
    assert list(to_dataframe([]).columns) == list(frame.columns)
