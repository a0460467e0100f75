"""Optimisers of other packages: what reaches them, and what they say where their library is not there."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher
from dse.search.start import start_points
from dse.support.arrays import FloatArray, IntArray
from searchers.peers import PEERS, smac
from searchers.peers.common import Penalised, ask_and_tell, silenced_warnings
from tests.conftest import Dse
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp")
MODULES = {"tpe": "optuna.samplers", "optuna-gp": "optuna.samplers", "catcma": "cmaes"}
LIGHT = {"tpe": "optuna", "catcma": "cmaes", "pymoo": "pymoo"}


def test_a_penalty_grows_with_what_does_not_fit() -> None:
    points = PROBLEM.space.sample(np.random.default_rng(0), 400)
    evaluations = PROBLEM.price(points)
    values = Penalised()(evaluations)
    fits = evaluations.reason == 0
    assert values[fits] == pytest.approx(np.log2(evaluations.loss[fits]))
    figures = np.log2(evaluations.objective_value[~fits])
    doublings = np.log2(np.maximum(evaluations.needs / evaluations.capacities, 1)).sum(axis=1)[~fits]
    assert values[~fits] - figures == pytest.approx(4 + 4 * doublings)
    assert doublings.max() > doublings.min() > 0


class Remembering:
    """A peer that proposes one point, and now and then none."""

    def __init__(self) -> None:
        self.told: list[tuple[int, bool]] = []

    def ask(self) -> IntArray:
        return np.zeros((len(self.told) % 2, len(PROBLEM.space.sizes)), np.int64)

    def tell(self, genes: IntArray, values: FloatArray, asked: bool) -> None:
        assert len(genes) == len(values)
        self.told.append((len(genes), asked))


def test_a_peer_is_told_what_is_known_and_what_it_did_not_ask_for() -> None:
    evaluate, made = Evaluator(PROBLEM, 11), [Remembering(), Remembering()]
    evaluate.evaluate_start(start_points(PROBLEM, "templates"))
    drawn = iter(made)
    with pytest.raises(StopIteration):
        ask_and_tell(lambda space, seed: next(drawn), evaluate, np.random.default_rng(0), most=3)
    for peer in made:
        assert peer.told == [(3, False), (1, True), (1, False), (1, True)]


@pytest.mark.parametrize("name", PEERS)
def test_without_its_library_a_peer_says_what_to_install(
    name: str, dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, MODULES.get(name, name), None)
    layer = ("--layer", "alexnet:conv2", "--accelerator", "eyeriss-small")
    outcome = dse("search", *layer, "--searcher", name, "--budget", "9")
    assert outcome.code == 2
    assert f"pip install 'dse-arena[{name}]'" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("name", LIGHT)
def test_a_peer_goes_on_from_a_start_and_draws_the_same_again(name: str) -> None:
    if find_spec(LIGHT[name]) is None:
        pytest.skip(f"{LIGHT[name]} is not installed")
    records = [Record(13), Record(13)]
    for record in records:
        evaluate = Evaluator(PROBLEM, 40, record=record)
        evaluate.evaluate_start(start_points(PROBLEM, "templates"))
        with suppress(BudgetExhausted):
            make_searcher(name).search(evaluate, np.random.default_rng(0))
    assert len(records[0]) == 40
    assert np.array_equal(records[0].genes(), records[1].genes())


class Degenerating:
    """An optimiser such as CatCMAwM, of which each is asked for one generation and then breaks down."""

    population_size = 2
    made = 0

    def __init__(self, error: Exception, **_: object) -> None:
        Degenerating.made += 1
        self._error = error

    def ask(self) -> SimpleNamespace:
        named = [gene for gene in PROBLEM.space.genes if gene.kind != "ordinal" or gene.size == 2]
        whole = len(PROBLEM.space.genes) - len(named)
        return SimpleNamespace(z=np.zeros(whole), c=np.ones((len(named), 2)))

    def tell(self, _: object) -> None:
        raise self._error


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("not definite"), AssertionError("beyond 1e+32")])
def test_catcma_begins_anew_where_its_package_breaks_down(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = SimpleNamespace(CatCMAwM=partial(Degenerating, error))
    monkeypatch.setitem(sys.modules, "cmaes", package)
    monkeypatch.setattr(Degenerating, "made", 0)
    record = Record(13)
    make_searcher("catcma").search(Evaluator(PROBLEM, 8, record=record), np.random.default_rng(0))
    assert len(record) == 8
    assert Degenerating.made == 5


def test_smac_begins_its_local_search_in_one_order_whatever_the_process() -> None:
    points = [
        SimpleNamespace(get_array=lambda value=value: np.array([1.0, value])) for value in (3.0, 1.0, 2.0)
    ]
    local = SimpleNamespace(_get_initial_points=lambda configs, n_points: configs[:n_points])
    maximizer = smac._ordered(SimpleNamespace(_local_search=local))
    found = maximizer._local_search._get_initial_points(points, n_points=3)
    assert [point.get_array()[1] for point in found] == [1.0, 2.0, 3.0]


def test_a_package_logs_nothing_while_it_is_silenced(logged: list[logging.LogRecord]) -> None:
    with silenced_warnings("smac"):
        logging.getLogger("smac").warning("no configurations left")
    logging.getLogger("smac").warning("afterwards")
    assert [record.getMessage() for record in logged] == ["afterwards"]
