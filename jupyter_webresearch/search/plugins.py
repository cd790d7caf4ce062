"""Which plugins there are: folders below Jupyter's data directory, and installed packages. None of their code is run.

A folder's code would be run by this user's server, so that nobody else may be able to change it.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jupyter_webresearch.config_entries import plugin_name, provider_name
from jupyter_webresearch.search.text import plain

__all__ = ["GROUP", "MANIFEST", "Plugin", "Variable", "find_folders", "find_packages"]

GROUP = "jupyter_webresearch.providers"
"""The group of entry points."""

MANIFEST = "plugin.yaml"

MOST_FOLDERS = 200
MOST_FILES = 2000
MOST_MANIFEST = 64 * 1024  # bytes

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True)
class Variable:
    """An environment variable that a plugin needs, and what people are told of it."""

    name: str
    prompt: str = ""
    url: str = ""


@dataclass(frozen=True)
class Plugin:
    """One plugin, before its code is run.

    Attributes
    ----------
    name
        Of its folder or entry point; what ``providers enable`` calls it.
    origin
        Where it is from.
    place
        Its folder, or its entry point.
    provides
        Names of its providers, where it declares them.
    requires
        Environment variables that it needs.
    version, description, author
        As it declares them.
    fault
        Why its code can't be run, or empty.
    """

    name: str
    origin: Literal["folder", "entry point"]
    place: Path | importlib.metadata.EntryPoint
    provides: tuple[str, ...] = ()
    requires: tuple[Variable, ...] = ()
    version: str = ""
    description: str = ""
    author: str = ""
    fault: str = ""


def find_folders(folder: Path) -> list[Plugin]:
    """Return the plugins that are folders of a folder, by name.

    Parameters
    ----------
    folder
        ``<jupyter data dir>/webresearch/providers``.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith((".", "_")))
    except OSError:
        return []
    fault = _of_others([folder.parent, folder])
    return [_folder(folder / name, fault) for name in names[:MOST_FOLDERS] if (folder / name).is_dir()]


def find_packages(
    entry_points: Callable[[], Iterable[importlib.metadata.EntryPoint]] | None = None,
) -> list[Plugin]:
    """Return the plugins of installed packages, by name.

    Parameters
    ----------
    entry_points
        Returns those of :data:`GROUP`; None looks for them where packages are installed.
    """
    found = importlib.metadata.entry_points(group=GROUP) if entry_points is None else entry_points()
    plugins: list[Plugin] = []
    for point in sorted(found, key=lambda point: (point.name, point.value)):
        if any(point.name == known.name for known in plugins):
            continue  # the same package twice on the path, or a second one of that name
        plugins.append(_package(point))
    return plugins


def _package(point: importlib.metadata.EntryPoint) -> Plugin:
    about = point.dist.metadata if point.dist is not None else None
    told = {name: plain(about[name], 200) if about is not None and name in about else "" for name in _METADATA}
    return Plugin(
        name=point.name,
        origin="entry point",
        place=point,
        version=told["Version"],
        description=told["Summary"],
        author=told["Author"] or told["Author-email"],
        fault=_name_fault(point.name),
    )


_METADATA = ("Version", "Summary", "Author", "Author-email")


def _folder(folder: Path, fault: str) -> Plugin:
    bare = Plugin(folder.name, "folder", folder, fault=_name_fault(folder.name) or fault or _of_others(_inside(folder)))
    if bare.fault:
        return bare
    try:
        said = _manifest(folder / MANIFEST)
        return Plugin(
            name=folder.name,
            origin="folder",
            place=folder,
            provides=_provided(said),
            requires=tuple(_variable(row) for row in _list(said, "requires_env")),
            version=plain(said.get("version"), 40),
            description=plain(said.get("description"), 200),
            author=plain(said.get("author"), 200),
            fault=_kind_fault(said) or ("" if (folder / "__init__.py").is_file() else "it has no __init__.py"),
        )
    except ValueError as error:
        return Plugin(folder.name, "folder", folder, fault=f"{MANIFEST} {error}")


def _name_fault(name: str) -> str:
    try:
        plugin_name(name)
    except ValueError as error:
        return f"its name can't be used: {error}"
    return ""


def _kind_fault(said: dict[str, Any]) -> str:
    kind = plain(said.get("kind"), 40)
    return "" if kind == "backend" else f"{MANIFEST} says kind: {kind or 'nothing'}; only backend is known"


# ------------------------------------------------------------------ plugin.yaml


def _manifest(path: Path) -> dict[str, Any]:
    """Return what plugin.yaml says; every value in it is text, a list or a table.

    Raises
    ------
    ValueError
        Saying what is wrong with it.
    """
    import yaml

    try:
        with path.open("rb") as file:
            data = file.read(MOST_MANIFEST + 1)
    except FileNotFoundError:
        raise ValueError("is missing") from None
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror}") from None
    if len(data) > MOST_MANIFEST:
        raise ValueError(f"is longer than {MOST_MANIFEST:,} bytes")
    try:
        # Only text, so that version: 1.10 is no number; and no merging of tables, with which few lines make millions.
        said = yaml.load(data, Loader=yaml.BaseLoader)  # noqa: S506 - safer than safe_load: it makes no other types
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"is not YAML: {plain(str(error), 200) or type(error).__name__}") from None
    if not isinstance(said, dict):
        raise ValueError("is no table of names and values")  # noqa: TRY004 - one error for all that is wrong
    return said


def _list(said: dict[str, Any], name: str) -> list[Any]:
    value = said.get(name) or []
    if not isinstance(value, list) or len(value) > 50:
        raise ValueError(f"has no short list in {name}")
    return value


def _provided(said: dict[str, Any]) -> tuple[str, ...]:
    names = _list(said, "provides_web_providers")
    if not names:
        raise ValueError("names no provider in provides_web_providers")
    for name in names:
        try:
            provider_name(name if isinstance(name, str) else "")
        except ValueError as error:
            raise ValueError(f"has a name in provides_web_providers that can't be used: {error}") from None
    return tuple(dict.fromkeys(names))


def _variable(row: Any) -> Variable:
    """Read an entry of requires_env: a name, or a table with one."""
    table = row if isinstance(row, dict) else {"name": row}
    name = table.get("name") or table.get("key")
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise ValueError("has an entry in requires_env that names no environment variable")
    prompt = table.get("prompt") or table.get("description")
    return Variable(name, plain(prompt, 200), plain(table.get("url"), 200))


# ------------------------------------------------------------------ whose it is


def _inside(folder: Path) -> list[Path]:
    """Return a folder with all that is in it, which Python could import; too much is for a plugin."""
    found = [folder]
    for root, folders, files in os.walk(folder):
        found += [Path(root, name) for name in (*folders, *files)]
        if len(found) > MOST_FILES:
            break
    return found


def _of_others(paths: Sequence[Path]) -> str:
    """Return why these can't be trusted: somebody else could change them, or they lead elsewhere."""
    if len(paths) > MOST_FILES:
        return f"it holds more than {MOST_FILES:,} files"
    for path in paths:
        try:
            status = path.lstat()
        except OSError as error:
            return f"{path.name} can't be examined: {error.strerror}"
        if stat.S_ISLNK(status.st_mode):
            return f"{path.name} is a link; copy what it leads to"
        if os.name != "posix":
            continue
        if status.st_uid != os.geteuid():
            return f"{path.name} belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may change {path.name}; take that away with chmod -R go-w"
    return ""
