"""A disk that is full, a folder that can't be written to: operations go on, or are refused, and it mends by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_webresearch.journal.reader import read_events
from tests.journal.writing import event, finish, json_lines, start, write

# argv: folder, "required" or not, what fills the disk, and what makes room. Prints what happened at each step.
FILLING = """
import asyncio, json, logging, os, resource, sys
from pathlib import Path
from jupyter_webresearch.errors import Failed
from tests.journal.writing import KeepingHandler, event, journal_in

folder, required, how = Path(sys.argv[1]), sys.argv[2] == "required", sys.argv[3]
warnings = []
logging.getLogger().addHandler(KeepingHandler(warnings))
ballast = folder.with_name("ballast")

def fill():
    if how == "limit":  # Python ignores the signal, so that a write beyond it fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    else:
        with ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass

def make_room():
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        ballast.unlink()

async def attempt(journal, name, count=1):
    try:
        await journal.write(*(event(f"{name}-{number}", title="t" * 1000) for number in range(count)))
    except Failed as error:
        return [error.code, error.message]
    return "ok"

async def main():
    journal = journal_in(folder, required=required)
    await journal.open()
    said = [await attempt(journal, "before")]
    fill()
    said += [await attempt(journal, "lost", 30) for _ in range(3)]
    make_room()
    said += [await attempt(journal, "after")]
    await journal.close()
    print(json.dumps([said, warnings]))

asyncio.run(main())
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder on a disk of its own, where this user may mount one; elsewhere one whose files may not grow."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    mounted = shutil.which("mount") is not None and subprocess.run(mount, capture_output=True).returncode == 0
    yield place / "webresearch", "disk" if mounted else "limit"
    if mounted:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("limit_only", [False, True])
def test_a_full_disk(small_disk: tuple[Path, str], tmp_path: Path, required: bool, limit_only: bool) -> None:
    folder, how = (tmp_path / "webresearch", "limit") if limit_only else small_disk
    process = start(FILLING, folder, "required" if required else "", how)
    said, warnings = json_lines(finish(process)[0])[0]
    assert (said[0], said[-1]) == ("ok", "ok")
    assert len(warnings) == 1
    if required:
        assert [code for code, _ in said[1:-1]] == ["journal_unavailable"] * 3
        assert "every operation is refused" in warnings[0]
    else:
        assert said[1:-1] == ["ok"] * 3
        assert "operations go on without it" in warnings[0]
    rows = read_events(folder)
    assert [row["operation"] for row in rows if row["kind"] == "fetch"] == ["before-0", "after-0"]
    assert [row["scope"] for row in rows if row["kind"] == "policy"] == ["90 events could not be written"]


# As a user whom permissions bind: root is bound by none.
READ_ONLY = """
import asyncio, json, logging, os, sys
from pathlib import Path
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.journal.reader import read_events
from tests.journal.writing import KeepingHandler, event, journal_in

home = Path(sys.argv[1])
if os.getuid() == 0:
    os.setuid(65534)
warnings = []
logging.getLogger().addHandler(KeepingHandler(warnings))

async def main():
    told = []
    journal = journal_in(home / "webresearch", on_event=told.append)
    await journal.open()
    for number in range(3):
        await journal.write(event(str(number)))
    hashed = journal.arguments_hash("a") == journal.arguments_hash("a")
    read = len(read_events(home / "webresearch"))
    home.chmod(0o700)
    if (home / "webresearch").exists():
        (home / "webresearch").chmod(0o700)
    await journal.write(event("3"))
    await journal.close()
    strict = journal_in(home / "webresearch", required=True)
    home.chmod(0o500)
    (home / "webresearch").chmod(0o500)
    (home / "webresearch" / "journal.sqlite").chmod(0o400)
    await strict.open()
    try:
        await strict.write(event("4"))
        refused = ""
    except Failed as error:
        refused = error.code
    await strict.close()
    names = [row["scope"] or row["operation"] for row in read_events(home / "webresearch")]
    print(json.dumps([len(told), hashed, read, refused, names, warnings]))

asyncio.run(main())
"""


@pytest.mark.parametrize("there", [False, True])
def test_a_read_only_home(there: bool) -> None:
    home = Path(tempfile.mkdtemp(prefix="home-"))  # not below tmp_path, which other users can't enter
    try:
        if there:
            write(home / "webresearch", event("old"))
            (home / "webresearch").chmod(0o500)
        home.chmod(0o500)
        if os.getuid() == 0:
            for path in (home, *home.rglob("*")):
                os.chown(path, 65534, 65534)
        told, hashed, read, refused, names, warnings = json_lines(finish(start(READ_ONLY, home))[0])[0]
    finally:
        for path in (home, home / "webresearch"):
            path.chmod(0o700)
        shutil.rmtree(home)
    old = ["old"] if there else []
    assert (told, hashed, read, refused) == (5, True, len(old), "journal_unavailable")
    assert names == [*old, "3 events could not be written", "3"]
    assert len(warnings) == 2  # one of each journal
