"""The settings of search: who is asked, with which keys, and for how long."""

from __future__ import annotations

from traitlets import Unicode
from traitlets.config import Configurable

from jupyter_webresearch.config_entries import SLOW_PROVIDERS, key_table, plugin_name, provider_name, timeout_table
from jupyter_webresearch.config_traits import Amount, Count, Line, Names, Table

__all__ = ["OWN_ENGINE", "WebSearch"]

OWN_ENGINE = "own"
"""What ``extract_backend`` calls the engine that reads pages itself; no provider has this name."""

PROVIDER = "a provider's name"


class WebSearch(Configurable):
    """Which providers are asked for searches, and to read pages in our place."""

    backend = Line(
        "",
        help="The provider that is asked where neither the caller nor the next two settings name one. "
        "`jupyter webresearch providers` lists them.",
    ).tag(config=True, unit=PROVIDER, narrows="operator", entry=provider_name)
    search_backend = Line("", help="The provider that searches where the caller names none.").tag(
        config=True, unit=PROVIDER, narrows="operator", entry=provider_name
    )
    extract_backend = Line(
        "",
        help="The provider that reads pages where they are asked for through a provider and the caller names none; "
        "'own' is our own engine, whatever WebSearch.backend says.",
    ).tag(config=True, unit=PROVIDER, narrows="operator", entry=provider_name)
    default_providers = Names(
        Unicode(),
        default_value=["wikipedia", "crossref", "arxiv", "ddgs"],
        help="The providers that are asked side by side where none is named or configured. One that can't be asked, "
        "such as ddgs without its package, is left out.",
    ).tag(config=True, unit=PROVIDER, narrows="operator", entry=provider_name)

    enabled_plugins = Names(
        Unicode(),
        help="The folders in webresearch/providers, below Jupyter's data directory, whose code is run. "
        "`jupyter webresearch providers enable NAME` adds one.",
    ).tag(config=True, unit="a plugin's name", narrows="intersection", entry=plugin_name)
    disabled_plugins = Names(
        Unicode(),
        help="Plugins, folders or installed packages, whose code is not run, whatever else is set. Every level adds "
        "to it.",
    ).tag(config=True, unit="a plugin's name", narrows="union", entry=plugin_name)

    keys = Table(
        help="Where providers' keys are kept: {'brave': 'file:/run/secrets/brave', 'TAVILY_API_KEY': 'env:MY_KEY'}, "
        "by the provider's name or by the variable that would hold it. A source is env:NAME, file:/path or "
        "keyring:SERVICE/USER. What is named here comes before the environment.",
    ).tag(config=True, unit="provider or variable to source", narrows="operator", entry=key_table)

    timeout = Amount(15.0, help="Time for one call of a provider.").tag(config=True, unit="s", range=(1, 600))
    provider_timeouts = Table(
        default_value=dict(SLOW_PROVIDERS),
        help="Time for one call of single providers: {'brave': 5}. Those of the default stay as they are unless named.",
    ).tag(config=True, unit="provider to seconds, 1 to 600", entry=timeout_table)
    max_results = Count(8, help="Results of a search that does not say how many.").tag(
        config=True, unit="results", range=(1, 20)
    )
    cache_seconds = Amount(300.0, help="How long the same question to the same provider is answered from memory.").tag(
        config=True, unit="s", range=(0, 86400)
    )
