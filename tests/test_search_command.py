"""``jupyter webresearch search``: what is printed, and the exit status."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jupyter_webresearch import cli, engine
from jupyter_webresearch.journal.reader import read_events
from jupyter_webresearch.search.response import SearchResponse
from tests.search.own_instance import ARTICLE, OwnInstance
from tests.sites import Site
from tests.sites.network import StubResolver

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def instance() -> Iterator[OwnInstance]:
    with OwnInstance() as api:
        yield api


@pytest.fixture
def run(
    instance: OwnInstance,
    site: Site,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Run the command with an instance configured, without any configuration of this machine."""
    for name in [name for name in os.environ if name.startswith(("JUPYTER_", "JPY_")) and "WEBRESEARCH" not in name]:
        monkeypatch.delenv(name)
    for name in ("CONFIG", "RUNTIME", "DATA"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name))
    seams = {
        "resolver": StubResolver(), "interfaces": frozenset, "own_ports": frozenset,
        "data_folder": tmp_path / "data" / "journal", **instance.seams(site.port),
    }  # fmt: skip
    monkeypatch.setattr(engine, "Engine", functools.partial(engine.Engine, **seams))

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.main(["search", *arguments])
        return (status, *capsys.readouterr())

    return run


def test_the_words_are_one_query(run: Run, instance: OwnInstance) -> None:
    status, out, err = run("tidal", "range", "in", '"the Bay of Fundy"')
    assert (status, err) == (0, "")
    assert instance.queries == ['tidal range in "the Bay of Fundy"']
    assert out.startswith('2 results for "tidal range')
    assert f"1. An article\n   {ARTICLE}\n" in out
    assert "No answer from google behind searxng" in out


def test_as_json(run: Run) -> None:
    status, out, err = run("tides", "--json", "--max-results", "1", "--kind", "papers", "--provider", "searxng,")
    assert (status, err) == (0, "")
    found = SearchResponse.from_json(json.loads(out))
    assert (found.kind, len(found)) == ("papers", 1)


def test_nothing_found_is_an_answer(run: Run, instance: OwnInstance) -> None:
    instance.mode = "empty"
    status, out, err = run("tides")
    assert (status, err) == (0, "")
    assert out.startswith('Nothing found for "tides"')
    instance.mode = "blocked"
    assert run("tides", "--fresh")[0] == 1, "nobody's engines answered: that is no answer"


def test_nobody_answers(run: Run) -> None:
    status, out, err = run("(down)", "--json")
    assert status == 1
    assert json.loads(out)["code"] == "search_failed"
    assert re.fullmatch(r"jupyter webresearch: search_failed: \S.*\n", err)
    status, out, err = run("(down)")
    assert (status, out) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["  "],
        ["tides", "--max-results", "0"],
        ["tides", "--max-results", "many"],
        ["tides", "--kind", "videos"],
        ["tides", "--since", "yesterday"],
        ["tides", "--since", "2999"],
        ["tides", "--site", "a b"],
        ["tides", "--limit", "5"],
    ],
    ids=" ".join,
)
def test_usage_is_status_2_and_one_line(run: Run, instance: OwnInstance, arguments: list[str]) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"jupyter webresearch: bad_request: \S.*\n", err)
    assert instance.asked == []


def test_more_than_20_is_lowered_and_said(run: Run) -> None:
    status, out, _ = run("tides", "--max-results", "21")
    assert status == 0
    assert "at most 20 results are given; 21 were asked for" in out


def test_a_provider_that_can_t_be_asked(run: Run, instance: OwnInstance) -> None:
    for name in ("nosuch", "brave"):
        status, out, err = run("tides", "--provider", name)
        assert (status, out) == (1, "")
        assert err.startswith("jupyter webresearch: provider_unavailable: ")
        assert "jupyter webresearch providers" in err
    assert instance.asked == []


def test_it_is_on_record_as_the_command_lines(run: Run, tmp_path: Path) -> None:
    run("tides")
    events = read_events(tmp_path / "data" / "journal", limit=10)
    told = [(event["kind"], event["channel"], event["outcome"]) for event in events]
    assert told == [("search", "cli", "started"), ("search", "cli", "completed")]
    assert events[-1]["query"] == "tides"


def test_in_a_kernel_without_permission_it_refuses(
    run: Run, instance: OwnInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    status, out, err = run("tides", "--WebKernel.local_mode=deny")
    assert (status, out) == (1, "")
    assert err.startswith("jupyter webresearch: unauthorized: ")
    assert instance.asked == []
