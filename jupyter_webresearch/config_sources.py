"""Where values of settings come from: command line, environment, files. Each source becomes one :class:`Level`.

Whatever can't be understood stops the start: a name that is no setting, a value of the wrong type or outside its range,
a file that can't be read or run.
"""

from __future__ import annotations

import ast
import copy
import difflib
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traitlets import Bool, Dict, Float, Int, List, TraitError, TraitType
from traitlets.config import Config, Configurable
from traitlets.config.loader import DeferredConfigList, KVArgParseConfigLoader, LazyConfigValue, PyFileConfigLoader

from jupyter_webresearch.config import CONFIGURABLES, environment_name, settings_of
from jupyter_webresearch.config_entries import without_password
from jupyter_webresearch.config_traits import allowed
from jupyter_webresearch.errors import Failed

__all__ = [
    "FILE_NAME",
    "Edit",
    "Level",
    "command_line_config",
    "command_line_level",
    "config_path_as_started",
    "environment_as_started",
    "environment_level",
    "environment_of_start",
    "file_levels",
    "operator_directories",
]

FILE_NAME = "jupyter_webresearch_config"
"""Name, without ``.py`` or ``.json``, of our files in each directory of the Jupyter config path."""

_PREFIX = "JUPYTER_WEBRESEARCH_"
_HUB = "JUPYTERHUB_API_URL"  # tells that this is a JupyterHub, where less is allowed
# What jupyter_core.paths looks at to find the folders of a user's files.
_WHERE_FILES_ARE = (
    "HOME",
    "XDG_CONFIG_HOME",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_CONFIG_PATH",
    "JUPYTER_NO_CONFIG",
    "JUPYTER_PLATFORM_DIRS",
    "JUPYTER_PREFER_ENV_PATH",
)
_ARGUMENT = re.compile(r"--(\w+)\.(\w+)=", re.ASCII)


@dataclass(frozen=True)
class Edit:
    """What a file does to a list without replacing it, e.g. ``c.WebPolicy.allowed_ports.append(9000)``."""

    change: LazyConfigValue

    def apply(self, value: list[Any]) -> list[Any]:
        """Return the list after the change; the given one stays as it is."""
        change = copy.deepcopy(self.change)  # it remembers the first answer
        return list(change.get_value(list(value)))


@dataclass(frozen=True)
class Level:
    """The settings that one source gives.

    Attributes
    ----------
    origin
        How to name the source to people: ``command line``, ``environment``, or ``file`` and its path.
    values
        ``Class.trait`` to a checked value, or to an :class:`Edit`.
    operator
        Whether the source belongs to whoever runs the machine, not to its user.
    rank
        Of an operator's: the higher, the more general its folder.
    ceilings_only
        Whether Jupyter itself would not read this file now: then it only narrows.
    """

    origin: str
    values: dict[str, Any] = field(default_factory=dict)
    operator: bool = False
    rank: int = 0
    ceilings_only: bool = False

    def origin_of(self, name: str) -> str:
        """Return the source of one setting: for the environment, the variable."""
        if self.origin != "environment":
            return self.origin
        cls, trait = name.split(".")
        return f"environment {environment_name(_CLASSES[cls], trait)}"


_CLASSES: Mapping[str, type[Configurable]] = {cls.__name__: cls for cls in CONFIGURABLES}


# Command line


def command_line_config(arguments: Sequence[str]) -> Config:
    """Read arguments of the form ``--Class.trait=value`` with the loader of traitlets; texts stay unparsed.

    Messages do not repeat a value, which may hold a password.

    Raises
    ------
    Failed
        ``config`` when an argument has another form or names no class of settings.
    """
    for argument in arguments:
        match = _ARGUMENT.match(argument)
        if not match:
            shown = without_password(argument)
            raise Failed("config", f"{shown!r} is not of the form --Class.trait=value")
        if match[1] not in _CLASSES:
            raise Failed("config", f"{match[0]!r}: {match[1]} is no class of settings{_instead(match[1], _CLASSES)}")
    return KVArgParseConfigLoader(list(arguments)).load_config()


def command_line_level(config: Config | None) -> Level:
    """Return what a command line sets, ours or that of a server.

    Raises
    ------
    Failed
        ``config``, naming class, trait and range.
    """
    return Level("command line", _read("command line", config or Config()))


# Environment


def environment_level(environ: Mapping[str, str]) -> Level:
    """Return what variables named ``JUPYTER_WEBRESEARCH_<CLASS>_<TRAIT>`` set.

    Raises
    ------
    Failed
        ``config``, naming the variable and the range, also for a variable of that form that is no setting.
    """
    names = {environment_name(cls, trait): (cls, trait) for cls in CONFIGURABLES for trait in settings_of(cls)}
    values: dict[str, Any] = {}
    for variable, text in environ.items():
        if variable not in names:
            # What comes near a setting's name is a slip of the pen, too, that would leave a limit unset.
            near = _instead(variable, names, likeness=0.85) if variable.upper().startswith(_PREFIX) else ""
            if near or variable.startswith(f"{_PREFIX}WEB"):
                raise Failed("config", f"environment variable {variable} is no setting{near}")
            continue
        cls, trait = names[variable]
        values[f"{cls.__name__}.{trait}"] = _checked(cls, trait, text, f"environment variable {variable}")
    return Level("environment", values)


def environment_as_started(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment with the variables that set limits as this process was started with.

    What a notebook changes in its kernel's environment is no setting of whoever started the kernel. Only Linux keeps
    the environment of the start (proc_pid_environ(5)); elsewhere it is returned as it is. A variable that was not there
    at the start can still add to what is refused; of other limits it says nothing.
    """
    started = environment_of_start()
    if started is None:
        return dict(environ)
    result = dict(environ)
    for cls in CONFIGURABLES:
        for trait, definition in settings_of(cls).items():
            variable, kind = environment_name(cls, trait), definition.metadata.get("narrows")
            if kind and variable in started:
                result[variable] = started[variable]
            elif kind and kind != "union":
                result.pop(variable, None)
    if _HUB in started:
        result[_HUB] = started[_HUB]
    return result


def config_path_as_started(environ: Mapping[str, str] = os.environ) -> list[str] | None:
    """Return Jupyter's config path as the environment of this process's start has it, or None when nothing changed it.

    A notebook that makes Jupyter look elsewhere for its files (``JUPYTER_CONFIG_DIR``, ``HOME``) would otherwise choose
    the limits that hold for it. Where the path can't be found out, only the operator's files are read.

    Parameters
    ----------
    environ
        The environment as it is now.
    """
    started = environment_of_start()
    if started is None or all(started.get(name) == environ.get(name) for name in _WHERE_FILES_ARE):
        return None
    # jupyter_core reads os.environ, which other threads of a kernel read too: it is asked in a process of its own.
    code = "import json; from jupyter_core.paths import jupyter_config_path; print(json.dumps(jupyter_config_path()))"
    command = [sys.executable, "-I", "-c", code]
    try:
        done = subprocess.run(command, env=started, stdout=subprocess.PIPE, timeout=20, check=True)  # noqa: S603 - ours
        return [str(directory) for directory in json.loads(done.stdout)]
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def environment_of_start() -> dict[str, str] | None:
    """Return the environment that this process was started with, where the system keeps it."""
    try:
        block = Path("/proc/self/environ").read_bytes()
    except OSError:
        return None
    return dict(os.fsdecode(entry).partition("=")[::2] for entry in block.split(b"\0") if b"=" in entry)


# Files


def operator_directories() -> list[str]:
    """Return the directories whose files bind every user: system-wide ones and that of this Python environment.

    Besides Jupyter's own choice they always hold the customary places, because variables such as
    ``JUPYTER_PLATFORM_DIRS`` change that choice and a user sets variables.
    """
    from jupyter_core import paths

    customary = ["/usr/local/etc/jupyter", "/etc/jupyter"] if os.name == "posix" else []
    return list(dict.fromkeys([*paths.ENV_CONFIG_PATH, *paths.SYSTEM_CONFIG_PATH, *customary]))


def file_levels(directories: Sequence[str], operator: Sequence[str]) -> list[Level]:
    """Return what the files of directories set, the most important first.

    Parameters
    ----------
    directories
        The Jupyter config path, the most important first.
    operator
        Directories whose files bind every user, the most general last; those not among ``directories`` are read all
        the same.

    Raises
    ------
    Failed
        ``config``, naming the file.
    """
    bound = {_real(directory): rank for rank, directory in enumerate(operator)}
    known = {_real(directory) for directory in directories}
    levels = []
    for directory in [*directories, *(d for d in operator if _real(d) not in known)]:
        # Within one directory Jupyter lets the JSON file, which programs write, win over the Python file.
        for suffix in (".json", ".py"):
            path = Path(directory, FILE_NAME + suffix)
            config = _load(path)
            if config is not None:
                origin = f"file {path}"
                levels.append(
                    Level(
                        origin,
                        _read(origin, config),
                        operator=_real(directory) in bound,
                        rank=bound.get(_real(directory), 0),
                        ceilings_only=_real(directory) not in known,
                    )
                )
    return levels


def _real(directory: str) -> str:
    return os.path.normcase(os.path.realpath(directory))


def _load(path: Path) -> Config | None:
    """Run or parse a file; None when there is none. What exists and can't be read is an error: it may bind."""
    try:
        if stat.S_ISFIFO(path.stat().st_mode):
            raise Failed("config", f"file {path} can't be read: it is a pipe, which may never end")
        source = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Failed("config", f"file {path} can't be read: {error.strerror}") from error
    try:
        if path.suffix == ".json":
            data = json.loads(source)
            data.pop("version", None)
            return Config(data)
        return PyFileConfigLoader(path.name, path=str(path.parent)).load_config()
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise Failed("config", f"file {path} is broken: {reason}") from error


# Values


def _read(origin: str, config: Config) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for section, content in config.items():
        cls = _CLASSES.get(section)
        if cls is None:
            # Our file, or a server's command line, may configure other classes, e.g. that of the server extension.
            # What looks like one of ours is a slip of the pen that would leave a limit unset.
            if section.startswith("WebResearch"):
                continue
            near = _instead(section, _CLASSES, likeness=0.85)
            if near or (origin.startswith("file ") and section.startswith("Web")):
                raise Failed("config", f"{origin}: {section} is no class of settings{near}")
            continue
        if not isinstance(content, Mapping):
            raise Failed("config", f"{origin}: {section} must hold settings by name")
        for trait, value in content.items():
            if isinstance(value, LazyConfigValue) and not value.to_dict():
                continue  # the file only looked at it
            values[f"{section}.{trait}"] = _checked(cls, trait, value, origin)
    return values


def _checked(cls: type[Configurable], name: str, value: Any, origin: str) -> Any:
    """Return a value as the trait holds it, after parsing text from command line or environment."""
    traits = settings_of(cls)
    if name not in traits:
        raise Failed("config", f"{origin}: {cls.__name__}.{name} is no setting{_instead(name, traits)}")
    trait = traits[name]
    try:
        if isinstance(value, LazyConfigValue):
            edit = Edit(value)
            if not isinstance(trait, List) or "update" in value.to_dict():
                raise TraitError("it can't be changed in that way; assign a value")  # noqa: TRY301 - one message below
            _assigned(cls, name, edit.apply([]))
            return edit
        # Text where no text is due comes from a command line, ours (DeferredConfigList) or a server's, or from the
        # environment; a file must give values of the right type.
        if isinstance(value, DeferredConfigList):
            value = _joined(trait, [str(text) for text in value])  # their own type shows in messages
        elif isinstance(value, str) and not origin.startswith("file "):
            value = _parse(trait, str(value))
        return _assigned(cls, name, value)
    except (TraitError, ValueError) as error:
        reason = " ".join(str(error).split())
        limits = allowed(trait)
        if limits and limits not in reason:
            reason += f" (allowed: {limits})"
        full = f"{cls.__name__}.{name}"
        message = reason if reason.startswith(full) else f"{full}: {reason}"
        raise Failed("config", f"{origin}: {message}", setting=full) from error


def _assigned(cls: type[Configurable], name: str, value: Any) -> Any:
    section = cls()
    setattr(section, name, value)
    return getattr(section, name)


def _joined(trait: TraitType[Any, Any], texts: Sequence[str]) -> Any:
    if isinstance(trait, List):
        return [item for text in texts for item in _parse(trait, text)]
    if len(texts) > 1:
        raise ValueError("it is given more than once")
    return _parse(trait, texts[0])


def _parse(trait: TraitType[Any, Any], text: str) -> Any:
    """Read the text form of a value: lists as JSON, as Python, or with commas."""
    if isinstance(trait, List):
        if text.strip().startswith("["):
            return _literal(text.strip())
        items = [item.strip() for item in text.split(",")] if text.strip() else []
        return [_number(int, item) for item in items] if isinstance(trait._trait, Int) else items
    if isinstance(trait, Dict):
        return _literal(text.strip() or "{}")
    if isinstance(trait, Bool):
        word = text.strip().lower()
        if word not in _TRUTH:
            raise ValueError(f"{text!r} is neither true nor false")
        return _TRUTH[word]
    if isinstance(trait, Int):
        return _number(int, text)
    if isinstance(trait, Float):
        return _number(float, text)
    return text


def _number(kind: type[int] | type[float], text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a {'whole ' if kind is int else ''}number") from None


_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError) as error:
            raise ValueError("it is neither a list nor a dictionary") from error


def _instead(name: str, known: Mapping[str, Any], likeness: float = 0.7) -> str:
    lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=likeness)
    return f"; do you mean {lower[near[0]]}?" if near else ""
