"""What the README and the pages beside it tell people to do can be done; and no file tells of where it was written."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import shlex
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import jupyter_webresearch as web
from jupyter_webresearch import cli
from jupyter_webresearch.config_sources import command_line_config, command_line_level
from jupyter_webresearch.kernel.command_line import parse
from jupyter_webresearch.models import Table
from jupyter_webresearch.page import Page

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
README = PAGES[0].read_text("utf-8")
EVERY = "\n".join(page.read_text("utf-8") for page in PAGES)
PROGRAM = "jupyter webresearch "


def section(title: str) -> str:
    """Return what stands below a heading of the README."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found.group(1)


def code(text: str) -> list[str]:
    """Return the lines of indented code."""
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


FIVE_MINUTES = code(section("Five minutes"))


# ------------------------------------------------------------------ links


def links(page: Path) -> list[tuple[Path, str]]:
    """Return files and fragments that a page links to or shows; prose only."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    targets = [*re.findall(r"\]\(([^)\s]+)\)", prose), *re.findall(r'(?:src|href)="([^"]+)"', prose)]
    parts = [urlsplit(target) for target in targets]
    return [
        (page.parent / unquote(part.path) if part.path else page, part.fragment) for part in parts if not part.scheme
    ]


def anchors(page: Path) -> set[str]:
    """Return the fragments that a page's headings can be reached by."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    for file, fragment in links(page):
        assert file.resolve().is_relative_to(ROOT), file
        assert file.exists(), file
        assert not fragment or fragment in anchors(file), f"{file}#{fragment}"


def test_the_links_were_found() -> None:
    found = {file.resolve().relative_to(ROOT).as_posix() for file, _ in links(PAGES[0])}
    assert {"docs/images/quickstart.png", "docs/settings.md", "SECURITY.md"} <= found


# ------------------------------------------------------------------ commands


def command_lines() -> list[str]:
    """Return the arguments of every command line, in code of a line or in a line."""
    block = [line.removeprefix(PROGRAM) for line in code(EVERY) if line.startswith(PROGRAM)]
    inline = re.findall(rf"`{PROGRAM}([^`]+)`", EVERY)
    return [*block, *inline]


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_is_understood(line: str) -> None:
    ours, settings = cli._split(shlex.split(line, comments=True))
    arguments = cli._parser(frozenset()).parse_args(ours)
    assert "run" in arguments or "run_unloaded" in arguments
    usage_error = getattr(arguments, "usage_error", None)
    assert usage_error is None or not usage_error(arguments)
    command_line_level(command_line_config(settings))


def test_every_command_is_in_the_readme() -> None:
    shown = {line.removeprefix(PROGRAM).split()[0] for line in code(README) if line.startswith(PROGRAM)}
    assert shown == {
        "search",
        "providers",
        "fetch",
        "extract",
        "check-url",
        "policy",
        "journal",
        "disable",
        "enable",
        "config",
        "doctor",
    }


def test_what_make_is_asked_for_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = set(re.findall(r"(?:^    |`)make ([\w-]+)", EVERY, re.MULTILINE))
    assert {"lab", "test", "demo"} <= named
    assert named <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    variables = set(re.findall(r"make [\w-]+ ([A-Z_]+)=", EVERY))
    assert variables <= set(re.findall(r"^([A-Z_]+) \?=", makefile, re.MULTILINE)) | set(
        re.findall(r"\$\(([A-Z_]+)\)", makefile)
    )


# ------------------------------------------------------------------ Python and magics


PYTHON = [line for line in FIVE_MINUTES if not line.startswith(PROGRAM)]
HELD_BY = "|".join(sorted(set(re.findall(r"^(\w+) = (?:%webfetch|web\.)", "\n".join(PYTHON), re.MULTILINE))))


def test_every_name_of_a_page_exists() -> None:
    known = {field.name for field in dataclasses.fields(Page)} | set(dir(Page))
    asked = set(re.findall(rf"\b(?:{HELD_BY})\.(\w+)", "\n".join(PYTHON)))
    assert {"markdown", "text", "title", "metadata", "links", "tables", "source"} <= asked
    assert asked <= known
    of_tables = set(re.findall(rf"\b(?:{HELD_BY})\.tables\[0\]\.(\w+)", README))
    assert of_tables
    assert of_tables <= set(dir(Table))


def calls() -> list[ast.Call]:
    """Return the calls of a Page's and the package's functions."""
    lines = [line for line in PYTHON if re.match(rf"({HELD_BY}|import|web)\b", line) and "%" not in line]
    nodes = [node for line in lines for node in ast.walk(ast.parse(line))]
    return [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]


@pytest.mark.parametrize("call", calls(), ids=ast.unparse)
def test_a_call_has_the_arguments_of_its_function(call: ast.Call) -> None:
    assert isinstance(call.func, ast.Attribute)
    of_package = ast.unparse(call.func.value) == "web"
    assert not of_package or call.func.attr in web.__all__
    signature = inspect.signature(getattr(web if of_package else Page, call.func.attr))
    itself = () if of_package else (None,)
    signature.bind(*itself, *call.args, **{str(keyword.arg): keyword.value for keyword in call.keywords})


def test_the_calls_were_found() -> None:
    assert {ast.unparse(call.func) for call in calls()} >= {"web.fetch", "web.extract"}


@pytest.mark.parametrize("line", [line for line in FIVE_MINUTES if re.search(r"(?<!%)%webfetch ", line)])
def test_a_magic_line_is_understood(line: str) -> None:
    command = parse(line.partition("%webfetch ")[2], {})
    assert [url.partition("://")[0] for url in command.urls] == ["https"]


# ------------------------------------------------------------------ where it was written

FOLDERS = [f"/{name}/" for name in ("work", "root")] + ["/".join(("", "tmp", "brief"))]
HOSTS = ["pypi" + r"\.org", "npmjs" + r"\.(?:org|com)", "pythonhosted" + r"\.org", r"\bregistry" + r"\.[a-z0-9-]+\."]
TOLD = re.compile("|".join([*(rf"(?<![\w.~-]){re.escape(folder)}" for folder in FOLDERS), *HOSTS]))


def committed() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


@pytest.mark.parametrize(
    "line", [f"cd {FOLDERS[0]}x", "https://" + "pypi" + ".org/simple", "registry" + ".npm.example"]
)
def test_a_line_that_tells_is_found(line: str) -> None:
    assert TOLD.search(line)


def test_no_file_tells_where_it_was_written() -> None:
    telling = []
    for file in committed():
        if not file.is_file():
            continue
        data = file.read_bytes()
        if b"\0" in data[:8000]:
            continue
        text = data.decode("utf-8", "replace")
        telling += [f"{file.relative_to(ROOT)}: {found.group()}" for found in TOLD.finditer(text)]
    assert telling == []
