"""JSON lines: one value a line, whatever the media type calls them."""

from __future__ import annotations

import pytest

from jupyter_webresearch.models import Source
from jupyter_webresearch.page import Page

LINES = '{"a": 1, "b": "x"}\n\n{"a": 2, "b": "y\\u2028z"}\n'


def page(text, content_type):
    url = "https://e.example/rows"
    source = Source(requested=url, url=url, fetched="2024-01-01T00:00:00+00:00", method="GET", status=200)
    return Page(markdown=text, title="", url=url, status=200, content_type=content_type, kind="json", source=source)


@pytest.mark.parametrize("content_type", ["application/x-ndjson", "application/ndjson", "application/jsonl"])
def test_every_line_is_a_value(content_type):
    lines = page(LINES, content_type)
    assert lines.json() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y\u2028z"}]
    assert list(lines.df["a"]) == [1, 2]
    with pytest.raises(ValueError, match="valid JSON"):
        page("{", content_type).json()


def test_other_json_is_one_value():
    assert page('{"a": 1}', "application/json").json() == {"a": 1}
    with pytest.raises(ValueError, match="valid JSON"):
        page(LINES, "application/json").json()
