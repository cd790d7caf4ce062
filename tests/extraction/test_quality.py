"""A floor under the quality of what is chosen, on real article pages with known bodies."""

from __future__ import annotations

import collections
import gzip
import json
import os
import re
import statistics
from pathlib import Path

import pytest

from jupyter_webresearch.extraction.document import Limits, extract_document
from jupyter_webresearch.plain import plain_text

DATA = os.environ.get("WEBRESEARCH_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="WEBRESEARCH_DATA is not set")

PAGES = 30
FLOOR = 0.945


def shingles(text):
    words = re.findall(r"\w+", text)
    return collections.Counter(tuple(words[i : i + 4]) for i in range(max(1, len(words) - 3)))


def scores(expected, found):
    """Return precision and recall of runs of four words."""
    wanted, had = shingles(expected), shingles(found)
    common = sum((wanted & had).values())
    return common / sum(had.values()), common / sum(wanted.values())


def test_articles_of_news_sites():
    folder = Path(DATA) / "aeb"
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    found = []
    for name in sorted(truth)[:: len(truth) // PAGES][:PAGES]:
        extraction = extract_document(
            gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()),
            url=truth[name]["url"],
            content_type="text/html",
            limits=Limits(),
        )
        assert extraction.title
        assert 0 < extraction.kept_share <= 1
        found.append(scores(truth[name]["articleBody"], plain_text(extraction.markdown)))
    precision, recall = (statistics.mean(column) for column in zip(*found, strict=True))
    assert 2 * precision * recall / (precision + recall) > FLOOR
