"""The lock, and who is taken for the one that wrote something."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jupyter_webresearch.journal import lock
from jupyter_webresearch.journal.lock import LockTimeout, exclusive
from jupyter_webresearch.journal.writer import LONGEST_OPERATION, Writer
from tests.journal.writing import start

HOLDING = """
import sys
from pathlib import Path
from jupyter_webresearch.journal import lock
from jupyter_webresearch.journal.lock import exclusive
with exclusive(Path(sys.argv[1]), 5):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_it_excludes_threads_of_one_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inside, most = [], []

    def work() -> None:
        for _ in range(50):
            with exclusive(path, 30):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 200


def test_it_excludes_processes_and_ends_with_the_one_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = start(HOLDING, path, stdin=subprocess.PIPE)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(LockTimeout, match="another process has held it"), exclusive(path, 0.05):
        pass
    holder.kill()
    holder.communicate()
    with exclusive(path, 5):
        pass


def test_a_lock_on_a_deleted_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with exclusive(path, 1):
        path.unlink()
        with exclusive(path, 1), pytest.raises(LockTimeout), exclusive(path, 0):
            pass
    descriptor = os.open(path, os.O_RDWR)  # as who opens it just before it is deleted and made anew
    path.unlink()
    assert not lock._is_mine(descriptor, path)
    path.touch()
    assert not lock._is_mine(descriptor, path)
    os.close(descriptor)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_does_not_keep_it(tmp_path: Path) -> None:
    forking = """
import os, sys
from pathlib import Path
from jupyter_webresearch.journal import lock
from jupyter_webresearch.journal.lock import exclusive
with exclusive(Path(sys.argv[1]), 5):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        os._exit(0)
with exclusive(Path(sys.argv[1]), 0):
    pass
os.write(writing, b"x")
os.waitpid(child, 0)
"""
    subprocess.run([sys.executable, "-c", forking, str(tmp_path / "lock")], check=True)


# Writers


HERE = Writer.of_this_process()


def test_a_writer_survives_its_text() -> None:
    assert Writer.from_text(HERE.to_text()) == HERE
    for text in ("", "[]", "{}", '{"pid": 1}', "null"):
        with pytest.raises((ValueError, TypeError)):
            Writer.from_text(text)


def test_who_runs_is_not_gone() -> None:
    assert not HERE.is_gone(HERE, 10**9)
    assert not dataclasses.replace(HERE, pid=os.getppid(), started=0.0).is_gone(HERE, 1)


def test_who_has_ended_is_gone_and_nobody_else_is_taken_for_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        pass
    assert dataclasses.replace(HERE, pid=process.pid).is_gone(HERE, 0)
    assert dataclasses.replace(HERE, started=HERE.started - 100).is_gone(HERE, 0)  # its pid is another's now


def test_what_ran_before_this_machine_started_is_gone() -> None:
    assert dataclasses.replace(HERE, boot="another").is_gone(HERE, 0)


@pytest.mark.parametrize("unseen", [{"host": "another"}, {"namespace": "pid:[1]"}, {"host": "another", "boot": "b"}])
def test_who_can_not_be_seen_is_gone_after_the_longest_operation(unseen: dict[str, str]) -> None:
    writer = dataclasses.replace(HERE, pid=2**30, **unseen)
    assert not writer.is_gone(HERE, LONGEST_OPERATION - 1)
    assert writer.is_gone(HERE, LONGEST_OPERATION + 1)
