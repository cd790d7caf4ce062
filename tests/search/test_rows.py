"""What services send, read without trust; and dates as they write them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderError, SearchResult
from jupyter_webresearch.search.dates import covering_range, iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.rows import collected, link, number, rows, text, texts


@pytest.mark.parametrize(
    "value, found",
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        (" HTTPS://Example.org ", "HTTPS://Example.org"),
        ("https://ru.example/Что", "https://ru.example/Что"),
        ("https://example.org/a b<c>", "https://example.org/a%20b%3Cc%3E"),
        ("example.org/a", ""),
        ("//example.org/a", ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("ftp://example.org/", ""),
        ("https://user:word@example.org/", ""),
        ("https://example.org\\@evil.example/", ""),
        ("https://example.org/\x00", ""),
        ("https://example.org/\ud800", ""),
        ("https://", ""),
        ("https://example.org/" + "a" * 3000, ""),
        (None, ""),
        (["https://example.org"], ""),
    ],
)
def test_links_are_absolute_or_none(value: Any, found: str) -> None:
    assert link(value) == found


@pytest.mark.parametrize(
    "value, found",
    [
        ("2024", "2024"),
        ("2024-05", "2024-05"),
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T10:20:30", "2024-05-01T10:20:30"),
        ("2024-05-01 10:20:30", "2024-05-01T10:20:30"),
        ("2024-05-01T10:20:30.123Z", "2024-05-01T10:20:30Z"),
        ("2024-05-01T10:20:30+02:00", "2024-05-01T10:20:30+02:00"),
        ("20240501T040000", "2024-05-01T04:00:00"),
        ("20240501", "2024-05-01"),
        ("May 1, 2024", "2024-05-01"),
        ("August 12, 2026", "2026-08-12"),
        ("Foo 1, 2024", ""),
        ("2 days ago", ""),
        ("2024-13-01", ""),
        ("2024-02-30", ""),
        ("2024-05-01T99:00:00", ""),
        ("٢٠٢٤", ""),
        ("", ""),
        (2024, ""),
        (None, ""),
    ],
)
def test_dates_are_iso_or_none(value: Any, found: str) -> None:
    assert iso_date(value) == found


@pytest.mark.parametrize(
    "since, reach",
    [
        (date(2024, 5, 31), "day"), (date(2024, 6, 2), "day"), (date(2024, 5, 30), "day"), (date(2024, 5, 29), "week"),
        (date(2024, 5, 1), "month"), (date(2024, 4, 29), "year"), (date(2023, 6, 1), "year"), (date(2023, 5, 1), ""),
    ],
)  # fmt: skip
def test_a_range_reaches_back_to_the_day(since: date, reach: str) -> None:
    assert covering_range(since, date(2024, 5, 31)) == reach


def test_texts_and_numbers() -> None:
    assert text("<b>a</b>\n&amp;") == "a &"
    assert text(12) == "12"
    assert text(True) == text(None) == text(["a"]) == text(10**400) == ""
    assert len(text("a" * 9000)) == 2000
    assert texts(["a", None, "", "b"]) == ("a", "b")
    assert texts("ab") == ()
    assert (number(1), number(True), number("1"), number(10**400)) == (1.0, None, None, None)


def test_a_missing_list_is_not_an_empty_one() -> None:
    assert rows([], "results") == []
    assert rows([{"a": 1}, None, "x"], "results") == [{"a": 1}]
    with pytest.raises(ProviderError, match="without results") as caught:
        rows(None, "results")
    assert caught.value.kind == "bad_payload"


def test_what_is_wanted_is_collected() -> None:
    found = [
        SearchResult("https://a.example.org/1", "old", published="2023"),
        SearchResult("https://a.example.org/2", "kept, only the year is known", published="2024"),
        SearchResult("https://badexample.org/", "another site"),
        SearchResult("", "no link"),
        SearchResult("https://example.org/3", "kept, no date"),
        SearchResult("https://example.org/4", "beyond the limit"),
    ]
    results, notes = collected(found, Question("q", limit=2, since=date(2024, 5, 1), site="example.org"))
    assert [(result.position, result.title[:4]) for result in results] == [(1, "kept"), (2, "kept")]
    assert notes == (
        "1 left out: older than 2024-05-01",
        "1 left out: not of example.org",
        "1 left out: without a web address",
    )
