"""What works on this machine, and how to mend the rest.

Each check tries the real thing: a worker is started and given a page, a file is written. Nothing is sent to the web.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from traitlets.config import Config

from jupyter_webresearch.config import Settings
from jupyter_webresearch.errors import WebResearchError

__all__ = ["Finding", "examine"]

DISTRIBUTION = "jupyter-webresearch"
MINIMUM_PYTHON = (3, 10)
# Fences of extraction/sandbox.py that every Linux gives; their absence has a cause outside of us.
LINUX_FENCES = ("audit hook", "address space", "processor time", "file size", "descriptors", "system calls")
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
MIB = 1024**2


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes
    ----------
    name
        Of the check.
    state
        ``ok``; ``warn``: it works, with less than it could; ``fail``: pages can't be read.
    detail
        What was found.
    mend
        What to do, empty when there is nothing to do.
    """

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    mend: str = ""

    def to_json(self) -> dict[str, str]:
        """Return one object of ``jupyter webresearch doctor --json``."""
        return asdict(self)


def examine(cli: Config | None = None, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Run every check, one after the other.

    Parameters
    ----------
    cli
        What the command line sets.
    environ
        Environment variables.

    Yields
    ------
    Finding
        As soon as its check is done.
    """
    settings = Settings()

    def load() -> Finding:
        nonlocal settings
        settings, finding = _settings(cli, environ)
        return finding

    checks: dict[str, Callable[[], Finding]] = {
        "python": _python,
        "packages": _packages,
        "settings": load,
        "hosts": lambda: _hosts(settings, environ),
        "server extension": _server_extension,
        "extraction workers": lambda: _workers(settings),
        "certificates": _certificates,
        "temporary folder": lambda: _temporary_folder(settings),
        "runtime folder": _runtime_folder,
        "proxies": lambda: _proxies(environ),
    }
    for name, check in checks.items():
        try:
            yield check()
        except Exception as error:  # the other checks still tell something
            yield Finding(name, "fail", f"{type(error).__name__}: {error}", "report this as a fault of ours")


def _python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"
    if sys.version_info < MINIMUM_PYTHON:
        return Finding("python", "fail", found, "use Python 3.10 or newer")
    return Finding("python", "ok", found)


def _packages() -> Finding:
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


def _settings(cli: Config | None, environ: Mapping[str, str]) -> tuple[Settings, Finding]:
    from jupyter_webresearch.config_loading import as_settings, explain

    try:
        explained = explain(cli=cli, environ=environ)
    except WebResearchError as error:
        mend = "correct or remove it; until then nothing starts"
        return Settings(), Finding("settings", "fail", error.message, mend)
    settings = as_settings(explained)
    narrowed = [setting for setting in explained if setting.narrowed_by]
    if narrowed:
        detail = "; ".join(f"{setting.name} is {setting.shown} by {setting.source}" for setting in narrowed)
        return settings, Finding("settings", "warn", detail, "ask whoever runs this machine for more")
    given = [setting for setting in explained if setting.origin != "default"]
    detail = "; ".join(f"{setting.name} by {setting.source}" for setting in given) or "all at their defaults"
    return settings, Finding("settings", "ok", detail)


def _hosts(settings: Settings, environ: Mapping[str, str]) -> Finding:
    from jupyter_webresearch.policy.lists import Lists, on_hub

    lists = Lists(settings.policy, on_hub=on_hub(environ))
    detail = f"may be read: {lists.ceiling}"
    warnings = lists.warnings()
    if not warnings:
        return Finding("hosts", "ok", detail)
    mend = "correct what WebPolicy.ceiling and WebPolicy.acting_ceiling say; `jupyter webresearch policy` shows both"
    return Finding("hosts", "warn", "; ".join([detail, *warnings]), mend)


def _server_extension() -> Finding:
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


def _workers(settings: Settings) -> Finding:
    name = "extraction workers"
    try:
        fences, seconds, size = asyncio.run(_try_worker(settings))
    except (WebResearchError, OSError) as error:
        return Finding(
            name, "fail", str(error), "run this in a plain terminal, and see whether processes can be started"
        )
    detail = f"{size} at once; first page after {seconds:.1f} s; fences: {', '.join(fences)}"
    missing = [fence for fence in LINUX_FENCES if fence not in fences]
    if not missing:
        return Finding(name, "ok", detail)
    mend = f"not fenced in by {', '.join(missing)}"
    if sys.platform == "linux":
        mend += ": allow setrlimit and seccomp in this container, and kernels of 3.17 or newer"
    else:
        mend += f", which {platform.system()} does not have; workers are still killed when they overrun"
    return Finding(name, "warn", detail, mend)


async def _try_worker(settings: Settings) -> tuple[tuple[str, ...], float, int]:
    from jupyter_webresearch.extraction.pool import ExtractionPool
    from jupyter_webresearch.extraction.worker import SAMPLE

    begun = time.monotonic()
    pool = ExtractionPool(settings.extraction)
    try:
        fences = await pool.start()
        await pool.extract(SAMPLE, url="https://example.org/", content_type="text/html", charset_label="utf-8")
        return fences, time.monotonic() - begun, pool.size
    finally:
        await pool.close()


def _certificates() -> Finding:
    from jupyter_webresearch.net.trust import tls_context

    try:
        count = tls_context().cert_store_stats()["x509_ca"]
    except OSError as error:
        return Finding("certificates", "fail", str(error), "install or mend this machine's certificate authorities")
    # A folder of authorities is read at each handshake and can't be counted.
    return Finding("certificates", "ok", f"{count} authorities" if count else "the authorities in the system's folder")


def _temporary_folder(settings: Settings) -> Finding:
    try:
        folder = tempfile.gettempdir()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(
            "temporary folder",
            "warn",
            f"it can't be written ({error.strerror}): texts of pages are held in memory, --save does not work",
            "set TMPDIR to a folder that can be written",
        )
    wanted = max(settings.fetch.store_size, settings.fetch.save_max)
    detail = f"{folder}, {free // MIB:,} MiB free"
    if free < wanted:
        mend = f"free some space, or lower WebFetch.store_size and WebFetch.save_max ({wanted // MIB:,} MiB)"
        return Finding("temporary folder", "warn", detail, mend)
    return Finding("temporary folder", "ok", detail)


def _runtime_folder() -> Finding:
    from jupyter_core.paths import jupyter_runtime_dir

    folder = Path(jupyter_runtime_dir())
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if os.access(existing, os.W_OK | os.X_OK):
        return Finding("runtime folder", "ok", str(folder))
    return Finding(
        "runtime folder",
        "warn",
        f"{folder} can't be written: kernels find no Jupyter server through it",
        "set JUPYTER_RUNTIME_DIR to a folder that can be written",
    )


def _proxies(environ: Mapping[str, str]) -> Finding:
    found = sorted(name for name in environ if name.upper() in PROXY_VARIABLES and environ[name])
    if not found:
        return Finding("proxies", "ok", "none is set")
    return Finding(
        "proxies",
        "warn",
        f"{', '.join(found)} is set and not used: pages are read directly, so that every address is checked",
        "allow direct connections to the web from this machine",
    )
