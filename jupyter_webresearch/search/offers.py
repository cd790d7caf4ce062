"""One row for each provider or plugin: who it is, whether it can be asked, and what is missing or broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from jupyter_webresearch.search.builtin import BuiltinProvider
from jupyter_webresearch.search.foreign import ForeignProvider
from jupyter_webresearch.search.plugins import Plugin

__all__ = ["COMMAND", "Offer", "Provider"]

COMMAND = "jupyter webresearch providers"

Provider: TypeAlias = BuiltinProvider | ForeignProvider


@dataclass(frozen=True)
class Offer:
    """One of them.

    Attributes
    ----------
    name
        Of the provider, or of the plugin where it is not known which providers that has.
    provider
        Who is asked, or None where the code can't or may not be run.
    plugin
        Where it is from, or None of a built-in one.
    replaces
        ``built-in`` or ``entry point`` where it has taken that one's place.
    enabled
        Whether its code may be run.
    missing
        What is to be set or installed before it can be asked.
    fault
        What is broken.
    """

    name: str
    provider: Provider | None = None
    plugin: Plugin | None = None
    replaces: str = ""
    enabled: bool = True
    missing: tuple[str, ...] = ()
    fault: str = ""

    @property
    def origin(self) -> str:
        """``built-in``, ``folder`` or ``entry point``."""
        return "built-in" if self.plugin is None else self.plugin.origin

    @property
    def is_configured(self) -> bool:
        """Whether it can be asked."""
        return self.provider is not None and not self.missing and not self.fault

    @property
    def is_chosen_unnamed(self) -> bool:
        """Whether somebody has configured it, so that it is asked before those that need no key."""
        if not self.is_configured or self.provider is None:
            return False
        about = self.provider.about
        return self.plugin is not None or not about.keyless or bool(about.url_variables and not about.base_url)

    @property
    def abilities(self) -> tuple[str, ...]:
        """Kinds of results that it finds, and ``extract`` where it reads pages."""
        if self.provider is None:
            return ()
        kinds = self.provider.about.kinds if self.provider.supports_search() else ()
        return (*kinds, "extract") if self.provider.supports_extract() else tuple(kinds)

    @property
    def obstacle(self) -> str:
        """Why it can't be asked and what to do, for people; empty when it can."""
        if self.plugin is not None and not self.enabled:
            return f"not enabled: {COMMAND} enable {self.plugin.name}"
        if self.fault:
            return f"broken: {self.fault}"
        if self.missing:
            return "missing: " + "; ".join(self.missing)
        return ""

    def to_json(self) -> dict[str, Any]:
        """Return one object of ``jupyter webresearch providers --json``."""
        provider, plugin = self.provider, self.plugin
        return {
            "name": self.name,
            "display_name": provider.display_name if provider is not None else self.name,
            "configured": self.is_configured,
            "keyless": provider is not None and provider.about.keyless,
            "abilities": list(self.abilities),
            "origin": self.origin,
            "replaces": self.replaces,
            "plugin": plugin.name if plugin is not None else "",
            "enabled": self.enabled,
            "missing": list(self.missing),
            "fault": self.fault,
            "version": plugin.version if plugin is not None else "",
            "description": plugin.description if plugin is not None else "",
            "author": plugin.author if plugin is not None else "",
        }
