"""Campaigns made up for the tests of figures: any number of anything, under any names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dse.analysis.study import Study, Triple
from dse.campaign.summary import STEPS, Summary
from tests import ROOT
from tests.analysis.report_cases import A, cell

LOOKS = tomllib.loads((ROOT / "results" / "looks.toml").read_text())

PROBLEMS: tuple[Triple, ...] = tuple(
    (f"{network}:{layer}", "eyeriss-small", objective)
    for network, layer in (("mobilenet_v2", "features.3.expand"), ("vgg16", "conv1_2"), ("vgg16", "conv4_2"))
    for objective in ("latency", "edp")
)
OURS = ("random", "walk", "grid", "bayesian", "genetic", "gamma", "cem", "ppo", "factored-ppo", "marl")
ODD = (
    "$x_1$",
    'a<b>&"c',
    "_hidden",
    "a-very-long-searcher-name-that-never-ends",
    "a-very-long-searcher-name-that-never-stops",
    "\N{CJK UNIFIED IDEOGRAPH-540D}\N{CJK UNIFIED IDEOGRAPH-524D}",
    "control\x01\x1b[31m\n",
    "e" * 200,
    " ",
    "marl",
)


def made_up(
    searchers: Sequence[str] = OURS,
    problems: Sequence[Triple] = PROBLEMS[:2],
    seeds: int = 3,
    *,
    budget: int = 2_000,
    infeasible: Mapping[str, float] | None = None,
    undone: Mapping[str, float] | None = None,
) -> Study:
    """A study whose runs fall from about 10 times the target to near it, some searchers sooner.

    `infeasible` and `undone` say what share of a searcher's runs find nothing, or are not there.
    """
    rng = np.random.default_rng(7)
    found = []
    for number, problem in enumerate(problems):
        for place, searcher in enumerate(searchers):
            for seed in range(seeds):
                fate = rng.random()
                run = _run(rng, 10.0 ** -(3 + number), 1 + place / len(searchers), budget)
                if fate < (infeasible or {}).get(searcher, 0):
                    run = []
                if rng.random() >= (undone or {}).get(searcher, 0):
                    found.append(_summary(searcher, problem, seed, budget, run, rng))
    about = {
        "campaign": "made-up",
        "budget": budget,
        "seeds": seeds,
        "cost_model": "maestro",
        "searchers": list(searchers),
        "problems": [list(problem) for problem in problems],
        "looks": {name: look for name, look in LOOKS.items() if name in searchers},
    } | ({"reference": "marl"} if "marl" in searchers else {})
    return Study(Path("made-up"), about, tuple(found))


def _run(rng: np.random.Generator, target: float, slowness: float, budget: int) -> list[tuple[int, float]]:
    """Improvements of a search, at samples ever further apart."""
    at = np.unique(np.geomspace(1, budget, 40).astype(int) - 1)
    ratios = 1 + 9 * (at + 1.0) ** (-0.7 / slowness) + 0.1 * rng.random()
    kept = np.sort(rng.choice(len(at), size=max(1, len(at) // 2), replace=False))
    return [(int(at[i]), float(target * ratios[i])) for i in kept]


def _summary(
    searcher: str,
    problem: Triple,
    seed: int,
    budget: int,
    run: list[tuple[int, float]],
    rng: np.random.Generator,
) -> Summary:
    layer, accelerator, objective = problem
    last = run[-1][1] if run else np.inf
    means = last * (1 + 5 * rng.random(100)) if run else np.full(100, np.inf)
    names = {"layer": layer, "accelerator": accelerator, "objective": objective}
    made = cell(searcher, run, A, seed=seed, budget=budget)
    steps = made.steps if run else {name: [] for name in STEPS}
    return replace(made, **names, mean_losses=means.tolist(), steps=steps)
