"""The doctor finds what is wrong and says how to mend it."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from importlib import metadata

import pytest

from jupyter_webresearch import cli, doctor
from jupyter_webresearch.config import Settings
from jupyter_webresearch.config_sources import command_line_config
from jupyter_webresearch.doctor import Finding, examine, network, workers
from jupyter_webresearch.doctor.workers import LINUX_FENCES

NAMES = [
    "python", "packages", "settings", "server extension", "extraction workers", "temporary folder", "runtime folder",
    "journal", "budgets", "certificates", "source addresses", "proxies", "upstream proxy", "hosts",
    "robots and identity", "credentials", "classifier",
]  # fmt: skip


@pytest.fixture(autouse=True)
def folders(monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    (tmp_path / "config").mkdir()
    return tmp_path


@pytest.fixture
def no_worker(monkeypatch):
    """Leave the one slow check out."""
    left_out = Finding("extraction workers", "ok", "left out")
    monkeypatch.setattr(workers, "extraction_workers", lambda _settings: left_out)


def findings(environ=None, **options):
    return {finding.name: finding for finding in examine(environ=environ or {}, **options)}


def test_every_check_runs_and_a_worker_really_extracts():
    found = findings()
    assert list(found) == NAMES
    worker = found["extraction workers"]
    assert worker.state != "fail", worker
    assert "first page after" in worker.detail
    if sys.platform == "linux":
        assert all(fence in worker.detail for fence in LINUX_FENCES)


def test_the_command_prints_a_line_a_check(capsys, no_worker):
    status = cli.main(["doctor"])
    out, err = capsys.readouterr()
    lines = [line for line in out.splitlines() if not line.startswith("      -> ")]
    assert [line[6:].split(":")[0] for line in lines] == NAMES
    assert {line[:4].strip() for line in lines} <= {"ok", "warn", "fail"}
    assert status == (1 if any(line.startswith("fail") for line in lines) else 0)
    assert err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [60, 120])
def test_on_a_terminal_lines_end_between_words(capsys, monkeypatch, columns):
    command = f"{sys.executable} -m pip install {'package ' * 30}"
    path = "/a/folder" * 20
    said = [
        Finding("first", "warn", "words with no end " * 20, "and what to do " * 20),
        Finding("second", "fail", f"a\nb \x1b[2J {path} is long", command.strip()),
    ]
    monkeypatch.setattr(doctor, "examine", lambda _cli: iter(said))
    assert cli.main(["doctor"]) == 1
    in_a_file = capsys.readouterr().out
    assert len(in_a_file.splitlines()) == 4
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    cli.main(["doctor"])
    shown = terminal.getvalue()
    lines = shown.splitlines()
    assert shown.split() == in_a_file.split()
    assert "\x1b" not in shown
    assert f"      -> {command.strip()}" in lines  # to be copied
    assert [line for line in lines if len(line) > columns and path not in line and command.strip() not in line] == []
    assert all(line.startswith(("warn  ", "fail  ", "      ")) for line in lines)


def test_the_command_prints_json(capsys, no_worker):
    assert cli.main(["doctor", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in checks] == NAMES
    assert all(set(check) == {"name", "state", "detail", "mend"} for check in checks)


def test_a_broken_configuration_is_found_and_the_other_checks_still_run(folders, capsys, no_worker):
    path = folders / "config" / "jupyter_webresearch_config.py"
    path.write_text("c.WebPolicy.allowed_port = [443]")
    found = findings()
    assert found["settings"].state == "fail"
    assert str(path) in found["settings"].detail
    assert list(found) == NAMES
    assert cli.main(["doctor"]) == 1
    assert "fail  settings: " in capsys.readouterr().out


def test_what_is_set_is_named(no_worker):
    cli_config = command_line_config(["--WebFetch.timeout=10"])
    found = findings({"JUPYTER_WEBRESEARCH_WEBDISPLAY_COLUMNS": "80"}, cli=cli_config)["settings"]
    assert found.state == "ok"
    assert "1 by command line (WebFetch.timeout)" in found.detail
    assert "1 by the environment (WebDisplay.columns)" in found.detail
    assert "config --changed" in found.detail


def test_a_source_of_many_settings_is_named_once(folders, no_worker):
    path = folders / "config" / "jupyter_webresearch_config.py"
    names = ["kernel_total", "kernel_per_minute", "server_per_minute", "server_per_day", "site_per_minute"]
    path.write_text("".join(f"c.WebBudgets.{name} = 7\n" for name in names))
    found = findings()["settings"]
    assert found.detail.count(str(path)) == 1
    assert f"5 by file {path} (WebBudgets.kernel_total, WebBudgets.kernel_per_minute, " in found.detail
    assert "site_per_minute" not in found.detail


def test_what_the_operator_narrowed_is_named(folders, monkeypatch, no_worker):
    from jupyter_core import paths

    (folders / "etc").mkdir()
    (folders / "etc" / "jupyter_webresearch_config.json").write_text('{"WebPolicy": {"allowed_ports": [443]}}')
    monkeypatch.setattr(paths, "SYSTEM_CONFIG_PATH", [str(folders / "etc")])
    found = findings({"JUPYTER_WEBRESEARCH_WEBPOLICY_ALLOWED_PORTS": "443,9000"})["settings"]
    assert (found.state, found.mend) == ("ok", "")
    path = folders / "etc" / "jupyter_webresearch_config.json"
    assert f"1 narrowed by file {path} (WebPolicy.allowed_ports)" in found.detail


def test_entries_that_cover_nothing_are_named_with_their_reason(no_worker):
    assert findings()["hosts"].state == "ok"
    found = findings({"JUPYTER_WEBRESEARCH_WEBPOLICY_CEILING": "a.example, *.com"})["hosts"]
    assert found.state == "warn"
    assert "may be read: a.example; WebPolicy.ceiling: '*.com' covers nothing: anyone" in found.detail
    assert found.mend


@pytest.mark.parametrize("ceiling", [None, "", "internet:unrestricted"])
def test_an_unset_ceiling_on_a_hub_is_found(ceiling, no_worker):
    environ = {"JUPYTERHUB_API_URL": "http://hub.example/hub/api"}
    if ceiling is not None:
        environ["JUPYTER_WEBRESEARCH_WEBPOLICY_CEILING"] = ceiling
    found = findings(environ)["hosts"]
    assert found.state == ("warn" if ceiling is None else "ok")
    assert ("WebPolicy.ceiling is not set" in found.detail) == (ceiling is None)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_server_extension_is_looked_for(folders, enabled, no_worker):
    folder = folders / "config" / "jupyter_server_config.d"
    folder.mkdir()
    text = json.dumps({"ServerApp": {"jpserver_extensions": {"jupyter_webresearch": enabled}}})
    (folder / "jupyter_webresearch.json").write_text(text)
    found = findings()["server extension"]
    assert found.state == ("ok" if enabled else "warn")
    assert bool(found.mend) == (not enabled)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_that_is_not_used_is_named_without_its_password(variable, no_worker):
    found = findings({variable: "http://me:secret@proxy.example:3128"})["proxies"]
    assert found.state == "warn"
    assert variable in found.detail
    assert "secret" not in str(found)


def test_a_missing_and_an_old_package_are_found(monkeypatch, no_worker):
    real = metadata.version

    def version(name):
        if name == "httpcore":
            raise metadata.PackageNotFoundError(name)
        return "0.1" if name == "lxml" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    found = findings()["packages"]
    assert found.state == "fail"
    assert "httpcore is missing" in found.detail
    assert "lxml 0.1 is not" in found.detail
    assert "pip install" in found.mend


def test_a_worker_that_does_not_start_is_found(monkeypatch):
    from jupyter_webresearch.extraction import pool

    monkeypatch.setattr(pool, "worker_command", lambda: (sys.executable, "-c", "raise SystemExit(3)"))
    found = workers.extraction_workers(Settings())
    assert found.state == "fail"
    assert found.mend


def test_a_worker_without_all_fences_is_found(monkeypatch):
    async def half(_settings):
        return ("audit hook",), 0.5, 2

    monkeypatch.setattr(workers, "try_worker", half)
    found = workers.extraction_workers(Settings())
    assert found.state == "warn"
    assert "address space" in found.mend


def test_a_temporary_folder_that_can_not_be_written_is_found(monkeypatch, tmp_path, no_worker):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    found = findings()["temporary folder"]
    assert found.state == "warn"
    assert "TMPDIR" in found.mend


def test_a_full_disk_is_found(monkeypatch, no_worker):
    full = shutil.disk_usage(tempfile.gettempdir())._replace(free=5 * 1024**2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: full)
    found = findings()["temporary folder"]
    assert found.state == "warn"
    assert "5 MiB free" in found.detail


def test_a_fault_in_one_check_leaves_the_others(monkeypatch, no_worker):
    monkeypatch.setattr(network, "certificates", lambda _settings: 1 / 0)
    found = findings()
    assert list(found) == NAMES
    assert found["certificates"].state == "fail"
