"""What a worker can reach: nothing. Tried from inside one, with the interpreter's means and with native calls."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from jupyter_webresearch.config import WebExtraction
from jupyter_webresearch.extraction.pool import ExtractionPool
from tests.extraction.standin import COMMAND

SETTINGS = WebExtraction(workers=1, wall_time=10.0)
linux = pytest.mark.skipif(sys.platform != "linux", reason="this fence stands on Linux only")


@pytest.fixture
async def pool(monkeypatch):
    for name in ("SECRET_TOKEN", "JUPYTERHUB_API_TOKEN", "HTTPS_PROXY", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD_X"):
        monkeypatch.setenv(name, "secret")
    # Descriptors that would be inherited if any were.
    read, write = os.pipe()
    os.set_inheritable(read, True)
    pool = ExtractionPool(SETTINGS, command=COMMAND)
    yield pool
    await pool.close()
    os.close(read)
    os.close(write)


@pytest.fixture
async def ask(pool):
    async def ask(action):
        result = await pool.extract(action.encode(), url="https://example.org/", content_type="text/html")
        return json.loads(result.markdown.partition(" ")[2])

    return ask


async def test_nothing_can_be_opened_started_or_signalled(pool, ask):
    results = await ask("probe")
    assert len(results) > 20
    assert {name for name, result in results.items() if result == "done"} == set()
    assert not psutil.Process(pool.pids[0]).children(recursive=True)
    # The worker itself is well: it answers the next page too.
    assert await ask("environment")


async def test_the_environment_holds_nothing_of_ours(ask):
    environment = await ask("environment")
    assert "secret" not in environment.values()
    assert set(environment) <= {
        "LC_ALL", "TZ", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LD_LIBRARY_PATH", "LC_CTYPE",
        "DYLD_LIBRARY_PATH", "SYSTEMROOT", "PATH",
    } - ({"PATH"} if sys.platform != "win32" else set())  # fmt: skip
    assert environment["OPENBLAS_NUM_THREADS"] == "1"


@linux
async def test_descriptors_session_and_folder(pool):
    await pool.start()
    (pid,) = pool.pids
    assert sorted(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()) == [0, 1, 2]
    assert (Path(f"/proc/{pid}/fd/2")).readlink() == Path("/dev/null")
    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert (Path(f"/proc/{pid}/cwd")).readlink() == Path("/")


@linux
async def test_limits(pool):
    await pool.start()
    process = psutil.Process(pool.pids[0])
    names = ("RLIMIT_AS", "RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CPU")
    lifetime = int(SETTINGS.recycle_pages * SETTINGS.wall_time) + 60
    expected = (SETTINGS.address_space, 0, 0, 3, 0, lifetime)
    assert [process.rlimit(getattr(psutil, name)) for name in names] == [(value, value) for value in expected]


@linux
@pytest.mark.parametrize(
    ("fence", "refused"),
    [
        ("seccomp.install()", "EPERM"),
        ("seccomp.install = sandbox.sys.addaudithook = bool; sandbox.confine(2**30, 60)", "EMFILE"),
    ],
)
def test_each_of_two_fences_alone_keeps_native_code_from_opening(fence, refused):
    script = f"""
import ctypes, errno
from jupyter_webresearch.extraction import sandbox, seccomp
libc = ctypes.CDLL(None, use_errno=True)
calls = [(libc.socket, (2, 1, 0)), (libc.open, (b"/etc/hostname", 0)), (libc.dup, (0,)), (libc.eventfd, (0, 0))]
results, get_errno = [], ctypes.get_errno
{fence}
for call, arguments in calls:
    results.append(errno.errorcode[get_errno()] if call(*arguments) == -1 else "done")
print(*results)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == [refused] * 4


@linux
async def test_every_fence_stands(pool):
    assert set(await pool.start()) == {
        "address space", "audit hook", "core file", "descriptors", "file size", "processes", "processor time",
        "system calls",
    }  # fmt: skip


@pytest.mark.parametrize("mib", [512, 1024])
async def test_a_real_worker_extracts_inside_the_fences(mib):
    pool = ExtractionPool(WebExtraction(workers=1, address_space=mib * 1024 * 1024))
    fences = await pool.start()
    assert "audit hook" in fences
    (pid,) = pool.pids
    page = b"<!doctype html><html><title>T</title><body><h1>Head</h1><p>Some words of a page.</p></body></html>"
    for charset in ("utf-8", "gb18030", "shift_jis", "big5", "euc-kr", "windows-1251", "iso-2022-jp", "utf-16le"):
        data = page.decode().encode(charset)
        result = await pool.extract(data, url="https://e.org/", content_type="text/html", charset_label=charset)
        assert "Some words of a page" in result.markdown.replace("\\", "")
    assert pool.pids == (pid,)
    await pool.close()


async def test_packages_outside_the_interpreter_s_own_folders_are_found(monkeypatch, tmp_path):
    """Isolated mode looks at neither PYTHONPATH nor the user's site: the worker is told where the packages are."""
    from jupyter_webresearch.extraction.process import import_paths

    (tmp_path / "jupyter_webresearch").symlink_to(Path(__file__).parents[2] / "jupyter_webresearch")
    assert str(Path(__file__).parents[2]) in import_paths()
    assert all(Path(path).is_absolute() for path in import_paths())


def test_a_worker_runs_the_copy_of_the_package_that_started_it(tmp_path):
    shutil.copytree(Path(__file__).parents[2] / "jupyter_webresearch", tmp_path / "jupyter_webresearch")
    module = tmp_path / "jupyter_webresearch/extraction/document.py"
    module.write_text(
        module.read_text() + "\n_whole = extract_document\n\n"
        "def extract_document(*a, **k):\n    return replace(_whole(*a, **k), title='the copy')\n"
    )
    program = (
        "import asyncio\n"
        "from jupyter_webresearch.config import WebExtraction\n"
        "from jupyter_webresearch.extraction.pool import ExtractionPool\n"
        "async def main():\n"
        "    pool = ExtractionPool(WebExtraction(workers=1))\n"
        "    print((await pool.extract(b'<p>words', url='https://e.example/', content_type='text/html')).title)\n"
        "    await pool.close()\n"
        "asyncio.run(main())\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.stdout == "the copy\n", run.stderr
