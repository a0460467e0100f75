"""The searcher that calibrates an adviser: what it begins with, how soon it is good, and when it gives up."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.terms import terms_of
from dse.search.api import Result
from dse.support.errors import InputError
from searchers.calibrated import Calibrated, strategy
from searchers.calibrated.ensemble import Ensemble, Usual
from searchers.calibrated.strategy import UselessAdviser, rank_correlation
from searchers.calibrated.trend import Trend

LAYER, EDGE = Layer("CONV", 8, 8, 8, 8, 3, 3, (1, 1), (1, 1)), PRESETS["eyeriss-small"]


class Judge:
    """A machine that waits for every fill and step, and may refuse mappings, or draw its cycles."""

    version = "1"
    prices_strides = True
    refuses_below_floors = False

    def __init__(self, name: str = "waits") -> None:
        self.name = name

    def evaluate(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> CostBatch:
        problem = Problem(layer, accelerator)
        costs, terms = problem.price_rows(mappings.rows), terms_of(problem, mappings)
        columns = {name: column.copy() for name, column in costs.columns().items()}
        cycles = 300 * (terms["fills of input"] + terms["fills of weight"]) + 3 * terms["inner steps"]
        cycles = cycles + 2 * terms["compute"]
        if self.name == "draws":
            cycles = np.array([np.random.default_rng(row).integers(10**5, 10**7) for row in mappings.rows])
        columns["cycles"] = np.where(costs.valid, cycles, 0).astype(np.int64)
        if self.name == "refuses":
            refused = mappings.rows[:, 0] == 0
            columns["valid"][refused], columns["reason"][refused] = False, Reason.REFUSED
        return CostBatch.of(columns)


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer points are weighed for a sample: the layer is small."""
    monkeypatch.setattr(strategy, "POOL", 400)
    monkeypatch.setattr(strategy, "ELITES", 8)
    monkeypatch.setattr(strategy, "ROUNDS", 3)


def searched(judge: str = "waits", budget: int = 10, objective: str = "latency", **settings: Any) -> Result:
    problem = Problem(LAYER, EDGE, objective, Judge(judge))
    return dse.search(problem, "calibrated", settings=settings, budget=budget, seed=1)


def test_it_begins_near_the_advisers_proven_optimum_and_improves_on_it() -> None:
    found = searched()
    best = dse.certify(Problem(LAYER, EDGE), tiles="factors", cache=False).best
    assert best is not None
    assert Problem(LAYER, EDGE).price(found.record.genes()[:1]).loss[0] < 1.5 * best.loss
    losses = found.record.evaluations().loss
    assert losses.min() < 0.95 * losses[0]


def test_the_same_seed_gives_the_same_samples_and_another_one_others() -> None:
    once, again = (searched(budget=4).record.genes().tolist() for _ in range(2))
    assert once == again
    problem = Problem(LAYER, EDGE, "latency", Judge())
    assert dse.search(problem, "calibrated", budget=4, seed=2).record.genes().tolist() != once


def test_refusals_are_learned_and_mappings_that_do_not_fit_are_not_asked() -> None:
    reasons = searched("refuses", budget=12, n_alone=12).record.evaluations().reason
    assert not np.isin(reasons, (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL)).any()
    assert (reasons[-4:] == Reason.REFUSED).sum() < 2


def test_of_a_batch_all_mappings_are_picked_before_any_is_run_and_none_twice() -> None:
    asked: list[int] = []

    class Counting(Judge):
        at_once = 3

        def evaluate(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> CostBatch:
            asked.append(len(mappings))
            return super().evaluate(layer, accelerator, mappings)

    problem = Problem(LAYER, EDGE, "latency", Counting("waits"))
    settings = {"batch_size": 3, "n_alone": 6}
    found = dse.search(problem, "calibrated", settings=settings, budget=14, seed=1)
    genes, losses = found.record.genes(), found.record.evaluations().loss
    assert len(problem.space.canonical(genes)) == len(np.unique(problem.space.canonical(genes), axis=0))
    assert sum(asked) == 14
    assert asked[:3] == [3, 3, 3]
    assert losses.min() < 0.95 * losses[0]
    alone = searched(budget=4, batch_size=1).record.genes()
    assert alone.tolist() == searched(budget=4).record.genes().tolist()


def test_an_adviser_that_says_nothing_of_the_judge_is_given_up_with_its_rank_correlation() -> None:
    with pytest.warns(UselessAdviser, match=r"adviser 'loopnest' says little .* correlation -?0\.\d\d of"):
        found = searched("draws", budget=15, least_agreement=0.9, n_alone=4)
    assert len(found.record) == 15


@pytest.mark.parametrize("adviser", ["maestro", "loopnest(dram_pj=100.0)"])
def test_any_model_of_such_mappings_advises_also_on_energy(adviser: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UselessAdviser)
        found = searched(budget=5, objective="edp", adviser=adviser)
    assert np.isfinite(found.record.evaluations().loss).any()


def test_where_the_adviser_is_the_judge_it_searches_as_a_team_does() -> None:
    problem = Problem(LAYER, EDGE)
    team, found = (dse.search(problem, name, budget=5, seed=1) for name in ("team", "calibrated"))
    assert len(found.record) == len(team.record) == 5
    optimum = dse.certify(problem, cache=False).best
    assert optimum is not None
    assert tuple(found.record.genes()[0].tolist()) != optimum.genes, "a proof is no sample"


def test_an_adviser_that_is_not_there_and_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown cost model 'loopnets'.*loopnest"):
        searched(adviser="loopnets")
    for settings in (
        {"n_alone": 0},
        {"n_startup_trials": 0},
        {"batch_size": 0},
        {"least_agreement": 2.0},
        {"adviser": ""},
    ):
        with pytest.raises(InputError):
            Calibrated(**settings)  # type: ignore[arg-type]


def test_a_trend_and_every_member_of_an_ensemble_find_weights_that_samples_tell() -> None:
    rng = np.random.default_rng(0)
    terms = rng.exponential(1.0, (60, 5)) + 0.1
    measured = terms @ [0.0, 2.0, 0.0, 5.0, 1.0]
    trend = Trend(terms, measured)
    assert np.abs(trend(terms) / measured - 1).max() < 0.02
    assert (trend.weights >= 0).all()
    members = Ensemble(Usual(terms), terms, measured, rng)
    assert np.abs(np.exp(members.logs(terms)) / measured[:, np.newaxis] - 1).mean() < 0.05


def test_the_rank_correlation_is_spearmans_ties_too() -> None:
    from scipy.stats import spearmanr

    one, other = np.random.default_rng(0).integers(0, 9, (2, 30)).astype(np.float64)
    assert rank_correlation(one, other) == pytest.approx(spearmanr(one, other).statistic)
