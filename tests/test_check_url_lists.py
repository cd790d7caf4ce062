"""``check-url`` judges by the lists of hosts too, and asks no resolver."""

from __future__ import annotations

import json
import os
import socket

import pytest

from jupyter_webresearch import cli


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Read no configuration of this machine, and resolve nothing."""
    for name in [name for name in os.environ if name.startswith("JUPYTER")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))

    def resolved(*_, **__):
        raise AssertionError("a name was resolved")

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


@pytest.fixture
def verdicts(capsys):
    def verdicts(*arguments):
        status = cli.main(["check-url", "--json", *arguments])
        out, err = capsys.readouterr()
        return status, [json.loads(line)["code"] for line in out.splitlines()], err

    return verdicts


def test_a_host_outside_the_ceiling_is_refused(verdicts):
    ceiling = "--WebPolicy.ceiling=*.example.com"
    assert verdicts(ceiling, "https://a.example.com/") == (0, ["ok"], "")
    status, codes, err = verdicts(ceiling, "https://example.com/", "https://example.net/", "http://10.0.0.1/")
    assert (status, codes) == (1, ["ok", "not_allowed", "blocked_address"])
    assert err.startswith("jupyter webresearch: not_allowed: 2 of 3 URLs")
    assert "WebPolicy.ceiling" in err


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ("--WebPolicy.ceiling=", "not_allowed"),
        ("--WebPolicy.ceiling=*", "not_allowed"),
        ("--WebPolicy.ask=listed", "not_allowed"),
        ("--WebPolicy.ask=prompt", "needs_approval"),
        ("--WebPolicy.ask=open", "ok"),
        ("--WebPolicy.acting_ceiling=", "ok"),
    ],
)
def test_no_session_asks_for_more_than_an_unset_ask_gives(verdicts, setting, code):
    assert verdicts(setting, "https://example.com/")[1] == [code]
