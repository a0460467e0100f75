"""A campaign whose winners are chosen by what both cost models make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dse.analysis.study import Study, Triple
from dse.campaign.summary import STEPS, Summary
from dse.core.evaluations import Evaluations
from dse.domains.clustered.accelerator import load_accelerator
from dse.domains.clustered.problem import Problem
from dse.support.arrays import BoolArray, FloatArray, IntArray
from tests.analysis.report_cases import cell
from workloads import load_layer

LAYER, ACCELERATOR = "resnet18:5", "eyeriss-small"
"""A layer with a stride and a padding, so that the two models price different layers."""
BUDGET = 1000


@dataclass(frozen=True)
class Points:
    """Points of a problem's space, and what they cost by either model."""

    genes: IntArray
    maestro: Evaluations
    loopnest: Evaluations

    def by(self, model: str) -> Evaluations:
        """What they cost by the model of that name."""
        return self.maestro if model == "maestro" else self.loopnest

    def choose(self, keep: BoolArray, key: FloatArray, count: int) -> list[int]:
        """The `count` points of lowest `key` among those to `keep`."""
        found = np.flatnonzero(keep)
        return [int(place) for place in found[np.argsort(key[found], kind="stable")][:count]]


def problem(objective: str = "latency", model: str = "maestro") -> Problem:
    """The layer on the accelerator."""
    return Problem(load_layer(LAYER), load_accelerator(ACCELERATOR), objective, model)


@cache
def points(objective: str = "latency") -> Points:
    """20,000 points drawn at random."""
    made = problem(objective)
    genes = made.space.sample(np.random.default_rng(0), 20_000)
    return Points(genes, made.price(genes), replace(made, cost_model="loopnest").price(genes))


def winner(searcher: str, seed: int, place: int | None, model: str, objective: str = "latency") -> Summary:
    """A finished cell whose winner is one of the points; None is a run that has found nothing feasible."""
    triple = (LAYER, ACCELERATOR, objective)
    made = cell(searcher, [], ("net:a", ACCELERATOR, objective), seed=seed, budget=BUDGET)
    steps: dict[str, list[float]] = {name: [] for name in STEPS}
    if place is not None:
        found = points(objective).by(model)
        steps = {name: [float(getattr(found, name)[place])] for name in STEPS[1:]} | {"index": [0]}
    return replace(
        made,
        key="--".join((*triple, searcher, str(seed))),
        layer=LAYER,
        network="resnet18",
        repeats=3,
        genes=[] if place is None else points(objective).genes[place].tolist(),
        steps=steps,
    )


def about(searchers: Sequence[str], seeds: int, model: str, objective: str = "latency") -> dict[str, Any]:
    """What the folder says of its campaign."""
    made = problem(objective)
    triple: Triple = (LAYER, ACCELERATOR, objective)
    definition = {
        "layer": made.layer.to_dict(),
        "accelerator": made.accelerator.to_dict(),
        "objective": objective,
        "tiles": made.tiles,
        "fixed": {},
    }
    return {
        "campaign": "chosen",
        "budget": BUDGET,
        "cost_model": model,
        "reprice": ["loopnest" if model == "maestro" else "maestro"],
        "networks": [["resnet18", ACCELERATOR, objective]],
        "seeds": seeds,
        "searchers": list(searchers),
        "problems": [list(triple)],
        "definitions": {"{} on {}, {}".format(*triple): definition},
    }


def chosen(
    winners: Mapping[str, Sequence[int | None]], model: str = "maestro", objective: str = "latency"
) -> Study:
    """A study in which each searcher's runs have won those points."""
    cells = [
        winner(name, seed, place, model, objective)
        for name, places in winners.items()
        for seed, place in enumerate(places)
    ]
    seeds = max(map(len, winners.values()))
    return Study(Path("chosen"), about(list(winners), seeds, model, objective), tuple(cells))
