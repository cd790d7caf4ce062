"""What the providers that come with the package share: who they are, what they need, and how they are asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from jupyter_webresearch.search.answer import Extract, ProviderAnswer, ProviderError
from jupyter_webresearch.search.question import Kind, Question
from jupyter_webresearch.search.service import Service

__all__ = ["About", "BuiltinProvider"]


@dataclass(frozen=True)
class About:
    """What people are told of a provider; docs/search.md is written from it.

    Attributes
    ----------
    name, display_name
        For settings, and for people.
    base_url
        Where its API is, unless configured; empty when it has none of its own (SearXNG).
    keys
        Environment variables that hold its key, the first one found counts; empty for a keyless one.
    also_needs
        Further variables without which it can't be used, e.g. a folder id.
    options
        Variables that may be set besides: other names of ``also_needs``, and choices such as a model.
    url_variables
        Variables that name another base URL; such a URL is the operator's, private addresses included.
    keyless
        Whether it can be used without a key.
    kinds
        What it can search for.
    extracts
        Whether it reads pages too.
    timeout
        Seconds for one call.
    get_key
        Where a key is to be had.
    price, limits
        In a few words.
    package
        Optional package that it needs, or empty.
    """

    name: str
    display_name: str
    base_url: str
    keys: tuple[str, ...] = ()
    also_needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    url_variables: tuple[str, ...] = ()
    keyless: bool = False
    kinds: tuple[Kind, ...] = ("web",)
    extracts: bool = False
    timeout: float = 15.0
    get_key: str = ""
    price: str = ""
    limits: str = ""
    package: str = ""


class BuiltinProvider(ABC):
    """One provider. It keeps nothing between calls; a :class:`Service` carries its requests.

    Parameters
    ----------
    values
        The variables of ``about`` that are set, keys among them.
    """

    about: ClassVar[About]

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    @property
    def name(self) -> str:
        """See :class:`~jupyter_webresearch.search.provider.WebSearchProvider`; so below."""
        return self.about.name

    @property
    def display_name(self) -> str:
        """The name that people are shown."""
        return self.about.display_name

    @property
    def key(self) -> str:
        """Its key, or an empty string."""
        return next((self._values[name] for name in self.about.keys if self._values.get(name)), "")

    @property
    def base_url(self) -> str:
        """Where its API is, without a slash at the end."""
        configured = next((self._values[name] for name in self.about.url_variables if self._values.get(name)), "")
        return (configured or self.about.base_url).rstrip("/")

    @property
    def base_is_configured(self) -> bool:
        """Whether the base URL is the operator's own, so that its address may be private."""
        return any(self._values.get(name) for name in self.about.url_variables)

    def missing(self) -> tuple[str, ...]:
        """Return what is to be set before it can be asked; empty when it is available."""
        lacks = [] if self.key or self.about.keyless or not self.about.keys else [" or ".join(self.about.keys)]
        if not self.base_url:
            lacks.append(" or ".join(self.about.url_variables))
        return (*lacks, *(name for name in self.about.also_needs if not self._values.get(name)))

    def is_available(self) -> bool:
        """Whether nothing is missing. Asks no network."""
        return not self.missing()

    def supports_search(self) -> bool:
        """Whether :meth:`ask` can be called."""
        return True

    def supports_extract(self) -> bool:
        """Whether :meth:`read` can be called."""
        return self.about.extracts

    @abstractmethod
    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search.

        Parameters
        ----------
        question
            Its kind is one of ``about.kinds``.
        service
            Sends requests to ``base_url``.

        Raises
        ------
        ProviderError
            When there is no answer.
        """

    async def read(
        self,
        urls: Sequence[str],
        service: Service,
        *,
        mode: str = "page",
        max_pages: int = 10,
        formats: Sequence[str] = ("markdown",),
    ) -> list[Extract]:
        """Read pages; one outcome a URL, and with ``mode="crawl"`` those of pages that were found from it.

        Parameters
        ----------
        urls
            Absolute URLs that the policy has let pass.
        service
            Sends requests to ``base_url``.
        mode
            ``page`` or ``crawl``.
        max_pages
            Of a crawl.
        formats
            ``markdown``, ``html`` or ``text``, where the provider can choose.

        Raises
        ------
        ProviderError
            ``unsupported``, or when there is no answer at all.
        """
        raise ProviderError("unsupported", f"{self.display_name} does not read pages")
