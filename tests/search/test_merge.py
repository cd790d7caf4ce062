"""Merging: what is the same stands once, in an order that depends on nothing but the answers."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, SearchResult
from jupyter_webresearch.search.merge import canonical_url, identities, merge


def answer(provider: str, *urls: str | SearchResult) -> ProviderAnswer:
    results = [
        url if isinstance(url, SearchResult) else SearchResult(url, f"{provider} {at}", position=at)
        for at, url in enumerate(urls, 1)
    ]
    return ProviderAnswer(provider, tuple(results))


def paper(url: str, position: int = 1, **more: Any) -> SearchResult:
    return SearchResult(url, "A paper", position=position, kind="paper", **more)


@pytest.mark.parametrize(
    "spelling",
    [
        "http://example.org/a", "https://EXAMPLE.org/a/", "https://www.example.org/a", "https://example.org:443/a",
        "https://example.org/a#part", "https://example.org/a?utm_source=x&utm_medium=y", "https://example.org//a",
        "https://example.org/a?fbclid=1&gclid=2", "https://m.example.org/a", "https://example.org/a/index.html",
    ],
)  # fmt: skip
def test_spellings_of_one_address(spelling: str) -> None:
    assert canonical_url(spelling) == "https://example.org/a"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://example.org/a", "https://example.org/b"),
        ("https://example.org/a?id=1", "https://example.org/a?id=2"),
        ("https://example.org/a", "https://example.org:8080/a"),
        ("https://example.org/A", "https://example.org/a"),
        ("https://docs.example.org/a", "https://example.org/a"),
        ("https://www.org/", "https://org/"),
    ],
)
def test_other_addresses_stay_apart(first: str, second: str) -> None:
    assert canonical_url(first) != canonical_url(second)


def test_the_order_of_parameters_does_not_matter() -> None:
    assert canonical_url("https://example.org/?b=2&a=1") == canonical_url("https://example.org/?a=1&b=2")


@pytest.mark.parametrize("url", ["https://[::1", "https://example.org:99999/", "", "nonsense"])
def test_what_can_t_be_read_harms_nothing(url: str) -> None:
    assert isinstance(canonical_url(url), str)
    assert merge([answer("a", url)], 5)


@pytest.mark.parametrize(
    ("result", "identity"),
    [
        (paper("https://doi.org/10.1000/ABC.1"), "doi:10.1000/abc.1"),
        (paper("http://dx.doi.org/10.1000%2Fabc.1"), "doi:10.1000/abc.1"),
        (paper("https://arxiv.org/abs/2101.00001v2"), "arxiv:2101.00001"),
        (paper("https://www.arxiv.org/pdf/2101.00001.pdf"), "arxiv:2101.00001"),
        (paper("https://arxiv.org/abs/math.GT/0309136"), "arxiv:math.gt/0309136"),
        (paper("https://x.org/", ids={"arxiv": "2101.00001v3"}), "arxiv:2101.00001"),
        (paper("https://x.org/", ids={"doi": "10.48550/arXiv.2101.00001"}), "arxiv:2101.00001"),
        (paper("https://x.org/", ids={"pmid": "123"}), "pmid:123"),
    ],
)
def test_identifiers_are_found(result: SearchResult, identity: str) -> None:
    assert identity in identities(result)


def test_the_same_is_one_and_says_who_ranked_it_where() -> None:
    hits = merge(
        [
            answer("one", "https://example.org/a", "https://example.org/b"),
            answer("two", "http://www.example.org/b/", "https://example.org/c"),
        ],
        10,
    )
    assert [hit.result.url for hit in hits] == [
        "http://www.example.org/b/",
        "https://example.org/a",
        "https://example.org/c",
    ]
    assert hits[0].ranks == {"two": 1, "one": 2}
    assert hits[0].score == pytest.approx(1 / 61 + 1 / 62)


def test_gaps_are_filled_from_the_others() -> None:
    full = paper(
        "https://publisher.example/1", 2, ids={"doi": "10.1000/x"}, authors=("A B",), container="J", pdf_url="https://p/1.pdf",
        open_access=True, retracted=True, published="2024-05-01", snippet="words",
    )  # fmt: skip
    (hit,) = merge(
        [answer("crossref", paper("https://doi.org/10.1000/x", published="2024")), answer("openalex", full)], 5
    )
    result = hit.result
    assert (result.url, result.authors, result.container) == ("https://doi.org/10.1000/x", ("A B",), "J")
    assert (result.published, result.open_access, result.retracted) == ("2024-05-01", True, True)
    assert result.snippet == "words"
    assert result.pdf_url == "https://p/1.pdf"


def test_two_groups_that_a_third_joins_become_one() -> None:
    joined = paper("https://example.org/x", 1, ids={"doi": "10.1000/x", "arxiv": "2101.00001"})
    hits = merge(
        [
            answer("a", paper("https://arxiv.org/abs/2101.00001"), paper("https://other.example/", 2)),
            answer("b", paper("https://doi.org/10.1000/x")),
            answer("c", joined),
        ],
        10,
    )
    assert [set(hit.ranks) for hit in hits] == [{"a", "b", "c"}, {"a"}]


def test_one_provider_that_gives_it_twice_counts_once() -> None:
    (hit,) = merge([answer("a", "https://example.org/a", "https://example.org/a#2")], 5)
    assert hit.ranks == {"a": 1}
    assert hit.score == pytest.approx(1 / 61)


def test_the_limit_holds_and_no_answer_gives_no_hit() -> None:
    assert len(merge([answer("a", *(f"https://example.org/{n}" for n in range(30)))], 8)) == 8
    assert merge([], 8) == []
    assert merge([answer("a")], 8) == []


def test_the_order_in_which_answers_come_decides_only_ties() -> None:
    chance = random.Random(7)
    urls = [f"https://example.org/{n}" for n in range(12)]
    answers = [answer(name, *chance.sample(urls, 8)) for name in "abc"]
    scores = [
        {hit.result.url: round(hit.score, 9) for hit in merge(list(order), 20)}
        for order in itertools.permutations(answers)
    ]
    assert all(score == scores[0] for score in scores)


def test_what_was_sent_for_it_is_kept() -> None:
    (hit,) = merge([answer("a", SearchResult("https://x.org/", "t", raw={"k": 1})), answer("b", "https://x.org")], 5)
    assert hit.raws == {"a": {"k": 1}, "b": {}}
