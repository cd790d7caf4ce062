"""What the README shows of the policy works as it is written there."""

from __future__ import annotations

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch.config import Settings, WebBudgets
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.local_client import LocalClient
from tests.conftest import EngineMaker
from tests.kernel.test_magics import run, shell  # noqa: F401  # a fixture
from tests.policy.budgets.rigs import SetClock
from tests.sites import Site
from tests.test_readme import code, section

LINES = code(section("What bounds it"))


def test_every_line_of_the_magic_works(
    shell: InteractiveShell,  # noqa: F811
    make_engine: EngineMaker,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = Settings()
    client = LocalClient(settings, engine=make_engine(settings))
    magics.load(shell, client, settings)
    lines = [line for line in LINES if line.startswith("%webresearch")]
    assert len(lines) >= 6
    for line in lines:
        capsys.readouterr()
        run(shell, line)
        assert "nothing" not in capsys.readouterr().out or "policy" in line, line
        if "allow-actions" in line:
            assert client.policy()["acting"]["reach"] == "forms.example.org"
    assert client.policy()["ask"]["reach"] == "internet:unrestricted"


def test_the_rest_of_a_list_is_read_a_minute_later(
    shell: InteractiveShell,  # noqa: F811
    make_engine: EngineMaker,
    site: Site,
) -> None:
    clock, size = SetClock(), 3
    settings = Settings(budgets=WebBudgets(kernel_per_minute=size, site_per_minute=0))
    magics.load(shell, LocalClient(settings, engine=make_engine(settings, clock=clock)), settings)
    shell.user_ns["urls"] = [f"http://www.example.org/article?{number}" for number in range(size + 3)]
    read, rest, more = [line for line in LINES if re.match(r"(pages|rest|more) = ", line)]
    run(shell, f"{read}\n{rest}")
    pages = shell.user_ns["pages"]
    assert (len(pages.pages), len(shell.user_ns["rest"])) == (size, 3)
    assert re.search(r"3 URLs, the first is \S+$", repr(pages), re.MULTILINE)
    clock.advance(60.5)
    run(shell, more)
    assert len(shell.user_ns["more"].pages) == 3
    assert len(site.paths()) == size + 3


def test_the_figures_are_the_settings() -> None:
    text = " ".join(section("What bounds it").split())
    budgets = WebBudgets()
    assert f"A kernel has {budgets.kernel_per_minute} operations a minute and {budgets.kernel_total} in all" in text
    assert f"have {budgets.server_per_minute} a minute together" in text
    assert f"more than {budgets.site_per_minute} requests a minute" in text
