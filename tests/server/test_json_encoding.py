"""JSON that is encoded in pieces reads as what went in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_webresearch.server.json_encoding import SLICE, encode


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": []},
        {"a": [1, 2], "b": {"c": [{}, {"d": None}]}, 'quote"': "line\nend"},
        {"long": list(range(3 * SLICE + 1))},
        {"exact": list(range(2 * SLICE))},
        {"tables": [{"rows": [["x"] * 3] * (SLICE + 1)}, {"rows": []}]},
        {"links": [{"text": "t", "url": "u"}] * (SLICE + 1)},
        {"mixed": [1, {"a": 1}, "x"]},
        {"text": "é 報 😀 \u2028 </script> \x00"},
        {"half of a pair": "\ud800"},
    ],
)
def test_round_trip(value: Any) -> None:
    data = encode(value)
    assert json.loads(data) == value
    assert b"\n" not in data  # one line of NDJSON
