"""Many processes write, read and follow one journal, across many rotations."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

from jupyter_webresearch.journal.file import journal_files
from jupyter_webresearch.journal.reader import follow, read_events
from tests.journal.writing import SMALL, event, finish, json_lines, operations, query, start, write

PROCESSES, EVENTS = 16, 100

WRITING = f"""
import asyncio, sys
from pathlib import Path
from tests.journal.writing import SMALL, event, journal_in

async def main(folder, name):
    journal = journal_in(folder, max_size=SMALL, files=100)
    sys.stdin.readline()  # all begin at once
    await journal.open()
    for number in range(0, {EVENTS}, 4):  # now alone, now several at once
        await journal.write(event(f"{{name}}-{{number}}", title="t" * 500))
        await asyncio.gather(*(journal.write(event(f"{{name}}-{{number + i}}", title="t" * 500)) for i in (1, 2, 3)))
    print(journal.arguments_hash({{"url": "https://example.org/"}}))
    await journal.close()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""

FOLLOWING = f"""
import json, sys
from pathlib import Path
from jupyter_webresearch.journal.reader import follow

print("ready", flush=True)
for number, row in enumerate(follow(Path(sys.argv[1]), limit=10**6, wait=lambda _: __import__("time").sleep(0.01)), 1):
    print(json.dumps([row["number"], row["operation"]]), flush=True)
    if number == {PROCESSES * EVENTS}:
        break
"""

LEAVING_OPEN = """
import asyncio, os, sys
from pathlib import Path
from tests.journal.writing import SMALL, event, journal_in

async def main(folder):
    journal = journal_in(folder)
    await journal.write(event("ended", "started"), event("ended"), event("cut", "started", kernel="k", url="u"))
    print("written", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(Path(sys.argv[1])))
"""

OPENING = """
import asyncio, sys
from pathlib import Path
from tests.journal.writing import journal_in

async def main(folder):
    told = []
    journal = journal_in(folder, on_event=told.append)
    sys.stdin.readline()
    await journal.open()
    await journal.open()
    await journal.close()
    print(len(told))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_sixteen_writers_lose_and_duplicate_nothing_and_followers_see_each_once(tmp_path: Path) -> None:
    folder = tmp_path / "webresearch"
    followers = [start(FOLLOWING, folder) for _ in range(2)]
    writers = [start(WRITING, folder, name, stdin=subprocess.PIPE) for name in range(PROCESSES)]
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    seen_here: list[str] = []
    done = threading.Event()
    mine = threading.Thread(
        target=lambda: seen_here.extend(operations(list(follow(folder, limit=10**6, wait=lambda _: done.wait(0.01)))))
    )
    mine.start()
    try:
        hashes = finish(*writers)
        followed = finish(*followers)
    finally:
        done.set()
        mine.join()
    expected = {f"{name}-{number}" for name in range(PROCESSES) for number in range(EVENTS)}
    rows = read_events(folder)
    assert len(rows) == len(expected)
    assert set(operations(rows)) == expected
    assert len(journal_files(folder)) > 5  # it did begin new files
    assert [row["number"] for row in rows] == sorted({row["number"] for row in rows})
    for name in range(PROCESSES):  # each one's in its own order, but for those that were written at once
        own = [int(one.partition("-")[2]) for one in operations(rows) if one.startswith(f"{name}-")]
        assert [number // 4 for number in own] == sorted(number // 4 for number in own)
    in_order = [[row["number"], row["operation"]] for row in rows]
    assert [json_lines(text.partition("\n")[2]) for text in followed] == [in_order] * 2
    assert seen_here == operations(rows)
    assert len(set(hashes)) == 1  # sixteen made the key at once


def test_what_a_killed_process_left_open_is_closed_once_by_sixteen(tmp_path: Path) -> None:
    process = start(LEAVING_OPEN, tmp_path)
    assert process.stdout.readline() == "written\n"
    write(tmp_path)  # the process runs on: nothing is closed
    assert operations(read_events(tmp_path)) == ["ended", "ended", "cut"]
    os.kill(process.pid, signal.SIGKILL)  # not waited for: its remains are there, as under a parent that does not care
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    openers = [start(OPENING, tmp_path, stdin=subprocess.PIPE) for _ in range(16)]
    for opener in openers:
        opener.stdin.write("\n")
        opener.stdin.flush()
    assert sorted(finish(*openers)) == ["0\n"] * 15 + ["1\n"]
    process.communicate()
    last = read_events(tmp_path)[3:]
    assert [(row["operation"], row["outcome"], row["code"], row["kernel"], row["url"]) for row in last] == [
        ("cut", "failed", "cancelled", "k", "u")
    ]
    assert last[0]["reason"] == "the process ended before the operation did"
    assert query(tmp_path / "journal.sqlite", "SELECT * FROM running") == []


@pytest.mark.parametrize("files", [1, 2])
def test_what_runs_is_known_across_rotations(tmp_path: Path, files: int) -> None:
    process = start(LEAVING_OPEN, tmp_path)
    assert process.stdout.readline() == "written\n"
    for number in range(4):
        write(tmp_path, *(event(f"{number}-{i}", title="t" * 1000) for i in range(100)), max_size=SMALL, files=files)
    assert "cut" not in operations(read_events(tmp_path))  # its file is deleted by now
    process.kill()
    process.communicate()
    write(tmp_path, max_size=SMALL, files=files)
    assert [row["code"] for row in read_events(tmp_path) if row["operation"] == "cut"] == ["cancelled"]


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.journal.writing import SMALL, event, journal_in

async def main(folder, name):
    journal = journal_in(folder, max_size=SMALL, files=100)
    for number in range(10**6):
        await journal.write(event(f"{name}-{number}", title="t" * 500))
        print(number, flush=True)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.parametrize("round_", range(3))
def test_what_was_written_outlives_a_process_that_is_killed_while_it_writes(tmp_path: Path, round_: int) -> None:
    processes = [start(KILLED, tmp_path, name) for name in range(3)]
    printed = []
    for process in processes:
        printed.append("".join(process.stdout.readline() for _ in range(60 + 40 * round_)))
        process.kill()
    printed = [text + process.communicate()[0] for text, process in zip(printed, processes, strict=True)]
    write(tmp_path, event("after"), max_size=SMALL, files=100)
    rows = operations(read_events(tmp_path))
    assert max(Counter(rows).values()) == 1
    assert rows[-1] == "after"
    for name, text in enumerate(printed):
        confirmed = [int(line) for line in text.split("\n")[:-1]]
        assert {f"{name}-{number}" for number in range(max(confirmed) + 1)} <= set(rows)
    for path in journal_files(tmp_path):
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
