"""Several providers' results as one list: what is the same stands once, and says which provider ranked it where.

Ranks are fused reciprocally (Cormack, Clarke, Buettcher, SIGIR 2009): providers' scores are on scales of their own,
their orders are comparable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from jupyter_webresearch.search.answer import ProviderAnswer, SearchResult

__all__ = ["Hit", "canonical_url", "identities", "merge"]

DAMPING = 60
"""The constant of reciprocal rank fusion: how little the first places count more than the next."""

_TRACKING = re.compile(
    r"utm_.*|(?:g|db|y|wbra|gbra)clid|(?:fb|ms|tt|tw|li_fat_|igsh)(?:clid|id)?|mc_[ce]id|_hs(?:enc|mi)|ref_src|spm",
    re.I,
)
_DOI = re.compile(r"10\.[0-9]{4,9}/\S+")
_ARXIV = re.compile(r"/(?:abs|pdf|html)/([0-9]{4}\.[0-9]{4,5}|[a-z.-]+/[0-9]{7})", re.I)
_VERSION = re.compile(r"v[0-9]+$")
_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?)$", re.I)


@dataclass(frozen=True)
class Hit:
    """One entry of a merged list.

    Attributes
    ----------
    result
        Of the provider that ranked it highest, with what only others know filled in.
    ranks
        Position in each provider's order, by provider, the highest first.
    score
        The fused one.
    raws
        What each provider sent for it.
    """

    result: SearchResult
    ranks: Mapping[str, int]
    score: float
    raws: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def merge(answers: Sequence[ProviderAnswer], limit: int) -> list[Hit]:
    """Merge answers.

    Parameters
    ----------
    answers
        In the order of preference, which decides between equal scores.
    limit
        Most entries.

    Returns
    -------
    list of Hit
        The best first; the order depends on nothing but the answers.
    """
    groups = _grouped([(answer.provider, result) for answer in answers for result in answer.results])
    order = {answer.provider: at for at, answer in enumerate(answers)}
    hits = [_hit(members, order) for members in groups]
    hits.sort(key=lambda hit: (-hit.score, min(hit.ranks.values()), order[next(iter(hit.ranks))]))
    return hits[:limit]


def canonical_url(url: str) -> str:
    """Return what two spellings of one address have in common; for comparison, never to be fetched."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url
    host = re.sub(r"^(?:www|m|amp)\.(?=.*\.)", "", host)
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    path = _INDEX.sub("/", parts.path)
    path = re.sub(r"/{2,}", "/", path).rstrip("/") or "/"
    query = [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.fullmatch(k)]
    return urlunsplit(("https", host, path, urlencode(sorted(query)), ""))


def identities(result: SearchResult) -> frozenset[str]:
    """Return what tells that two results are one: identifiers, those in URLs too, and the canonical URL."""
    found = {f"url:{canonical_url(result.url)}"}
    ids = {name: str(value).strip().lower() for name, value in result.ids.items() if value}
    for name, value in _ids_in(result.url):
        ids.setdefault(name, value)
    if "arxiv" in ids:
        ids["arxiv"] = _VERSION.sub("", ids["arxiv"])
    if ids.get("doi", "").startswith("10.48550/arxiv."):  # the DOIs that arXiv gives its own papers
        ids.setdefault("arxiv", _VERSION.sub("", ids["doi"].removeprefix("10.48550/arxiv.")))
    return frozenset(
        found | {f"{name}:{value}" for name, value in ids.items() if name in ("doi", "arxiv", "pmid", "pmcid")}
    )


def _ids_in(url: str) -> Iterable[tuple[str, str]]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    host = (parts.hostname or "").removeprefix("www.").removeprefix("dx.")
    if host == "doi.org" and (match := _DOI.match(unquote(parts.path).lstrip("/"))):
        yield "doi", match[0].lower()
    if host in ("arxiv.org", "export.arxiv.org") and (match := _ARXIV.match(parts.path)):
        yield "arxiv", match[1].lower()


def _grouped(found: Iterable[tuple[str, SearchResult]]) -> list[list[tuple[str, SearchResult]]]:
    """Put together what shares an identity, directly or through others; in the order in which each was first met."""
    groups: dict[int, list[tuple[str, SearchResult]]] = {}
    names_of: dict[int, set[str]] = {}
    group_of: dict[str, int] = {}
    for number, entry in enumerate(found):
        names = set(identities(entry[1]))
        known = sorted({group_of[name] for name in names if name in group_of})
        target = known[0] if known else number
        members = groups.setdefault(target, [])
        for other in known[1:]:
            members += groups.pop(other)
            names |= names_of.pop(other)
        members.append(entry)
        names_of.setdefault(target, set()).update(names)
        group_of.update(dict.fromkeys(names, target))
    return list(groups.values())


def _hit(members: list[tuple[str, SearchResult]], order: Mapping[str, int]) -> Hit:
    best: dict[str, SearchResult] = {}
    for provider, result in members:
        if provider not in best or result.position < best[provider].position:
            best[provider] = result
    ranked = sorted(best.items(), key=lambda entry: (entry[1].position, order[entry[0]]))
    return Hit(
        _filled([result for _, result in ranked]),
        {provider: result.position for provider, result in ranked},
        sum(1 / (DAMPING + result.position) for _, result in ranked),
        {provider: result.raw for provider, result in ranked},
    )


def _filled(results: Sequence[SearchResult]) -> SearchResult:
    """Return the first result with what it lacks taken from the next that has it."""
    first, *others = results
    for other in others:
        first = replace(
            first,
            snippet=first.snippet or other.snippet,
            published=first.published if len(first.published) >= len(other.published) else other.published,
            engines=tuple(dict.fromkeys((*first.engines, *other.engines))),
            kind="paper" if "paper" in (first.kind, other.kind) else first.kind,
            generated=first.generated and other.generated,
            ids={**other.ids, **first.ids},
            authors=first.authors or other.authors,
            container=first.container or other.container,
            details={**other.details, **first.details},
            pdf_url=first.pdf_url or other.pdf_url,
            open_access=other.open_access if first.open_access is None else first.open_access,
            retracted=first.retracted or other.retracted,
            image_url=first.image_url or other.image_url,
        )
    return first
