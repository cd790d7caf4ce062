"""What a provider answers, in one form for all of them; nothing that it said is thrown away.

An empty list of results is an answer. A missing one is not, and becomes a :class:`ProviderError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["ERROR_KINDS", "ErrorKind", "Extract", "ProviderAnswer", "ProviderError", "SearchResult"]

ErrorKind = Literal[
    "no_key",
    "bad_key",
    "forbidden",
    "quota",
    "rate_limited",
    "bad_request",
    "timeout",
    "unreachable",
    "bad_payload",
    "disabled_format",
    "blocked",
    "unsupported",
]
ERROR_KINDS: tuple[str, ...] = (
    "no_key",
    "bad_key",
    "forbidden",
    "quota",
    "rate_limited",
    "bad_request",
    "timeout",
    "unreachable",
    "bad_payload",
    "disabled_format",
    "blocked",
    "unsupported",
)
"""Why a provider gave no answer; ``blocked``: its own engines did not answer it, so that it has nothing to tell."""


@dataclass(frozen=True)
class SearchResult:
    """One result, as one provider gave it.

    Attributes
    ----------
    url
        Absolute http(s) URL as the provider has it; never fetched without the policy.
    title, snippet
        Plain text: markup is taken out, entities are undone, white space is one space.
    position
        Place in the provider's own order, from 1.
    published
        ISO 8601 date or time, as precise as the provider says (``2024``, ``2024-05``, ``2024-05-01``), or empty.
    engines
        Which engines behind the provider gave it.
    score
        The provider's own, on its own scale.
    kind
        ``web``, ``news``, ``paper``, ``image`` or ``answer``.
    generated
        Whether a model wrote title and snippet.
    ids
        Lower-case names to identifiers without prefix: ``doi``, ``arxiv`` (with version), ``pmid``, ``pmcid`` ...
    authors
        In order, each ``Given Family``.
    container
        Journal, book, site.
    details
        ``volume``, ``issue``, ``pages``, ``publisher``, ``type`` ... where known.
    pdf_url
        Of a freely readable full text, or empty.
    open_access
        Whether it is freely readable; None when nobody says.
    retracted
        Whether the provider says that it was retracted, withdrawn or removed.
    image_url
        Of an image result or a thumbnail, or empty.
    raw
        What the provider sent for it.
    """

    url: str
    title: str
    snippet: str = ""
    position: int = 1
    published: str = ""
    engines: tuple[str, ...] = ()
    score: float | None = None
    kind: str = "web"
    generated: bool = False
    ids: Mapping[str, str] = field(default_factory=dict)
    authors: tuple[str, ...] = ()
    container: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    pdf_url: str = ""
    open_access: bool | None = None
    retracted: bool = False
    image_url: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProviderAnswer:
    """What one provider answered.

    Attributes
    ----------
    provider
        Its name.
    results
        In its order.
    answers
        Direct answers, plain text, each with where it is from if that was said.
    infobox
        ``title``, ``text``, ``url`` of a box about the query, or empty.
    suggestions, corrections
        Other queries.
    query_altered
        What the provider searched instead, or empty.
    failed
        Engines behind the provider that did not answer, with the reason.
    total
        Hits that the provider knows of.
    cost
        Dollars or credits as the provider says, or None.
    request_id
        The provider's own.
    warnings
        What a person should know, e.g. that an option was not heeded.
    raw
        The whole answer.
    """

    provider: str
    results: tuple[SearchResult, ...]
    answers: tuple[str, ...] = ()
    infobox: Mapping[str, str] = field(default_factory=dict)
    suggestions: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()
    query_altered: str = ""
    failed: tuple[tuple[str, str], ...] = ()
    total: int | None = None
    cost: float | None = None
    request_id: str = ""
    warnings: tuple[str, ...] = ()
    raw: Any = None


@dataclass(frozen=True)
class Extract:
    """One page that a provider read for us; ``error`` says why it has none."""

    url: str
    title: str = ""
    markdown: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


class ProviderError(Exception):
    """A provider gave no answer.

    Parameters
    ----------
    kind
        One of :data:`ERROR_KINDS`.
    message
        One line for people: what happened and what to do. No secret, no resolved address.
    http_status
        Of its answer, or 0.
    code
        The provider's own word for it.
    retry_after
        Seconds after which to try again, when it says so.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, http_status: int = 0, code: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.http_status = http_status
        self.code = code
        self.retry_after = retry_after
