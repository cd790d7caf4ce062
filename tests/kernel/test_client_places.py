"""Where there is no server: the same calls do the work in their own process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ONE_WORKER
from tests.sites import Site

CELL = """
import os
import jupyter_webresearch as web
from jupyter_webresearch.kernel.client import connect
page = web.fetch(os.environ["SITE"] + "/article")
again = web.fetch(os.environ["SITE"] + "/article")
print("READ", type(connect().client).__name__, page.status, again.cached_seconds is not None)
"""

RUN_NOTEBOOKS = """
import sys, nbclient, nbformat, papermill
cell = sys.argv[1]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
nbformat.write(notebook, "in.ipynb")
nbclient.execute(notebook)
done = papermill.execute_notebook("in.ipynb", "out.ipynb", progress_bar=False)
for run in (notebook, done):
    print("".join(output.text for output in run.cells[-1].outputs if output.name == "stdout"))
"""


@pytest.fixture
def stranger() -> Iterator[Site]:
    """What listens where a server of ours once did."""
    with Site() as site:
        yield site


@pytest.fixture
def environ(tmp_path: Path, web: Site, stranger: Site) -> dict[str, str]:
    """A place without a server, in which the guard lets the site on loopback through; a stale server is announced."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY"))}
    return {
        **inherited,
        **ONE_WORKER,
        "SITE": f"http://127.0.0.1:{web.port}",
        "JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
        "JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOWED_PORTS": str(web.port),
        "JUPYTER_WEBRESEARCH_URL": f"http://127.0.0.1:{stranger.port}/",  # not a server of ours: it must not matter
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }


@pytest.fixture
def web() -> object:
    with Site() as site:
        yield site


def run(environ: dict[str, str], folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=environ, cwd=folder, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nbclient_and_papermill(environ: dict[str, str], tmp_path: Path) -> None:
    printed = run(environ, tmp_path, "-c", RUN_NOTEBOOKS, CELL)
    assert [line for line in printed.splitlines() if line.startswith("READ")] == ["READ LocalClient 200 True"] * 2


@pytest.mark.parametrize("arguments", [("-c",), ("-m", "IPython", "--no-banner", "--colors=nocolor", "-c")])
def test_a_script_and_plain_ipython(environ: dict[str, str], tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert "READ LocalClient 200 True" in run(environ, tmp_path, *arguments, CELL)


def test_a_forked_child_works_by_itself(environ: dict[str, str], tmp_path: Path) -> None:
    code = (
        CELL
        + """
import sys
sys.stdout.flush()
child = os.fork()
if child == 0:
    page = web.fetch(os.environ["SITE"] + "/article")
    print("CHILD", page.status, page.cached_seconds is None, flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print("PARENT", web.fetch(os.environ["SITE"] + "/article").cached_seconds is not None)
"""
    )
    printed = run(environ, tmp_path, "-W", "ignore::DeprecationWarning", "-c", code)
    assert printed.split()[-5:] == ["CHILD", "200", "True", "PARENT", "True"]


def test_nothing_is_left_behind(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    run({**environ, "TMPDIR": str(tmp_path / "temporary")}, tmp_path, "-c", CELL)
    assert list((tmp_path / "temporary").iterdir()) == []


NO_THREADS = """
import threading

def start(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")

def forbid():
    threading.Thread.start = start

# As Python 3.12 does it; what is registered last is called first.
threading._register_atexit(forbid)
"""


@pytest.mark.parametrize(
    "call",
    [
        "web.fetch(SITE + '/article')",
        "web.fetch(SITE + '/nowhere')",
        "web.fetch('http://169.254.169.254/')",
        "web.fetch_many([SITE + '/article', SITE + '/table'])",
        "web.extract(b'<p>some words', url='https://example.org/')",
        "asyncio.run(web.afetch(SITE + '/article'))",
        "asyncio.run(asyncio.wait_for(web.afetch(SITE + '/hang'), 1))",
        "asyncio.run(asyncio.wait_for(web.afetch(SITE + '/drip-body'), 2))",
        "web.check_url('https://example.org/')",
    ],
)
def test_a_script_ends_quietly_where_its_end_starts_no_thread(
    environ: dict[str, str], tmp_path: Path, call: str
) -> None:
    code = (
        "import asyncio, os, jupyter_webresearch as web\nSITE = os.environ['SITE']\n"
        f"try: {call}\nexcept Exception as error: print(error)\n{NO_THREADS}"
    )
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environ, "TMPDIR": str(tmp_path / "temporary")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(("mode", "said"), [("warn", "UserWarning"), ("deny", "WebKernel.local_mode")])
def test_where_the_operator_minds(environ: dict[str, str], tmp_path: Path, web: Site, mode: str, said: str) -> None:
    code = CELL + "\nweb.check_url('https://example.org/')"
    done = subprocess.run(
        [sys.executable, "-c", code if mode == "warn" else REPORT],
        env={**environ, "JUPYTER_WEBRESEARCH_WEBKERNEL_LOCAL_MODE": mode},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said in done.stdout + done.stderr
    assert done.stderr.count("UserWarning") == (1 if mode == "warn" else 0)
    assert ("/article" in web.paths()) == (mode == "warn")


POLICY = "JUPYTER_WEBRESEARCH_WEBPOLICY_"
NETWORKS = POLICY + "ALLOW_PRIVATE_NETWORKS"
MODE = "JUPYTER_WEBRESEARCH_WEBKERNEL_LOCAL_MODE"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the environment that a process was started with")
@pytest.mark.parametrize(
    ("started", "changed", "printed"),
    [
        ({}, {}, ""),
        ({}, {NETWORKS: None, POLICY + "ALLOWED_PORTS": ""}, ""),
        ({NETWORKS: ""}, {NETWORKS: "0.0.0.0/0"}, "blocked_address"),
        ({NETWORKS: None}, {NETWORKS: "0.0.0.0/0"}, "blocked_address"),
        ({POLICY + "ALLOWED_PORTS": None}, {POLICY + "ALLOWED_PORTS": "{port}"}, "blocked_port"),
        ({POLICY + "EXTRA_BLOCKED": "127.0.0.1"}, {POLICY + "EXTRA_BLOCKED": ""}, "blocked_"),
        ({POLICY + "EXTRA_BLOCKED": "127.0.0.1"}, {POLICY + "EXTRA_BLOCKED": None}, "blocked_"),
        ({}, {POLICY + "EXTRA_BLOCKED": "127.0.0.1"}, "blocked_"),
        ({MODE: "deny"}, {MODE: "allow"}, "unauthorized"),
        ({MODE: "deny"}, {MODE: None}, "unauthorized"),
        ({}, {MODE: "deny"}, ""),  # it could as well be "allow" over the "deny" of a user's file
    ],
)  # fmt: skip
def test_a_notebook_changes_its_environment_and_widens_nothing(
    environ: dict[str, str], tmp_path: Path, web: Site, started: dict[str, str], changed: dict[str, str], printed: str
) -> None:
    code = f"import os\nfor name, value in {changed!r}.items():\n    os.environ.pop(name, None)\n"
    code += f"    if value is not None: os.environ[name] = value.format(port={web.port})\n{REPORT}"
    environ = {name: value for name, value in (environ | started).items() if value is not None}
    assert run(environ, tmp_path, "-c", code).startswith(printed)
    assert ("/article" in web.paths()) == (not printed)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the environment that a process was started with")
@pytest.mark.parametrize(("variable", "folder"), [
    ("JUPYTER_CONFIG_DIR", "."), ("JUPYTER_CONFIG_PATH", "."), ("HOME", ".jupyter"),
])  # fmt: skip
@pytest.mark.parametrize("when", ["before the start", "in the notebook"])
def test_a_notebook_moves_the_settings_and_widens_nothing(
    environ: dict[str, str], tmp_path: Path, web: Site, variable: str, folder: str, when: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / folder).mkdir(parents=True)
    (elsewhere / folder / "jupyter_webresearch_config.py").write_text(
        f"c.WebPolicy.allow_private_networks = ['127.0.0.0/8']\nc.WebPolicy.allowed_ports = [{web.port}]\n"
    )
    environ = {name: value for name, value in environ.items() if not name.startswith((POLICY, "JUPYTER_CONFIG"))}
    code = REPORT
    if when == "in the notebook":
        code = f"import os; os.environ[{variable!r}] = {str(elsewhere)!r}\n{REPORT}"
    else:
        environ[variable] = str(elsewhere)
    refused = run(environ, tmp_path, "-c", code).startswith("blocked_")
    assert refused == (when == "in the notebook")
    assert ("/article" in web.paths()) != refused


REPORT = """
import os, jupyter_webresearch as web
try:
    web.fetch(os.environ["SITE"] + "/article")
except web.Refused as error:
    print(error.code, error.setting)
"""


def test_ctrl_c_ends_the_call_and_not_the_engine(environ: dict[str, str], tmp_path: Path, web: Site) -> None:
    code = """
import os, jupyter_webresearch as web
web.fetch(os.environ["SITE"] + "/article")
try:
    web.fetch(os.environ["SITE"] + "/hang")
except KeyboardInterrupt:
    print("stopped", web.fetch(os.environ["SITE"] + "/article?again").status, flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environ,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        asyncio.run_coroutine_threadsafe(web.arrived("/hang"), web._loop).result(60)
        os.killpg(process.pid, signal.SIGINT)  # to the whole group, as Jupyter interrupts: the workers must not mind
        printed, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert (printed, process.returncode) == ("stopped 200\n", 0)
