"""What a robots.txt says: every case of the case file, and files that are meant to do harm."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from jupyter_webresearch.policy.robots_rules import MAX_LINE, MAX_SHOWN, RobotsRules, Rule, parse_robots
from jupyter_webresearch.policy.urls import parse_url
from tests.sites.network import CASES

ROWS = json.loads((CASES / "robots_cases.json").read_text("utf-8"))
KIB = 1024
TOKEN = "LabBot"


def forbidding(text: str | bytes, target: str, *, named_only: bool = False) -> Rule | None:
    data = text.encode() if isinstance(text, str) else text
    group = parse_robots(data, TOKEN).group(named_only=named_only)
    return group.against(target) if group else None


def allowed(text: str | bytes, target: str, *, named_only: bool = False) -> bool:
    return forbidding(text, target, named_only=named_only) is None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_every_case_of_the_case_file(row: dict[str, Any]) -> None:
    group = parse_robots(row["robots"].encode(), row["user_agent"]).group()
    rule = group.against(parse_url(row["url"]).target) if group else None
    assert (rule is None) is row["allowed"], f"{row['rule']}: {rule}"


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize(
    ("text", "named", "full"),
    [
        ("User-agent: *\nDisallow: /\n", True, False),
        ("User-agent: LabBot\nDisallow: /\n", False, False),
        ("User-agent: LabBot\nUser-agent: *\nDisallow: /\n", False, False),
        ("User-agent: LabBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n", True, True),
        ("User-agent: LabBot\n", True, True),
        ("User-agent: OtherBot\nDisallow: /\n", True, True),
        ("", True, True),
    ],
)
def test_named_only_obeys_no_group_but_ours(text: str, named: bool, full: bool) -> None:
    assert allowed(text, "/x", named_only=True) is named
    assert allowed(text, "/x") is full


def test_a_group_is_called_by_our_token_never_by_the_files_text() -> None:
    rules = parse_robots(b"User-Agent: LABBOT/9 <script>\nDisallow: /\nUser-Agent: * anything\nDisallow: /\n", TOKEN)
    assert rules.named is not None
    assert rules.everyone is not None
    assert (rules.named.agent, rules.everyone.agent) == (TOKEN, "*")


@pytest.mark.parametrize(
    "line", ["Crawl-delay: 5", "Request-rate: 1/5", "Sitemap: https://a.example/", "?: !", "x", ":"]
)
def test_no_other_line_ends_a_group(line: str) -> None:
    assert not allowed(f"User-agent: LabBot\n{line}\nUser-agent: Other\n{line}\nDisallow: /x\n", "/x")
    assert not allowed(f"User-agent: LabBot\nDisallow: /x\n{line}\nDisallow: /y\n", "/y")


@pytest.mark.parametrize("line", ["Disallow:", "Allow:", "Disallow: # all is well"])
def test_an_empty_rule_is_a_rule_and_ends_the_names(line: str) -> None:
    assert allowed(f"User-agent: LabBot\n{line}\nUser-agent: Other\nDisallow: /\n", "/x")


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "target"),
    [
        ("/a-%2A.html", "/a-*.html"),
        ("/price-%24", "/price-$"),
        ("/a b", "/a%20b"),
        ('/{x}|"y"', "/%7Bx%7D%7C%22y%22"),
        ("/%7euser", "/~user"),
        ("/***/x", "/a/b/x"),
        ("*", "/"),
        ("/a*b*c$", "/a-b-bc"),
        ("/%zz", "/%zz"),
    ],
)
def test_patterns_that_match(pattern: str, target: str) -> None:
    assert not allowed(f"User-agent: *\nDisallow: {pattern}\n", target)


@pytest.mark.parametrize(
    ("pattern", "target"),
    [
        ("/a*b$", "/ab/"),
        ("/ab*b$", "/ab"),  # the two parts may not share a letter
        ("/a*aa", "/aa"),
        ("/a*bb*bb*c", "/abbbc"),
        ("/a%24", "/a"),
        ("/A", "/a"),
        ("/x=", "/x%3D"),
    ],
)
def test_patterns_that_do_not(pattern: str, target: str) -> None:
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n", target)


def test_allowing_the_page_of_a_folder_allows_the_folder_and_nothing_else() -> None:
    text = "User-agent: *\nDisallow: /\nAllow: /d/index.html\n"
    assert allowed(text, "/d/")
    assert not allowed(text, "/d/x")
    assert not allowed(text, "/d")
    assert allowed("User-agent: *\nDisallow: /d/\nAllow: /d/index.html\n", "/d/")
    assert not allowed("User-agent: *\nAllow: /\nDisallow: /d/index.html\n", "/d/index.html")
    assert allowed("User-agent: *\nAllow: /\nDisallow: /d/index.html\n", "/d/")


def test_robots_txt_itself_is_allowed_and_what_looks_like_it_is_not() -> None:
    text = "User-agent: *\nDisallow: /\n"
    assert allowed(text, "/robots.txt")
    assert not allowed(text, "/robots.txt/x")
    assert not allowed(text, "/robots.txt?x")


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_tells_the_encoding(codec: str) -> None:
    text = "User-agent: *\nDisallow: /caf\u00e9\n"
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(codec, b"")
    assert not allowed(mark + text.encode(codec), "/caf%C3%A9")
    assert allowed(mark + text.encode(codec), "/x")


def test_bytes_that_are_no_text_are_compared_as_in_a_url() -> None:
    text = b"User-agent: *\nDisallow: /caf\xe9\n\xff\xfe\x00\x80: \xff\nDisallow: /y\n"
    assert not allowed(text, "/caf%E9")
    assert allowed(text, "/caf%C3%A9")
    assert not allowed(text, "/y")


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\x00"])
def test_only_cr_and_lf_end_a_line(separator: str) -> None:
    assert allowed(f"User-agent: *\nDisallow: /a{separator}Disallow: /b\n", "/b")


def test_a_long_line_is_cut_and_the_others_count() -> None:
    text = f"User-agent: *\nDisallow: /{'a' * MAX_LINE}\nAllow: /b # {'c' * MAX_LINE}\nDisallow: /d\n{' ' * MAX_LINE}\n"
    assert allowed(text, "/" + "a" * 2000)
    assert not allowed(text, "/d")
    assert not allowed(f"User-agent: *\nDisallow: /{'*' * MAX_LINE}x\n", "/")  # the x is beyond what is read


@pytest.mark.parametrize(
    "data", [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe\x00", b"\x00" * 100, b"\x89PNG\r\n\x1a\n\x00"]
)
def test_rubbish_says_nothing(data: bytes) -> None:
    assert parse_robots(data, TOKEN) == RobotsRules()


# ---------------------------------------------------------------- harm


@pytest.mark.parametrize(
    "pattern",
    [
        "/<script>alert(1)</script>",
        "/\x1b[31m\u202e\u200b`rm`",
        "/" + "x" * 5000,
        "/" + "*x" * 5000 + "$",
        "/a\x00\xa0b",
    ],
)
def test_a_rule_is_shown_short_and_in_characters_that_do_nothing(pattern: str) -> None:
    rule = forbidding(f"User-agent: *\nDisallow: {pattern}\nDisallow: /\n", "/")
    assert str(rule) == "Disallow: /"
    (shown,) = {str(rule) for rule in everyone(f"User-agent: *\nDisallow: {pattern}\n")}
    assert re.fullmatch(r"Disallow: /[!#-;=?-_a-z~]*", shown)
    assert len(shown) <= MAX_SHOWN


def everyone(text: str) -> tuple[Rule, ...]:
    group = parse_robots(text.encode(), TOKEN).everyone
    assert group is not None
    return group.rules


def test_many_agents_times_many_rules_cost_no_more_than_their_lines() -> None:
    """A reader that keeps every rule for every agent takes minutes and gigabytes over this file of 512 KiB."""
    agents = "".join(f"useragent:{n:x}\n" for n in range(17_000))
    text = agents + "useragent:*\n" + "disallow:/a\n" * 20_000 + "disallow:/b\n"
    assert len(text) < 512 * KIB
    assert sorted(str(rule) for rule in everyone(text)) == ["Disallow: /a", "Disallow: /b"]


@pytest.mark.parametrize("pattern", ["/" + "*a" * 900 + "$", "/" + "*" * 1900 + "b", "*" + "a" * 900 + "b" + "a" * 900])
def test_matching_does_not_backtrack(pattern: str) -> None:
    """Against a whole file of such patterns; a backtracking matcher would not end on one of them."""
    text = "User-agent: *\n" + "".join(f"Disallow: {pattern}{n}\n" for n in range(250))
    assert allowed(text, "/" + "a" * 2040)


def test_memory_is_told() -> None:
    small = parse_robots(b"User-agent: *\nDisallow: /a\n", TOKEN).size
    large = parse_robots(b"User-agent: *\nUser-agent: LabBot\n" + b"Disallow: /%d\n" * 2 % (1, 2) * 100, TOKEN).size
    assert 100 < small < 1000
    assert 2 * small < large < 6 * small  # two groups of two rules, however often they are written
