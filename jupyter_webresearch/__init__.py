"""Read the web from a notebook: guarded, inert, and shown where it came from.

In a notebook::

    %load_ext jupyter_webresearch
    page = %webfetch https://example.org/article

In Python::

    import jupyter_webresearch as web

    page = web.fetch("https://example.org/article")
    page = await web.afetch("https://example.org/article")
    found = web.search("tides")

Importing this package loads nothing else: each name below is found when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_webresearch.api import (
        aallow,
        acheck_url,
        aextract,
        afetch,
        afetch_many,
        aget_policy,
        allow,
        aread_journal,
        check_url,
        extract,
        fetch,
        fetch_many,
        get_policy,
        read_journal,
    )
    from jupyter_webresearch.api_search import asearch, search
    from jupyter_webresearch.errors import BadInput, Failed, Refused, WebResearchError
    from jupyter_webresearch.kernel.outcomes import Outcomes
    from jupyter_webresearch.models import Verdict
    from jupyter_webresearch.page import Page
    from jupyter_webresearch.search.response import Result, SearchResponse

__version__ = "0.1.0"

__all__ = [
    "BadInput",
    "Failed",
    "Outcomes",
    "Page",
    "Refused",
    "Result",
    "SearchResponse",
    "Verdict",
    "WebResearchError",
    "__version__",
    "aallow",
    "acheck_url",
    "aextract",
    "afetch",
    "afetch_many",
    "aget_policy",
    "allow",
    "aread_journal",
    "asearch",
    "check_url",
    "extract",
    "fetch",
    "fetch_many",
    "get_policy",
    "load_ipython_extension",
    "read_journal",
    "search",
    "unload_ipython_extension",
]

_MODULES = {
    "api": (
        "aallow",
        "acheck_url",
        "aextract",
        "afetch",
        "afetch_many",
        "aget_policy",
        "allow",
        "aread_journal",
        "check_url",
        "extract",
        "fetch",
        "fetch_many",
        "get_policy",
        "read_journal",
    ),
    "api_search": ("asearch",),
    "errors": ("BadInput", "Failed", "Refused", "WebResearchError"),
    "kernel.outcomes": ("Outcomes",),
    "models": ("Verdict",),
    "page": ("Page",),
    "search.response": ("Result", "SearchResponse"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "search":  # the package of that name, which can be called
        return import_module(f"{__name__}.search")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """Register ``%webfetch``, ``%websearch`` and ``%webresearch``; called by ``%load_ext jupyter_webresearch``."""
    from jupyter_webresearch.kernel.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again; called by ``%unload_ext jupyter_webresearch``."""
    from jupyter_webresearch.kernel.magics import unload

    unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Tell Jupyter Server where the extension is; imported only when asked."""
    from jupyter_webresearch.server.app import WebResearchApp

    return [{"module": "jupyter_webresearch.server.app", "app": WebResearchApp}]
