"""What a search reports as it goes on, and the record that it leaves in a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dse.core.evaluations import Evaluations
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import COLUMNS, Record, read_parquet, write_parquet
from dse.search.searcher import drive
from dse.support.errors import InputError
from tests.search.evaluator_cases import PROBLEM, RNG, TINY, assert_same, gate, points


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
