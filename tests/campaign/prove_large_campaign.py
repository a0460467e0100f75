"""A campaign of 100,000 cells begins, goes on and reports in the time and memory that it may take."""

from __future__ import annotations

from tests.conftest import Dse


def test_a_hundred_thousand_cells_begin_in_seconds_and_are_reported_in_minutes(dse: Dse) -> None:
    rows = {row["step"]: row for row in dse("bench", "campaign", "--json").json["campaign"]}
    assert {row["cells"] for row in rows.values()} == {100_000}
    assert rows["begin, to the first cell"]["seconds"] < 10
    assert rows["go on, to the next cell"]["seconds"] < 10
    assert rows["report"]["seconds"] < 300
    assert max(row["peak_mb"] for row in rows.values()) < 1500
