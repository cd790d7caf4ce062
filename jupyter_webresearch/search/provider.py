"""The contract of a search provider.

A plugin written for another tool with these method names works as it is: only what it inherits differs, and it need
inherit nothing. Importing this module costs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["WebSearchProvider"]


class WebSearchProvider(ABC):
    """One way to search the web, to extract pages, or both.

    Notes
    -----
    :meth:`search` and :meth:`extract` may be plain functions or coroutines; plain ones are run on a thread. What they
    return is a dictionary:

    - ``{"success": True, "data": {"web": [{"title", "url", "description", "position"}, ...]}}`` of a search,
    - ``{"success": True, "data": [{"url", "title", "content", "raw_content", "metadata"?, "error"?}, ...]}`` of an
      extraction, or the bare list,
    - ``{"success": False, "error": "what went wrong"}`` of either; an exception means the same.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which settings and ``--provider`` call it: ``[a-z0-9][a-z0-9-]*``."""

    @property
    def display_name(self) -> str:
        """The name that people are shown."""
        return self.name

    @abstractmethod
    def is_available(self) -> bool:
        """Whether it is configured: a key is set, a package is there. Asks no network, and is quick."""

    def supports_search(self) -> bool:
        """Whether :meth:`search` can be asked."""
        return True

    def supports_extract(self) -> bool:
        """Whether :meth:`extract` can be asked."""
        return False

    def search(self, query: str, limit: int = 5) -> Any:
        """Search.

        Parameters
        ----------
        query
            What is looked for.
        limit
            Most results.

        Raises
        ------
        NotImplementedError
            When it does not search.
        """
        raise NotImplementedError(f"{self.name} does not search")

    def extract(self, urls: list[str], **kwargs: Any) -> Any:
        """Read pages.

        Parameters
        ----------
        urls
            Absolute http(s) URLs; the policy has let them pass.
        **kwargs
            ``mode``, ``max_pages`` and ``formats`` where the caller gave them.

        Raises
        ------
        NotImplementedError
            When it does not extract.
        """
        raise NotImplementedError(f"{self.name} does not extract")

    def get_setup_schema(self) -> dict[str, Any]:
        """Describe what it needs, for people: ``{"name", "env_vars": [{"key", "prompt", "url"}], ...}``."""
        return {}
