"""A plugin's code, run once: imported under a name of its own, with a limit of time, whatever it does."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from jupyter_webresearch.redaction import redact_text
from jupyter_webresearch.search.foreign_calls import ForeignCalls, Hangs, Raised
from jupyter_webresearch.search.plugins import Plugin
from jupyter_webresearch.search.registration import Context, Registered
from jupyter_webresearch.search.text import plain

__all__ = ["LOAD_SECONDS", "Loaded", "load"]

LOAD_SECONDS = 10.0
"""For importing a plugin and its ``register``."""

PREFIX = "_jupyter_webresearch_plugin_"
"""Of the names under which folders are imported, so that they meet no package."""


@dataclass(frozen=True)
class Loaded:
    """What came of a plugin's code: providers, or a fault."""

    registered: tuple[Registered, ...] = ()
    fault: str = ""


def load(plugin: Plugin, seconds: float = LOAD_SECONDS) -> Loaded:
    """Import a plugin and have it register its providers. Blocks; raises nothing.

    Parameters
    ----------
    plugin
        Without a fault.
    seconds
        Longest wait; what takes longer is left behind.
    """
    context = Context(plugin.provides)
    try:
        ForeignCalls(plugin.name).run(lambda: _register(plugin, context), seconds)
    except Hangs as error:
        return Loaded(fault=f"its code hangs: {error}")
    except Raised as error:
        if not context.refused:
            return Loaded(fault=f"its code failed: {plain(redact_text(str(error)[:2000]), 300)}")
    finally:
        context.close()
    if context.refused:
        return Loaded(fault="; ".join(context.refused))
    if not context.registered:
        return Loaded(fault="its register(ctx) has registered no provider")
    return Loaded(tuple(context.registered))


def _register(plugin: Plugin, context: Context) -> None:
    module = _of_folder(plugin.place) if isinstance(plugin.place, Path) else plugin.place.load()
    register: Callable[[Any], Any] | None = getattr(module, "register", None)
    if not callable(register):
        raise TypeError("it has no function register(ctx) at top level")
    said = register(context)
    if inspect.iscoroutine(said):
        said.close()
        raise TypeError("register(ctx) must be a plain function")


def _of_folder(folder: Path) -> ModuleType:
    name = f"{PREFIX}{folder.name.replace('-', '_')}_{secrets.token_hex(4)}"  # a second registry has its own
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError("it can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for its own relative imports
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
