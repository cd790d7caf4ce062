"""``jupyter webresearch policy``, and the policy as Python sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import jupyter_webresearch as web
from jupyter_webresearch import cli
from jupyter_webresearch.config import Settings, WebPolicy
from jupyter_webresearch.kernel.local_client import LocalClient
from tests.conftest import EngineMaker
from tests.sites import Site
from tests.test_switch import no_configuration, server_with  # noqa: F401  # a fixture

PAGE = "http://www.example.org/article"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["policy", *arguments]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_both_lists_and_what_was_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["policy", "--WebPolicy.ceiling=['*.example.org', '*']", "--WebPolicy.ask=listed"]) == 0
    told, warned = capsys.readouterr()
    assert re.fullmatch(r"jupyter webresearch: warning: WebPolicy\.ceiling: '\*' covers nothing: .*\n", warned)
    assert "*.example.org: example.org and every name below it" in told
    assert "*: dropped, " in told
    assert "This session reads: nowhere" in told
    assert "This session acts on: nowhere" in told


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(printed(capsys, "--json", "--WebPolicy.ceiling=['a.example']"))
    assert told["ceiling"]["entries"] == [{"entry": "a.example", "covers": "a.example only"}]
    assert told["operations"] == ["fetch", "search"]
    assert not any("image" in row["name"] or "browser" in row["name"] for row in told["budgets"])


@pytest.mark.usefixtures("no_configuration")
def test_whose_settings_these_are_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys)
    assert told.startswith("By this terminal's settings")
    assert "On your running server" not in told
    assert json.loads(printed(capsys, "--json"))["servers"] == {}


def test_what_runs_is_asked_too(capsys: pytest.CaptureFixture[str], tmp_path: Path, site: Site) -> None:
    with server_with(tmp_path, site, {"ceiling": ["server.example"]}) as server:
        told = printed(capsys, "--WebPolicy.ceiling=['terminal.example']")
        here, there = told.split(f"On your running server http://localhost:{server.app.port}/user/a%40b/:\n")
        assert "terminal.example only" in here
        assert "server.example only" in there
        assert "server.example only" not in here
        (policy,) = json.loads(printed(capsys, "--json"))["servers"].values()
        assert policy["ceiling"]["reach"] == "server.example"
        for file in server.folders.runtime.glob("jpserver-*.json"):
            file.write_text(json.dumps({**json.loads(file.read_text()), "token": "wrong"}))
        assert "[unauthorized]" in printed(capsys)


@pytest.mark.usefixtures("no_configuration")
@pytest.mark.parametrize("command", ["policy", "config", "doctor"])
def test_the_help_says_whose_settings_these_are(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert cli.main([command, "--help"]) == 0
    assert re.search(
        "this terminal's settings|setting that this terminal has", " ".join(capsys.readouterr().out.split())
    )


@pytest.fixture
def here(make_engine: EngineMaker, monkeypatch: pytest.MonkeyPatch) -> LocalClient:
    """The client that the functions find."""
    settings = Settings(policy=WebPolicy(ceiling=["*.example.org"], ask="listed"))
    client = LocalClient(settings, engine=make_engine(settings))
    monkeypatch.setattr("jupyter_webresearch.api._client", lambda: client)
    return client


def test_functions(here: LocalClient) -> None:
    with pytest.raises(web.Refused) as caught:
        web.fetch(PAGE)
    assert caught.value.code == "not_allowed"
    assert web.allow("www.example.org")["ask"]["reach"] == "www.example.org"
    assert web.fetch(PAGE).status == 200
    assert web.get_policy()["ask"]["reach"] == "www.example.org"
    assert web.allow("news.example.org", only=True)["ask"]["reach"] == "news.example.org"
    assert web.allow(reset=True)["ask"]["reach"] == "nowhere"
    outcomes = [event["outcome"] for event in web.read_journal(kind="fetch")]
    assert outcomes == ["started", "refused", "started", "completed"]
    assert [event["outcome"] for event in web.read_journal(limit=1, kind="fetch")] == ["completed"]


async def test_awaited(here: LocalClient) -> None:
    assert (await web.aallow("www.example.org"))["ask"]["reach"] == "www.example.org"
    assert (await web.aget_policy())["ask"]["reach"] == "www.example.org"
    assert [event["kind"] for event in await web.aread_journal()] == ["approval"]


@pytest.mark.parametrize(
    ("hosts", "code"), [(["other.example"], "not_allowed"), (["*"], "bad_request"), ([5], "bad_request")]
)
def test_what_can_not_be_allowed(here: LocalClient, hosts: list[Any], code: str) -> None:
    with pytest.raises(web.WebResearchError) as caught:
        web.allow(*hosts)
    assert caught.value.code == code
