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

from tests.sites import Site

SCRIPTS = Path(sys.executable).parent
SCRIPT = str(SCRIPTS / "jupyter-webresearch")


@pytest.fixture
def environ(tmp_path):
    """The environment of someone with no configuration, and the locale that knows only ASCII."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "LC_", "LANG"))}
    return environ | {
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
        asyncio.run_coroutine_threadsafe(site.arrived("/gate"), site._loop).result(timeout=30)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
        out, err = process.communicate(timeout=30)
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
    assert process.wait(timeout=30) == 141
    process.stderr.close()


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
