"""The comparison of searchers of two objectives: its table is what its committed runs come to."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import RESULTS, fronts, read_rows


def committed() -> list[tuple[Any, ...]]:
    rows = read_rows(RESULTS / "fronts.csv")
    return [
        (*(row[name] for name in fronts.HEADS[:5]), *(float(row[str(after)]) for after in fronts.AFTER))
        for row in rows
    ]


def test_every_searcher_has_run_on_every_problem_from_every_seed() -> None:
    cells = {(layer, machine, name, int(seed)) for layer, machine, _, name, seed, *_ in committed()}
    count = len(fronts.LAYERS) * len(fronts.MACHINES) * len(fronts.SEARCHERS) * fronts.SEEDS
    assert len(cells) == len(committed()) == count


def test_the_committed_table_is_that_of_the_committed_runs() -> None:
    text = (RESULTS / "fronts.md").read_text(encoding="utf-8")
    assert fronts.table(fronts.estimates(committed())) in text


def test_the_first_committed_run_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "LAYERS", ("alexnet:conv2",))
    monkeypatch.setattr(fronts, "MACHINES", ("edge",))
    monkeypatch.setattr(fronts, "SEARCHERS", {"random": ("random", {})})
    monkeypatch.setattr(fronts, "SEEDS", 1)
    (row,) = fronts.runs()
    (old,) = [one for one in committed() if one[:2] == row[:2] and one[3:5] == ("random", "0")]
    assert row[5:] == pytest.approx(old[5:], rel=1e-9)
