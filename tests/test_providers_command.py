"""``jupyter webresearch providers``: the list, plugins switched on and off, keys asked for and kept."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import stat
import subprocess
import sys

import pytest

from jupyter_webresearch import cli
from jupyter_webresearch.commands import providers
from jupyter_webresearch.config_editing import change_list
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.search.keys import FILE_NAME
from jupyter_webresearch.search.providers import BUILTIN, builtin_class
from tests.search.plugin_folders import GOOD, MANIFEST, Home

SECRET = "hunter2-Zq9"


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Jupyter's folders of a user whose environment names no provider."""
    for name in [name for name in os.environ if name.startswith("JUPYTER_")]:
        monkeypatch.delenv(name)
    for name in BUILTIN:
        about = builtin_class(name).about
        for variable in (*about.keys, *about.also_needs, *about.options, *about.url_variables):
            monkeypatch.delenv(variable, raising=False)
    home = Home(tmp_path)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(home.config))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home.data))
    return home


@pytest.fixture
def run(home, capsys, monkeypatch):
    def run(*arguments, given="", status=0):
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        capsys.readouterr()
        got = cli.main(["providers", *arguments])
        out, err = capsys.readouterr()
        assert got == status, err
        assert SECRET not in out + err
        return out if status == 0 else err

    return run


@pytest.fixture
def tries(monkeypatch):
    """Note who is tried."""
    asked = []
    monkeypatch.setattr(providers, "tried", lambda _settings, name: asked.append(name) or "it answers")
    return asked


def settings_of(home):
    path = home.config / "jupyter_webresearch_config.json"
    return json.loads(path.read_text()) if path.exists() else {}


# The list


def test_the_list_has_a_line_for_each_and_says_what_is_missing(run):
    lines = run().splitlines()
    assert [line.split()[0] for line in lines] == list(BUILTIN)
    assert "missing: BRAVE_SEARCH_API_KEY or BRAVE_API_KEY" in lines[list(BUILTIN).index("brave")]
    assert "ready, no key" in lines[list(BUILTIN).index("wikipedia")]


def test_as_json_each_is_an_object(run, monkeypatch):
    monkeypatch.setenv("BRAVE_API_KEY", SECRET)
    rows = {row["name"]: row for row in json.loads(run("--json"))}
    assert list(rows) == list(BUILTIN)
    assert (rows["brave"]["configured"], rows["exa"]["configured"]) == (True, False)
    keys = {"name", "display_name", "configured", "keyless", "abilities", "origin", "missing", "fault", "replaces"}
    assert all(keys <= set(row) for row in rows.values())


def test_a_plugin_is_listed_with_what_it_replaces_and_what_is_wrong(run, home):
    home.add(GOOD.replace('"acme"', '"brave"'), MANIFEST.replace("[acme]", "[brave]"))
    home.add("1 / 0", name="broken")
    run("enable", "acme")
    run("enable", "broken")
    out = run()
    assert "folder acme, replaces built-in" in out
    assert "folder broken  broken: its code failed: ZeroDivisionError" in out


@pytest.mark.parametrize(
    "arguments",
    [["setup"], ["enable"], ["frobnicate", "x"], ["enable", "x", "--json"], ["--no-try"], ["disable", "x", "--no-try"]],
)
def test_wrong_usage_is_status_2(run, arguments):
    assert run(*arguments, status=2).startswith("jupyter webresearch: bad_request:")


# enable, disable


def test_a_folder_is_switched_on_and_off_in_the_json_file_only(run, home):
    home.add()
    python = home.config / "jupyter_webresearch_config.py"
    home.config.mkdir()
    python.write_text("c.WebSearch.enabled_plugins = ['other']\n")
    (home.config / "jupyter_webresearch_config.json").write_text('{"WebFetch": {"timeout": 9}}')
    assert "not enabled" in run()
    assert "is on for servers and kernels that start from now on" in run("enable", "acme")
    expected = {"WebFetch": {"timeout": 9}, "WebSearch": {"enabled_plugins": ["other", "acme"]}}
    assert settings_of(home) == expected
    run("enable", "acme")
    assert settings_of(home) == expected
    assert "not enabled" not in run()
    run("disable", "acme")
    assert settings_of(home)["WebSearch"] == {"enabled_plugins": ["other"]}
    assert "not enabled" in run()
    assert python.read_text() == "c.WebSearch.enabled_plugins = ['other']\n"


def test_what_a_python_file_enables_is_disabled_all_the_same(run, home):
    home.add()
    home.config.mkdir()
    (home.config / "jupyter_webresearch_config.py").write_text("c.WebSearch.enabled_plugins = ['acme']\n")
    run("disable", "acme")
    assert settings_of(home) == {"WebSearch": {"disabled_plugins": ["acme"]}}
    assert "not enabled" in run()
    run("enable", "acme")
    assert "not enabled" not in run()


def test_the_provider_s_name_stands_for_its_plugin(run, home):
    home.add(name="my_plugin")
    run("enable", "acme")
    assert settings_of(home) == {"WebSearch": {"enabled_plugins": ["my_plugin"]}}


def test_what_others_keep_off_is_told(run, home, monkeypatch):
    home.add()
    monkeypatch.setenv("JUPYTER_WEBRESEARCH_WEBSEARCH_DISABLED_PLUGINS", "acme")
    message = run("enable", "acme", status=1)
    assert "acme stays off: WebSearch.disabled_plugins is set by environment JUPYTER_" in message


def test_a_plugin_that_can_not_run_is_not_enabled(run, home):
    (home.add() / "plugin.yaml").chmod(0o666)
    assert "others may change plugin.yaml" in run("enable", "acme", status=1)
    assert settings_of(home) == {}
    run("disable", "acme")


@pytest.mark.parametrize(
    ("name", "said"), [("brave", "comes with the package"), ("bravo", "there is no plugin 'bravo'")]
)
def test_only_plugins_are_switched(run, name, said):
    for action in ("enable", "disable"):
        message = run(action, name, status=1)
        assert message.startswith("jupyter webresearch: provider_unavailable:")
        assert said in message


@pytest.mark.parametrize("text", ["{", "[]", '{"WebSearch": 3}', '{"WebSearch": {"enabled_plugins": "acme"}}'])
def test_a_file_that_is_broken_is_not_overwritten(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(Failed) as caught:
        change_list(path, "WebSearch.enabled_plugins", lambda names: [*names, "acme"])
    assert (caught.value.code, path.read_text()) == ("config", text)


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("{}")
    target.chmod(0o640)
    link.symlink_to(target)
    change_list(link, "WebSearch.enabled_plugins", lambda names: [*names, "acme"])
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {"WebSearch": {"enabled_plugins": ["acme"]}}
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "target.json"]


# setup


def test_a_key_is_asked_for_kept_and_tried(run, home, tries):
    out = run("setup", "brave", given=f"{SECRET}\n")
    path = home.config / FILE_NAME
    assert out.splitlines() == [f"kept in {path}: BRAVE_SEARCH_API_KEY", "brave: it answers"]
    assert json.loads(path.read_text()) == {"BRAVE_SEARCH_API_KEY": SECRET}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tries == ["brave"]
    assert {row["name"]: row for row in json.loads(run("--json"))}["brave"]["configured"]


def test_it_is_not_tried_where_that_is_not_wanted_or_something_is_missing_still(run, tries):
    run("setup", "exa", "--no-try", given=f"{SECRET}\n")
    out = run("setup", "yandex", given=f"{SECRET}\n\n")
    assert "yandex is not ready yet, missing: YANDEX_CLOUD_FOLDER_ID" in out
    assert tries == []
    run("setup", "yandex", given="\nb1gfolder\n")
    assert tries == ["yandex"]


def test_nothing_given_changes_nothing(run, home, tries):
    assert "nothing was given" in run("setup", "brave", given="\n")
    assert "nothing was given" in run("setup", "brave")
    assert "needs no key" in run("setup", "wikipedia")
    assert not (home.config / FILE_NAME).exists()
    assert "no key; nothing is kept" in run("setup", "brave", given=f"{SECRET}\x00\n", status=1)
    assert "there is no provider 'bravo'" in run("setup", "bravo", status=1)
    assert tries == []


def test_what_comes_first_is_said(run, monkeypatch, tries):
    monkeypatch.setenv("EXA_API_KEY", "other")
    assert "EXA_API_KEY is set in the environment, too, and comes first" in run("setup", "exa", given=f"{SECRET}\n")
    table = '--WebSearch.keys={"BRAVE_SEARCH_API_KEY": "env:EXA_API_KEY"}'
    assert "WebSearch.keys names BRAVE_SEARCH_API_KEY" in run("setup", "brave", table, given=f"{SECRET}\n")


NEEDS = MANIFEST + "requires_env: [{name: ACME_KEY, prompt: the key, url: https://acme.example/keys}]\n"
LOOKS = "import os\n" + GOOD.replace("return True", "return bool(os.environ.get('ACME_KEY'))")


def test_a_plugin_is_set_up_before_it_is_enabled_and_finds_its_key_then(run, home, tries, monkeypatch):
    monkeypatch.setenv("ACME_KEY", "to be undone")
    monkeypatch.delenv("ACME_KEY")
    home.add(LOOKS, NEEDS)
    out = run("setup", "acme", given=f"{SECRET}\n")
    assert "acme is not enabled: jupyter webresearch providers enable acme" in out
    run("enable", "acme")
    assert {row["name"]: row for row in json.loads(run("--json"))}["acme"]["configured"]
    monkeypatch.delenv("ACME_KEY")
    run("setup", "acme", given=f"{SECRET}2\n")
    assert tries == ["acme"]


def test_a_person_s_key_is_not_shown(home):
    """On a real terminal, as a person would type it."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "jupyter_webresearch", "providers", "setup", "brave", "--no-try"]
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, start_new_session=True, close_fds=True
    )
    os.close(follower)
    seen = b""
    sent = False
    while True:
        ready, _, _ = select.select([leader], [], [], 60)
        assert ready, seen
        try:
            data = os.read(leader, 4096)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        seen += data
        if not sent and b"Enter leaves it: " in seen:
            os.write(leader, SECRET.encode() + b"\n")
            sent = True
    os.close(leader)
    assert process.wait(60) == 0, seen
    assert b"BRAVE_SEARCH_API_KEY, to be had at https://" in seen
    assert b"kept in " in seen
    assert SECRET.encode() not in seen
    assert json.loads((home.config / FILE_NAME).read_text()) == {"BRAVE_SEARCH_API_KEY": SECRET}
