"""``jupyter webresearch journal`` as a shell sees it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch import cli
from jupyter_webresearch.commands.journal import _moment
from jupyter_webresearch.config import OPERATIONS
from jupyter_webresearch.surfaces import SURFACES
from tests.journal.writing import event, json_lines, operations, write

NOW = datetime.now(timezone.utc)
FULL = event(
    "a", kernel="k1", url="https://example.org/\x1b]0;x\x07", final_url="", status=200, bytes=12345, seconds=1.5,
    cost=0.002, notebook="work/tides.ipynb\n", title="\x1b[31mt", time="2026-12-01T10:00:00.000+00:00",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("JUPYTER_")]:
        monkeypatch.delenv(name)
    for name in ("CONFIG", "RUNTIME", "DATA"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name))
    return tmp_path / "DATA" / "webresearch"


@pytest.fixture
def journal(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs the command and returns what it printed."""

    def run(*arguments: str, status: int = 0) -> str:
        capsys.readouterr()
        assert cli.main(["journal", *arguments]) == status
        out, err = capsys.readouterr()
        return out if status == 0 else err

    return run


def test_a_line_says_it_all_and_commands_no_terminal(folder: Path, journal: Callable[..., str]) -> None:
    refused = event("b", "refused", code="robots", url="https://example.org/b", time="2026-12-01T10:00:01.000+00:00")
    write(folder, event("a", "started", url="https://example.org/"), FULL, refused)
    assert [line.split("\t") for line in journal().splitlines()] == [
        ["2026-12-01T10:00:00.000+00:00", "started", "fetch", "-", "-", "-", "-", "https://example.org/", "-"],
        ["2026-12-01T10:00:00.000+00:00", "completed", "fetch", "200", "12,345 B", "1.500 s", "$0.0020",
         "https://example.org/\\u001b]0;x\\u0007", "work/tides.ipynb\\u000a"],
        ["2026-12-01T10:00:01.000+00:00", "refused", "fetch", "robots", "-", "0.000 s", "-", "https://example.org/b",
         "-"],
    ]  # fmt: skip
    rows = json_lines(journal("--json"))
    assert rows[1] == {"number": rows[1]["number"], **FULL.to_json()}
    assert "\x1b" not in journal("--json")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "abcd"),
        (("--limit", "2"), "cd"),
        (("--limit", "0"), ""),
        (("--kernel", "k1"), "ac"),
        (("--kind", "search"), "b"),
        (("--outcome", "failed"), "d"),
        (("--since", "2026-12-01T10:00:02Z"), "cd"),
        (("--since", "1h", "--kernel", "k1"), "c"),
        (("--since", "2100-01-01"), ""),
    ],
)
def test_which_are_shown(folder: Path, journal: Callable[..., str], arguments: Any, expected: str) -> None:
    recent = (NOW + timedelta(days=365 * 20)).isoformat(timespec="milliseconds")
    write(
        folder,
        event("a", kernel="k1", time="2010-12-01T10:00:01.000+00:00"),
        event("b", kind="search", time="2010-12-01T10:00:01.000+00:00"),
        event("c", kernel="k1", time=recent),
        event("d", "failed", time=recent),
    )
    assert "".join(operations(json_lines(journal(*arguments, "--json")))) == expected


def test_a_terminal_gets_a_header(folder: Path, journal: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, FULL)
    assert len(journal().splitlines()) == 1
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    header, line = journal().splitlines()
    assert header.split("\t")[:3] == ["time", "outcome", "kind"]
    assert header.count("\t") == line.count("\t")
    assert len(journal("--json").splitlines()) == 1


def test_there_is_no_journal_yet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["journal"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"the journal in {folder} holds no events\n")
    assert cli.main(["journal", "--kind", "fetch"]) == 0
    assert capsys.readouterr().err.endswith("holds no events of those\n")
    assert not folder.exists()


@pytest.mark.parametrize(
    "arguments",
    [("--limit", "-1"), ("--limit", "x"), ("--kind", "x"), ("--outcome", "x"), ("--since", "x"), ("--since", "9" * 30)],
)
def test_what_can_not_be_read_is_a_usage_error(journal: Callable[..., str], arguments: tuple[str, str]) -> None:
    assert journal(*arguments, status=2).startswith("jupyter webresearch: bad_request: ")


def test_the_help_names_the_kinds_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["journal", "--help"]) == 0
    (told,) = re.findall(r"only of this kind:([\w\s,]*?)\s+--", capsys.readouterr().out)
    named = set(re.findall(r"\w+", told))
    assert named & set(OPERATIONS) == set(SURFACES)
    assert {"extract", "approval", "policy"} < named


def test_a_journal_that_can_not_be_read(folder: Path, journal: Callable[..., str]) -> None:
    folder.mkdir(parents=True)
    (folder / "journal.sqlite").symlink_to("/dev/null")
    assert journal(status=1).startswith("jupyter webresearch: journal_unavailable: ")


def test_settings_that_can_not_be_used_do_not_hide_it(
    folder: Path, journal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, event("a"))
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT", "x")
    assert len(journal().splitlines()) == 1


def test_times() -> None:
    assert _moment("2026-12-01T10:00+02:00") == datetime(2026, 12, 1, 8, tzinfo=timezone.utc)
    assert _moment("2026-12-01T10:00:00Z") == datetime(2026, 12, 1, 10, tzinfo=timezone.utc)
    assert _moment("2026-12-01") == datetime(2026, 12, 1).astimezone()
    assert abs(datetime.now(timezone.utc) - timedelta(days=2) - _moment("2d")) < timedelta(minutes=1)


# Following


@pytest.fixture
def following(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started = []

    def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "jupyter_webresearch.cli", "journal", "--follow", "--json", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, **{**pipes, **options}))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_following_until_it_is_interrupted(folder: Path, following: Callable[..., subprocess.Popen[str]]) -> None:
    write(folder, *(event(str(number)) for number in range(30)))
    process = following()
    shown = [json.loads(process.stdout.readline())["operation"] for _ in range(10)]
    assert shown == [str(number) for number in range(20, 30)]
    write(folder, event("a"), event("b", kind="search"))
    assert [json.loads(process.stdout.readline())["operation"] for _ in range(2)] == ["a", "b"]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_following_ends_when_nobody_reads_on(
    folder: Path, following: Callable[..., subprocess.Popen[str]], quiet: bool
) -> None:
    write(folder, event("a"))
    process = following()
    process.stdout.readline()
    process.stdout.close()
    if not quiet:
        write(folder, event("b"))
    assert process.wait(30) == 141
    assert process.stderr.read() == ""


def test_following_into_a_file(folder: Path, following: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    write(folder, event("a"))
    with (tmp_path / "out").open("w") as out:
        process = following("--limit", "1", stdout=out)
        while not (tmp_path / "out").read_text().endswith("\n"):
            assert process.poll() is None
        write(folder, event("b"))
        while (tmp_path / "out").read_text().count("\n") < 2:
            assert process.poll() is None
    assert operations(json_lines((tmp_path / "out").read_text())) == ["a", "b"]
