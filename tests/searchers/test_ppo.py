"""The single PPO agent: its budget, what it repeats and leaves alone, and that it learns."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch

from dse.core.evaluations import Evaluations
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.run import Cell, run_cell
from dse.support.errors import InputError
from dse.testing.landscapes import infeasible, one_choice, refused, single
from learners import sb3
from searchers.ppo import PPO
from searchers.random import Random
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge-small"], "edp", "maestro")
ANY_TILES = Problem(load_layer("bert_base:0"), PRESETS["edge"], "latency", "maestro", tiles="any")
KINDS = ("gaussian", "categorical")


def run(searcher: PPO, budget: int, problem: Problem = PROBLEM, seed: int = 0) -> Record:
    return run_cell(Cell(problem, "ppo", searcher, seed, budget))


@pytest.mark.parametrize("actions", KINDS)
@pytest.mark.parametrize("budget", [1, 63, 64, 65, 257])
def test_the_budget_is_spent_to_the_last_sample_and_each_step_is_one_batch(
    actions: str, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is reported in the middle of a batch, however slow the machine is.
    monkeypatch.setattr("dse.search.evaluator.SLICE_SECONDS", 1e9)
    batches: list[int] = []
    record = Record(13)
    evaluator = Evaluator(
        PROBLEM, budget, record=record, observers=[lambda progress: batches.append(progress.samples)]
    )
    with pytest.raises(BudgetExhausted):
        PPO(actions=actions).search(evaluator, np.random.default_rng(0))
    assert len(record) == budget
    assert batches == [*range(64, budget, 64), budget]


@pytest.mark.parametrize("actions", KINDS)
@pytest.mark.parametrize("make", [one_choice, single, infeasible, refused, lambda: ANY_TILES])
def test_it_searches_spaces_and_landscapes_of_any_kind(actions: str, make) -> None:
    problem = make()
    record = run(PPO(actions=actions, n_envs=16), 90, problem)
    assert len(record) == 90
    assert problem.space.contains(record.genes()).all()


@pytest.mark.parametrize("actions", KINDS)
def test_where_nothing_is_feasible_it_goes_on_exploring(actions: str) -> None:
    genes = run(PPO(actions=actions, patience=0), 1200, infeasible()).genes()
    assert len(np.unique(genes[-500:], axis=0)) > 250


def test_it_finds_better_points_than_random_search_with_the_same_samples() -> None:
    """With what it does by default; `prove_ppo.py` has the other kind of actions."""
    assert_better_than_random(PPO(), 2500)


def assert_better_than_random(searcher: PPO, samples: int) -> None:
    problem = Problem(load_layer("resnet18:layer2.0.conv2"), PRESETS["edge-small"], "edp", "maestro")
    best = {
        name: [run(searcher, samples, problem, seed).evaluations().loss.min() for seed in range(3)]
        for name, searcher in (("ppo", searcher), ("random", Random()))
    }
    assert np.median(best["ppo"]) < 0.9 * np.median(best["random"])


@pytest.mark.parametrize("actions", KINDS)
def test_what_it_draws_late_is_feasible_more_often_than_what_it_draws_early(actions: str) -> None:
    feasible = run(PPO(actions=actions), 2048).evaluations().reason == 0
    assert feasible[-512:].mean() > feasible[:512].mean() + 0.2


def test_the_paper_s_form_of_it_learns_in_long_episodes_with_what_it_sees() -> None:
    searcher = PPO(episode_steps=100)
    feasible = run(searcher, 2048).evaluations().reason == 0
    assert feasible[-512:].mean() > feasible[:512].mean() + 0.2


@pytest.mark.parametrize("actions", KINDS)
def test_a_smaller_budget_draws_the_beginning_of_a_larger_one_and_another_seed_other_points(
    actions: str,
) -> None:
    searcher = PPO(actions=actions, n_envs=16)
    long = run(searcher, 130).genes()
    np.testing.assert_array_equal(run(searcher, 80).genes(), long[:80])
    assert (run(searcher, 130, seed=1).genes() != long).any(axis=1).mean() > 0.9


class Failing:
    """A problem whose pricing fails after a while."""

    space, objective, criteria = PROBLEM.space, PROBLEM.objective, PROBLEM.criteria

    def __init__(self) -> None:
        self._samples = 0

    def price(self, genes: np.ndarray) -> Evaluations:
        self._samples += len(genes)
        if self._samples > 300:
            raise RuntimeError("the cost model is gone")
        return PROBLEM.price(genes)


def test_global_states_and_threads_are_as_they_were_also_after_a_failure() -> None:
    def surroundings() -> tuple:
        numpy_state = np.random.get_state()  # noqa: NPY002
        return (
            random.getstate(),
            numpy_state[1].tolist(),
            numpy_state[2],
            torch.get_rng_state().tolist(),
            torch.get_num_threads(),
        )

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before = surroundings()
        run(PPO(), 300)
        assert surroundings() == before
        with pytest.raises(RuntimeError, match="the cost model is gone"):
            PPO().search(Evaluator(Failing(), 1000), np.random.default_rng(0))
        assert surroundings() == before
    finally:
        torch.set_num_threads(threads)


def test_an_agent_that_finds_nothing_better_gives_way_to_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    make = sb3.new_agent
    monkeypatch.setattr(
        sb3, "new_agent", lambda name, env, seed, *rest: seeds.append(seed) or make(name, env, seed, *rest)
    )
    for patience, agents in ((0, 1), (48, 4), (250, 1)):
        seeds.clear()
        run(PPO(n_envs=16, patience=patience), 250, refused())
        # The first step of an agent is better than none; the three after it are not.
        assert len(seeds) == len(set(seeds)) == agents


def test_it_leaves_no_files_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run(PPO(), 300)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_set_depends_on_the_kind_of_actions() -> None:
    def draws(**settings) -> np.ndarray:
        record = Record(13)
        with pytest.raises(BudgetExhausted):
            PPO(actions="categorical", n_envs=16, **settings).search(
                Evaluator(PROBLEM, 80, record=record), np.random.default_rng(0)
            )
        return record.genes()

    best = {"n_steps": 4, "learning_rate": 0.01, "ent_coef": 0.05}
    unset = draws()
    np.testing.assert_array_equal(draws(**best), unset)
    for other in ({"reward": "-log"}, {"n_steps": 2}, {"learning_rate": 0.005}, {"ent_coef": 0.01}):
        assert (draws(**other) != unset).any()


def test_importing_it_is_light() -> None:
    code = (
        "import sys, searchers.ppo; print([n for n in ('torch', 'gymnasium', 'numba') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_libraries_that_it_names_are_distributions() -> None:
    assert [version(library) for library in PPO.libraries]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"actions": "gausian"}, "unknown actions 'gausian'; did you mean 'gaussian'?"),
        ({"reward": "log"}, "unknown reward 'log'; did you mean '-log'?"),
        ({"n_envs": 0}, "n_envs must be at least 1, got 0"),
        ({"n_steps": 0}, "n_steps must be at least 1, got 0"),
        ({"n_epochs": 0}, "n_epochs must be at least 1, got 0"),
        ({"episode_steps": 0}, "episode_steps must be at least 1, got 0"),
        ({"patience": -1}, "patience must be at least 0, got -1"),
        ({"n_minibatches": 3}, "n_minibatches must be equal parts, of 2 or more, of n_envs * n_steps = 128"),
        (
            {"n_envs": 1, "n_steps": 1},
            "n_minibatches must be equal parts, of 2 or more, of n_envs * n_steps = 1 samples",
        ),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0, got 0.0"),
        ({"clip_range": -0.2}, "clip_range must be a finite number above 0, got -0.2"),
        ({"ent_coef": float("nan")}, "ent_coef must be a finite number from 0, got nan"),
        ({"gamma": 1.5}, "gamma must be between 0 and 1, got 1.5"),
        ({"net_arch": (64, 0)}, "net_arch: units of a layer must be at least 1, got 0"),
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        PPO(**settings)
    assert message in str(refusal.value)
