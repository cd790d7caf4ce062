"""Where a chosen text lies in the page: words matched back onto leaves, in linear time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from jupyter_webresearch.extraction.leaves import Leaf, words_of

__all__ = ["mark_covered"]

_GRAM = 5  # words that must agree before a place counts as found
_NEAR = 400  # words within which a shorter agreement counts
_TRIES = 20  # places looked at for one phrase that occurs often


def mark_covered(leaves: Sequence[Leaf], text: str) -> int:
    """Set ``covered`` of every leaf to the number of its words that ``text`` holds.

    Lines of ``text`` are looked up as whole leaves first, which finds nearly all of them; what is left is matched by
    runs of five words. Both go forward through the page, so that a sentence which a teaser repeats is found in the
    article.

    Parameters
    ----------
    leaves
        All of the page, in its order.
    text
        What was chosen, one block a line.

    Returns
    -------
    int
        Words in ``text``.
    """
    return _Alignment(leaves).run(text)


class _Alignment:
    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = leaves
        self.words: list[str] = []
        self.starts: list[int] = []
        whole: dict[str, list[int]] = {}
        for leaf in leaves:
            start = len(self.words)
            self.starts.append(start)
            if leaf.words:
                whole.setdefault(" ".join(leaf.words), []).append(start)
            self.words += leaf.words
        self.whole = whole
        self.covered = bytearray(len(self.words))
        self.position = 0
        self.grams: dict[tuple[str, ...], list[int]] | None = None

    def run(self, text: str) -> int:
        total = 0
        for line in text.split("\n"):
            words = words_of(line)
            if not words:
                continue
            total += len(words)
            places = self.whole.get(" ".join(words))
            place = self._choose(places, far=len(words) >= _GRAM) if places else None
            if place is not None:
                self._cover(place, len(words))
            else:
                self._match_runs(words)
        for leaf, start in zip(self.leaves, self.starts, strict=True):
            leaf.covered = sum(self.covered[start : start + len(leaf.words)])
        return total

    def _cover(self, start: int, length: int) -> None:
        self.covered[start : start + length] = b"\x01" * length
        self.position = start + length

    def _choose(self, places: list[int], *, far: bool) -> int | None:
        """Return the next place after the last match that is still free, else the nearest free one before it."""
        at = bisect_left(places, self.position)
        for place in places[at : at + _TRIES]:
            if not self.covered[place]:
                if far or place - self.position < _NEAR:
                    return place
                break
        for place in reversed(places[max(0, at - _TRIES) : at]):
            if not self.covered[place] and (far or self.position - place < _NEAR):
                return place
        return None

    def _match_runs(self, words: list[str]) -> None:
        if len(words) < _GRAM:
            self._match_short(words)
            return
        if self.grams is None:
            self.grams = {}
            page = self.words
            for start, gram in enumerate(zip(page, page[1:], page[2:], page[3:], page[4:], strict=False)):
                self.grams.setdefault(gram, []).append(start)
        at = 0
        while at <= len(words) - _GRAM:
            places = self.grams.get(tuple(words[at : at + _GRAM]))
            place = self._choose(places, far=True) if places else None
            if place is None:
                at += 1
                continue
            length = _GRAM
            page = self.words
            while (
                at + length < len(words) and place + length < len(page) and page[place + length] == words[at + length]
            ):
                length += 1
            self._cover(place, length)
            at += length
        rest = words[at:]
        if rest and self.words[self.position : self.position + len(rest)] == rest:
            self._cover(self.position, len(rest))

    def _match_short(self, words: list[str]) -> None:
        """Match a line of a few words that is part of a leaf, close to the last match."""
        length = len(words)
        end = min(self.position + _NEAR, len(self.words) - length + 1)
        start = self.position
        while start < end:
            try:
                start = self.words.index(words[0], start, end)
            except ValueError:
                return
            if self.words[start : start + length] == words:
                self._cover(start, length)
                return
            start += 1
