"""The doctor says what sites see of us and which credentials can't be sent, and shows none."""

from __future__ import annotations

import pytest

from jupyter_webresearch.config import Settings, WebFetch, WebPolicy
from jupyter_webresearch.doctor import policy
from jupyter_webresearch.net.headers import user_agent

SECRET = "hunter2-Zq9"
HUB = {"JUPYTERHUB_API_URL": "http://hub.example/hub/api"}


# Identity


def test_the_user_agent_is_shown_as_sites_see_it():
    settings = Settings(fetch=WebFetch(agent="ExampleBot", contact="web@example.edu"))
    found = policy.robots_and_identity(settings, HUB)
    assert (found.state, found.mend) == ("ok", "")
    assert f"sites see {user_agent(settings.fetch)}; " in found.detail
    assert "web@example.edu" in found.detail


@pytest.mark.parametrize(("environ", "state"), [({}, "ok"), (HUB, "warn")])
def test_a_hub_that_nobody_can_write_to(environ, state):
    found = policy.robots_and_identity(Settings(), environ)
    assert found.state == state
    assert ("WebFetch.contact" in found.mend) == (state == "warn")


@pytest.mark.parametrize(("mode", "told"), [("full", "as crawlers do"), ("named", "names Bot"), ("off", "not looked")])
def test_how_robots_txt_is_obeyed(mode, told):
    settings = Settings(policy=WebPolicy(robots=mode), fetch=WebFetch(agent="Bot"))
    assert told in policy.robots_and_identity(settings, {}).detail


# Credentials


def reading(sources, environ):
    table = {f"{name}.example": {"name": name, "source": source} for name, source in sources.items()}
    return policy.credentials(Settings(policy=WebPolicy(credentials=table)), environ)


def test_no_credentials():
    assert reading({}, {}).detail == "none"


def test_credentials_that_can_be_read_are_named(tmp_path):
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o600)
    found = reading({"a": "env:A", "b": f"file:{file}"}, {"A": SECRET})
    assert (found.state, found.detail) == ("ok", "a for a.example, b for b.example")
    assert SECRET not in str(found)


def test_credentials_that_can_not_be_read_are_named_with_their_reason(tmp_path):
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o644)
    sources = {"a": "env:A", "b": "env:B", "c": f"file:{file}", "d": f"file:{tmp_path}/absent", "e": "env:E"}
    found = reading(sources, {"B": SECRET, "E": "short"})
    assert found.state == "fail"
    assert "a.example: credential:a: the secret can't be used: its environment variable is not set" in found.detail
    assert "c.example: credential:c: the secret can't be used: everyone on this machine" in found.detail
    assert "d.example: credential:d: " in found.detail
    assert "e.example: credential:e is shorter than" in found.detail
    assert "b.example" not in found.detail
    assert "WebPolicy.credentials" in found.mend
    assert SECRET not in str(found)
    assert str(tmp_path) not in str(found)
