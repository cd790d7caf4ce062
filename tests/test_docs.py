"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from traitlets.config.loader import KVArgParseConfigLoader

from jupyter_webresearch.config import CONFIGURABLES, environment_name, settings_of
from jupyter_webresearch.config_loading import load_settings
from jupyter_webresearch.config_sources import command_line_config
from jupyter_webresearch.errors import _REMEDIES, CODES
from jupyter_webresearch.kernel.command_line import OPTIONS
from jupyter_webresearch.kernel.research_subcommands import SUBCOMMANDS
from jupyter_webresearch.reading import MAX_CHARS
from jupyter_webresearch.search.providers import BUILTIN, builtin_class

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(DOCS / "generate.py"))


@pytest.mark.parametrize("name", ["settings.md", "errors.md", "search.md"])
def test_a_page_is_up_to_date(generator, name):
    assert (DOCS / name).read_text(encoding="utf-8") == generator["PAGES"][name]()


def test_the_check_says_so():
    done = subprocess.run([sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_setting_and_its_variable_is_there(generator):
    page = generator["settings_page"]()
    for cls in CONFIGURABLES:
        for name in settings_of(cls):
            assert f"\n### {cls.__name__}.{name}\n" in page
            assert f"`{environment_name(cls, name)}`" in page


def test_every_code_is_there(generator):
    codes = re.findall(r"^\| `(\w+)` \|", generator["errors_page"](), re.MULTILINE)
    assert codes == list(CODES)


def test_what_to_do_is_said_of_codes_that_there_are(generator):
    page = generator["errors_page"]()
    assert set(_REMEDIES) <= set(CODES)
    for code, remedy in _REMEDIES.items():
        assert re.search(rf"^\| `{code}` \| [^|]+ \| {re.escape(remedy)} \|", page, re.MULTILINE)
        assert not remedy.endswith(".")


def test_options_and_commands_that_are_told_exist():
    told = " ".join(_REMEDIES.values())
    options = set(re.findall(r"--[\w-]+", told))
    assert options
    assert options <= set(OPTIONS)
    assert set(re.findall(r"%webresearch ([\w-]+)", told)) <= set(SUBCOMMANDS)
    names = {f"{cls.__name__}.{name}" for cls in CONFIGURABLES for name in settings_of(cls)}
    assert set(re.findall(r"Web\w+\.\w+", told)) <= names


def test_every_setting_that_a_code_names_exists():
    names = {f"{cls.__name__}.{name}" for cls in CONFIGURABLES for name in settings_of(cls)}
    names |= {cls.__name__ for cls in CONFIGURABLES}  # where each case has a setting of its own
    assert {row.setting for row in CODES.values() if row.setting} <= names


def test_no_cell_of_a_table_breaks_it(generator):
    rows = [line for line in generator["errors_page"]().splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {7}


def test_every_provider_has_a_row_with_what_people_ask(generator):
    page = generator["search_page"]()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(BUILTIN)
    assert {row.count("|") for row in rows} == {10}
    for row, name in zip(rows, BUILTIN, strict=True):
        about = builtin_class(name).about
        told = (*about.keys, *about.url_variables, *about.also_needs, about.get_key, about.price, about.limits)
        assert [each for each in told if each not in row] == []
        assert about.price
        assert bool(about.get_key) == bool(about.keys)


# The examples at the head of docs/settings.md


def blocks(page):
    """Return the indented blocks of a page's examples, in order."""
    text = page.partition("## Examples")[2].partition("\n## ")[0]
    found = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    return [re.sub("^    ", "", block, flags=re.MULTILINE) for block in found]


def in_force(tmp_path, *, file="", operator="", environ=None, cli=None):
    folders = {"user": file, "operator": operator}
    for name, text in folders.items():
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "jupyter_webresearch_config.py").write_text(text)
    path, bound = [str(tmp_path / "user"), str(tmp_path / "operator")], [str(tmp_path / "operator")]
    return load_settings(cli=cli, environ=environ or {}, config_path=path, operator_path=bound)


def test_the_examples_of_settings_do_what_they_say(generator, tmp_path):
    command, file, environ, _ = blocks(generator["settings_page"]())
    arguments = command.split()[2:]
    of_a_server = KVArgParseConfigLoader(arguments).load_config()
    for cli in (of_a_server, command_line_config(arguments)):
        assert in_force(tmp_path, cli=cli).policy.allow_private_networks == ["10.20.0.0/16"]
    policy = in_force(tmp_path, file=file).policy
    assert (policy.allowed_ports, policy.extra_blocked) == ([80, 443, 8080, 8443, 9000], ["*.tracker.example"])
    settings = in_force(tmp_path, environ=dict(line.split("=") for line in environ.split()))
    assert (settings.policy.allowed_ports, settings.kernel.local_mode) == ([443], "deny")


def test_the_table_of_what_an_operators_file_does(generator, tmp_path):
    page = generator["settings_page"]()
    operator = blocks(page)[-1]
    rows = re.findall(r"^\| (nothing|`[\d./]+`) \| (nothing private|`[\d./]+`) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for given, expected in rows:
        file = "" if given == "nothing" else f"c.WebPolicy.allow_private_networks = ['{given.strip('`')}']"
        policy = in_force(tmp_path, operator=operator, file=file).policy
        assert policy.allow_private_networks == ([] if expected == "nothing private" else [expected.strip("`")])
        assert policy.allowed_ports == [443]


def test_every_setting_whose_form_is_checked_says_which_forms_are_allowed(generator):
    page = generator["settings_page"]()
    for cls in CONFIGURABLES:
        for name in settings_of(cls):
            entry = page.partition(f"\n### {cls.__name__}.{name}\n")[2].partition("\n###")[0]
            assert "- allowed: " in entry or "- a list, each entry: " in entry


def test_the_most_characters_of_an_answer_are_told(generator):
    assert f"at most {MAX_CHARS:,} characters" in generator["settings_page"]()
