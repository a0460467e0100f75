"""Evaluations: figures as named columns, and by how much a point exceeds each buffer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.evaluations import Criteria, Evaluations
from dse.core.figures import BUFFERS, CostBatch, Figures
from dse.core.objective import objectives_of
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import Evaluator
from dse.search.journal import Journal
from dse.search.record import Record
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["eyeriss-small"], "edp")
GENES = PROBLEM.space.sample(np.random.default_rng(0), 2000)


def test_columns_and_their_types_are_those_of_the_struct_in_order() -> None:
    figures = ["cycles", "energy_nj", "power", "area", "l1_size", "l2_size", "macs"]
    assert list(Figures.types()) == figures
    assert list(CostBatch.types()) == [*figures, "valid", "reason"]
    assert list(Evaluations.types()) == [*figures, "loss", "reason"]
    priced = PROBLEM.price(GENES)
    assert {name: column.dtype for name, column in priced.columns().items()} == Evaluations.types()


def test_some_points_and_then_the_others_are_all_points() -> None:
    priced = PROBLEM.price(GENES)
    rest = priced.take(np.arange(len(GENES)) >= 700)
    whole = priced.take(slice(700)).joined(rest)
    for name, column in whole.columns().items():
        np.testing.assert_array_equal(column, getattr(priced, name))
    assert len(rest) == len(GENES) - 700
    assert whole.criteria is PROBLEM.criteria


def test_violation_is_what_each_buffer_lacks_and_zero_where_it_fits() -> None:
    priced, machine = PROBLEM.price(GENES), PROBLEM.accelerator
    assert priced.capacities.tolist() == [machine.l1_size, machine.l2_size]
    assert priced.violation.shape == (len(GENES), len(BUFFERS))
    assert (priced.violation[priced.reason == 0] == 0).all()
    too_large = np.isin(priced.reason, (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL))
    assert 0 < too_large.sum() < len(GENES)
    assert (priced.violation.any(axis=1) == too_large).all()
    row = int(np.argmax(priced.violation[:, 1]))
    assert priced.violation[row, 1] == priced.l2_size[row] - machine.l2_size > 0


@pytest.mark.parametrize(
    ("objective", "model"),
    [(name, model) for model in ("loopnest", "maestro") for name in objectives_of(model)],
)
def test_the_objective_value_is_the_loss_and_goes_on_where_a_buffer_is_exceeded(
    objective: str, model: str
) -> None:
    machine = replace(PROBLEM.accelerator, clock_ghz=0.7)
    priced = replace(PROBLEM, accelerator=machine, objective=objective, cost_model=model).price(GENES)
    np.testing.assert_array_equal(
        priced.objective_value, objectives_of(model)[objective].value(priced, machine.hertz)
    )
    feasible = priced.reason == 0
    np.testing.assert_array_equal(priced.objective_value[feasible], priced.loss[feasible])
    assert (priced.objective_value[priced.violation.any(axis=1)] > 0).all()


def test_points_of_an_unknown_problem_are_limited_by_nothing() -> None:
    record = Record(GENES.shape[1])
    record.append(GENES, PROBLEM.price(GENES))
    assert record.evaluations().violation.shape == (len(GENES), 0)


def test_a_model_may_limit_any_number_of_buffers() -> None:
    criteria = Criteria("edp", 1e9, np.array([100]))
    evaluations = replace(Evaluations.zeros(3), l1_size=np.array([1, 100, 107]), criteria=criteria)
    assert evaluations.needs.tolist() == [[1], [100], [107]]
    assert evaluations.violation.tolist() == [[0], [0], [7]]


def test_a_replayed_search_is_told_the_violations_again(tmp_path: Path) -> None:
    sizes = PROBLEM.space.sizes.tolist()
    with Journal(tmp_path / "j", {}, sizes) as journal:
        first = Evaluator(PROBLEM, 2000, journal=journal)(GENES[:700])
        record = Record(len(sizes))
        record.append(GENES[:700], first)
        journal.sync(record, force=True)
    with Journal(tmp_path / "j", {}, sizes) as journal:
        replay = Evaluator(PROBLEM, 2000, journal=journal)
        for batch in (GENES[:600], GENES[600:2000]):
            np.testing.assert_array_equal(replay(batch).violation, PROBLEM.price(batch).violation)
