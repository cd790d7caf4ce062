"""How long workers live: through a kernel interrupt, and no longer than their parent, however it ends."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups of POSIX")

# An engine in small: the pool on a loop of a thread of its own, told what to do by its arguments.
PARENT = """
import asyncio, json, os, signal, sys, threading
from jupyter_webresearch.config import WebExtraction
from jupyter_webresearch.extraction.pool import ExtractionPool
from tests.extraction import standin

say = lambda **what: print(json.dumps(what), flush=True)

async def engine(action, patience):
    pool = ExtractionPool(WebExtraction(workers=2, wall_time=patience), command=getattr(standin, sys.argv[3]))
    await pool.start()
    say(pids=pool.pids)
    if action:
        result = await pool.extract(action.encode(), url="https://e.org/", content_type="text/html",
                                    on_phase=lambda phase: say(phase=phase))
        say(result=result.markdown, pids=pool.pids)
    await asyncio.to_thread(input)
    {ending}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: say(interrupted=True))
    thread = threading.Thread(target=lambda: asyncio.run(engine(sys.argv[1], float(sys.argv[2]))))
    thread.start()
    thread.join()
    say(ended=True)
    sys.stdin.read()
"""


class Parent:
    def __init__(self, action="", patience=60.0, ending="pass", command="COMMAND"):
        root = Path(__file__).parents[2]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT.replace("{ending}", ending), action, str(patience), command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            start_new_session=True,
        )

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def assert_ends(pid, seconds=60.0):
    if sys.platform == "linux":
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            ready, _, _ = select.select([descriptor], [], [], seconds)
            os.close(descriptor)
            assert ready, f"worker {pid} lives on"
    else:
        psutil.Process(pid).wait(seconds)


@pytest.mark.parametrize("action", ["", "sleep", "stuck"])
def test_workers_end_when_the_parent_is_killed(action):
    with Parent(action) as parent:
        pids = parent.hear()["pids"]
        assert len(pids) == 2
        if action:
            assert parent.hear() == {"phase": "extracting"}
        parent.process.kill()
        for pid in pids:
            assert_ends(pid)


@pytest.mark.parametrize("action", ["", "stuck"])
def test_workers_end_without_the_kernel_s_death_signal(action):
    """Where there is none, an idle worker sees its input end, and the timer that each page sets ends a busy one."""
    with Parent(action, patience=0.5, command="WITHOUT_DEATH_SIGNAL") as parent:
        pids = parent.hear()["pids"]
        if action:
            assert parent.hear() == {"phase": "extracting"}
        parent.process.kill()
        for pid in pids:
            assert_ends(pid)


def test_workers_end_with_the_engine_s_thread():
    with Parent() as parent:
        pids = parent.hear()["pids"]
        parent.process.stdin.write("\n")
        parent.process.stdin.flush()
        assert parent.hear() == {"ended": True}
        for pid in pids:
            assert_ends(pid)


def test_closing_the_pool_ends_the_workers_and_reaps_them():
    with Parent(ending="await pool.close()") as parent:
        pids = parent.hear()["pids"]
        parent.process.stdin.write("\n")
        parent.process.stdin.flush()
        assert parent.hear() == {"ended": True}
        assert not any(psutil.pid_exists(pid) for pid in pids)


def test_an_interrupt_to_the_process_group_spares_the_workers():
    with Parent("nap") as parent:
        pids = parent.hear()["pids"]
        assert parent.hear() == {"phase": "extracting"}
        os.killpg(parent.process.pid, signal.SIGINT)
        heard = [parent.hear(), parent.hear()]  # a busy machine may have had the result before
        assert {"interrupted": True} in heard
        (last,) = (line for line in heard if "result" in line)
        assert int(last["result"]) in pids
        assert sorted(last["pids"]) == sorted(pids)
        assert all(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)
