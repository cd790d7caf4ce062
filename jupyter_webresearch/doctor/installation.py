"""What is installed and set: Python, packages, settings, the server extension."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from traitlets.config import Config

from jupyter_webresearch.config import Settings
from jupyter_webresearch.doctor.finding import Finding
from jupyter_webresearch.errors import WebResearchError

if TYPE_CHECKING:
    from jupyter_webresearch.config_loading import Explained

__all__ = ["packages", "python", "read_settings", "server_extension"]

DISTRIBUTION = "jupyter-webresearch"
MINIMUM_PYTHON = (3, 10)
NAMED = 3  # settings of one source; a hub's file gives dozens
LIST_THEM = "`jupyter webresearch config --changed` lists them"


def python() -> Finding:
    """Whether Python is new enough."""
    found = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"
    if sys.version_info < MINIMUM_PYTHON:
        return Finding("python", "fail", found, "use Python 3.10 or newer")
    return Finding("python", "ok", found)


def packages() -> Finding:
    """Whether the packages are there that ours requires, in versions that it takes."""
    from packaging.requirements import Requirement

    wrong = []
    found = []
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        found.append(f"{requirement.name} {version}")
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version} is not {requirement.specifier}")
    if wrong:
        return Finding(
            "packages", "fail", ", ".join(wrong), f"{sys.executable} -m pip install --upgrade {DISTRIBUTION}"
        )
    return Finding("packages", "ok", ", ".join([f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}", *found]))


def read_settings(cli: Config | None, environ: Mapping[str, str]) -> tuple[Settings, Finding]:
    """Read the settings as everything else does, and say where they come from; the defaults where they can't be read.

    Parameters
    ----------
    cli
        What the command line sets.
    environ
        Environment variables.
    """
    from jupyter_webresearch.config_loading import as_settings, explain

    try:
        explained = explain(cli=cli, environ=environ)
    except WebResearchError as error:
        mend = "correct or remove it; until then nothing starts"
        return Settings(), Finding("settings", "fail", error.message, mend)
    changed = [setting for setting in explained if setting.is_changed]
    detail = f"{_by_source(changed)}; {LIST_THEM}" if changed else "all at their defaults"
    return as_settings(explained), Finding("settings", "ok", detail)


def _by_source(settings: Sequence[Explained]) -> str:
    """Say how many settings each source gives or narrows, and name the first of them."""
    groups: dict[str, list[str]] = {}
    for setting in settings:
        origin = "the environment" if setting.origin.startswith("environment ") else setting.origin
        for source in (f"by {origin}", *(f"narrowed by {file}" for file in setting.narrowed_by)):
            groups.setdefault(source, []).append(setting.name)
    return "; ".join(
        f"{len(names)} {source} ({', '.join(names[:NAMED])}{', ...' if len(names) > NAMED else ''})"
        for source, names in groups.items()
    )


def server_extension() -> Finding:
    """Whether Jupyter servers load our extension."""
    from jupyter_core.paths import jupyter_config_path
    from jupyter_server.extension.config import ExtensionConfigManager

    name = "server extension"
    mend = f"{sys.executable} -m jupyter server extension enable jupyter_webresearch; then restart Jupyter"
    manager: Any = ExtensionConfigManager(read_config_path=jupyter_config_path())
    extensions = manager.get_jpserver_extensions()
    if extensions.get("jupyter_webresearch"):
        return Finding(name, "ok", "enabled")
    state = "disabled" if "jupyter_webresearch" in extensions else "not enabled"
    return Finding(name, "warn", f"{state}: each kernel reads pages in its own process", mend)
