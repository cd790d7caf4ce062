"""%websearch in a real IPython shell, on a real engine that asks a local instance."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch.config import Settings, WebPolicy
from jupyter_webresearch.errors import BadInput, Failed, Refused
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.search_line import HELP, OPTIONS
from jupyter_webresearch.kernel.searches import Searches
from jupyter_webresearch.page import Page
from jupyter_webresearch.search.question import KINDS
from jupyter_webresearch.search.response import SearchResponse
from tests.conftest import EngineMaker
from tests.kernel.test_magics import completions, run, shell  # noqa: F401  # a fixture
from tests.search.own_instance import ARTICLE, OwnInstance
from tests.sites import Site


@pytest.fixture
def instance() -> Iterator[OwnInstance]:
    with OwnInstance() as api:
        yield api


@pytest.fixture
def loaded(
    shell: InteractiveShell,  # noqa: F811
    make_engine: EngineMaker,
    instance: OwnInstance,
    site: Site,
) -> InteractiveShell:
    magics.load(shell, LocalClient(Settings(), engine=make_engine(**instance.seams(site.port))))
    return shell


# Lines: what IPython would make of them, and what they must mean.

ARGUMENTS = {
    "%websearch what is a tide?": "what is a tide?",
    "%websearch what's new??": "what's new??",
    "found = %websearch what's new in it?": "what's new in it?",
    "%websearch it's the moon's\nx = 1": "it's the moon's",
    '%websearch "exact phrase" -moon;': '"exact phrase" -moon',
    "%websearch tides ; # comment": "tides",
    "%websearch what's new # let's see": "what's new",
    "%websearch price in $ or € (2024": "price in $ or € (2024",
    "%websearch 007 “quoted” 潮汐!": "007 “quoted” 潮汐!",
    "if True:\n    %websearch tides?\n    y = 2": "tides?",
    "%websearch tides \\\n  --kind news": "tides    --kind news",
    "%websearch {open('/etc/hostname').read()}": "{open('/etc/hostname').read()}",
}


@pytest.mark.parametrize("cell", ARGUMENTS)
def test_the_line_reaches_the_magic_as_written(loaded: InteractiveShell, cell: str) -> None:
    calls = [node for node in ast.walk(ast.parse(loaded.transform_cell(cell))) if isinstance(node, ast.Call)]
    given = [c.args for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "run_line_magic"]
    assert [[ast.literal_eval(a) for a in args] for args in given] == [["websearch", ARGUMENTS[cell]]]


@pytest.mark.parametrize("cell", ["%websearch?", "%%websearch?", "websearch?"])
def test_the_question_mark_still_asks_for_help(loaded: InteractiveShell, cell: str) -> None:
    assert "pinfo" in loaded.transform_cell(cell)


# Searching.


def test_searches_and_reads_a_result(loaded: InteractiveShell, instance: OwnInstance, site: Site) -> None:
    found = run(loaded, '%websearch "spring tides" of --max-results 1 it\'s --fresh')
    assert isinstance(found, SearchResponse)
    assert instance.queries == ['"spring tides" of it\'s']
    assert [result.url for result in found.results] == [ARTICLE]
    assert site.connections == 0, "no result is read unasked"
    page = run(loaded, "_.results[0].fetch()")
    assert isinstance(page, Page)
    assert page.title == "An article"
    assert page.next is not None


def test_what_a_cell_shows(loaded: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    run(loaded, "%websearch tides")
    told = capsys.readouterr().out
    assert '2 results for "tides"' in told
    assert "1. An article" in told
    assert "No answer from google behind searxng: CAPTCHA" in told
    run(loaded, "%websearch tides;")
    run(loaded, "found = %websearch tides;")
    assert capsys.readouterr().out == ""
    assert len(loaded.user_ns["found"]) == 2
    run(loaded, "found.results[0]")
    assert "An article\nhttp://www.example.org/article" in capsys.readouterr().out


def test_many_in_order_with_failures_in_their_places(loaded: InteractiveShell, instance: OwnInstance) -> None:
    cell = '%%websearch --max-results 1 --into many\n\n# a comment\nspring tide\nit is (down)\n"neap tide" # why\n'
    outcomes = run(loaded, cell)
    assert isinstance(outcomes, Searches)
    assert [type(outcome) for outcome in outcomes] == [SearchResponse, Failed, SearchResponse]
    assert outcomes.queries == ["spring tide", "it is (down)", '"neap tide"']
    assert [response.query for response in outcomes.responses] == ["spring tide", '"neap tide"']
    assert [len(response) for response in outcomes.responses] == [1, 1]
    assert outcomes.errors["it is (down)"].code == "search_failed"
    assert loaded.user_ns["many"] is loaded.user_ns["_"] is outcomes
    assert set(instance.queries) == set(outcomes.queries)
    assert outcomes[0].results[0].fetch().title == "An article"


def test_more_than_run_at_once(loaded: InteractiveShell, instance: OwnInstance) -> None:
    queries = [f"tide {n}" for n in range(9)]
    loaded.user_ns["queries"] = queries
    outcomes = run(loaded, "%websearch {queries}")
    assert [response.query for response in outcomes.responses] == queries
    assert sorted(map(str, instance.queries)) == queries


def test_a_variable_is_the_query(loaded: InteractiveShell, instance: OwnInstance) -> None:
    loaded.user_ns["where"] = "tides of the globe"
    run(loaded, "%websearch {where};")
    run(loaded, "def f(where):\n    r = %websearch $where --fresh\n    return r\nf('tides of a function');")
    run(loaded, "%websearch --into found tides of {nobody};")
    assert instance.queries == ["tides of the globe", "tides of a function", "tides of {nobody}"]
    assert loaded.user_ns["found"].query == "tides of {nobody}"


def test_a_tab_completes_options_and_kinds(loaded: InteractiveShell) -> None:
    assert completions(loaded, "%websearch tides --") >= set(OPTIONS)
    assert "--kind" in completions(loaded, "%%websearch --ki")
    assert completions(loaded, "%websearch tides --kind ") >= set(KINDS)
    assert "news" in completions(loaded, "%websearch tides --kind ne")
    magics.unload(loaded)
    assert "--kind" not in completions(loaded, "%websearch --ki")


# Errors.


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("%websearch", "UsageError: %websearch takes a query; %websearch --help says what else"),
        ("%websearch # nothing", "UsageError: %websearch takes a query"),
        ("%websearch tides --nope", "UsageError: %websearch has no option --nope"),
        ("%%websearch --nope\na", "UsageError: %%websearch has no option --nope"),
        ("%%websearch\n# none\n", "UsageError: %%websearch takes one query a line"),
        ("q = []\n%websearch {q}", "UsageError: the list holds no query"),
        ("q = 'x'\n%websearch {q} tides", "UsageError: the query received is '{q} tides'"),
    ],
)
def test_a_usage_error_is_one_line(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str], instance: OwnInstance, cell: str, line: str
) -> None:
    assert not loaded.run_cell(cell).success
    said = capsys.readouterr()
    assert (said.out + said.err).strip().startswith(line)
    assert (said.out + said.err).strip().count("\n") == 0
    assert instance.asked == []


@pytest.mark.parametrize(
    ("cell", "kind", "code"),
    [
        ("%websearch tides --since yesterday", BadInput, "bad_request"),
        ("%websearch tides --provider nosuch", BadInput, "provider_unavailable"),
        ("%websearch tides (down)", Failed, "search_failed"),
    ],
)
def test_an_error_is_one_line_and_stops_the_cell(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str, kind: type, code: str
) -> None:
    outcome = loaded.run_cell(f"{cell}\nreached = 1")
    assert isinstance(outcome.error_in_exec, kind)
    assert "reached" not in loaded.user_ns
    (line,) = capsys.readouterr().out.strip().splitlines()
    assert f"[{code}]" in line


def test_a_session_that_does_not_search(loaded: InteractiveShell, instance: OwnInstance) -> None:
    run(loaded, "%webresearch search off")
    outcome = loaded.run_cell("%websearch tides")
    assert isinstance(outcome.error_in_exec, Refused)
    assert instance.asked == []
    run(loaded, "%webresearch search on")
    assert len(run(loaded, "%websearch tides")) == 2


def test_help(loaded: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(loaded, "%websearch --help") is None
    assert capsys.readouterr().out.strip() == HELP.strip()
    run(loaded, "%websearch?")
    assert "--max-results" in capsys.readouterr().out
    run(loaded, "%webresearch help")
    told = capsys.readouterr().out
    assert "%websearch --help" in told
    assert "search on|off" in told


def test_what_is_off_explains_nothing(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    off = Settings(policy=WebPolicy(disabled_operations=["search"]))
    magics.load(shell, LocalClient(off), Settings())  # a server's user has switched it off since
    outcome = shell.run_cell("%websearch --help")
    assert isinstance(outcome.error_in_exec, Refused)
    assert outcome.error_in_exec.code == "disabled"
    assert "--max-results" not in capsys.readouterr().out


def test_an_interrupt_is_one_line(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    for name in ("search", "search_many"):
        monkeypatch.setattr(LocalClient, name, interrupted)
    for cell in ("%websearch tides", "%%websearch\ntides"):
        outcome = loaded.run_cell(cell)
        assert isinstance(outcome.error_in_exec, KeyboardInterrupt)
        assert capsys.readouterr().out.strip() == "Interrupted: the search was interrupted [cancelled]"
