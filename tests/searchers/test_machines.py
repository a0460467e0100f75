"""Searchers on machines of any number of levels: what looks at the levels behind the genes."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.presets import load_machine
from dse.search.api import search
from searchers.gamma.operators import Operators
from searchers.team.features import LevelFeatures, features_of
from tests.searchers.team_cases import QUICKER

LAYER = Layer("CONV", 64, 32, 14, 14, 3, 3, padding=(1, 1))


def problem() -> MachineProblem:
    return MachineProblem(LAYER, load_machine("gemmini"), "edp", "timeloop")


def test_a_mutation_of_one_factor_keeps_the_tiles_inside_of_it() -> None:
    space = problem().space
    rng = np.random.default_rng(0)
    children = space.canonical(space.sample(rng, 400))
    mutants = Operators(space).mutate(children, rng)
    assert space.contains(mutants).all()
    tiles = [place for place, name in enumerate(space.feature_names) if ".tile." in name]
    before, after = (space.features(genes)[:, tiles] for genes in (children, mutants))
    changed = (before != after).sum(axis=1)
    redrawn = (space.canonical(mutants) != children).any(axis=1)
    assert redrawn.mean() > 0.4
    # Of the levels inside of a changed factor, most keep their tiles: few lengths change.
    assert changed[redrawn].mean() < 2.5


def test_what_a_team_learns_from_adds_up_to_the_energy() -> None:
    made = problem()
    genes = made.space.sample(np.random.default_rng(1), 400)
    described = features_of(made.space)
    assert isinstance(described, LevelFeatures)
    found = described(genes)
    counts = np.exp2(found[:, -described.addends :].astype(np.float64))
    assert len(described.groups) == found.shape[1] - described.addends
    energy = made.price(genes).energy_nj
    weights, *_ = np.linalg.lstsq(counts / energy[:, np.newaxis], np.ones(len(genes)), rcond=None)
    errors = counts @ weights / energy - 1
    assert np.abs(errors).mean() < 0.1


@pytest.mark.parametrize(("name", "settings", "budget"), [("gamma", {}, 150), ("team", QUICKER, 80)])
def test_few_samples_come_near_the_optimum(name: str, settings: dict, budget: int) -> None:
    made = problem()
    drawn = made.price(made.space.sample(np.random.default_rng(2), 3000)).loss
    found = search(made, name, settings=settings, budget=budget)
    assert found.best.loss <= np.quantile(drawn, 0.01)
    assert (
        search(made, name, settings=settings, budget=40).record.genes() == found.record.genes()[:40]
    ).all()
