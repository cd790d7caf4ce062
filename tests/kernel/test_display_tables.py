"""Tables, as part of a page and by themselves."""

from __future__ import annotations

import re

import pytest

from jupyter_webresearch.kernel.plain_form import width, wrapped
from jupyter_webresearch.models import Table
from tests.kernel.test_display import PARAGRAPH


def test_a_table_has_columns() -> None:
    assert wrapped("| City | People |\n| --- | --- |\n| Lyon | 522 \\| 250 |\n", 100) == (
        "City  People\n----  ---------\nLyon  522 | 250"
    )


def markdown_table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


@pytest.mark.parametrize("count", [2, 7, 8, 25])
def test_a_wide_table_keeps_its_numbers_and_its_headers_whole(count: int) -> None:
    header = ["Country", *(f"Year {2000 + n}" for n in range(count))]
    numbers = [[f"{n + 1},234,567.{r}" for n in range(count)] for r in range(3)]
    rows = [[f"{PARAGRAPH}", *cells] for cells in numbers]
    shown = wrapped(markdown_table([header, *rows]), 100).split("\n")
    assert max(map(width, shown)) <= 100
    kept = [name for name in header if name in shown[0]]
    assert shown[0].split("  ")[0] == "Country"
    assert kept == header[: len(kept)]
    for line, cells in zip(shown[2:5], numbers, strict=True):
        assert re.findall(r"\d[\d,.]+", line) == cells[: len(kept) - 1]
    left = len(header) - len(kept)
    assert (shown[-1] == f"... {left} more column{'s' if left > 1 else ''}") == (left > 0)
    assert left == max(0, count - 6)


@pytest.mark.parametrize("number", ["-1000.5", "$1,234.00", "US$ 12", "12 %", "2024-03-04", "3.5 km", "€ 1 200", "(7)"])
def test_a_number_is_never_shortened(number: str) -> None:
    written = number.replace("$", "\\$")
    rows = [["a", "b", "c"], *[[PARAGRAPH, written, PARAGRAPH]] * 2]
    assert all(number in line for line in wrapped(markdown_table(rows), 50).split("\n")[2:])


def test_a_table_is_shown_as_one_and_inert() -> None:
    table = Table(("City", "<b>"), (("Lyon | [x](javascript:1)", "1"), ("a\nb", "<img src=x>")), "The *caption*")
    forms = table._repr_mimebundle_()
    assert set(forms) == {"text/markdown", "text/plain"}
    lines = forms["text/markdown"].split("\n")
    assert "**The \\*caption\\***" in lines
    assert "| City | &lt;b> |" in lines
    assert "| Lyon \\| &#91;x&#93;(javascript:1) | 1 |" in lines
    assert "| a b | &lt;img src=x> |" in lines
    assert forms["text/plain"].split("\n")[0] == "The *caption*"
    assert re.search(r"^Lyon \| \[x\]\(javascript:1\) +1$", forms["text/plain"], re.MULTILINE)
    assert repr(table) == "<Table 'The *caption*' 2 rows x 2 columns>"


def test_a_long_table_says_how_many_rows_are_left() -> None:
    for form in Table(("n",), tuple((str(n),) for n in range(100_000)))._repr_mimebundle_().values():
        assert len(form) < 20_000
        assert re.search(r"9\d,\d{3} more rows", form)
