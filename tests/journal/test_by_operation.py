"""One row an operation."""

from __future__ import annotations

import pandas

from jupyter_webresearch.journal.by_operation import COLUMNS, by_operation, to_dataframe
from tests.journal.writing import event

URL = "https://example.org/"


def rows(*events: object) -> list[dict[str, object]]:
    return by_operation([each.to_json() for each in events])  # type: ignore[attr-defined]


def test_what_began_and_ended_is_one_row_from_its_beginning() -> None:
    (row,) = rows(
        event("a", "started", url=URL, time="2026-12-01T10:00:00.000Z"),
        event("a", url=URL, final_url=f"{URL}b", status=200, bytes=7, seconds=2.5, time="2026-12-01T10:00:09.000Z"),
    )
    assert (row["time"], row["outcome"], row["url"]) == ("2026-12-01T10:00:00.000Z", "completed", f"{URL}b")
    assert (row["status"], row["bytes"], row["seconds"]) == (200, 7, 2.5)
    assert tuple(row) == COLUMNS


def test_what_runs_and_what_ended_after_what_began_later() -> None:
    found = rows(
        event("a", "started", url=URL), event("b", "started", url=URL), event("b", "refused", code="robots", url=URL)
    )
    assert [(row["outcome"], row["code"], row["seconds"]) for row in found] == [
        ("running", "", None),
        ("refused", "robots", 0.0),
    ]


def test_an_end_whose_beginning_is_not_there_tells_when_that_was() -> None:
    (row,) = rows(event("a", time="2026-12-01T10:00:09.500Z", seconds=2.5))
    assert row["time"] == "2026-12-01T10:00:07.000Z"


def test_what_has_no_url_says_what_it_was_about() -> None:
    found = rows(event("a", kind="search", query="tides"), event("b", kind="policy", scope="task set"))
    assert [row["url"] for row in found] == ["tides", "task set"]


def test_the_table_has_types_and_a_small_index() -> None:
    frame = to_dataframe(rows(event("a", status=200, bytes=7), event("b", "started")))
    assert list(frame.index) == [0, 1]
    assert str(frame.time.dtype).startswith("datetime64")
    assert frame.status.isna().tolist() == [False, True]
    assert len(to_dataframe([])) == 0
    assert isinstance(to_dataframe([]), pandas.DataFrame)
