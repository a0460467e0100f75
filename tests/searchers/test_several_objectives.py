"""Several objectives as one problem: who searches it, through which gate, and what is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.core.evaluations import Evaluations
from dse.core.objective import parse_objectives
from dse.core.problem import AnyProblem
from dse.optimum.front import certify_front, front_regret
from dse.search.evaluator import Evaluator
from dse.search.fronts import front_of, nondominated_rows
from dse.search.record import Record
from dse.search.searcher import searchers_of_several
from dse.support.errors import InputError
from searchers.peers.common import Penalised
from searchers.weighted_runs import aims_of, search_one
from tests.conftest import Dse
from tests.optimum.certify_cases import real_problem
from workloads import load_layer

BOTH = "latency, energy"
LAYER = ("--layer", "resnet18:11", "--accelerator", "edge", "--objective", "latency,energy")
TAKERS = ("nsga2", "random", "weighted-runs")


def problem(objective: str = BOTH) -> AnyProblem:
    return real_problem("resnet18:11", "edge", objective, "loopnest")


def better(one: np.ndarray, other: np.ndarray) -> bool:
    return bool((one <= other).all() and (one < other).any())


def test_those_that_take_several_say_so() -> None:
    assert set(TAKERS) <= set(searchers_of_several())


@pytest.mark.parametrize("name", TAKERS)
def test_the_front_of_a_search_is_what_no_sample_is_better_than(name: str) -> None:
    found = dse.search(problem(), name, budget=300)
    assert (len(found.record), found.best) == (300, None)
    costs = found.record.evaluations()
    values = np.column_stack([costs.energy_nj * 1e-9, costs.cycles / 1e9])
    feasible = np.flatnonzero(costs.reason == 0)
    left = [row for row in feasible if not any(better(values[other], values[row]) for other in feasible)]
    front = found.pareto()
    assert {tuple(values[row]) for row in left} == set(map(tuple, front[["energy", "latency"]].to_numpy()))
    assert front["energy"].is_monotonic_increasing
    assert len(front) > 1


@pytest.mark.parametrize("name", TAKERS)
def test_a_search_of_several_repeats_itself_and_begins_where_it_is_told(name: str) -> None:
    first, again = (dse.search(problem(), name, budget=90, seed=3, start="templates") for _ in range(2))
    np.testing.assert_array_equal(first.record.genes(), again.record.genes())
    known = len(first.cell.start)
    assert known > 0
    np.testing.assert_array_equal(first.record.genes(0, known), np.array(first.cell.start))
    assert len(first.record) == 90


def test_a_search_of_several_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    whole = dse.search(problem(), "nsga2", budget=200)
    dse.search(problem(), "nsga2", budget=200, out=tmp_path, on_progress=lambda seen: seen.samples < 100)
    assert (tmp_path / "record.journal").exists()
    rest = dse.search(problem(), "nsga2", budget=200, out=tmp_path)
    np.testing.assert_array_equal(whole.record.genes(), rest.record.genes())
    assert rest.to_dict("resnet18:11", "edge")["front"] == whole.to_dict("resnet18:11", "edge")["front"]


def test_a_searcher_of_one_objective_refuses_several_and_says_what_takes_them() -> None:
    with pytest.raises(
        InputError, match=r"'genetic' minimises one objective, .* nsga2, .*random, .*weighted-runs"
    ):
        dse.search(problem(), "genetic", budget=10)
    with pytest.raises(InputError, match="searcher must be one of one objective"):
        dse.search(problem(), "weighted-runs", budget=10, settings={"searcher": "weighted-runs"})
    with pytest.raises(InputError, match="takes products of powers"):
        dse.search(problem("latency, energy + 2 * area"), "weighted-runs", budget=10)


def test_the_estimators_of_optuna_take_several_where_it_is_installed() -> None:
    pytest.importorskip("optuna")
    first, again = (dse.search(problem(), "tpe", budget=40, start="templates") for _ in range(2))
    np.testing.assert_array_equal(first.record.genes(), again.record.genes())
    assert len(first.pareto()) > 1


def test_a_peer_is_told_each_figure_and_a_penalty_in_all_of_them() -> None:
    points = problem().space.sample(np.random.default_rng(0), 400)
    costs = problem().price(points)
    told, alone = Penalised()(costs), Penalised()(problem("latency").price(points))
    assert told.shape == (400, 2)
    feasible = costs.reason == 0
    assert 0 < feasible.sum() < 400
    np.testing.assert_allclose(told[feasible, 0], np.log2(costs.energy_nj[feasible] * 1e-9), rtol=1e-12)
    fits = feasible | costs.violation.any(axis=1)
    np.testing.assert_allclose(told[fits, 1], alone[fits])


def test_weights_go_from_both_ends_of_the_front_inwards() -> None:
    rng = np.random.default_rng(0)
    assert aims_of(parse_objectives(BOTH), 3, rng) == ["latency", "energy", "energy^0.5 * latency^0.5"]
    assert aims_of(parse_objectives("edp"), 3, rng) == ["edp"]
    three = aims_of(parse_objectives("latency, energy, area"), 4, rng)
    assert len(set(three)) == 4


class Once:
    """A searcher that draws fifty points, and keeps what it was told of them."""

    def __init__(self) -> None:
        self.told: list[Evaluations] = []

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        self.told.append(evaluate(evaluate.space.sample(rng, 50)))


def test_a_weighted_search_is_told_the_losses_of_its_weight_and_the_gate_counts_them() -> None:
    gate, once = Evaluator(problem(), 60), Once()
    search_one(once, gate, "edp", 50, np.random.default_rng(1))
    genes = gate.space.sample(np.random.default_rng(1), 50)
    np.testing.assert_array_equal(once.told[0].loss, problem("edp").price(genes).loss)
    assert gate.remaining == 10


def test_regret_is_what_is_missing_of_the_exact_fronts_hypervolume() -> None:
    exact = certify_front(problem(), cache=False)
    found = dse.search(problem(), "random", budget=2000).record
    lacks = front_regret(exact, problem(), found, [10, 100, 1000, 2000])
    assert (np.diff(lacks) <= 0).all()
    assert 0 < lacks[-1] < lacks[0] <= 1
    whole = problem()
    record = _record_of(whole, [one.genes for one in exact.points])
    assert front_regret(exact, whole, record, [len(record)])[0] < 1e-12
    # By hand: in logarithms, the stairs of two points below the reference.
    two = _record_of(whole, [exact.points[0].genes, exact.points[-1].genes])
    logs = np.log([[one.cycles * 1e-9, one.energy_nj * 1e-9] for one in exact.points])
    right, top = logs.max(axis=0) + np.log(1.1)

    def stairs(points: np.ndarray) -> float:
        edges = [*points[1:, 0], right]
        return sum((edge - x) * (top - y) for (x, y), edge in zip(points, edges, strict=True))

    assert front_regret(exact, whole, two, [2])[0] == pytest.approx(1 - stairs(logs[[0, -1]]) / stairs(logs))


def _record_of(of: AnyProblem, points: list[tuple[int, ...]]) -> Record:
    genes = np.array(points)
    record = Record(genes.shape[1])
    record.append(genes, of.price(genes))
    return record


def test_of_equal_points_the_first_is_on_the_front() -> None:
    values = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])
    assert nondominated_rows(values).tolist() == [0, 2]
    assert nondominated_rows(values[:0]).tolist() == []


def test_an_infeasible_record_has_no_front() -> None:
    tiny = replace(dse.load_accelerator("edge"), l1_size=1, l2_size=1)
    none = dse.Problem(load_layer("resnet18:11"), tiny, objective=BOTH)
    found = dse.search(none, "nsga2", budget=100)
    assert len(front_of(none, found.record)[0]) == len(found.pareto()) == 0


def test_the_command_line_shows_and_writes_the_front(dse: Dse, tmp_path: Path) -> None:
    search = ("search", *LAYER, "--searcher", "nsga2", "--budget", "200")
    outcome = dse(*search, "--out", str(tmp_path))
    assert outcome.code == 0
    assert "of the hypervolume of the exact front is missing" in outcome.out
    data = json.loads((tmp_path / "result.json").read_text())
    assert data["best"] is None
    assert data["front"] == dse(*search, "--json").json["front"]
    assert all(point["latency"] == point["cycles"] / 1e9 for point in data["front"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search", *LAYER, "--searcher", "team"), "minimises one objective"),
        (("search", *LAYER, "--searcher", "nsga2", "--format", "nest"), "--format"),
        (("search", *LAYER, "--searcher", "nsga2", "--set", "population_size=6"), "multiple of 4"),
        (("search", *LAYER, "--searcher", "weighted-runs", "--set", "searcher=bogus"), "bogus"),
        (("search", "--network", "mlp", *LAYER[2:], "--searcher", "nsga2"), "searched for one layer"),
    ],
)
def test_what_several_objectives_cannot_have_is_refused_in_a_line(
    dse: Dse, arguments: tuple[str, ...], said: str
) -> None:
    outcome = dse(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err
