"""JSON in a cell, in lines."""

from __future__ import annotations

import json
import re

import pytest

from jupyter_webresearch.kernel.display import answer_text, mimebundle, plain_form
from jupyter_webresearch.kernel.json_form import indented
from tests.kernel.test_display import page

VALUES = [
    f'{{"name": "a, [b]: \\"{n}\\"", "n": 1.10, "n": 1e400, "none": [], "no": {{}}, "deep": [[{n}]]}}' for n in range(9)
]
MINIFIED = "[" + ",".join(VALUES) + "]"


def test_json_is_shown_in_lines_and_stays_what_it_was() -> None:
    lines = indented(MINIFIED, 100)
    assert json.loads(lines) == json.loads(MINIFIED)
    assert lines.split("\n")[:8] == [
        "[",
        "  {",
        '    "name": "a, [b]: \\"0\\"",',
        '    "n": 1.10,',
        '    "n": 1e400,',
        '    "none": [],',
        '    "no": {},',
        '    "deep": [',
    ]
    shown = page(MINIFIED, kind="json", extractor="as-is")
    for form in mimebundle(shown).values():
        assert lines in form
    assert "shown indented" in plain_form(shown)
    assert MINIFIED in answer_text(shown)
    assert shown.markdown == MINIFIED


def test_long_json_says_at_which_line_it_is_cut() -> None:
    shown = page("[" + ",".join(VALUES * 20) + "]", kind="json", extractor="as-is")
    last = indented(shown.markdown, 100).count("\n") + 1
    for form in mimebundle(shown).values():
        assert re.search(rf"truncated at line [\d,]+ of {last:,}", form)
        assert "--offset" not in form


@pytest.mark.parametrize(
    "text",
    ["", '{"q": 1}', "{" + "x" * 200, MINIFIED[:-1], "[" * 90_000, "[" * 300 + "]" * 300, f"[{'1,' * 200_000}1]"],
)
def test_json_that_is_short_broken_deep_or_too_long_stays(text: str) -> None:
    assert indented(text, 100) == ""
    assert mimebundle(page(text, kind="json", extractor="as-is"))
