"""Which providers there are, and which of them a question goes to."""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from jupyter_webresearch.config_search import OWN_ENGINE, WebSearch
from jupyter_webresearch.config_sources import environment_of_start
from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.foreign import AVAILABLE_SECONDS, ForeignProvider
from jupyter_webresearch.search.keys import FILE_NAME, Found, KeyFile, Keys
from jupyter_webresearch.search.offers import COMMAND, Offer, Provider
from jupyter_webresearch.search.plugin_code import LOAD_SECONDS, Loaded, load
from jupyter_webresearch.search.plugins import Plugin, Variable, find_folders, find_packages
from jupyter_webresearch.search.providers import BUILTIN, builtin_class
from jupyter_webresearch.search.question import Kind

__all__ = ["Need", "Registry"]

Need = Literal["search", "extract"]

FOLDER = Path("webresearch", "providers")
"""Of plugins, below Jupyter's data directory."""

_VERBS: Mapping[Need, str] = {"search": "search", "extract": "read pages"}


@dataclass(frozen=True)
class _Running:
    """A plugin whose code was run, or may not be."""

    plugin: Plugin
    enabled: bool
    providers: tuple[ForeignProvider, ...] = ()
    fault: str = ""


@dataclass(frozen=True)
class _Built:
    """A provider of ours; it may keep a pace, and so lasts as long as its variables are the same."""

    provider: BuiltinProvider
    values_given: Mapping[str, str] = field(repr=False)


class Registry:
    """Knows the providers of one engine. Its methods block, on disks and on plugins' code: they belong on a thread.

    Parameters
    ----------
    settings
        Who is asked where nobody is named, whose code may be run, where keys are.
    environ
        Where providers' variables are; None is this process's environment, of which those that name a base URL count
        as they were at its start.
    data_folder
        Jupyter's data directory; None asks Jupyter for it.
    config_folder
        Jupyter's config directory, in which the file of keys is; None asks Jupyter for it.
    entry_points
        See :func:`~jupyter_webresearch.search.plugins.find_packages`.
    load_seconds, available_seconds
        Longest waits for a plugin's code, and for its ``is_available``.
    """

    def __init__(
        self,
        settings: WebSearch,
        *,
        environ: MutableMapping[str, str] | None = None,
        data_folder: Path | None = None,
        config_folder: Path | None = None,
        entry_points: Callable[[], Iterable[importlib.metadata.EntryPoint]] | None = None,
        load_seconds: float = LOAD_SECONDS,
        available_seconds: float = AVAILABLE_SECONDS,
    ) -> None:
        self._settings = settings
        self._environ = os.environ if environ is None else environ
        addresses = environment_of_start() if environ is None else None
        self._folder = (data_folder or _jupyter_folder("data")) / FOLDER
        self.key_file = KeyFile((config_folder or _jupyter_folder("config")) / FILE_NAME)
        self._keys = Keys(settings.keys, self._environ, self.key_file, addresses=addresses)
        self._entry_points = entry_points
        self._load_seconds = load_seconds
        self._available_seconds = available_seconds
        self._lock = threading.Lock()
        self._running: tuple[_Running, ...] | None = None
        self._built: dict[str, _Built] = {}

    def rows(self) -> list[Offer]:
        """Return all providers, in the order in which they are chosen, and plugins that have none. Asks no network."""
        return [self._examined(offer) for offer in self._offers()]

    def choose(
        self, names: Sequence[str] | None = None, *, need: Need = "search", kind: Kind = "web"
    ) -> tuple[Provider, ...]:
        """Return who is asked, without repeats; several are asked side by side. Asks no network.

        Parameters
        ----------
        names
            Providers that the caller names; where there are none, the settings decide, then what is configured, then
            :attr:`~jupyter_webresearch.config_search.WebSearch.default_providers`.
        need
            What they are asked for. For ``extract`` nobody, an empty result, means our own engine.
        kind
            Of results.

        Raises
        ------
        BadInput
            ``provider_unavailable``: one that is named, here or in the settings, is unknown, can't be asked or is not
            able to; or nobody is left. Nobody else is asked in its place.
        """
        if names:
            own = need == "extract" and list(names) == [OWN_ENGINE]
            return () if own else tuple(self._named(name, need, kind) for name in dict.fromkeys(names))
        for setting in (f"{need}_backend", "backend"):
            name = getattr(self._settings, setting)
            if need == "extract" and name == OWN_ENGINE:
                return ()
            if name:
                return (self._named(name, need, kind, f"WebSearch.{setting}"),)
        return () if need == "extract" else self._unnamed(kind)

    def seconds(self, name: str) -> float:
        """Return the time for one call of a provider."""
        return float(self._settings.provider_timeouts.get(name, self._settings.timeout))

    def variables(self, name: str) -> list[Variable]:
        """Return what a provider or plugin asks to be set up with, needed or not.

        Parameters
        ----------
        name
            Of a provider or a plugin; whose code may not be run is not loaded for it.

        Raises
        ------
        BadInput
            ``provider_unavailable`` when it is unknown.
        """
        offer = self._find(name)
        if offer is None:
            raise self._unknown(name)
        if isinstance(offer.provider, BuiltinProvider):
            about = offer.provider.about
            wanted = [*about.keys[:1], *([] if about.base_url else about.url_variables[:1]), *about.also_needs]
            return [Variable(each, url=about.get_key) for each in wanted]
        declared = {each.name: each for each in (offer.plugin.requires if offer.plugin is not None else ())}
        if offer.provider is not None:
            for each in (*offer.provider.about.keys, *offer.provider.about.also_needs):
                declared.setdefault(each, Variable(each))
        return list(declared.values())

    def plugin(self, name: str) -> Plugin:
        """Return the plugin that is called so or has a provider of that name, without running anybody's code.

        Raises
        ------
        BadInput
            ``provider_unavailable`` when there is none.
        """
        found = self._found()[::-1]  # folders first, as they count first
        named = [plugin for plugin in found if plugin.name == name] or [p for p in found if name in p.provides]
        if named:
            return named[0]
        if name in BUILTIN:
            message = f"{name} comes with the package and is no plugin: it is asked where it is configured or named"
            raise BadInput("provider_unavailable", message, setting="")
        raise BadInput("provider_unavailable", f"there is no plugin {name[:64]!r}; `{COMMAND}` lists them", setting="")

    def close(self) -> None:
        """End the plugins' loops."""
        with self._lock:
            running, self._running = self._running or (), ()
        for each in running:
            for provider in each.providers:
                provider.close()

    # ------------------------------------------------------------------ choosing

    def _unnamed(self, kind: Kind) -> tuple[Provider, ...]:
        able = [offer for offer in self._offers() if _can(offer, "search", kind)]
        for offer in able:
            examined = self._examined(offer)
            if examined.is_chosen_unnamed and examined.provider is not None:
                return (examined.provider,)
        by_name = {offer.name: offer for offer in able}
        default = [self._examined(by_name[name]) for name in self._settings.default_providers if name in by_name]
        chosen = tuple(offer.provider for offer in default if offer.is_configured and offer.provider is not None)
        if not chosen:
            message = f"no provider that is configured searches for {kind}; `{COMMAND}` says what each can and lacks"
            raise BadInput("provider_unavailable", message, setting="WebSearch.default_providers")
        return chosen

    def _named(self, name: str, need: Need, kind: Kind, setting: str = "") -> Provider:
        of = f"{setting} names {name[:64]!r}: " if setting else ""
        offer = self._find(name)
        if offer is None:
            raise self._unknown(name, of, setting)
        provider = offer.provider
        if provider is None or offer.obstacle:
            hint = f"; `{COMMAND} setup {name}` asks for it" if offer.missing and self.variables(name) else ""
            message = f"{of}{offer.name} can't be asked, {offer.obstacle}{hint}; see `{COMMAND}`"
            raise BadInput(
                "provider_unavailable", message, setting=setting or ("WebSearch.keys" if offer.missing else "")
            )
        if not _can(offer, need, kind):
            able = f" for {kind}" if need == "search" and provider.supports_search() else ""
            can = ", ".join(offer.abilities)
            message = f"{of}{provider.display_name} does not {_VERBS[need]}{able}, it can: {can}; see `{COMMAND}`"
            raise BadInput("provider_unavailable", message, setting=setting)
        return provider

    def _unknown(self, name: str, of: str = "", setting: str = "") -> BadInput:
        near = difflib.get_close_matches(name.lower(), {offer.name for offer in self._offers()}, n=1)
        hint = f"; do you mean {near[0]}?" if near else ";"
        message = f"{of}there is no provider {name[:64]!r}{hint} `{COMMAND}` lists them"
        return BadInput("provider_unavailable", message, setting=setting)

    def _find(self, name: str) -> Offer | None:
        """Return the provider of a name, examined, else what stands for the plugin that has it, or is called so."""
        offers = self._offers()
        found = [offer for offer in offers if offer.name == name]
        found += [offer for offer in offers if offer.plugin is not None and offer.plugin.name == name]
        usable = [offer for offer in found if offer.plugin is None or offer.provider is not None]
        return next(map(self._examined, usable or found), None)

    # ------------------------------------------------------------------ what there is

    def _offers(self) -> list[Offer]:
        """Return everything, unexamined; a folder comes before an entry point, and that before what is built in."""
        offers = {name: Offer(name) for name in BUILTIN}
        idle: list[Offer] = []
        for each in self._plugins():
            for provider in each.providers:
                before = offers.get(provider.name)
                if before is not None and before.plugin is not None and before.origin == each.plugin.origin:
                    fault = f"the plugin {before.plugin.name} has the provider {provider.name!r} as well, and counts"
                    idle.append(Offer(provider.name, plugin=each.plugin, fault=fault))
                    continue
                replaces = before.origin if before is not None else ""
                offers[provider.name] = Offer(provider.name, provider, each.plugin, replaces)
            if not each.providers:
                names = each.plugin.provides or (each.plugin.name,)
                idle += [Offer(name, plugin=each.plugin, enabled=each.enabled, fault=each.fault) for name in names]
        return [*offers.values(), *idle]

    def _examined(self, offer: Offer) -> Offer:
        """Ask a provider what it lacks; one that comes with the package is made first."""
        provider = offer.provider
        if isinstance(provider, ForeignProvider):
            missing, fault = provider.state()
            return replace(offer, missing=missing, fault=fault)
        if offer.plugin is not None:
            return offer
        found, built = self._built_in(offer.name)
        missing = built.missing()
        if missing and found.file_fault:
            missing = (*missing, found.file_fault)
        return replace(offer, provider=built, missing=missing, fault="; ".join(found.faults))

    def _built_in(self, name: str) -> tuple[Found, BuiltinProvider]:
        cls = builtin_class(name)
        found = self._keys.of(cls.about)
        with self._lock:
            known = self._built.get(name)
            if known is None or known.values_given != found.values:
                known = _Built(cls(found.values), found.values)
                self._built[name] = known
        return found, known.provider

    def _plugins(self) -> tuple[_Running, ...]:
        """Return the plugins; the code of those that are enabled is run when this is called first."""
        with self._lock:
            if self._running is None:
                self._running = tuple(self._run(plugin) for plugin in self._found())
            return self._running

    def _found(self) -> list[Plugin]:
        return [*find_packages(self._entry_points), *find_folders(self._folder)]

    def _run(self, plugin: Plugin) -> _Running:
        listed = plugin.origin == "entry point" or plugin.name in self._settings.enabled_plugins
        if not listed or plugin.name in self._settings.disabled_plugins:
            return _Running(plugin, enabled=False, fault=plugin.fault)
        if plugin.fault:
            return _Running(plugin, enabled=True, fault=plugin.fault)
        needed = [variable.name for variable in plugin.requires]
        self._lend(plugin.name, needed)
        loaded: Loaded = load(plugin, self._load_seconds)
        providers = []
        for registered in loaded.registered:
            names = list(dict.fromkeys((*needed, *registered.asks_for)))
            self._lend(registered.name, names)
            provider = ForeignProvider(registered, names, self._environ, available_seconds=self._available_seconds)
            providers.append(provider)
        return _Running(plugin, True, tuple(providers), loaded.fault)

    def _lend(self, name: str, variables: Sequence[str]) -> None:
        """Put what the settings or the file of keys hold where a plugin looks for it."""
        found = self._keys.of(About(name, name, "", keys=tuple(variables[:1]), also_needs=tuple(variables[1:])))
        for variable, value in found.values.items():
            self._environ.setdefault(variable, value)


def _can(offer: Offer, need: Need, kind: Kind) -> bool:
    """Whether a provider is able to do something, by what it says of itself."""
    provider = offer.provider
    if provider is None:
        about = builtin_class(offer.name).about if offer.plugin is None else None
        return about is not None and (about.extracts if need == "extract" else kind in about.kinds)
    if need == "extract":
        return provider.supports_extract()
    return provider.supports_search() and kind in provider.about.kinds


def _jupyter_folder(which: Literal["data", "config"]) -> Path:
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir

    return Path(jupyter_data_dir() if which == "data" else jupyter_config_dir())
