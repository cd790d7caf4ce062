"""The providers that come with the package, each in a module of its own, which is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from jupyter_webresearch.search.builtin import BuiltinProvider

__all__ = ["BUILTIN", "builtin_class"]

BUILTIN: Mapping[str, str] = {
    "searxng": "searxng:SearXNG",
    "firecrawl": "firecrawl:Firecrawl",
    "tavily": "tavily:Tavily",
    "exa": "exa:Exa",
    "parallel": "parallel:Parallel",
    "brave": "brave:Brave",
    "xai": "xai:XAI",
    "ddgs": "ddgs:DDGS",
    "yandex": "yandex:Yandex",
    "wikipedia": "wikipedia:Wikipedia",
    "crossref": "crossref:Crossref",
    "openalex": "openalex:OpenAlex",
    "arxiv": "arxiv:ArXiv",
    "semantic-scholar": "semantic_scholar:SemanticScholar",
    "pubmed": "pubmed:PubMed",
}
"""Module and class by name. Who is configured and comes first is asked where nobody is named."""


def builtin_class(name: str) -> type[BuiltinProvider]:
    """Return the class of a provider, importing its module; KeyError for a name that is not in :data:`BUILTIN`."""
    module, _, cls = BUILTIN[name].partition(":")
    found: type[BuiltinProvider] = getattr(import_module(f"{__name__}.{module}"), cls)
    return found
