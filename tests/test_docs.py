"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_webresearch.config import CONFIGURABLES, environment_name, settings_of
from jupyter_webresearch.errors import CODES

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(DOCS / "generate.py"))


@pytest.mark.parametrize("name", ["settings.md", "errors.md"])
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


def test_every_setting_that_a_code_names_exists():
    names = {f"{cls.__name__}.{name}" for cls in CONFIGURABLES for name in settings_of(cls)}
    assert {row.setting for row in CODES.values() if row.setting} <= names


def test_no_cell_of_a_table_breaks_it(generator):
    rows = [line for line in generator["errors_page"]().splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {6}
