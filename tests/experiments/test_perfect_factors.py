"""The page on what perfect factors cost is what its committed proofs come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.core.domains import make_problem
from experiments import perfect_factors, read_rows
from workloads import load_layer


def test_the_page_is_made_from_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = perfect_factors.PAGE.read_text()
    monkeypatch.setattr(perfect_factors, "PAGE", tmp_path / "page.md")
    perfect_factors.show()
    assert (tmp_path / "page.md").read_text() == committed


def test_the_table_has_the_first_problems_of_the_order_and_no_bound_above_a_mapping() -> None:
    rows = read_rows(perfect_factors.FILE)
    names = [(name, machine, problem.objective) for name, machine, problem in perfect_factors.problems()]
    assert [(one["layer"], one["accelerator"], one["objective"]) for one in rows] == names[: len(rows)]
    for one in rows:
        assert float(one["bound"]) <= float(one["any"]) <= float(one["factors"])


def test_a_proof_of_the_table_is_had_again() -> None:
    wanted = ("vit-b16:down_proj", "eyeriss-small", "edp")
    (row,) = [
        one
        for one in read_rows(perfect_factors.FILE)
        if (one["layer"], one["accelerator"], one["objective"]) == wanted
    ]
    problem = make_problem(load_layer(wanted[0]), wanted[1], wanted[2], perfect_factors.MODEL)
    again = perfect_factors.row(*wanted[:2], problem, 60.0)
    assert again[:7] == tuple(row.values())[:7]
