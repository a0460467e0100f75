"""Searchers on a space in which figures of the hardware are genes, through the gate."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

import dse
from dse.domains.clustered.problem import Problem
from dse.search.searcher import searchers
from searchers.peers import PEERS
from tests.searchers import team_cases
from workloads import load_layer

HARDWARE = {
    "num_pes": [64, 168, 256],
    "l1_size": [64, 256, 512],
    "noc_bandwidth": {"from": 8, "to": 32, "step": 8},
    "clock_ghz": [0.5, 1.0],
}
PROBLEM = Problem(load_layer("resnet18:2"), dse.load_accelerator("edge"), "edp", space={"hardware": HARDWARE})
SLOW = {"bayesian", "ddpg", "d4pg", "maddpg"}
BUDGET = 60
QUICKER = {
    "gradient": {"gradient_steps": 1, "descent_steps": 3},
    "masac": {"train_freq": 20, "net_arch": [16]},
    "team": team_cases.QUICKER,
    "transfer": team_cases.QUICKER,
}


@pytest.mark.parametrize("name", [name for name in searchers() if name not in {*PEERS, *SLOW}])
def test_a_searcher_spends_its_budget_on_hardware_too(name: str) -> None:
    result = dse.search(PROBLEM, name, settings=QUICKER.get(name), budget=BUDGET)
    assert len(result.record) == BUDGET
    machines = PROBLEM.space.decode(result.record.genes()).machines
    assert len(np.unique(machines, axis=0)) > 1
    if result.best is not None:
        alone = Problem(PROBLEM.layer, result.best.accelerator, "edp").evaluate(result.best.mapping)
        assert alone.loss[0] == result.best.loss
        assert result.to_dict("resnet18:2", "edge")["best"]["case"]["hardware"] == (
            result.best.accelerator.to_dict()
        )


@pytest.mark.parametrize("name", ["genetic", "gamma", "team"])
def test_with_learning_it_finds_better_hardware_than_at_random(name: str) -> None:
    """`prove_searchers.py` has more seeds."""
    assert median(name, 1) < median("random", 1)


@cache
def median(searcher: str, seeds: int) -> float:
    """The best loss after 150 samples."""
    settings = QUICKER.get(searcher)
    runs = [
        dse.search(PROBLEM, searcher, settings=settings, budget=150, seed=seed).best for seed in range(seeds)
    ]
    return float(np.median([best.loss if best else np.inf for best in runs]))


def test_the_history_has_the_figures_that_were_drawn() -> None:
    history = dse.search(PROBLEM, "random", budget=20).history
    assert set(history["hardware.clock_ghz"]) <= {0.5, 1.0}
    assert set(history["hardware.l1_size"]) <= {64, 256, 512}
    assert set(history["num_pes"]) <= {64, 168, 256}


def test_a_search_begins_at_templates_fitted_to_the_nearest_hardware() -> None:
    result = dse.search(PROBLEM, "random", budget=5, start="templates")
    first = PROBLEM.space.machine(result.record.genes(0, 1)[0])
    assert first == PROBLEM.space.nearest
    assert first.noc_bandwidth == 32


def test_a_search_on_open_hardware_goes_on_from_its_journal(tmp_path: object) -> None:
    searched = partial(dse.search, PROBLEM, "team", settings=QUICKER["team"], budget=BUDGET)
    whole = searched().record
    ended = searched(out=f"{tmp_path}/run", on_progress=lambda now: now.samples < 30)
    assert len(ended.record) < BUDGET
    resumed = searched(out=f"{tmp_path}/run").record
    np.testing.assert_array_equal(resumed.genes(), whole.genes())
    np.testing.assert_array_equal(resumed.evaluations().loss, whole.evaluations().loss)
