"""``%webresearch`` in a real IPython shell, on a real engine."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from typing import Any

import pandas
import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch.config import OPERATIONS, Settings, WebBudgets, WebPolicy
from jupyter_webresearch.errors import BadInput, Refused
from jupyter_webresearch.journal.by_operation import COLUMNS
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.research_subcommands import SUBCOMMANDS
from jupyter_webresearch.models import FetchRequest
from tests.conftest import EngineMaker
from tests.kernel.test_magics import URL, completions, run, shell  # noqa: F401  # a fixture
from tests.sites import Site

Loader = Callable[..., InteractiveShell]


@pytest.fixture
def load(shell: InteractiveShell, make_engine: EngineMaker) -> Loader:  # noqa: F811
    """Return a function that loads our magics under a policy."""

    def load(budgets: WebBudgets | None = None, **policy: Any) -> InteractiveShell:
        settings = Settings(policy=WebPolicy(**policy), budgets=budgets or WebBudgets())
        magics.load(shell, LocalClient(settings, engine=make_engine(settings)), settings)
        return shell

    return load


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[InteractiveShell, str], str]:
    """Return a function that runs a line and returns what it printed."""

    def said(shell: InteractiveShell, line: str) -> str:  # noqa: F811
        capsys.readouterr()
        run(shell, line)
        return capsys.readouterr().out

    return said


# The lists.


def test_policy_prints_both_lists_always(load: Loader, said: Callable[..., str]) -> None:
    told = said(load(ceiling=["*.example.org", "no/entry"], ask="listed"), "%webresearch policy")
    assert "*.example.org: example.org and every name below it" in told
    assert "no/entry: dropped, it has a path" in told
    assert re.search(r"^This session reads: nowhere", told, re.MULTILINE)
    assert re.search(r"^This session acts on: nowhere", told, re.MULTILINE)


def test_nothing_set_is_said_too(load: Loader, said: Callable[..., str]) -> None:
    told = said(load(), "%webresearch policy")
    assert "internet:unrestricted (not set)" in told
    assert "This session reads: internet:unrestricted" in told


def test_allow_lets_a_host_be_read(load: Loader, said: Callable[..., str], site: Site) -> None:
    loaded = load(ask="listed")
    with pytest.raises(Refused) as caught:
        run(loaded, f"%webfetch {URL}/article")
    assert caught.value.code == "not_allowed"
    assert "%webresearch allow www.example.org" in caught.value.message
    assert said(loaded, "%webresearch allow www.example.org") == "this session reads: www.example.org\n"
    assert run(loaded, f"%webfetch {URL}/article").status == 200
    assert site.paths() == ["/article"]


def test_allow_adds_replaces_and_forgets(load: Loader, said: Callable[..., str]) -> None:
    loaded = load()
    assert said(loaded, "%webresearch allow a.example b.example").endswith("reads: a.example, b.example\n")
    assert said(loaded, "%webresearch allow *.c.example").endswith("reads: a.example, b.example, *.c.example\n")
    assert said(loaded, "%webresearch allow d.example --only").endswith("reads: d.example\n")
    assert said(loaded, "%webresearch allow --only").endswith("reads: nowhere\n")
    assert said(loaded, "%webresearch allow --reset").endswith("reads: internet:unrestricted\n")


def test_hosts_come_from_variables_and_before_a_comment(load: Loader, said: Callable[..., str]) -> None:
    loaded = load()
    loaded.user_ns["hosts"] = ["a.example", "b.example"]
    told = said(loaded, "%webresearch allow {hosts} --only   # what the paper cites;")
    assert told.endswith("reads: a.example, b.example\n")


def test_what_is_dropped_is_named(load: Loader, said: Callable[..., str]) -> None:
    told = said(load(), "%webresearch allow a.example https://b.example/")
    assert "this session reads: a.example\n" in told
    assert "https://b.example/: dropped, it is a URL" in told


@pytest.mark.parametrize(
    ("line", "error", "code"),
    [
        ("allow other.example", Refused, "not_allowed"),
        ("allow *", BadInput, "bad_request"),
        ("allow-actions *.example.org", BadInput, "bad_request"),
        ("allow-actions other.example", Refused, "not_allowed"),
        ("task " + "x" * 3000, BadInput, "bad_request"),
    ],
)
def test_what_lies_outside_changes_nothing(
    load: Loader, capsys: pytest.CaptureFixture[str], line: str, error: type[Exception], code: str
) -> None:
    loaded = load(ceiling=["*.example.org"])
    before = magics_policy(loaded)
    outcome = loaded.run_cell(f"%webresearch {line}\nreached = 1")
    assert isinstance(outcome.error_in_exec, error)
    assert outcome.error_in_exec.code == code
    (shown,) = capsys.readouterr().out.strip().splitlines()
    assert f"[{code}]" in shown
    assert "reached" not in loaded.user_ns
    assert magics_policy(loaded) == before


def magics_policy(loaded: InteractiveShell) -> Any:
    return loaded.magics_manager.magics["line"]["webresearch"].__self__._client.policy()


def test_actions_are_asked_for_by_exact_host(load: Loader, said: Callable[..., str]) -> None:
    loaded = load()
    assert said(loaded, "%webresearch allow-actions a.example b.example").endswith("acts on: a.example, b.example\n")
    assert said(loaded, "%webresearch allow-actions b.example").endswith("acts on: b.example\n")
    assert said(loaded, "%webresearch allow-actions --none").endswith("acts on: nowhere\n")
    told = said(load(ceiling=["a.example"]), "%webresearch allow-actions a.example b.example")
    assert "acts on: a.example\n" in told
    assert "b.example: nothing" in told


def test_the_task(load: Loader, said: Callable[..., str]) -> None:
    loaded = load()
    assert said(loaded, "%webresearch task") == "no task is stated\n"
    assert said(loaded, '%webresearch task "tides of the North Sea"') == "tides of the North Sea\n"
    assert said(loaded, "%webresearch task") == "tides of the North Sea\n"
    assert said(loaded, "%webresearch task --and more") == "--and more\n"
    assert said(loaded, '%webresearch task ""') == "no task is stated\n"


def test_a_session_says_whether_it_searches(load: Loader, said: Callable[..., str]) -> None:
    loaded = load()
    assert said(loaded, "%webresearch search off") == "search is off in this session\n"
    assert magics_policy(loaded)["search"] is False
    assert said(loaded, "%webresearch search on") == "search is on in this session\n"


@pytest.mark.parametrize("line", ["search off", "search on", "search --help", "help search"])
def test_where_search_is_switched_off_so_is_its_subcommand(load: Loader, line: str) -> None:
    with pytest.raises(Refused) as caught:
        run(load(disabled_operations=["search"]), f"%webresearch {line}")
    assert caught.value.code == "disabled"


# The journal and the budgets.


def test_the_journal_is_a_data_frame(load: Loader) -> None:
    loaded = load()
    run(loaded, f"%webfetch {URL}/article;")
    loaded.run_cell("%webfetch http://10.0.0.1/")
    frame = run(loaded, "%webresearch journal")
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame.index) == [0, 1]
    assert list(frame.outcome) == ["completed", "refused"]
    assert list(frame.url) == [f"{URL}/article", "http://10.0.0.1/"]
    assert frame.time.is_monotonic_increasing
    assert (frame.iloc[0].status, frame.iloc[-1].code) == (200, "blocked_address")


def test_raw_events_have_every_column(load: Loader) -> None:
    loaded = load()
    run(loaded, f"%webfetch {URL}/article;")
    loaded.run_cell("%webfetch http://10.0.0.1/")
    frame = run(loaded, "%webresearch journal --events")
    assert list(frame.outcome) == ["started", "completed", "started", "refused"]
    assert set(frame.channel) == {"kernel"}
    assert frame.index.name == "number"
    assert {"operation", "title", "setting"} <= set(frame.columns)


def test_what_the_journal_shows_is_said(load: Loader, said: Callable[..., str]) -> None:
    loaded = load()
    assert said(loaded, "x = %webresearch journal") == "0 of 0 operations\n"
    for number in range(3):
        loaded.run_cell(f"%webfetch http://10.0.0.{number}/")
    assert said(loaded, "x = %webresearch journal") == "3 of 3 operations\n"
    for arguments in ("-n 2", "--all -n 2"):
        assert said(loaded, f"x = %webresearch journal {arguments}") == "2 of 3 operations\n"
        assert list(run(loaded, f"%webresearch journal {arguments}").url) == ["http://10.0.0.1/", "http://10.0.0.2/"]
    assert said(loaded, "x = %webresearch journal --events -n 1") == "1 of 6 events\n"
    assert said(loaded, "x = %webresearch journal --all --list") == "3 of 3 operations\n"


def test_the_journal_is_this_sessions(load: Loader, make_engine: EngineMaker) -> None:
    loaded = load()
    other = make_engine()
    other.submit(other.fetch(other.session("another"), FetchRequest(f"{URL}/article"))).result(60)
    assert len(run(loaded, "%webresearch journal --all")) == 0


def test_the_journal_without_pandas(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load()
    run(loaded, f"%webfetch {URL}/article;")
    monkeypatch.setitem(sys.modules, "pandas", None)
    events = run(loaded, "%webresearch journal --list")
    assert [event["outcome"] for event in events] == ["completed"]
    outcome = loaded.run_cell("%webresearch journal")
    assert "jupyter-webresearch[pandas]" in str(outcome.error_in_exec)
    assert "--list" in str(outcome.error_in_exec)


def test_budgets(load: Loader, said: Callable[..., str]) -> None:
    loaded = load(WebBudgets(kernel_per_minute=7))
    run(loaded, f"%webfetch {URL}/article;")
    told = said(loaded, "%webresearch budgets")
    assert "WebBudgets.kernel_per_minute: 1 of 7 operations of this kernel in a minute\n" in told
    assert "WebBudgets.site_per_minute: at most 60 requests of all kernels to each site in a minute" in told
    assert "room again" not in told


def test_a_full_budget_says_when_there_is_room(load: Loader, said: Callable[..., str]) -> None:
    loaded = load(WebBudgets(kernel_per_minute=1))
    run(loaded, f"%webfetch {URL}/article;")
    assert re.search(
        r"1 of 1 operations of this kernel in a minute; room again in \d+ s", said(loaded, "%webresearch budgets")
    )
    outcome = loaded.run_cell(f"%webfetch {URL}/article?2")
    (shown,) = outcome.error_in_exec._render_traceback_()
    assert shown.startswith(
        "Refused [over_budget]: a budget is used up: at most 1 operations of this kernel in a minute"
    )
    assert shown.endswith("(setting: WebBudgets.kernel_per_minute)")


def test_budgets_whose_storage_is_gone_hide_no_list(load: Loader, said: Callable[..., str]) -> None:
    loaded = load(WebBudgets(kernel_per_minute=7, storage="redis://127.0.0.1:1/0"))
    assert "redis" in said(loaded, "%webresearch budgets").lower()
    assert "This session reads: internet:unrestricted" in said(loaded, "%webresearch policy")


# What is written, and the help.

ARGUMENTS = {
    "%webresearch allow a.example?": "allow a.example?",
    "frame = %webresearch journal": "journal",
    "%webresearch journal;": "journal",
    "%webresearch task 'why? # because' # a comment": "task 'why? # because'",
    "%webresearch": "",
}


@pytest.mark.parametrize("cell", ARGUMENTS)
def test_the_line_reaches_the_magic_as_written(load: Loader, cell: str) -> None:
    code = load().transform_cell(cell)
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    given = [c.args for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "run_line_magic"]
    assert [[ast.literal_eval(a) for a in args] for args in given] == [["webresearch", ARGUMENTS[cell]]]


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_has_help(load: Loader, said: Callable[..., str], name: str) -> None:
    told = said(load(), f"%webresearch {name} --help")
    assert told.startswith(f"usage: %webresearch {name}")
    assert SUBCOMMANDS[name].about[1:] in " ".join(told.split())
    assert ("the acting list, search and the task stay" in " ".join(told.split())) is (name == "allow")
    assert said(load(), f"%webresearch help {name}") == told


@pytest.mark.parametrize("line", ["", "help", "-h", "--help"])
def test_help_lists_what_there_is(load: Loader, said: Callable[..., str], line: str) -> None:
    told = said(load(), f"%webresearch {line}")
    for sub in SUBCOMMANDS.values():
        assert f"%webresearch {sub.usage}" in told
    assert "%webfetch --help" in told
    assert max(map(len, told.splitlines())) <= 120


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("nothing", "%webresearch has no 'nothing'; %webresearch help lists what it has"),
        ("allow", "%webresearch allow takes hosts"),
        ("allow a.example --nope", "%webresearch allow: unrecognized arguments: --nope"),
        ("allow-actions", "%webresearch allow-actions takes either hosts or --none"),
        ("allow-actions a.example --none", "%webresearch allow-actions takes either hosts or --none"),
        ("search maybe", "%webresearch search: argument state: invalid choice: 'maybe'"),
        ("journal -n 0", "%webresearch journal -n takes a number from 1 to 10,000"),
        ("journal -n x", "%webresearch journal: argument -n: invalid int value: 'x'"),
        ("allow {missing}", "the variable 'missing' does not exist"),
        ("help nothing", "%webresearch has no 'nothing'"),
    ],
)
def test_a_usage_error_is_one_line(load: Loader, capsys: pytest.CaptureFixture[str], line: str, shown: str) -> None:
    assert not load().run_cell(f"%webresearch {line}").success
    said = capsys.readouterr()
    assert (said.out + said.err).strip().startswith(f"UsageError: {shown}")
    assert (said.out + said.err).strip().count("\n") == 0


def test_a_tab_completes_subcommands_and_options(load: Loader) -> None:
    loaded = load()
    assert completions(loaded, "%webresearch ") >= {"allow", "allow-actions", "policy", "journal", "help"}
    assert "allow-actions" in completions(loaded, "%webresearch al")
    assert completions(loaded, "%webresearch allow --") >= {"--only", "--reset", "--help"}
    assert "policy" in completions(loaded, "%webresearch help po")
    magics.unload(loaded)
    assert "allow" not in completions(loaded, "%webresearch al")


def test_what_settings_switch_off_is_not_loaded(load: Loader, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load(enabled=False)
    assert loaded.find_line_magic("webfetch") is loaded.find_cell_magic("webfetch") is None
    assert "--raw" not in completions(loaded, "%webfetch --ra")
    run(loaded, "%webresearch help")
    told = capsys.readouterr().out
    assert "Reading the web is switched off" in told
    assert not any(re.search(rf"\b(web)?{operation}\b", told) for operation in OPERATIONS)
    outcome = loaded.run_cell("%webfetch http://www.example.org/")
    assert "webfetch" in str(outcome.error_in_exec)


def test_what_is_switched_off_live_says_so(load: Loader, make_engine: EngineMaker) -> None:
    loaded = load()
    client = loaded.magics_manager.magics["line"]["webresearch"].__self__._client
    client.engine.submit(client.engine.switch("fetch", False, client._caller())).result(60)
    for line in ("--help", f"{URL}/article"):
        with pytest.raises(Refused) as caught:
            run(loaded, f"%webfetch {line}")
        assert (caught.value.code, caught.value.setting) == ("disabled", "")
        assert "`jupyter webresearch enable fetch` switches it on" in caught.value.message


# What a front end gets.

HOSTILE = "\u202e</code>|`<img src=x onerror=alert(1)>`$x$[a](javascript:b)"


def published(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, line: str) -> dict[str, str]:  # noqa: F811
    got: list[dict[str, str]] = []
    monkeypatch.setattr(shell.display_pub, "publish", lambda data, **_: got.append(data))
    run(shell, line)
    (forms,) = got
    assert set(forms) == {"text/markdown", "text/plain"}
    return forms


@pytest.mark.parametrize("name", ["policy", "budgets", "help"])
def test_it_is_shown_as_inert_markdown_and_as_text(load: Loader, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    loaded = load(WebBudgets(kernel_per_minute=7), ceiling=["*.example.org", HOSTILE])
    run(loaded, f"%webresearch task '{HOSTILE[1:]}'")
    forms = published(loaded, monkeypatch, f"%webresearch {name}")
    markdown = forms["text/markdown"]
    assert "| --- |" in markdown
    assert "<img" not in markdown
    assert "[a](" not in markdown
    assert "\u202e" not in markdown + forms["text/plain"]
    for word in re.findall(r"[A-Za-z]{5,}", forms["text/plain"]):
        assert word in markdown


def test_the_question_mark_shows_the_subcommands(load: Loader) -> None:
    told = load().find_line_magic("webresearch").__doc__
    assert told is not None
    for name, sub in SUBCOMMANDS.items():
        assert (f"%webresearch {sub.usage}" in told) is (name != "search")
