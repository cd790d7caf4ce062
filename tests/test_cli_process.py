"""The command line as a process: what a shell, a pipe and a keyboard see."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ONE_WORKER
from tests.sites import Site

SCRIPTS = Path(sys.executable).parent
SCRIPT = str(SCRIPTS / "jupyter-webresearch")


@pytest.fixture
def environ(tmp_path):
    """The environment of someone with no configuration, and the locale that knows only ASCII."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "LC_", "LANG"))}
    return environ | {
        **ONE_WORKER,
        "PATH": f"{SCRIPTS}{os.pathsep}{environ.get('PATH', '')}",
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }


def run(environ, *command, **options):
    return subprocess.run(command, env=environ, capture_output=True, timeout=60, **options)


def opened(site):
    return ["--WebPolicy.allow_private_networks=127.0.0.0/8", f"--WebPolicy.allowed_ports={site.port}"]


@pytest.mark.skipif(shutil.which("jupyter", path=str(SCRIPTS)) is None, reason="needs the jupyter command")
def test_jupyter_finds_the_command(environ):
    done = run(
        environ, str(SCRIPTS / "jupyter"), "webresearch", "check-url", "https://example.com/", "http://10.0.0.1/"
    )
    assert done.returncode == 1
    assert done.stdout == b"allowed\tok\thttps://example.com/\nrefused\tblocked_address\thttp://10.0.0.1/\n"
    assert done.stderr.startswith(b"jupyter webresearch: blocked_address: ")
    assert done.stderr.count(b"\n") == 1


def test_python_runs_it_as_a_module(environ):
    done = run(environ, sys.executable, "-m", "jupyter_webresearch.cli", "fetch")
    assert done.returncode == 2
    assert done.stderr.startswith(b"jupyter webresearch: bad_request: ")


def test_output_is_utf_8_in_any_locale(environ):
    body = "<title>潮汐表</title><article><h1>潮汐</h1><p>" + "涨潮在中午。 " * 60 + "</article>"
    command = [SCRIPT, "extract", "-", "--url", "https://a.example/x"]
    done = run(environ, *command, input=f"<meta charset=utf-8>{body}".encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert "涨潮在中午。" in done.stdout.decode("utf-8")


def test_a_page_goes_to_a_pipe_as_json(environ):
    with Site() as site:
        done = run(environ, SCRIPT, "fetch", site.url("/article"), "--json", *opened(site))
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["status"] == 200


def test_proxies_of_the_environment_are_not_asked(environ):
    with Site() as site, Site() as proxy:
        environ |= dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), proxy.url())
        done = run(environ, SCRIPT, "fetch", site.url("/article"), *opened(site))
        assert done.returncode == 0
        assert proxy.connections == 0


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_an_interrupt_ends_it_with_one_line(environ):
    with Site() as site:
        process = subprocess.Popen(
            [SCRIPT, "fetch", site.url("/gate"), *opened(site)],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        asyncio.run_coroutine_threadsafe(site.arrived("/gate"), site._loop).result(timeout=60)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err == b"jupyter webresearch: cancelled: interrupted\n"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_reader_that_has_enough_is_no_error(environ, tmp_path):
    urls = tmp_path / "urls.txt"
    urls.write_text("https://example.com/\n" * 20_000)
    process = subprocess.Popen(
        [SCRIPT, "check-url", "--from-file", str(urls)], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"allowed\tok\thttps://example.com/\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141
    process.stderr.close()


HOSTILE = [
    ("check-url https://example.org/ >&-", 1, "internal"),
    ("config >&-", 1, "internal"),
    ("doctor --json >&-", 1, "internal"),
    ("check-url https://example.org/ >/dev/full", 1, "internal"),
    ("config --json >/dev/full", 1, "internal"),
    ("extract /dev/null --url https://example.org/ --content-type text/plain --json >/dev/full", 1, "internal"),
    ("check-url http://10.0.0.1/ >&- <&-", 1, "internal"),
    ("--version >&-", 0, None),
    ("check-url --from-file - <&-", 1, "not_found"),
    ("extract - --url https://example.org/ <&-", 1, "not_found"),
    ("extract /dev/zero --url https://example.org/", 1, "too_large"),
    ("check-url --from-file - </dev/zero", 1, "too_large"),
    ("check-url http://10.0.0.1/ 2>&-", 1, None),
    ("check-url http://10.0.0.1/ >&- 2>&-", 1, None),
    ("check-url http://10.0.0.1/ <&- >&- 2>&-", 1, None),
    ("check-url http://10.0.0.1/ 2>/dev/full", 1, None),
    ("nothing 2>&-", 2, None),
    ("fetch http://10.0.0.1/ 2>&-", 1, None),
]


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(("line", "status", "code"), HOSTILE, ids=[line for line, _, _ in HOSTILE])
def test_streams_that_are_closed_full_or_endless(environ, line, status, code):
    done = run(environ, "sh", "-c", f"exec {SCRIPT} {line}")
    assert done.returncode == status
    assert b"Traceback" not in done.stderr
    if code is not None:
        assert done.stderr.startswith(f"jupyter webresearch: {code}: ".encode())
        assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_a_pipe_in_place_of_a_configuration_is_not_waited_for(environ, tmp_path):
    (tmp_path / "config").mkdir()
    os.mkfifo(tmp_path / "config" / "jupyter_webresearch_config.py")
    done = run(environ, SCRIPT, "check-url", "https://example.org/")
    assert done.returncode == 1
    assert done.stderr.startswith(b"jupyter webresearch: config: ")


def test_a_folder_that_is_gone(environ, tmp_path):
    (tmp_path / "gone").mkdir()
    line = f"cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec {SCRIPT} fetch http://10.0.0.1/ --save x"
    done = run(environ, "sh", "-c", line)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "nowhere"])
def test_arguments_are_utf_8_in_any_locale(environ, locale):
    del environ["PYTHONUTF8"], environ["PYTHONCOERCECLOCALE"]
    done = run(environ | {"LC_ALL": locale}, SCRIPT, "check-url", "https://exämple.org/")
    assert done.stdout.decode() == "allowed\tok\thttps://exämple.org/\n"


@pytest.mark.parametrize(
    "arguments", [["--version"], ["fetch", "--help"], ["config"], ["check-url", "https://a.example/"]]
)
def test_what_needs_no_engine_loads_none(environ, arguments):
    code = (
        "import sys; from jupyter_webresearch.cli import main; main(sys.argv[1:]); heavy = "
        "{'httpx', 'trafilatura', 'lxml', 'IPython', 'jupyter_server', 'tornado'}; "
        "sys.exit(sorted(heavy & set(sys.modules)) or 0)"
    )
    done = run(environ, sys.executable, "-c", code, *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
