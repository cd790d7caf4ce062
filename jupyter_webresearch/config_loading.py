"""Loading of settings: command line > environment > file > default, and below all of them the operator's ceilings.

Jupyter lets a user's file win over /etc/jupyter. For settings tagged ``narrows`` that would let every user lift the
limits of whoever runs the machine, so each file of an operator's directory that gives one narrows what the user's
levels chose; it never widens it. How two values are combined is in :data:`NARROWINGS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from traitlets import TraitType
from traitlets.config import Config, Configurable

from jupyter_webresearch.config import (
    CONFIGURABLES,
    Settings,
    WebBudgets,
    WebClassifier,
    WebDisplay,
    WebExtraction,
    WebFetch,
    WebJournal,
    WebKernel,
    WebPolicy,
    WebSearch,
    environment_name,
    settings_of,
)
from jupyter_webresearch.config_entries import without_password
from jupyter_webresearch.config_sources import (
    Edit,
    Level,
    command_line_level,
    environment_level,
    file_levels,
    operator_directories,
)
from jupyter_webresearch.config_traits import Network, allowed, parse_network

__all__ = ["NARROWINGS", "Explained", "as_settings", "explain", "load_settings"]


@dataclass(frozen=True)
class Explained:
    """One setting: its value and where that came from.

    Attributes
    ----------
    cls, trait
        The class and the name of the trait.
    value
        In force.
    origin
        ``default``, ``command line``, ``environment VARIABLE`` or ``file PATH``; several are joined by ``" + "``.
    chosen
        What ``origin`` asked for; differs from ``value`` when it was narrowed.
    narrowed_by
        The operator's files that took something away.
    """

    cls: type[Configurable]
    trait: str
    value: Any
    origin: str
    chosen: Any
    narrowed_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``Class.trait``."""
        return f"{self.cls.__name__}.{self.trait}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return environment_name(self.cls, self.trait)

    @property
    def is_changed(self) -> bool:
        """Whether it differs from the default, or somebody wanted it to and was narrowed."""
        return bool(self.value != _definition(self.cls, self.trait).default() or self.narrowed_by)

    @property
    def shown(self) -> Any:
        """The value without what may be a secret in it."""
        return self._without_secret(self.value)

    @property
    def source(self) -> str:
        """Origin and what narrowed it, for people."""
        return self.origin + "".join(f", narrowed by {origin}" for origin in self.narrowed_by)

    def to_json(self) -> dict[str, Any]:
        """Return one object of ``jupyter webresearch config --json``."""
        definition = _definition(self.cls, self.trait)
        return {
            "name": self.name,
            "value": self.shown,
            "origin": self.origin,
            "narrowed_by": list(self.narrowed_by),
            "chosen": self._without_secret(self.chosen),
            "default": definition.default(),
            "unit": definition.metadata.get("unit", ""),
            "allowed": allowed(definition),
            "narrows": definition.metadata.get("narrows", ""),
            "variable": self.variable,
            "help": definition.help,
        }

    def _without_secret(self, value: Any) -> Any:
        shown = _definition(self.cls, self.trait).metadata.get("shown")
        return without_password(value) if shown == "without password" else value


def explain(
    *,
    cli: Config | None = None,
    environ: Mapping[str, str] = os.environ,
    config_path: Sequence[str] | None = None,
    operator_path: Sequence[str] | None = None,
) -> list[Explained]:
    """Work out every setting, with its origin.

    Parameters
    ----------
    cli
        What the command line sets; sections of other classes are passed over.
    environ
        Environment variables.
    config_path
        Directories with configuration, the most important first; None is Jupyter's config path.
    operator_path
        Directories whose files bind every user; None is the machine's, see
        :func:`~jupyter_webresearch.config_sources.operator_directories`.

    Raises
    ------
    Failed
        ``config``, naming the setting or file, where it was given, and what is allowed.
    """
    if config_path is None:
        from jupyter_core.paths import jupyter_config_path

        config_path = jupyter_config_path()
    if operator_path is None:
        operator_path = operator_directories()
    levels = [command_line_level(cli), environment_level(environ), *file_levels(config_path, operator_path)]
    return [_resolve(cls, trait, levels) for cls in CONFIGURABLES for trait in settings_of(cls)]


def load_settings(
    *,
    cli: Config | None = None,
    environ: Mapping[str, str] = os.environ,
    config_path: Sequence[str] | None = None,
    operator_path: Sequence[str] | None = None,
) -> Settings:
    """Load all settings, as :func:`explain` works them out."""
    return as_settings(explain(cli=cli, environ=environ, config_path=config_path, operator_path=operator_path))


def as_settings(explained: Iterable[Explained]) -> Settings:
    """Return the settings that :func:`explain` worked out."""
    values: dict[type[Configurable], dict[str, Any]] = {cls: {} for cls in CONFIGURABLES}
    for setting in explained:
        values[setting.cls][setting.trait] = setting.value
    return Settings(
        policy=WebPolicy(**values[WebPolicy]),
        fetch=WebFetch(**values[WebFetch]),
        extraction=WebExtraction(**values[WebExtraction]),
        kernel=WebKernel(**values[WebKernel]),
        display=WebDisplay(**values[WebDisplay]),
        budgets=WebBudgets(**values[WebBudgets]),
        journal=WebJournal(**values[WebJournal]),
        classifier=WebClassifier(**values[WebClassifier]),
        search=WebSearch(**values[WebSearch]),
    )


def _resolve(cls: type[Configurable], trait: str, levels: Sequence[Level]) -> Explained:
    definition = _definition(cls, trait)
    kind: str = definition.metadata.get("narrows", "")
    name = f"{cls.__name__}.{trait}"
    giving = [level for level in levels if name in level.values]
    default: Any = definition.default()
    if kind == "union":
        return _union(cls, trait, default, giving)
    ceilings = [level for level in giving if level.operator] if kind else []
    chosen, origin = default, "default"
    for level in reversed([x for x in giving if x not in ceilings and not x.ceilings_only]):
        chosen, origin = _applied(level.values[name], chosen), level.origin_of(name)
    if kind == "operator" and ceilings:  # one value can't narrow another: that of the most general folder holds
        ceilings = [max(ceilings, key=lambda level: level.rank)]
    value = chosen
    narrowed_by = []
    for level in ceilings:
        ceiling = _applied(level.values[name], default)
        if origin == "default":  # nobody below the operator chose: the ceiling itself is the value
            value = chosen = ceiling
            origin = level.origin_of(name)
            continue
        narrowed = NARROWINGS[kind](value, ceiling, definition)
        if narrowed != value:
            narrowed_by.append(level.origin_of(name))
        value = narrowed
    return Explained(cls, trait, value, origin, chosen, tuple(narrowed_by))


def _union(cls: type[Configurable], trait: str, default: list[str], giving: Sequence[Level]) -> Explained:
    name = f"{cls.__name__}.{trait}"
    entries = list(default)
    for level in giving:
        entries += _applied(level.values[name], [])
    value = list(dict.fromkeys(entries))
    origin = " + ".join(level.origin_of(name) for level in giving) or "default"
    return Explained(cls, trait, value, origin, value)


def _applied(given: Any, value: Any) -> Any:
    return given.apply(value or []) if isinstance(given, Edit) else given


def _definition(cls: type[Configurable], trait: str) -> TraitType[Any, Any]:
    return settings_of(cls)[trait]


def _networks(value: list[str], ceiling: list[str], _definition: TraitType[Any, Any]) -> list[str]:
    """Intersect sets of addresses given as CIDRs: of two networks, one lies in the other or they are disjoint."""
    kept: dict[str, None] = {}
    for mine in map(parse_network, value):
        for bound in map(parse_network, ceiling):
            common = _common(mine, bound)
            if common is not None:
                kept[str(common)] = None
    return list(kept)


def _common(first: Network, second: Network) -> Network | None:
    small, large = sorted((first, second), key=lambda network: network.prefixlen, reverse=True)
    inside = small.version == large.version and int(small.network_address) & int(large.netmask) == int(
        large.network_address
    )
    return small if inside else None


def _intersection(value: list[Any], ceiling: list[Any], _definition: TraitType[Any, Any]) -> list[Any]:
    return [entry for entry in value if entry in ceiling]


def _strictest(value: str, ceiling: str, definition: TraitType[Any, Any]) -> str:
    choices = definition.metadata["choices"]
    return max(value, ceiling, key=choices.index)


def _all(value: bool, ceiling: bool, _definition: TraitType[Any, Any]) -> bool:
    return value and ceiling


def _any(value: bool, ceiling: bool, _definition: TraitType[Any, Any]) -> bool:
    return value or ceiling


def _operator(_value: Any, ceiling: Any, _definition: TraitType[Any, Any]) -> Any:
    return ceiling


def _least(value: float, ceiling: float, _definition: TraitType[Any, Any]) -> float:
    """Return the smaller of two limits, of which 0 is none."""
    return min(value or ceiling, ceiling or value)


def _lowest(value: float, ceiling: float, _definition: TraitType[Any, Any]) -> float:
    return min(value, ceiling)


def _hosts(value: list[str] | None, ceiling: list[str] | None, definition: TraitType[Any, Any]) -> list[str] | None:
    """Intersect two lists of hosts, of which None is none; entries that can't be read stay, to be named."""
    if value is None or ceiling is None:
        return value if ceiling is None else ceiling
    from jupyter_webresearch.policy.egress import HostList
    from jupyter_webresearch.policy.opened import ANY_NETWORK

    # Each by the grammar that it is obeyed by: what one drops must not let through what the other has. An address that
    # one level names is open to nobody by that, but has to be on the other's list as a name has.
    if definition.metadata["narrows"] == "acting hosts":
        mine, theirs = HostList.read_acting(value), HostList.read_acting(ceiling)
    else:
        mine, theirs = HostList.read(value, ANY_NETWORK), HostList.read(ceiling, ANY_NETWORK)
    common = mine.within(theirs)
    return value if common == mine else common.texts


NARROWINGS: Mapping[str, Callable[[Any, Any, TraitType[Any, Any]], Any]] = {
    "networks": _networks,
    "intersection": _intersection,
    "strictest": _strictest,
    "all": _all,
    "any": _any,
    "operator": _operator,
    "least": _least,
    "lowest": _lowest,
    "hosts": _hosts,
    "acting hosts": _hosts,
}
"""How a value and a ceiling are combined, by the ``narrows`` tag; ``union`` goes over all levels instead."""
