"""What a plugin's ``register(ctx)`` is given, and which providers it may register."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from jupyter_webresearch.config_entries import provider_name
from jupyter_webresearch.config_search import OWN_ENGINE
from jupyter_webresearch.search.provider import WebSearchProvider
from jupyter_webresearch.search.text import plain

__all__ = ["Context", "Registered"]


@dataclass(frozen=True)
class Registered:
    """A provider that fulfils the contract, with what it said of itself.

    Attributes
    ----------
    instance
        The plugin's own object, of whatever class.
    name, display_name
        For settings, and for people.
    searches, extracts
        What it can do.
    asks_for
        Further environment variables that its setup schema names.
    """

    instance: Any
    name: str
    display_name: str
    searches: bool
    extracts: bool
    asks_for: tuple[str, ...] = ()


class Context:
    """Takes the providers of one plugin.

    Parameters
    ----------
    provides
        Names that plugin.yaml declares; empty where it declares none.
    """

    def __init__(self, provides: Collection[str] = ()) -> None:
        self._provides = frozenset(provides)
        self._open = True
        self.registered: list[Registered] = []
        self.refused: list[str] = []

    def register_web_search_provider(self, provider: Any) -> None:
        """Offer a provider, once for each.

        Parameters
        ----------
        provider
            An instance with the methods of :class:`~jupyter_webresearch.search.provider.WebSearchProvider`, which it
            need not inherit.

        Raises
        ------
        ValueError
            Naming the provider, when its name can't be used or it lacks a method that it claims to have.
        """
        if not self._open:
            raise ValueError("providers are registered while register(ctx) runs, not later")
        try:
            found = _examined(provider)
            if self._provides and found.name not in self._provides:
                raise ValueError(f"the provider {found.name!r} is not among provides_web_providers of plugin.yaml")  # noqa: TRY301 - one place notes it
            if any(found.name == other.name for other in self.registered):
                raise ValueError(f"the provider {found.name!r} is registered twice")  # noqa: TRY301 - as above
        except ValueError as error:
            self.refused.append(str(error))  # a plugin may swallow it
            raise
        self.registered.append(found)

    def close(self) -> None:
        """Take no more."""
        self._open = False


def _examined(provider: Any) -> Registered:
    if isinstance(provider, type):
        raise ValueError(f"{provider.__name__} is a class; register an instance of it")  # noqa: TRY004 - one error
    cls = type(provider).__name__
    name = getattr(provider, "name", None)
    if not isinstance(name, str):
        raise ValueError(f"the provider {cls} has no name")  # noqa: TRY004 - as above
    try:
        provider_name(name)
    except ValueError as error:
        raise ValueError(f"the name {plain(name, 80)!r} can't be used: {error}") from None
    if name == OWN_ENGINE:
        raise ValueError(f"the name {name!r} can't be used: it means our own engine")
    if not callable(getattr(provider, "is_available", None)):
        raise ValueError(f"the provider {name!r} has no method is_available")  # noqa: TRY004 - as above
    searches, extracts = _claims(provider, "search", True), _claims(provider, "extract", False)
    for method, claimed in (("search", searches), ("extract", extracts)):
        if claimed and not _has(provider, method):
            raise ValueError(f"the provider {name!r} claims to {method} and has no method {method}")
    if not searches and not extracts:
        raise ValueError(f"the provider {name!r} can neither search nor extract")
    display_name = plain(getattr(provider, "display_name", None) or name, 80) or name
    return Registered(provider, name, display_name, searches, extracts, _asks_for(provider))


def _claims(provider: Any, method: str, default: bool) -> bool:
    claim = getattr(provider, f"supports_{method}", None)
    return bool(claim()) if callable(claim) else default


def _has(provider: Any, method: str) -> bool:
    """Whether a method is there that is not the one of our base class, which only says that there is none."""
    found = getattr(provider, method, None)
    return callable(found) and getattr(found, "__func__", None) is not getattr(WebSearchProvider, method)


def _asks_for(provider: Any) -> tuple[str, ...]:
    schema = getattr(provider, "get_setup_schema", None)
    said = schema() if callable(schema) else None
    rows = said.get("env_vars") if isinstance(said, dict) else None
    keys = [row.get("key") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return tuple(dict.fromkeys(key for key in keys if isinstance(key, str) and key))
