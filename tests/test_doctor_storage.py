"""The doctor writes where journal and budgets are written, adds nothing to them, and says what is in the way."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_webresearch import cli
from jupyter_webresearch.clock import SystemClock
from jupyter_webresearch.config import Settings, WebBudgets, WebJournal
from jupyter_webresearch.doctor import storage
from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.journal import Journal
from jupyter_webresearch.journal.private import journal_folder
from jupyter_webresearch.policy.budgets.file import FileLedger
from jupyter_webresearch.policy.budgets.limit import Limit
from tests.policy.budgets.redis_server import RedisServer, free_port

SECRET = "hunter2-Zq9"
REQUIRED = Settings(journal=WebJournal(required=True))
LOCAL = Settings(budgets=WebBudgets(when_unavailable="local"))


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# The journal


def write_events(count, **settings):
    async def write():
        journal = Journal(journal_folder(), WebJournal(**settings), SystemClock())
        for number in range(count):
            event = Event(f"operation-{number}", "started", "fetch", "2026-01-01T00:00:00.000Z", reason="x" * 5000)
            await journal.write(event)
        await journal.close()

    asyncio.run(write())


def rows(path):
    with closing(sqlite3.connect(path)) as database:
        return [database.execute(f"SELECT * FROM {table}").fetchall() for table in ("events", "running")]


def test_a_journal_that_is_not_there_yet_is_not_made(home):
    found = storage.journal(Settings())
    assert (found.state, found.detail) == ("ok", f"{home / 'data' / 'webresearch'}: no file yet")
    assert tree(home) == []


def test_a_journal_is_written_and_stays_as_it_is(home):
    write_events(2)
    path = home / "data" / "webresearch" / "journal.sqlite"
    before, files = rows(path), tree(home)
    found = storage.journal(Settings())
    assert (found.state, found.mend) == ("ok", "")
    assert found.detail.startswith(f"{path.parent}: 1 of at most 4 files, ")
    assert (rows(path), tree(home)) == (before, files)
    assert len(before[0]) == len(before[1]) == 2


def test_a_full_journal_is_not_put_aside_by_looking(home):
    write_events(20)
    (path,) = home.rglob("journal.sqlite")
    assert path.stat().st_size > 64 * 1024
    files = tree(home)
    assert storage.journal(Settings(journal=WebJournal(max_size=64 * 1024, files=1))).state == "ok"
    assert tree(home) == files


@pytest.mark.parametrize(("settings", "state"), [(Settings(), "warn"), (REQUIRED, "fail")])
@pytest.mark.parametrize("blocked", ["data", "data/webresearch"])
def test_a_file_in_the_way_of_the_journals_folder(home, settings, state, blocked):
    (home / blocked).parent.mkdir(exist_ok=True)
    (home / blocked).write_text("")
    found = storage.journal(settings)
    assert found.state == state
    assert f"{home / 'data' / 'webresearch'} can't be written: " in found.detail
    assert "JUPYTER_DATA_DIR" in found.mend
    assert ("WebJournal.required" in found.mend) == (state == "fail")


def test_a_link_in_the_journals_place_is_not_followed(home):
    folder = home / "data" / "webresearch"
    folder.mkdir(parents=True)
    (folder / "journal.sqlite").symlink_to(home / "elsewhere")
    found = storage.journal(REQUIRED)
    assert found.state == "fail"
    assert "is a link" in found.detail
    assert not (home / "elsewhere").exists()


def test_a_journal_that_another_process_holds(home, monkeypatch):
    from jupyter_webresearch.journal.file import lock_file
    from jupyter_webresearch.journal.lock import exclusive

    write_events(1)
    monkeypatch.setattr(storage, "PATIENCE", 0.05)
    with exclusive(lock_file(journal_folder()), 1):
        found = storage.journal(Settings())
    assert found.state == "warn"
    assert "another process has held it locked" in found.detail


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_journal_that_others_can_read(home, monkeypatch):
    write_events(1)
    path = home / "data" / "webresearch" / "journal.sqlite"
    path.chmod(0o644)
    assert storage.journal(Settings()).state == "ok"  # it was closed to them
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)

    def no_modes(_path, _mode):
        raise PermissionError("a disk without permissions")

    monkeypatch.setattr(Path, "chmod", no_modes)
    found = storage.journal(Settings())
    assert found.state == "warn"
    assert "others on this machine can read it" in found.detail


@pytest.mark.filterwarnings("ignore:The journal was damaged")
def test_a_damaged_journal_is_named(home):
    write_events(1)
    folder = home / "data" / "webresearch"
    (folder / "journal.sqlite").write_bytes(b"no database" * 1000)
    found = storage.journal(Settings())
    assert found.state == "warn"
    (aside,) = folder.glob("journal.corrupt-*.sqlite")
    assert aside.name in found.detail


# Budgets in a file


def test_the_budgets_file_that_is_not_there_yet_is_not_made(home):
    found = storage.budgets(Settings())
    assert found.state == "ok"
    assert str(home / "runtime" / "webresearch" / "budgets.sqlite") in found.detail
    assert tree(home) == []


def test_the_file_is_the_one_in_which_kernels_without_a_server_count(home, capsys):
    assert cli.main(["policy"]) == 0
    capsys.readouterr()
    (path,) = home.rglob("budgets.sqlite")
    found = storage.budgets(Settings())
    assert found.state == "ok"
    assert str(path) in found.detail


def test_what_is_counted_in_the_file_stays_as_it_is(home):
    path = home / "runtime" / "webresearch" / "budgets.sqlite"
    limit = Limit("WebBudgets.kernel_total", "session:a:total", 5, None)

    async def count():
        ledger = FileLedger(path)
        await ledger.take([limit])
        await ledger.close()

    asyncio.run(count())
    assert storage.budgets(Settings()).state == "ok"
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT key, used FROM total").fetchall() == [("session:a:total", 1)]
        assert database.execute("SELECT count(*) FROM log").fetchone() == (0,)


@pytest.mark.parametrize(("settings", "state"), [(Settings(), "fail"), (LOCAL, "warn")])
@pytest.mark.parametrize("blocked", ["runtime", "runtime/webresearch", "runtime/webresearch/budgets.sqlite"])
def test_what_is_in_the_way_of_the_budgets_file(home, settings, state, blocked):
    path = home / blocked
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("not what belongs here " * 100)
    found = storage.budgets(settings)
    assert found.state == state
    assert str(home / "runtime" / "webresearch" / "budgets.sqlite") in found.detail
    assert "JUPYTER_RUNTIME_DIR" in found.mend
    assert ("read nothing" in found.mend) == (state == "fail")


# Budgets on Redis


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory):
    with RedisServer(tmp_path_factory.mktemp("redis"), "--requirepass", SECRET) as server:
        yield server


def on_redis(url, when="refuse"):
    return storage.budgets(Settings(budgets=WebBudgets(storage=url, when_unavailable=when)))


def test_a_redis_that_answers_is_shown_without_its_password(redis_server):
    found = on_redis(f"redis://:{SECRET}@127.0.0.1:{redis_server.port}/0")
    assert (found.state, found.detail) == ("ok", f"redis://...@127.0.0.1:{redis_server.port}/0 answers")
    with redis_server.client(password=SECRET) as client:
        assert client.dbsize() == 0


def test_a_wrong_password_is_found_and_not_told(redis_server):
    found = on_redis(f"redis://:{SECRET}-wrong@127.0.0.1:{redis_server.port}/0")
    assert found.state == "fail"
    assert "does not accept user name and password" in found.detail
    assert SECRET not in str(found)


@pytest.mark.parametrize(("when", "state"), [("refuse", "fail"), ("local", "warn")])
def test_no_redis(when, state):
    found = on_redis(f"redis://:{SECRET}@127.0.0.1:{free_port()}/0", when)
    assert found.state == state
    assert "can't be reached" in found.detail
    assert ("nothing is read" in found.mend) == (when == "refuse")
    assert SECRET not in str(found)


def test_a_redis_that_hangs():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        found = on_redis(f"redis://127.0.0.1:{deaf.getsockname()[1]}/0")
    assert found.state == "fail"
    assert "does not answer within" in found.detail


def test_a_redis_that_can_only_be_read(tmp_path):
    with RedisServer(tmp_path, "--replicaof", "127.0.0.1", str(free_port())) as replica:
        found = on_redis(replica.url)
    assert found.state == "fail"
    assert "refuses to count" in found.detail


@pytest.mark.parametrize("when", ["refuse", "local"])
def test_without_the_package_nothing_starts(monkeypatch, when):
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "jupyter_webresearch.policy.budgets.redis", raising=False)
    found = on_redis(f"redis://:{SECRET}@127.0.0.1:6379/0", when)
    assert found.state == "fail"
    assert "pip install 'redis>=6'" in found.detail
    assert "nothing starts" in found.mend
    assert SECRET not in str(found)


def test_an_address_that_no_redis_can_have():
    found = on_redis("redis://127.0.0.1/not-a-number?protocol=x", "local")
    assert found.state == "fail"
    assert "nothing starts" in found.mend


# Both, as the command tells them


def test_the_command_tells_both_and_its_status_says_that_one_failed(home, capsys, monkeypatch):
    from jupyter_webresearch.doctor import Finding, workers

    monkeypatch.setattr(workers, "extraction_workers", lambda _settings: Finding("extraction workers", "ok", ""))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(home / "config"))
    (home / "data").write_text("")
    assert cli.main(["doctor", "--json", "--WebJournal.required=True", "--WebBudgets.when_unavailable=local"]) == 1
    found = {check["name"]: check["state"] for check in json.loads(capsys.readouterr().out)}
    assert found["journal"] == "fail"
    assert [name for name, state in found.items() if state == "fail"] == ["journal"]
