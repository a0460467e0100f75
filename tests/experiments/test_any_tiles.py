"""The page on how long proofs over tiles of any size take is what its committed proofs come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import any_tiles, read_rows


def test_the_page_is_made_from_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = any_tiles.PAGE.read_text()
    monkeypatch.setattr(any_tiles, "PAGE", tmp_path / "page.md")
    any_tiles.show()
    assert (tmp_path / "page.md").read_text() == committed


def test_the_table_has_the_first_problems_of_the_order_and_no_bound_above_a_mapping() -> None:
    rows = read_rows(any_tiles.FILE)
    names = [(name, machine, problem.objective) for name, machine, problem in any_tiles.problems()]
    assert [(one["layer"], one["accelerator"], one["objective"]) for one in rows] == names[: len(rows)]
    assert all(float(one["bound"]) <= float(one["best"]) for one in rows)
