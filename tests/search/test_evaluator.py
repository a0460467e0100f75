"""The gate: it counts to the sample, records what it answers, and refuses what is not a point."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from dse.search.evaluator import BudgetExhausted, Evaluator, Progress
from dse.search.record import COLUMNS
from dse.support.errors import InputError
from tests.search.evaluator_cases import PROBLEM, TINY, assert_same, gate, points


@pytest.mark.parametrize("budget", [1, 7, 5_001])
@pytest.mark.parametrize("batch", [1, 4, 4096])
def test_exactly_the_budget_is_evaluated_and_recorded(budget: int, batch: int) -> None:
    evaluate, record = gate(budget)
    genes = points(budget + batch, seed=budget)
    asked = 0
    while evaluate.remaining >= batch:
        evaluate(genes[asked : asked + batch])
        asked += batch
    with pytest.raises(BudgetExhausted):
        evaluate(genes[asked : asked + batch])
    assert evaluate.remaining == 0
    assert len(record) == budget
    np.testing.assert_array_equal(record.genes(), genes[:budget])
    assert_same(record.evaluations(), PROBLEM.price(genes[:budget]))


def test_a_batch_larger_than_what_remains_is_evaluated_up_to_the_budget() -> None:
    evaluate, record = gate(10)
    evaluate(points(4))
    with pytest.raises(BudgetExhausted, match="of a batch of 9, 6 were evaluated"):
        evaluate(points(9, seed=1))
    np.testing.assert_array_equal(record.genes(4), points(9, seed=1)[:6])


def test_a_batch_that_spends_the_last_sample_is_answered() -> None:
    evaluate, _ = gate(5)
    assert_same(evaluate(points(5)), PROBLEM.price(points(5)))
    assert evaluate.remaining == 0


def test_every_call_after_the_budget_raises_again_and_changes_nothing() -> None:
    evaluate, record = gate(3)
    evaluate(points(3))
    for genes in (points(1), points(0), points(50)):
        with pytest.raises(BudgetExhausted, match="all 3 samples are spent"):
            evaluate(genes)
    assert len(record) == 3


def test_duplicates_and_infeasible_points_cost_a_sample_each() -> None:
    evaluate, record = gate(300)
    evaluations = evaluate(np.repeat(points(1), 100, axis=0))
    assert evaluate.remaining == 200
    assert len(set(evaluations.loss.tolist())) == 1
    infeasible = points(500)[PROBLEM.price(points(500)).reason != 0][:150]
    assert np.isinf(evaluate(infeasible).loss).all()
    assert evaluate.remaining == 50
    assert len(record) == 250


def test_a_copy_is_the_evaluator_itself_so_that_it_gives_no_samples_away() -> None:
    evaluate, record = gate(10)
    copy.deepcopy(evaluate)(points(4))
    copy.copy(evaluate)(points(4))
    assert evaluate.remaining == 2
    assert len(record) == 8
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(evaluate)


def test_no_rows_cost_nothing_while_the_budget_lasts() -> None:
    evaluate, record = gate(3)
    assert len(evaluate(points(0))) == 0
    assert evaluate.remaining == 3
    assert len(record) == 0


@pytest.mark.parametrize(
    ("genes", "message"),
    [
        (points(3)[:, :12], r"shape \(n, 13\), got int64 of shape \(3, 12\)"),
        (points(3)[0], r"got int64 of shape \(13,\)"),
        (points(3)[None], r"got int64 of shape \(1, 3, 13\)"),
        (points(3).astype(float), "whole numbers of shape .*, got float64"),
        (points(3) > 0, "got bool"),
        (points(3).astype(object), "got object"),
        (points(3).astype(str), "got <U"),
        ([], r"got float64 of shape \(0,\)"),
        (None, "got object"),
    ],
)
def test_what_is_not_an_array_of_points_is_refused_before_it_is_charged(genes: object, message: str) -> None:
    evaluate, record = gate(10)
    with pytest.raises(ValueError, match=message):
        evaluate(genes)
    assert evaluate.remaining == 10
    assert len(record) == 0


@pytest.mark.parametrize("value", [-1, 4, 2**62, -(2**63), 2**63 - 1])
def test_a_gene_outside_its_range_is_named_before_the_batch_is_charged(value: int) -> None:
    evaluate, record = gate(10)
    genes = points(3)
    genes[1, 1] = value
    with pytest.raises(
        ValueError, match=f"gene 'outer.parallel' of row 1 must be within 0 and 3, got {value}$"
    ):
        evaluate(genes)
    assert evaluate.remaining == 10
    assert len(record) == 0


def test_unsigned_genes_too_large_for_64_bits_with_a_sign_are_refused() -> None:
    genes = points(1).astype(np.uint64)
    genes[0, 0] = 2**64 - 1
    with pytest.raises(ValueError, match="got 18446744073709551615"):
        gate(10)[0](genes)


def test_a_bad_row_beyond_the_budget_is_refused_all_the_same() -> None:
    evaluate, record = gate(2)
    genes = points(4)
    genes[3, 0] = -1
    with pytest.raises(ValueError, match="row 3"):
        evaluate(genes)
    assert len(record) == 0


@pytest.mark.parametrize(
    "as_given", [lambda g: g.astype(np.int8), lambda g: np.asfortranarray(g), lambda g: g.tolist()]
)
def test_points_of_any_whole_type_and_layout_are_taken(as_given) -> None:
    evaluate, record = gate(10)
    assert_same(evaluate(as_given(points(5))), PROBLEM.price(points(5)))
    np.testing.assert_array_equal(record.genes(), points(5))


def test_a_searcher_cannot_change_what_was_recorded() -> None:
    evaluate, record = gate(20)
    genes = points(10)
    evaluations = evaluate(genes)
    genes[:] = 0
    for name in COLUMNS:
        column = getattr(evaluations, name)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
        column.flags.writeable = True
        column[:] = 0
    with pytest.raises(AttributeError):
        evaluations.loss = np.zeros(10)
    np.testing.assert_array_equal(record.genes(), points(10))
    assert_same(record.evaluations(), PROBLEM.price(points(10)))


def test_what_a_record_hands_out_is_a_copy() -> None:
    evaluate, record = gate(20)
    evaluate(points(10))
    record.genes()[:] = 0
    record.evaluations().loss[:] = 0
    np.testing.assert_array_equal(record.genes(), points(10))
    assert (record.evaluations().loss > 0).all()


def test_a_searcher_sees_the_space_the_objective_and_the_budget_and_cannot_set_them() -> None:
    evaluate, _ = gate(20)
    evaluate(points(5))
    assert (evaluate.space, evaluate.objective, evaluate.budget, evaluate.remaining) == (
        PROBLEM.space, "edp", 20, 15,
    )  # fmt: skip
    assert {name for name in dir(evaluate) if not name.startswith("_")} == {
        "budget", "cost_model", "counters", "evaluate_start", "known", "objective", "remaining", "space",
    }  # fmt: skip
    for name in ("space", "objective", "budget", "remaining", "record", "anything"):
        with pytest.raises(AttributeError):
            setattr(evaluate, name, 0)


def test_a_budget_may_exceed_the_space() -> None:
    assert TINY.space.vectors < 20
    evaluate, record = gate(50, TINY)
    evaluate(points(50, problem=TINY))
    assert len(record) == 50


@pytest.mark.parametrize("budget", [0, -1, 2.5, True, "many", None])
def test_a_budget_that_is_none_is_refused(budget: object) -> None:
    with pytest.raises(InputError, match="budget must be"):
        Evaluator(PROBLEM, budget)


def test_an_observer_sees_how_far_the_search_is_and_its_best_loss() -> None:
    seen: list[Progress] = []
    evaluate, _ = gate(100, observers=[seen.append])
    losses = [evaluate(points(40, seed=3)).loss.min(), evaluate(points(40, seed=4)).loss.min()]
    with pytest.raises(BudgetExhausted):
        evaluate(points(40, seed=5))
    losses.append(PROBLEM.price(points(40, seed=5)[:20]).loss.min())
    assert [progress.samples for progress in seen] == [40, 80, 100]
    assert [progress.best_loss for progress in seen] == np.minimum.accumulate(losses).tolist()
    assert {(progress.budget, progress.replayed) for progress in seen} == {(100, 0)}
