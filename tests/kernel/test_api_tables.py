"""Tables of a page as DataFrames."""

from __future__ import annotations

import math

import pytest

from jupyter_webresearch.models import Table

pytest.importorskip("pandas")


def column(*cells: str) -> list[object]:
    return list(Table(("x",), tuple((cell,) for cell in cells)).df["x"])


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1000.5", "-3", "+4"), [1000.5, -3.0, 4.0]),
        (("1", "2024", "0"), [1, 2024, 0]),
        (("\u22127", " 8 "), [-7, 8]),
        (("0.5",), [0.5]),
    ],
)
def test_plain_numbers_are_numbers(cells: tuple[str, ...], values: list[float]) -> None:
    frame = Table(("x",), tuple((cell,) for cell in cells)).df
    assert list(frame["x"]) == values
    assert frame["x"].dtype.kind == ("i" if all(isinstance(value, int) for value in values) else "f")


def test_an_empty_cell_among_numbers_is_not_a_number() -> None:
    one, empty, two = column("1", "", "2.5")
    assert (one, two) == (1.0, 2.5)
    assert isinstance(empty, float)
    assert math.isnan(empty)


@pytest.mark.parametrize("odd", ["1,234", "007", "12%", "1e5", "n/a", "1.", ".5", "1 000", "nan", "inf", "9" * 16, "٣"])
def test_anything_else_leaves_the_column_as_it_is(odd: str) -> None:
    assert column("1", odd, "") == ["1", odd, ""]


def test_empty_columns_and_tables_stay() -> None:
    assert column("", "") == ["", ""]
    frame = Table(("a", "b"), ()).df
    assert list(frame.columns) == ["a", "b"]
    assert len(frame) == 0


def test_names_are_made_unique() -> None:
    header = ("2024", "2024", "", "2024.1", "", "2024")
    frame = Table(header, (("1", "2", "3", "4", "5", "6"),)).df
    assert list(frame.columns) == ["2024", "2024.2", "Unnamed: 2", "2024.1", "Unnamed: 4", "2024.3"]
    assert list(frame.iloc[0]) == [1, 2, 3, 4, 5, 6]
