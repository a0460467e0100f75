"""Runs that are led from outside: ask and tell at the gate, which counts them as it counts any searcher's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse.analysis.study import load_study
from dse.search.evaluator import BudgetExhausted
from dse.search.record import read_parquet
from dse.search.session import Session
from dse.support.errors import InputError
from tests.conftest import Dse

SHORT = dse.suite("short")


def run(place: int, out: Path, **named: object) -> Session:
    with SHORT[place].ask_tell(budget=12, out=out, **named) as study:  # type: ignore[arg-type]
        while True:
            study.tell(study.ask(5))
    return study


def test_every_point_told_is_a_sample_and_the_budget_ends_the_block() -> None:
    with SHORT[7].ask_tell(budget=8) as study:
        points = study.ask(3)
        evaluations = study.tell(points)
        assert study.remaining == 5
        assert study(points[0]) == evaluations.loss[0]
        assert study.tell(points.astype(float)).loss.tolist() == evaluations.loss.tolist()
        study.tell(points)
    assert study.remaining == 0
    assert len(study.result.record) == 8
    with pytest.raises(InputError, match="the run is over"):
        study.tell(points)


def test_what_is_left_of_a_budget_goes_to_the_best_point_again() -> None:
    with SHORT[7].ask_tell(budget=9, start="templates") as study:
        known = study.known
    record = study.result.record
    assert len(known.genes) == 3
    assert study.result.best is not None
    assert study.result.best.loss == known.evaluations.loss.min()
    assert (record.genes(3) == record.genes(study.result.best.index, study.result.best.index + 1)).all()


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ([999] * 13, "gene 'outer.order' of row 0 must be within 0 and 23, got 999"),
        ([0.5] * 13, "genes must be whole numbers of shape"),
        ([0, 1], "genes must be whole numbers of shape"),
        (["a"] * 13, "genes must be whole numbers of shape"),
    ],
)
def test_a_point_that_is_none_costs_nothing(point: list[object], said: str) -> None:
    study = SHORT[0].ask_tell(budget=5)
    with pytest.raises(InputError, match=said):
        study.tell(point)  # type: ignore[arg-type]
    assert study.remaining == 5


def test_a_problem_is_a_function_of_integers_that_is_counted() -> None:
    problem = dse.suite("short")[7]
    low, high = problem.bounds
    losses = [problem(low), problem(high), problem(problem.entry.genes)]
    assert losses[2] == problem.loss == min(losses)
    assert problem.session.remaining == SHORT.budget - 3


def test_why_a_mapping_is_refused_is_said_of_what_was_paid_for() -> None:
    study = SHORT[0].ask_tell(budget=50)
    points = study.ask(40)
    refused = points[study.tell(points).reason != 0][0]
    assert "needs" in study.why(refused)
    with pytest.raises(InputError, match="only of points that were told"):
        study.why([1, *[0] * 12])
    assert study.remaining == 10


def test_a_run_that_is_kept_is_a_cell_that_reports_read(dse: Dse, tmp_path: Path) -> None:
    study = run(7, tmp_path, searcher="mine", seed=1, saw="layers")
    run(7, tmp_path, searcher="mine", seed=0, saw="layers")
    run(9, tmp_path, searcher="other", version="2.1", start="templates")
    folder = tmp_path / "short-maestro"
    found = load_study(folder)
    assert set(found.searchers) == {"mine", "other"}
    assert len(found.summaries) == 3
    assert found.target(found.problems[1])[1]
    (path,) = folder.glob("cells/densenet.growth4*mine--s1.parquet")
    record, about = read_parquet(path)
    assert np.array_equal(record.genes(), study.result.record.genes())
    assert about["suite"] == {"name": "short", "digest": SHORT.digest}
    assert about["identity"]["settings"]["saw"] == "layers"
    with pytest.raises(InputError, match="is there already; take another seed"):
        run(7, tmp_path, searcher="mine", seed=1, saw="layers")
    with pytest.raises(InputError, match="holds runs of another 'mine': saw 'layers' there, 'nothing' now"):
        run(7, tmp_path, searcher="mine", seed=2)


def test_a_run_that_fails_is_not_kept(tmp_path: Path) -> None:
    def fail() -> None:
        with SHORT[7].ask_tell(budget=5, out=tmp_path) as study:
            study.tell(study.ask())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"searcher": "a b"}, "searcher must be up to 64 letters"),
        ({"saw": ""}, "saw must be a line of text"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"start": "nowhere"}, "unknown start 'nowhere'"),
    ],
)
def test_what_a_run_cannot_be_is_said(named: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        SHORT[7].ask_tell(**named)  # type: ignore[arg-type]


def test_a_budget_that_is_spent_stays_spent() -> None:
    study = SHORT[7].ask_tell(budget=2)
    with pytest.raises(BudgetExhausted):
        study.tell(study.ask(3))
    with pytest.raises(BudgetExhausted):
        study.tell(study.ask())
    assert len(study.result.record) == 2
