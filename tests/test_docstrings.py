"""Every public function says what it takes and which of our errors it raises.

Without sections of their own are docstrings whose first line points to them (``see :meth:...``, ``as :func:...``),
methods that a framework prescribes and describes, magics, whose docstring is the help people see, and properties.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import jupyter_webresearch
from jupyter_webresearch import errors

PACKAGE = Path(jupyter_webresearch.__file__).parent
OURS = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
ELSEWHERE = re.compile(r"\A.*\b(?:see|as) :(?:meth|func):`")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Public:
    """A public function or method."""

    name: str
    node: Function
    method: bool

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def parameters(self) -> list[str]:
        """Names besides self or cls."""
        given = self.node.args
        every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
        names = [argument.arg for argument in every if argument is not None]
        if self.method:
            names = names[1:]
        return [name for name in names if not name.startswith("_")]

    @property
    def raised(self) -> set[str]:
        """Our errors that its own body raises, not that of a function inside it."""
        return set(raised_in(self.node.body)) & OURS

    def named(self, title: str) -> set[str]:
        """Return the names that a section explains, several on one line or one."""
        found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", self.docstring, re.MULTILINE | re.DOTALL)
        lines = re.findall(r"^\S.*$", found.group(1), re.MULTILINE) if found else []
        return {name.strip().lstrip("*") for line in lines for name in line.partition(":")[0].split(",")}


def raised_in(nodes: list[ast.stmt] | list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            what = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(what, ast.Name):
                yield what.id
        yield from raised_in(list(ast.iter_child_nodes(node)))


def public_functions(module: str, body: list[ast.stmt], method: bool = False) -> Iterator[Public]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(f"{module}.{node.name}", node.body, method=True)
        elif isinstance(node, Function) and not node.name.startswith("_"):
            decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
            if not decorators & {"property", "cached_property", "setter", "overload", "line_cell_magic", "line_magic"}:
                bound = method and "staticmethod" not in decorators
                yield Public(f"{module}.{node.name}", node, bound)


def prescribed(name: str) -> bool:
    """Tell whether a class of another project defines a method that one of ours overrides."""
    module, owner, method = name.rsplit(".", 2)
    cls = getattr(importlib.import_module(module), owner, None) if owner[0].isupper() else None
    return any(
        method in vars(base) for base in getattr(cls, "__mro__", ())[1:] if not base.__module__.startswith(PACKAGE.name)
    )


def everything() -> Iterator[Public]:
    for file in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        yield from public_functions(module, ast.parse(file.read_text("utf-8")).body)


PUBLIC = [function for function in everything() if not ELSEWHERE.search(function.docstring)]
TAKING = [function for function in PUBLIC if len(function.parameters) >= 2 and not prescribed(function.name)]
RAISING = [function for function in PUBLIC if function.raised]


def test_the_package_was_read() -> None:
    names = {function.name for function in PUBLIC}
    assert {"jupyter_webresearch.api.fetch", "jupyter_webresearch.policy.guard.Guard.check_url"} <= names
    assert len(TAKING) > 50
    assert len(RAISING) > 20


@pytest.mark.parametrize("function", TAKING, ids=lambda function: function.name)
def test_it_says_what_it_takes(function: Public) -> None:
    assert function.named("Parameters") == set(function.parameters)


@pytest.mark.parametrize("function", RAISING, ids=lambda function: function.name)
def test_it_says_what_it_raises(function: Public) -> None:
    named = function.named("Raises")
    assert "WebResearchError" in named or function.raised <= named
