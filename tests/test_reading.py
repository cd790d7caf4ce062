"""Parts of a long text: no gap, no overlap, within both limits, cut where a reader would."""

from __future__ import annotations

import pytest

from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.reading import MAX_BYTES, MAX_CHARS, window

TEXTS = {
    "ascii": "abcdefghij" * 20_000,
    "two bytes": "é" * 100_000,
    "three bytes": "語" * 100_000,
    "four bytes": "𝒳" * 50_000,
    "mixed": "a語𝒳é\n" * 30_000,
    "blocks": "\n\n".join(f"Paragraph {n}. " + "word " * (n % 90) for n in range(1500)),
    "one line": "x" * 90_000,
    "short": "x",
    "empty": "",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("max_bytes", [1024, 48 * 1024, MAX_BYTES, 10 * MAX_BYTES])
def test_parts_join_to_the_text(name: str, max_bytes: int) -> None:
    text = TEXTS[name]
    parts, offset = [], 0
    while True:
        part, shown = window(text, offset, max_bytes)
        assert len(part) <= MAX_CHARS
        assert len(part.encode()) <= min(max_bytes, MAX_BYTES)
        assert (shown.offset, shown.end, shown.total) == (offset, offset + len(part), len(text))
        assert shown.shown_bytes == len(text[: shown.end].encode())
        assert shown.total_bytes == len(text.encode())
        assert (shown.note != "") == (max_bytes > MAX_BYTES)
        parts.append(part)
        if shown.next_offset is None:
            break
        assert shown.next_offset > offset
        assert shown.closing == (
            f"[truncated at {shown.shown_bytes} of {shown.total_bytes} bytes] --offset {shown.next_offset}"
        )
        offset = shown.next_offset
    assert "".join(parts) == text


def test_cuts_behind_a_block_in_the_last_tenth() -> None:
    text = "a" * 950 + "\n\n" + "b" * 500
    assert window(text, 0, 1000)[0] == "a" * 950 + "\n\n"


def test_a_block_that_ends_earlier_is_not_where_to_cut() -> None:
    text = "a" * 800 + "\n\n" + "b" * 500
    assert len(window(text, 0, 1000)[0]) == 1000


def test_a_line_is_the_second_best_cut() -> None:
    text = "a" * 950 + "\n" + "b" * 500
    assert window(text, 0, 1000)[0] == "a" * 950 + "\n"


@pytest.mark.parametrize("offset", [-1, 5, 6, 10**9])
def test_offset_outside(offset: int) -> None:
    with pytest.raises(BadInput) as caught:
        window("12345", offset, 1024)
    assert caught.value.code == "bad_offset"


@pytest.mark.parametrize("max_bytes", [-1, 0, 3])
def test_no_room_for_a_character(max_bytes: int) -> None:
    with pytest.raises(BadInput) as caught:
        window("12345", 0, max_bytes)
    assert caught.value.code == "bad_request"


def test_smallest_room_makes_progress() -> None:
    assert window("𝒳𝒳", 0, 4)[0] == "𝒳"
