"""What stands after %websearch: options out, the query as it was typed."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.error import UsageError

from jupyter_webresearch.kernel.search_line import HELP, OPTIONS, parse, queries_of, without_comment
from jupyter_webresearch.search.question import SearchRequest

NAMESPACE: dict[str, Any] = {
    "topic": "spring tides",
    "queries": ["spring tide", "neap tide"],
    "names": ["wikipedia", "crossref"],
    "n": 3,
    "page": SimpleNamespace(title="of a page"),
    "numbers": [1, 2],
}


def query(line: str) -> str:
    (found,) = parse(line, NAMESPACE).queries
    return found


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("tides", "tides"),
        ("  tidal   range\tin Fundy  ", "tidal range in Fundy"),
        ('"exact  phrase" tides', '"exact  phrase" tides'),
        ("what's new in it's field", "what's new in it's field"),
        ("what's new?", "what's new?"),
        ('5" disk', '5" disk'),
        ('a "b c', 'a "b c'),
        ("'single quoted' stays", "'single quoted' stays"),
        ("tides -moon site:example.org", "tides -moon site:example.org"),
        ("C# and F# tutorials", "C# and F# tutorials"),
        ('"# of dogs"', '"# of dogs"'),
        ("tides # a comment", "tides"),
        ("what's new # let's see", "what's new"),
        ("--kind news tides", "tides"),
        ("tides --kind news", "tides"),
        ("--fresh spring --kind=news tide --site example.org", "spring tide"),
        ('git "--amend" -m', 'git "--amend" -m'),
        ("-- --amend --fixup", "--amend --fixup"),
        ("--kind news -- --amend", "--amend"),
        ("the moon -- a history", "the moon -- a history"),
        ("{topic}", "spring tides"),
        ("$topic", "spring tides"),
        ("{page.title}", "of a page"),
        ("--kind news {topic}", "spring tides"),
        ("'{topic}'", "'{topic}'"),
        ('"{topic}"', '"{topic}"'),
        ("{unknown} and $PATH in a query", "{unknown} and $PATH in a query"),
        ("x_{n} of f(n)", "x_{n} of f(n)"),
        ("{open('/etc/hostname').read()}", "{open('/etc/hostname').read()}"),
        ("naïve 潮汐 \u00a0 приливы", "naïve 潮汐 приливы"),
    ],
)
def test_the_query_is_the_rest_of_the_line_as_typed(line: str, meant: str) -> None:
    assert query(line) == meant


def test_the_options() -> None:
    line = "--provider wikipedia,crossref, --provider arxiv tides --max-results 5 --kind papers --since 2024 --fresh"
    read = parse(line + " --site 'example.org' --into found", NAMESPACE)
    assert read.request(*read.queries) == SearchRequest(
        "tides", ("wikipedia", "crossref", "arxiv"), 5, "papers", "2024", "example.org", True
    )
    assert (read.into, read.batch, read.help) == ("found", False, False)
    assert parse("tides", {}).request("tides") == SearchRequest("tides")


def test_values_are_looked_up() -> None:
    read = parse("tides --max-results {n} --provider {names} --site $topic", NAMESPACE)
    assert (read.options["max_results"], read.options["providers"]) == (3, ("wikipedia", "crossref"))
    assert read.options["site"] == "spring tides"
    assert parse("tides --site '{topic}'", NAMESPACE).options["site"] == "{topic}"


def test_a_list_is_many_queries() -> None:
    read = parse("{queries} --fresh", NAMESPACE)
    assert (read.queries, read.batch) == (("spring tide", "neap tide"), True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("tides --nope", "has no option --nope; in a query it goes between double quotes"),
        ("git --amend", "all of it behind a --"),
        ("tides --fresh=1", "has no option --fresh=1"),
        ("tides --site", "--site takes a value"),
        ("tides --kind videos", "invalid choice: 'videos'"),
        ("tides --max-results few", "invalid int value"),
        ("tides --max-results 0", "--max-results takes a number from 1 to 20, not 0"),
        ("tides --into 1x", "--into takes the name of a variable"),
        ("tides --into class", "--into takes the name of a variable"),
        ("{topic} in Norway", "a variable is looked up only when it is the whole query"),
        ("high $topic", "a variable is looked up only when it is the whole query"),
        ("{unknown}", "the variable 'unknown' does not exist"),
        ("{numbers}", "holds more than text"),
        ("tides --site {queries}", "--site takes one value"),
    ],
)
def test_what_is_wrong_is_one_line(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)) as caught:
        parse(line, NAMESPACE)
    assert "\n" not in str(caught.value)


def test_nothing_is_no_query() -> None:
    assert parse("", {}).queries == parse("--fresh # x", {}).queries == ()


@pytest.mark.parametrize("line", ["--help", "-h", "tides --help"])
def test_help_is_asked_for(line: str) -> None:
    assert parse(line, {}).help
    assert not parse("tides -h", {}).help


def test_a_cell_has_a_query_a_line() -> None:
    cell = '# first\n\n spring tide \n"a # b" c # d\n--kind news is text here\n'
    assert queries_of(cell) == ["spring tide", '"a # b" c', "--kind news is text here"]


def test_a_line_of_quotes_is_read_at_once() -> None:
    long = '"a' * 100_001
    assert without_comment(long) == long
    assert query(long.replace("a", "a ")).count('"') == 100_001


def test_the_help_names_every_option_and_nothing_else() -> None:
    told = set(re.findall(r"^    (--[a-z-]+)", HELP, re.MULTILINE)) | {"--help"}
    assert told == set(OPTIONS)
    assert len(max(HELP.splitlines(), key=len)) <= 120


def test_the_examples_of_the_help_can_be_read() -> None:
    examples = re.findall(r"^    (?:\w+ = )?%websearch (.+)$", HELP, re.MULTILINE)
    assert len(examples) == 6
    for example in examples:
        assert parse(example, {"queries": ["a"]}).queries
