"""The magics in a real IPython shell, on a real engine whose names lead to a test site."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from jupyter_webresearch.config import Settings
from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.kernel import magics
from jupyter_webresearch.kernel.command_line import HELP, OPTIONS
from jupyter_webresearch.kernel.input_lines import MagicLine
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.page import Page
from tests.conftest import EngineMaker
from tests.shells import bare_shell
from tests.sites import Site

URL = "http://www.example.org"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A bare IPython shell of its own, in a folder of its own."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    with bare_shell() as shell:
        yield shell


@pytest.fixture
def loaded(shell: InteractiveShell, make_engine: EngineMaker) -> InteractiveShell:
    """The shell with our magics."""
    magics.load(shell, LocalClient(Settings(), engine=make_engine()))
    return shell


def run(shell: InteractiveShell, cell: str) -> Any:
    """Run a cell as a notebook does; return its value or raise its error."""
    outcome = shell.run_cell(cell, store_history=True)
    outcome.raise_error()
    return outcome.result


# Lines: what IPython would make of them, and what they must mean.

ARGUMENTS = {
    "%webfetch https://e.org/a?": "https://e.org/a?",
    "%webfetch https://e.org/a??": "https://e.org/a??",
    "page = %webfetch https://e.org/a?": "https://e.org/a?",
    "page = %webfetch https://e.org/a?b=1?": "https://e.org/a?b=1?",
    "a, b = %webfetch https://e.org/?": "https://e.org/?",
    "d['x'] = %webfetch https://e.org/?": "https://e.org/?",
    "f(x=1).y = %webfetch https://e.org/?": "https://e.org/?",
    "if True:\n    %webfetch https://e.org/a?\n    y = 2": "https://e.org/a?",
    "def f():\n    p = %webfetch https://e.org/a?\n    return p": "https://e.org/a?",
    "%webfetch https://e.org/it's?": "https://e.org/it's?",
    "%webfetch https://e.org/(a?\nx = 1": "https://e.org/(a?",
    "%webfetch https://e.org/a;b": "https://e.org/a;b",
    "%webfetch https://e.org/a;": "https://e.org/a",
    "%webfetch https://e.org/a ;": "https://e.org/a",
    "page = %webfetch https://e.org/a;;": "https://e.org/a;",
    "%webfetch 'https://e.org/a;'": "'https://e.org/a;'",
    "%webfetch https://e.org/a#b?": "https://e.org/a#b?",
    "%webfetch\thttps://e.org/a?": "https://e.org/a?",
    "%webfetch https://e.org/ \\\n  -H 'A: b' \\\n  --raw;": "https://e.org/    -H 'A: b'    --raw",
    "%webfetch https://e.org/a --offset 40000         # read on: free, same bytes": "https://e.org/a --offset 40000",
    "page = %webfetch e.org              # a bare host?": "e.org",
    "%webfetch https://e.org/a#b; # c;": "https://e.org/a#b",
    "%webfetch u -d '# none'": "u -d '# none'",
    "%webfetch": "",
    "%webfetch https://e.org/{open('/etc/hostname').read()}": "https://e.org/{open('/etc/hostname').read()}",
}


@pytest.mark.parametrize("cell", ARGUMENTS)
def test_the_line_reaches_the_magic_as_written(loaded: InteractiveShell, cell: str) -> None:
    code = loaded.transform_cell(cell)
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    given = [c.args for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "run_line_magic"]
    assert [[ast.literal_eval(a) for a in args] for args in given] == [["webfetch", ARGUMENTS[cell]]]


@pytest.mark.parametrize("cell", ["%webfetch?", "%webfetch??", "p = %webfetch?", "%%webfetch?", "webfetch?"])
def test_the_question_mark_still_asks_for_help(loaded: InteractiveShell, cell: str) -> None:
    assert "pinfo" in loaded.transform_cell(cell)


@pytest.mark.parametrize(
    "cell",
    ["s = '''\n%webfetch u?\n'''", "%webfetcher u", "x = 1  # %webfetch u?", "y = 5 %webfetch", "%timeit 1", "x %= 2"],
)
def test_other_lines_are_left_to_ipython(loaded: InteractiveShell, shell: InteractiveShell, cell: str) -> None:
    ours = loaded.transform_cell(cell)
    shell.input_transformer_manager.token_transformers.remove(MagicLine)
    assert shell.transform_cell(cell) == ours


def test_loading_twice_is_loading_once_and_unloading_leaves_nothing(shell: InteractiveShell) -> None:
    before = list(shell.input_transformer_manager.token_transformers)
    shell.extension_manager.load_extension("jupyter_webresearch")
    magics.load(shell)
    assert shell.input_transformer_manager.token_transformers.count(MagicLine) == 1
    shell.extension_manager.unload_extension("jupyter_webresearch")
    assert shell.input_transformer_manager.token_transformers == before
    assert shell.find_line_magic("webfetch") is None
    assert shell.find_cell_magic("webfetch") is None


# Fetching.


def test_reads_a_page(loaded: InteractiveShell, site: Site) -> None:
    page = run(loaded, f"%webfetch {URL}/article")
    assert isinstance(page, Page)
    assert page.title == "An article"
    assert "The river rises" in page.markdown
    run(loaded, f"page = %webfetch {URL}/article?")
    assert loaded.user_ns["page"].title == "An article"
    assert site.paths() == ["/article", "/article?"]


def test_the_final_semicolon_keeps_the_result_from_being_shown(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run(loaded, f"%webfetch {URL}/article")
    assert "The river rises" in capsys.readouterr().out
    run(loaded, f"%webfetch {URL}/article;")
    run(loaded, f"page = %webfetch {URL}/article;")
    assert capsys.readouterr().out == ""
    assert isinstance(loaded.user_ns["page"], Page)


def test_method_headers_and_body(loaded: InteractiveShell, site: Site) -> None:
    run(loaded, f'%webfetch {URL}/echo -X POST -H "Accept: application/json" -d \'{{"q": 1}}\';')
    (request,) = site.seen
    assert (request.method, request.body) == ("POST", b'{"q": 1}')
    assert request.header("Accept") == "application/json"


def test_names_of_the_notebook_and_of_a_function(loaded: InteractiveShell, site: Site) -> None:
    loaded.user_ns["where"] = f"{URL}/article?n=global"
    run(loaded, "%webfetch {where};")
    run(loaded, f"def f(where):\n    page = %webfetch $where\n    return page\nf('{URL}/article?n=local');")
    assert site.paths() == ["/article?n=global", "/article?n=local"]


def test_nothing_in_a_url_is_evaluated(loaded: InteractiveShell, site: Site) -> None:
    loaded.user_ns["evaluated"] = []
    run(loaded, f"%webfetch {URL}/article?a={{evaluated.append(1)}}&b=$evaluated;")
    assert loaded.user_ns["evaluated"] == []
    assert "evaluated.append" in site.paths()[0]


def test_many_in_order_with_failures_in_their_places(loaded: InteractiveShell) -> None:
    cell = f"""%%webfetch --fresh

# a comment
{URL}/article?title=One
http://10.0.0.1/
  {URL}/status?code=404
{URL}/article?title=Two#fragment
"""
    outcomes = run(loaded, cell)
    assert [type(o) for o in outcomes] == [Page, Refused, Failed, Page]
    assert [outcomes[0].title, outcomes[3].title] == ["One", "Two"]
    assert repr(outcomes[1]).startswith("Refused('blocked_address', ")
    assert [o.code for o in outcomes.errors.values()] == ["blocked_address", "http_status"]
    assert len(outcomes.pages) == 2
    assert "2 of 4 pages read, 2 not" in repr(outcomes)


def test_the_options_of_a_batch_apply_to_all(loaded: InteractiveShell, site: Site) -> None:
    run(loaded, f"%%webfetch -H 'X-All: yes' ;\n{URL}/article?1\n{URL}/article?2")
    assert [request.header("X-All") for request in site.seen] == ["yes", "yes"]


def test_a_list_is_read_as_a_batch(loaded: InteractiveShell) -> None:
    loaded.user_ns["urls"] = [f"{URL}/article?title=One", "http://10.0.0.1/"]
    outcomes = run(loaded, "%webfetch {urls} --fresh")
    assert [type(o) for o in outcomes] == [Page, Refused]
    assert [o.title for o in run(loaded, f"%%webfetch $urls # and\n{URL}/article?title=Two  # this").pages] == [
        "One",
        "Two",
    ]


def test_into_puts_the_result_in_a_variable(loaded: InteractiveShell) -> None:
    outcomes = run(loaded, f"%%webfetch --into found\n{URL}/article")
    assert loaded.user_ns["found"] is outcomes
    assert loaded.user_ns["_"] is outcomes
    run(loaded, f"%webfetch {URL}/article --into page;")
    assert loaded.user_ns["page"].title == "An article"


def test_the_hint_reads_on_as_it_stands(loaded: InteractiveShell) -> None:
    for options in ("", " --raw"):
        page = run(loaded, f"%webfetch {URL}/article --max-bytes 300{options}")
        (hint,) = re.findall(r"^  (%webfetch .*?)   reads on$", repr(page), re.MULTILINE)
        assert run(loaded, hint).markdown.startswith(page.next().markdown)


@pytest.mark.parametrize("arguments", ["/article -X HEAD", "/status?code=204", "/status?code=204 -X DELETE"])
def test_an_answer_without_a_body_says_so(loaded: InteractiveShell, arguments: str) -> None:
    assert re.search(r"\[status 20[04], empty body\]", repr(run(loaded, f"%webfetch {URL}{arguments}")))


def completions(shell: InteractiveShell, line: str) -> set[str]:
    with provisionalcompleter():
        return {completion.text for completion in shell.Completer.completions(line, len(line))}


def test_a_tab_completes_the_options(loaded: InteractiveShell) -> None:
    assert completions(loaded, "%webfetch https://e.org/ --") >= {o for o in OPTIONS if o.startswith("--")}
    assert "--raw" in completions(loaded, "%%webfetch --ra")
    magics.unload(loaded)
    assert "--raw" not in completions(loaded, "%webfetch --ra")


def test_save(loaded: InteractiveShell, tmp_path: Path) -> None:
    page = run(loaded, f"%webfetch {URL}/json --save data.json")
    assert page.saved.path == "data.json"
    assert (tmp_path / "data.json").read_bytes().startswith(b'{"name"')
    with pytest.raises(Failed, match=r"data\.json") as caught:
        run(loaded, f"%webfetch {URL}/json --save data.json")
    assert caught.value.code == "file_exists"
    run(loaded, f"%webfetch {URL}/csv --save data.json --force")
    assert (tmp_path / "data.json").read_bytes().startswith(b"city")
    with pytest.raises(Refused) as refused:
        run(loaded, f"%webfetch {URL}/json --save ../data.json")
    assert refused.value.code == "save_refused"


# Errors.


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("%webfetch", "UsageError: %webfetch takes a URL; %webfetch --help says what else"),
        ("%webfetch a b", "UsageError: %webfetch takes one URL, not 2; many go into a %%webfetch cell, one a line"),
        ("page = %webfetch {U}/article", "UsageError: the URL received is '{U}/article': a variable is looked up only"),
        ("e = []\n%webfetch {e}", "UsageError: the list holds no URL"),
        ("%webfetch a --nope", "UsageError: %webfetch: unrecognized arguments: --nope; %webfetch --help says more"),
        ("%%webfetch --nope\na", "UsageError: %%webfetch: unrecognized arguments: --nope; %%webfetch --help says more"),
        ("%%webfetch\n# none\n", "UsageError: %%webfetch takes one URL a line"),
        ("%%webfetch --save x\na", "UsageError: --save goes with one URL"),
    ],
)
def test_a_usage_error_is_one_line(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str, line: str
) -> None:
    assert not loaded.run_cell(cell).success
    said = capsys.readouterr()
    assert (said.out + said.err).strip().startswith(line)
    assert (said.out + said.err).strip().count("\n") == 0


def test_a_refusal_is_one_line_and_stops_the_cell(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str], site: Site
) -> None:
    outcome = loaded.run_cell("%webfetch http://127.0.0.1/\nreached = 1")
    assert isinstance(outcome.error_in_exec, Refused)
    assert "reached" not in loaded.user_ns
    (line,) = capsys.readouterr().out.strip().splitlines()
    assert line.startswith("Refused [blocked_address]: ")
    assert "[blocked_address]" in line
    assert "WebPolicy.allow_private_networks" in line
    assert site.connections == 0


def test_an_error_can_be_looked_into(loaded: InteractiveShell) -> None:
    run(
        loaded,
        f"try:\n    %webfetch {URL}/status?code=404&body=Gone%20away%20for%20good.\n"
        "except Exception as error:\n    kept = error",
    )
    assert loaded.user_ns["kept"].code == "http_status"
    assert loaded.user_ns["kept"].page.status == 404


def test_help(loaded: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(loaded, "%webfetch --help") is None
    assert capsys.readouterr().out.strip() == HELP.strip()
    run(loaded, "%webfetch?")
    assert "--any-status" in capsys.readouterr().out
    assert len(max(HELP.splitlines(), key=len)) <= 120
