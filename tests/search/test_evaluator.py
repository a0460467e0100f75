"""The gate: it counts to the sample, records what it answers, and refuses what is not a point."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dse.core.evaluations import Evaluations
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator, Progress
from dse.search.record import COLUMNS, Record, read_parquet, write_parquet
from dse.search.searcher import drive
from dse.support.errors import InputError
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")
TINY = Problem(
    load_layer("mobilenet_v2:1"),
    PRESETS["edge"],
    cost_model="maestro",
    fixed={gene.name: "K" for gene in PROBLEM.space.genes if gene.kind == "categorical"}
    | {gene.name: "KCYX" for gene in PROBLEM.space.genes if gene.kind == "permutation"}
    | {f"{level}.tile.{dim}": 1 for level in ("outer", "inner") for dim in "KCY"}
    | {"cluster": 16, "inner.tile.X": 1},
)
RNG = np.random.default_rng


def points(n: int, seed: int = 0, problem: Problem = PROBLEM) -> np.ndarray:
    return problem.space.sample(RNG(seed), n)


def gate(budget: int, problem: Problem = PROBLEM, **more) -> tuple[Evaluator, Record]:
    record = Record(13)
    return Evaluator(problem, budget, record=record, **more), record


def assert_same(one: Evaluations, other: Evaluations) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("budget", [1, 7, 20_001])
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
        "budget", "evaluate_start", "known", "objective", "remaining", "space",
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


class Breaking:
    """A problem whose model fails after ten points."""

    space, objective, points = PROBLEM.space, "edp", 0

    def price(self, genes: np.ndarray) -> Evaluations:
        self.points += len(genes)
        if self.points > 10:
            raise RuntimeError("the model broke")
        return PROBLEM.price(genes)


class Slow:
    """A problem that takes 0.06 s a point, counted by a clock of its own."""

    space, objective, criteria, now = PROBLEM.space, "edp", PROBLEM.criteria, 0.0

    def price(self, genes: np.ndarray) -> Evaluations:
        Slow.now += 0.06 * len(genes)
        return PROBLEM.price(genes)


@pytest.mark.parametrize(("at_once", "seen"), [(1, [1, 4, 7, 10]), (8, [8, 10])])
def test_a_slow_batch_is_drawn_and_reported_in_slices(
    monkeypatch: pytest.MonkeyPatch, at_once: int, seen: list[int]
) -> None:
    monkeypatch.setattr("dse.search.evaluator.time.perf_counter", lambda: Slow.now)
    record, reports = Record(13), []
    evaluate = Evaluator(
        Slow(), 30, record=record, observers=[lambda p: reports.append(p.samples)], at_once=at_once
    )
    found = evaluate(points(10))
    assert found.loss.tolist() == PROBLEM.price(points(10)).loss.tolist()
    assert reports[-len(seen[1:]) :] == seen[1:]
    assert len(record) == 10


def test_a_searcher_that_swallows_a_failure_of_the_gate_meets_it_again() -> None:
    evaluate, record = gate(30, Breaking())
    evaluate(points(10))
    for _ in range(3):
        with pytest.raises(RuntimeError, match="the model broke"):
            evaluate(points(10))
    assert len(record) == 10


def test_an_ask_and_tell_algorithm_is_told_all_but_what_the_budget_cuts() -> None:
    class Strategy:
        def __init__(self) -> None:
            self.told = 0

        def ask(self) -> np.ndarray:
            return points(8)

        def tell(self, genes: np.ndarray, evaluations: Evaluations) -> None:
            assert len(genes) == len(evaluations) == 8
            self.told += 1

    for budget, told in ((24, 3), (20, 2)):
        strategy, (evaluate, record) = Strategy(), gate(budget)
        if budget % 8:
            with pytest.raises(BudgetExhausted):
                drive(strategy, evaluate)
        else:
            drive(strategy, evaluate)
        assert strategy.told == told
        assert len(record) == budget


def test_the_best_of_a_record_is_the_first_of_the_lowest_loss() -> None:
    record = Record(13, capacity=1)
    assert record.best is None
    infeasible = points(500)[PROBLEM.price(points(500)).reason != 0][:20]
    record.append(infeasible, PROBLEM.price(infeasible))
    assert record.best is None
    genes = np.concatenate([points(200, seed=9)] * 2)
    record.append(genes, PROBLEM.price(genes))
    assert record.best == 20 + int(PROBLEM.price(points(200, seed=9)).loss.argmin())


def test_a_record_comes_back_from_parquet_whole(tmp_path) -> None:
    for problem, n in ((PROBLEM, 3000), (replace(PROBLEM, tiles="any"), 500), (TINY, 1), (TINY, 0)):
        record = Record(13)
        genes = points(n, problem=problem)
        record.append(genes, problem.price(genes))
        write_parquet(record, tmp_path / "record.parquet", {"cell": [1, "x"]})
        again, cell = read_parquet(tmp_path / "record.parquet")
        np.testing.assert_array_equal(again.genes(), genes)
        assert_same(again.evaluations(), record.evaluations())
        assert cell == {"cell": [1, "x"]}
    assert [path.name for path in tmp_path.iterdir()] == ["record.parquet"]


def test_a_parquet_record_has_the_columns_of_the_contract_and_small_samples(tmp_path) -> None:
    import pandas as pd

    for tiles in ("factors", "any"):
        problem, path = replace(PROBLEM, tiles=tiles), tmp_path / f"{tiles}.parquet"
        record = Record(13)
        record.append(points(20_000, problem=problem), problem.price(points(20_000, problem=problem)))
        write_parquet(record, path, {})
        table = pd.read_parquet(path)
        assert list(table) == [
            "index", "genes", "cycles", "energy_nj", "power", "area",
            "l1_size", "l2_size", "macs", "loss", "reason",
        ]  # fmt: skip
        assert table["index"].tolist() == list(range(20_000))
        assert table["genes"][7].tolist() == points(20_000, problem=problem)[7].tolist()
        assert path.stat().st_size <= 45 * 20_000


def test_a_record_that_cannot_be_written_leaves_nothing_behind(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"record '.*' cannot be written: Not a directory"):
        write_parquet(Record(13), tmp_path / "file" / "record.parquet", {})
    (tmp_path / "record.parquet").mkdir()
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        write_parquet(Record(13), tmp_path / "record.parquet", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "record.parquet"]


def test_a_damaged_record_is_refused_or_reads_as_it_was(tmp_path) -> None:
    record, path = Record(13), tmp_path / "record.parquet"
    record.append(points(500), PROBLEM.price(points(500)))
    write_parquet(record, path, {})
    content, refused = path.read_bytes(), 0
    for place in RNG(11).integers(4, len(content) - 4, 60):
        path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        try:
            again, _ = read_parquet(path)
        except InputError:
            refused += 1
        else:
            np.testing.assert_array_equal(again.genes(), record.genes())
            assert_same(again.evaluations(), record.evaluations())
    assert refused > 30


@pytest.mark.parametrize("column", [name for name, dtype in COLUMNS.items() if np.dtype(dtype).kind in "iu"])
@pytest.mark.parametrize("value", [1.5, np.nan, None])
def test_whole_numbers_of_a_record_are_not_read_out_of_fractions(
    tmp_path, column: str, value: object
) -> None:
    record, path = Record(13), tmp_path / "record.parquet"
    record.append(points(5), PROBLEM.price(points(5)))
    write_parquet(record, path, {})
    table = pq.read_table(path)
    values = [*table[column].to_pylist()[:-1], value]
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, pa.array(values, from_pandas=False)), path)
    with pytest.raises(
        InputError, match=r"record.parquet' is not of a search: (Cannot cast|it has empty cells)"
    ):
        read_parquet(path)


@pytest.mark.parametrize("content", [b"", b"PAR1 and then nothing"])
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path, content: bytes) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bad.parquet' cannot be read: "):
        read_parquet(path)
    with pytest.raises(InputError, match=r"missing.parquet' cannot be read: No such file"):
        read_parquet(tmp_path / "missing.parquet")
