"""What stands after %webfetch, read the same on every platform."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.error import UsageError

from jupyter_webresearch.kernel.command_line import HELP, OPTIONS, _parser, check_whole, parse, split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("   ", []),
        ("a b\tc", ["a", "b", "c"]),
        ("https://e.org/a;b#c?d=*&e=~", ["https://e.org/a;b#c?d=*&e=~"]),
        ("url # a comment's quote", ["url"]),
        ("url\t# a comment", ["url"]),
        ("# a comment", []),
        ("https://e.org/#here# # a comment", ["https://e.org/#here#"]),
        ("url -d '# none' --x \"a # b\" # one", ["url", "-d", "# none", "--x", "a # b"]),
        (r'-d "\" # none"', ["-d", '" # none']),
        ("''#none", ["#none"]),
        ('-H "Accept: application/json"', ["-H", "Accept: application/json"]),
        ("-d '{\"q\": 1}'", ["-d", '{"q": 1}']),
        (r'-d "{\"q\": \"a\\b\"}"', ["-d", r'{"q": "a\b"}']),
        (r'"\n stays \x"', [r"\n stays \x"]),
        (r"'\' x", ["\\", "x"]),
        (r"--save C:\Users\me\page.html", ["--save", r"C:\Users\me\page.html"]),
        (r"C:\new\table\\x", [r"C:\new\table\\x"]),
        ("a'b c'd\"e f\"", ["ab cde f"]),
        ("'' \"\"", ["", ""]),
        ("x''", ["x"]),
        ("'a\nb'", ["a\nb"]),
        ("\u00e9\u00a0\u4e2d", ["\u00e9", "\u4e2d"]),
    ],
)
def test_splits_as_a_shell_removes_quotes(line: str, words: list[str]) -> None:
    assert [word.text for word in split_words(line)] == words


@pytest.mark.parametrize("line", ["'", '"', "https://e.org/it's", 'a "b', 'a "b\\"', "a 'b\" c"])
def test_a_quote_that_is_not_closed_is_said(line: str) -> None:
    with pytest.raises(UsageError, match="is not closed"):
        split_words(line)


NAMESPACE: dict[str, Any] = {
    "url": "https://e.org/from-a-variable",
    "page": SimpleNamespace(url="https://e.org/page", links=[SimpleNamespace(url="x")], source=SimpleNamespace(n=7)),
    "n": 40_000,
    "body": b"\xff\x00raw",
    "path": PurePosixPath("a/b"),
    "größe": "https://e.org/gr",
    "payload": {"q": 1},
    "flag": True,
}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("{url}", "https://e.org/from-a-variable"),
        ("$url", "https://e.org/from-a-variable"),
        ('"$url"', "https://e.org/from-a-variable"),
        ("{page.url}", "https://e.org/page"),
        ("$page.url", "https://e.org/page"),
        ("{größe}", "https://e.org/gr"),
        ("'{url}'", "{url}"),
        ("'$url'", "$url"),
        ("https://e.org/{url}", "https://e.org/{url}"),
        ("https://e.org/$url", "https://e.org/$url"),
        ("https://e.org/?$filter=a", "https://e.org/?$filter=a"),
        ("page.url", "page.url"),
        ("{page.links[0].url}", "{page.links[0].url}"),
        ("{url.upper()}", "{url.upper()}"),
        ("{n+1}", "{n+1}"),
        ("{}", "{}"),
        ("${url}", "${url}"),
        ("{{url}}", "{{url}}"),
        ("$", "$"),
        ("$1", "$1"),
        ("{__import__('os').getcwd()}", "{__import__(os).getcwd()}"),
        ("https://e.org/{open('/etc/hostname').read()}", "https://e.org/{open(/etc/hostname).read()}"),
    ],
)
def test_only_a_whole_name_or_attribute_is_looked_up(written: str, meant: str) -> None:
    assert parse(written, NAMESPACE).urls == (meant,)


def test_numbers_paths_and_bytes_are_looked_up_too() -> None:
    command = parse("u --offset {n} --save {path} -d {body}", NAMESPACE)
    assert command.options["offset"] == 40_000
    assert command.save == str(Path("a/b"))
    assert command.options["data"] == b"\xff\x00raw"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{nobody}", "the variable 'nobody' does not exist"),
        ("$nobody.url", "the variable 'nobody' does not exist"),
        ("{page.nothing}", "has no attribute 'nothing'"),
        ("u -d {payload}", r"is a dict; .*json="),
        ("{flag}", "is a bool"),
        ("u --nope", "unrecognized arguments: --nope"),
        ("u --off 3", "unrecognized arguments: --off"),
        ("u --offset three", "invalid int value: 'three'"),
        ("u --offset", "expected one argument"),
        ("u -H", "expected one argument"),
        ("u -H nocolon", "written \"Name: value\", not 'nocolon'"),
        ("u -H ': x'", 'written "Name: value"'),
        ("u --into 1x", "--into takes the name of a variable"),
        ("u --into class", "--into takes the name of a variable"),
        ("u --force", "--force goes with --save"),
    ],
)
def test_a_mistake_is_one_line(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse(line, NAMESPACE)
    assert "\n" not in str(caught.value)


EXAMPLES = [line.strip() for line in HELP.splitlines() if line.startswith("    ") and "%webfetch " in line]


@pytest.mark.parametrize("example", [e for e in EXAMPLES if "%%" not in e])
def test_the_examples_of_the_help_are_read_as_they_stand(example: str) -> None:
    assert len(EXAMPLES) > 4
    urls = ["https://example.org/one", "https://example.org/two"]
    command = parse(example.partition("%webfetch ")[2], {"urls": urls})
    assert command.urls == tuple(urls) if command.batch else len(command.urls) == 1
    for url in command.urls:
        check_whole(url)


def test_a_list_of_urls_stands_for_its_items() -> None:
    for urls in (["a", "b"], ("a", "b"), ["a"]):
        command = parse("--raw {urls}", {"urls": urls})
        assert command.batch
        assert command.urls == tuple(urls)
    assert not parse("a", {}).batch
    with pytest.raises(UsageError, match="holds more than text"):
        parse("{urls}", {"urls": ["a", 1]})
    for option in OPTIONS:
        if option not in ("--raw", "--fresh", "--any-status", "--force", "--help", "-h"):
            with pytest.raises(UsageError, match="is a list"):
                parse(f"u {option} {{urls}}", {"urls": ["a"]})


@pytest.mark.parametrize("url", ["{U}/article", "$U/article", "http://{host}/", "https://$host:80/a", "{a[0]}", "{}"])
def test_a_variable_that_is_not_the_whole_argument_is_told(url: str) -> None:
    with pytest.raises(UsageError, match=f"{re.escape(repr(url))}.*whole argument"):
        check_whole(url)


@pytest.mark.parametrize("url", ["https://e.org/{x}", "e.org/?$filter=a", "https://e.org?a={b}", "https://e.org/$x"])
def test_braces_and_dollars_behind_the_host_are_the_urls_own(url: str) -> None:
    check_whole(url)


def test_the_options_are_those_of_the_parser() -> None:
    assert set(OPTIONS) == {option for action in _parser("%webfetch")._actions for option in action.option_strings}


def test_everything_at_once() -> None:
    command = parse(
        'https://e.org/ -X post -H "Accept: a/b" --header "X-One:  two: three " -d \'{"q": 1}\' --offset 3 '
        "--max-bytes 99 --raw --fresh --any-status",
        {},
    )
    request = command.request(command.urls[0])
    assert (request.url, request.method, request.body) == ("https://e.org/", "POST", b'{"q": 1}')
    assert request.headers == (("Accept", "a/b"), ("X-One", "two: three"))
    assert (request.offset, request.max_bytes) == (3, 99)
    assert request.raw
    assert request.fresh
    assert request.any_status
    assert not request.save


@pytest.mark.parametrize(
    ("line", "method"), [("u", "GET"), ("u -d x", "POST"), ("u -d ''", "POST"), ("u -X put -d x", "PUT")]
)
def test_a_body_makes_it_a_post(line: str, method: str) -> None:
    assert parse(line, {}).request("u").method == method


@pytest.mark.parametrize("body", ["-x", "--raw", "-H", "@file", "=", "-"])
def test_a_body_may_begin_with_anything(body: str) -> None:
    for line in (f"u -d {body}", f"u --data {body}", f"u --data={body}"):
        command = parse(line, {})
        assert command.options["data"] == body.encode()
        assert command.urls == ("u",)


def test_the_help_names_every_option() -> None:
    for action in _parser("%webfetch")._actions:
        for option in action.option_strings:
            assert re.search(rf"(^|[\s,]){re.escape(option)}[\s,]", HELP), option


@pytest.mark.parametrize("line", ["--help", "-h", "u --help"])
def test_help_is_asked_for(line: str) -> None:
    assert parse(line, {}).help
