"""Where keys come from, which one counts, and that none is told."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.search.builtin import About
from jupyter_webresearch.search.keys import FILE_NAME, KeyFile, Keys

ABOUT = About(
    "acme", "Acme", "https://api.acme.example", keys=("ACME_API_KEY", "ACME_KEY"), also_needs=("ACME_FOLDER",),
    options=("ACME_MODEL",), url_variables=("ACME_URL", "ACME_BASE"),
)  # fmt: skip
SECRET = "hunter2-Zq9"


@pytest.fixture
def file(tmp_path):
    return KeyFile(tmp_path / "config" / FILE_NAME)


def values(file, table=None, environ=None, **arguments):
    found = Keys(table or {}, environ or {}, file, **arguments).of(ABOUT)
    assert found.faults == ()
    return dict(found.values)


def test_each_source_is_enough(file, tmp_path):
    assert values(file) == {}
    assert values(file, environ={"ACME_KEY": " a \n", "OTHER": "x"}) == {"ACME_KEY": "a"}
    assert values(file, {"acme": "env:MINE"}, {"MINE": "b"}) == {"ACME_API_KEY": "b"}
    assert values(file, {"ACME_KEY": "env:MINE"}, {"MINE": "c"}) == {"ACME_KEY": "c"}
    (tmp_path / "secret").write_text("d\n")
    (tmp_path / "secret").chmod(0o600)
    assert values(file, {"ACME_FOLDER": f"file:{tmp_path / 'secret'}"}) == {"ACME_FOLDER": "d"}
    file.keep({"ACME_API_KEY": "e", "ACME_MODEL": "m"})
    assert values(file) == {"ACME_API_KEY": "e", "ACME_MODEL": "m"}


def test_the_settings_come_before_the_environment_and_that_before_the_file(file):
    file.keep({"ACME_API_KEY": "file", "ACME_FOLDER": "file"})
    environ = {"ACME_KEY": "environment", "MINE": "settings"}
    # Another name of the same thing: what is less important does not come through by being named first.
    assert values(file, environ=environ) == {"ACME_KEY": "environment", "ACME_FOLDER": "file"}
    assert values(file, {"ACME_KEY": "env:MINE"}, environ)["ACME_KEY"] == "settings"
    assert "ACME_API_KEY" not in values(file, {"ACME_KEY": "env:MINE"}, environ | {"ACME_API_KEY": "environment"})


def test_what_the_settings_name_and_can_not_be_read_is_not_replaced(file):
    file.keep({"ACME_API_KEY": SECRET})
    found = Keys({"acme": "env:NOT_SET"}, {"ACME_API_KEY": SECRET}, file).of(ABOUT)
    assert dict(found.values) == {}
    assert found.faults == (
        "ACME_API_KEY of WebSearch.keys: the secret can't be used: its environment variable is not set where the "
        "engine runs",
    )


def test_a_base_url_counts_as_it_was_at_the_start(file):
    environ = {"ACME_URL": "http://169.254.169.254", "ACME_KEY": "k"}
    assert values(file, environ=environ, addresses={}) == {"ACME_KEY": "k"}
    assert values(file, environ=environ, addresses={"ACME_BASE": "http://10.0.0.1"}) == {
        "ACME_KEY": "k", "ACME_BASE": "http://10.0.0.1",
    }  # fmt: skip


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "a\x00b", "x" * 9000])
def test_what_can_not_be_sent_is_not_set(file, value):
    assert values(file, environ={"ACME_KEY": value}) == {}


def test_the_file_is_the_users_alone_and_never_half_written(file):
    assert file.read() == {}
    old = os.umask(0)
    try:
        file.keep({"A": "1"})
        file.keep({"B": "ö", "A": "2"})
    finally:
        os.umask(old)
    assert file.read() == {"A": "2", "B": "ö"}
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) & 0o077 == 0
    assert [path.name for path in file.path.parent.iterdir()] == [FILE_NAME]


def test_a_file_that_others_may_read_is_closed_to_them(file):
    file.keep({"A": "1"})
    file.path.chmod(0o644)
    assert file.read() == {"A": "1"}
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"A": 1}', '"' + SECRET + '"', "\x00", "x" * 300_000])
def test_a_file_that_can_not_be_read_is_told_and_not_overwritten(file, text):
    file.path.parent.mkdir()
    file.path.write_text(text)
    file.path.chmod(0o600)
    for use in (file.read, lambda: file.keep({"A": "1"})):
        with pytest.raises(Failed) as caught:
            use()
        assert caught.value.code == "config"
        assert FILE_NAME in caught.value.message
        assert SECRET not in caught.value.message
    assert file.path.read_text() == text
    found = Keys({}, {"ACME_KEY": "k"}, file).of(ABOUT)
    assert (dict(found.values), found.faults) == ({"ACME_KEY": "k"}, ())
    assert FILE_NAME in found.file_fault


def test_a_link_is_not_followed(file, tmp_path):
    file.path.parent.mkdir()
    (tmp_path / "other").write_text("{}")
    file.path.symlink_to(tmp_path / "other")
    with pytest.raises(Failed, match="is a link"):
        file.keep({"A": SECRET})
    assert (tmp_path / "other").read_text() == "{}"


def test_where_the_file_can_not_be_written_is_told(tmp_path):
    (tmp_path / "config").write_text("no folder")
    with pytest.raises(Failed) as caught:
        KeyFile(Path(tmp_path / "config") / FILE_NAME).keep({"A": SECRET})
    assert SECRET not in caught.value.message


def test_nothing_of_it_is_told(file):
    file.keep({"ACME_API_KEY": SECRET})
    keys = Keys({}, {"ACME_FOLDER": SECRET}, file)
    found = keys.of(ABOUT)
    assert SECRET in found.values.values()
    assert SECRET not in repr(found) + repr(keys) + repr(file)


def test_a_row_tells_of_a_broken_file_only_where_something_is_missing(home):
    home.config.mkdir()
    (home.config / FILE_NAME).write_text("{")
    rows = {row.name: row for row in home.registry().rows()}
    assert any(FILE_NAME in missing for missing in rows["brave"].missing)
    assert rows["wikipedia"].is_configured
    assert rows["openalex"].is_configured
    assert json.dumps(rows["brave"].to_json())
