"""Tunes a searcher on development layers: `python -m experiments.tuning.tune genetic [--workers 2]`.

Every searcher has as many trials: its defaults, and settings drawn at random from the ranges below, each run
once on the twelve problems of devhard.toml. The best two of them and the defaults then run again, from two
other seeds; with the best of these the searcher runs in the campaigns hard12 and heldout12 (`gradient` as it
was, for its best learns from four times as many mini-batches). A score is the mean of
the logs of best loss / optimum over problems and over 500, 2,000 and 5,000 samples (`bayesian` stops at
2,000, as it does there), written as a factor. `a2c` stops there too; so do `maddpg` and `masac`, whose trials
have four of the problems, the first of them one in each form, and whose finals have all. `d4pg`, `ddpg`,
`dqn`, `generative`, `gradient`, `mast` and `qmix` stop at 500. Writes NAME.csv in results/tuning, a line a
trial, and goes on where it was stopped. A file without `final` lines is not done: its searcher runs with its
defaults.

`ppo-categorical` is `ppo` with categorical actions. `team` and `local` were tuned by hand: see team.md.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from dse.campaign.config import Campaign
from dse.campaign.reading import load_campaign
from dse.campaign.reference import optimum_figures
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from experiments import RESULTS, read_rows
from workloads import load_layer

HERE = RESULTS / "tuning"
SAMPLES = (500, 2000, 5000)
FEWER_SAMPLES = dict.fromkeys(("a2c", "bayesian", "maddpg", "masac"), SAMPLES[:2])
FEWER_SAMPLES |= dict.fromkeys(("d4pg", "ddpg", "dqn", "generative", "gradient", "mast", "qmix"), SAMPLES[:1])
FEWER_PROBLEMS = dict.fromkeys(("maddpg", "masac"), (0, 3, 7, 11))
"""Which problems the trials have; the finals have all."""
TRIALS = 20
FINALISTS = 2
FIRST_SEED, FINAL_SEEDS = 2000, (2001, 2002)
HEAD = ("round", "settings", "score", *(f"ratio_{samples}" for samples in SAMPLES))

Settings = dict[str, Any]

_LEARNING = {
    "batch": [16, 24, 32, 48, 64, 96],
    "epochs": [1, 2, 3, 5, 8],
    "learning_rate": [0.01, 0.02, 0.03, 0.05, 0.08],
    "clip": [0.1, 0.2, 0.3, 0.5],
    "entropy": [0.0, 0.003, 0.01, 0.03, 0.1],
    "hidden": [8, 16, 32],
    "elite": [0.15, 0.25, 0.4],
    "patience": [500, 1000, 2000],
}
_PPO = {
    "reward": ["1/x", "-log"],
    "envs": [16, 32, 64, 128],
    "steps": [1, 2, 4, 8],
    "minibatches": [1, 2, 4],
    "epochs": [5, 10, 20],
    "learning_rate": [0.001, 0.003, 0.005, 0.01, 0.02],
    "entropy": [0.0, 0.003, 0.01, 0.03, 0.05, 0.1],
    "clip": [0.1, 0.2, 0.3],
    "patience": [1000, 2000, 4000],
}
_TEAMS = {
    "form": ["one-step", "construct", "refine"],
    "agents": ["genes", "blocks"],
    "reward": ["1/x", "-log"],
    "batch": [32, 64, 128, 256],
    "learning_rate": [0.001, 0.003, 0.01, 0.03],
    "tau": [0.01, 0.05, 0.2],
    "discount": [0.0, 0.5, 0.9, 0.95],
    "update_every": [4, 8, 16],
}
_CRITICS = {
    "reward": ["1/x", "-log"],
    "updates": [1, 2, 4, 8],
    "batch": [32, 64, 128],
    "warm_up": [50, 100, 200, 500],
    "spread": [0.05, 0.1, 0.2, 0.4],
    "learning_rate": [0.0003, 0.001, 0.003],
    "tau": [0.01, 0.05, 0.2, 1.0],
    "hidden": [[64, 64], [128, 128]],
    "patience": [300, 600, 1200, 4000],
}
_VALUES = {
    "agents": ["genes", "blocks"],
    "mixing": ["qmix", "vdn"],
    "reward": ["1/x", "-log"],
    "batch": [16, 32, 64],
    "learning_rate": [0.0005, 0.001, 0.002, 0.005],
    "update_every": [2, 4, 8],
    "discount": [0.0, 0.3, 0.5, 0.8, 0.95],
    "explored": [0.05, 0.1, 0.2, 0.3, 0.5],
    "explored_until": [100, 300, 1000],
}
RANGES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "a2c": {
        "actions": ["gaussian", "categorical"],
        "reward": ["1/x", "-log"],
        "envs": [8, 16, 32, 64],
        "steps": [1, 2, 4],
        "learning_rate": [0.001, 0.003, 0.01, 0.03],
        "entropy": [0.0, 0.003, 0.01, 0.03, 0.1],
        "patience": [500, 1000, 2000, 4000],
    },
    "d4pg": {
        **_CRITICS,
        "actors": [1, 4, 8, 16],
        "update_every": [1, 2, 4, 8],
        "lowest": [-3.0, -1.0],
        "highest": [4.0, 9.0, 20.0],
    },
    "ddpg": {**_CRITICS, "envs": [1, 4, 8, 16]},
    "dqn": {
        "reward": ["1/x", "-log"],
        "envs": [1, 4, 8, 16, 32],
        "updates": [1, 2, 4, 8],
        "batch": [32, 64, 128],
        "learning_rate": [0.0003, 0.001, 0.003],
        "tau": [0.01, 0.05, 0.2],
        "discount": [0.0, 0.5, 0.8, 0.95],
        "explored": [0.02, 0.05, 0.1, 0.2],
        "explored_until": [100, 300, 1000],
        "episode_steps": [8, 32, 128, 512],
        "patience": [500, 1000, 4000],
    },
    "bayesian": {
        "initial": [10, 20, 30, 50],
        "points": [150, 200, 300],
        "batch": [0.01, 0.02, 0.04],
        "late_batch": [0.005, 0.0075, 0.015],
        "patience": [50, 100, 200],
        "refit": [1.5, 2.0, 3.0],
    },
    "genetic": {
        "population": [20, 30, 50, 80, 120],
        "elite": [1, 2, 4, 8],
        "tournament": [2, 3, 5, 8],
        "crossover": [0.3, 0.6, 0.8, 0.95],
        "exchange": [0.2, 0.35, 0.5],
        "mutation": [0.08, 0.15, 0.2, 0.3],
        "step": [0.0, 0.3, 0.6, 0.8],
        "patience": [10, 20, 40, 80],
    },
    "gamma": {
        "population": [12, 20, 30, 50, 80],
        "parents": [0.2, 0.4, 0.6],
        "elite": [0.05, 0.1, 0.2],
        "tile_crossover": [0.3, 0.57, 0.8],
        "reorder": [0.1, 0.2, 0.35, 0.47],
        "tile_mutation": [0.35, 0.53, 0.7],
        "loci": [1, 2, 3, 4],
        "parallel_mutation": [0.05, 0.1, 0.2],
        "small_steps": [0.3, 0.5, 0.7, 0.9],
        "patience": [10, 20, 40, 80],
    },
    "cem": {
        "batch": [15, 30, 50, 80, 120],
        "elite": [0.1, 0.2, 0.3],
        "smoothing": [0.1, 0.2, 0.3, 0.5, 0.7],
        "floor": [0.02, 0.05, 0.1, 0.2],
        "patience": [10, 20, 40],
    },
    "generative": {
        "written": [8, 16, 32, 64, 128],
        "target": [-1.0, -0.5, 0.0, 0.5, 1.0],
        "heat": [0.3, 0.5, 0.7, 1.0, 1.4],
    },
    "gradient": {
        "initial": [8, 16, 24, 48],
        "starts": [4, 8, 16],
        "steps": [6, 12, 24, 48],
        "batch": [2, 4, 8, 16],
        "hidden": [32, 64, 128],
        "epochs": [10, 30, 60, 120],
    },
    "marl": _LEARNING,
    "factored-ppo": _LEARNING,
    "maddpg": _TEAMS,
    "masac": {**_TEAMS, "entropy": [0.003, 0.01, 0.03, 0.05, 0.1, 0.3]},
    "mast": {**_VALUES, "recent": [64, 256, 1024], "rewire_every": [20, 50, 200]},
    "qmix": _VALUES,
    "ppo": _PPO,
    "ppo-categorical": _PPO,
}


_BEGUN: Settings = {
    "agents": "genes",
    "reward": "-log",
    "batch": 64,
    "learning_rate": 0.003,
    "tau": 0.01,
    "discount": 0.95,
    "update_every": 8,
}
_FORMS = ("one-step", "construct", "refine")
_FIRST: Mapping[str, list[Settings]] = {
    "a2c": [
        {
            "actions": "categorical",
            "reward": "1/x",
            "envs": 16,
            "steps": 2,
            "learning_rate": 0.003,
            "entropy": 0.1,
            "patience": 2000,
        }
    ],
    "d4pg": [
        {
            "reward": "-log",
            "updates": 1,
            "batch": 128,
            "warm_up": 200,
            "spread": 0.3,
            "learning_rate": 0.001,
            "tau": 1.0,
            "hidden": [64, 64],
            "patience": 1000,
            "actors": 4,
            "update_every": 4,
            "lowest": -3.0,
            "highest": 20.0,
        }
    ],
    "ddpg": [
        {
            "reward": "-log",
            "updates": 2,
            "batch": 32,
            "warm_up": 100,
            "spread": 0.3,
            "learning_rate": 0.001,
            "tau": 0.01,
            "hidden": [64, 64],
            "patience": 4000,
            "envs": 8,
        }
    ],
    "dqn": [
        {
            "reward": "-log",
            "envs": 8,
            "updates": 4,
            "batch": 128,
            "learning_rate": 0.0003,
            "tau": 0.2,
            "discount": 0.9,
            "explored": 0.1,
            "explored_until": 1000,
            "episode_steps": 8,
            "patience": 4000,
        }
    ],
    "maddpg": [{"form": form, **_BEGUN} for form in _FORMS],
    "masac": [{"form": form, **_BEGUN, "entropy": 0.05} for form in _FORMS],
}
"""The first trials, where they are not the defaults as they stand: what was taken before any, in full."""


def drawn(name: str) -> list[Settings]:
    """The settings of the trials: the defaults first, then random ones."""
    rng = np.random.Generator(np.random.PCG64(sum(name.encode())))
    trials = list(_FIRST.get(name, [{}]))
    while len(trials) < TRIALS:
        trials.append({field: values[rng.integers(len(values))] for field, values in RANGES[name].items()})
    return trials


def best_losses(task: tuple[str, Settings, int, int]) -> list[float]:
    """The best losses after so many SAMPLES of a searcher on a problem of the campaign from a seed."""
    name, settings, place, seed = task
    kind = name.removesuffix("-categorical")
    if kind != name:
        settings = {"actions": "categorical", **settings}
    problem = development_problems().problems[place].problem
    places = FEWER_SAMPLES.get(name, SAMPLES)
    record = run_cell(Cell(problem, kind, make_searcher(kind, settings), seed, max(places)))
    best = np.minimum.accumulate(record.evaluations().loss)
    return [float(best[samples - 1]) for samples in places]


def tune(name: str, workers: int) -> None:
    """Run the trials that are missing, and the finals, and write each as it is done."""
    campaign = development_problems()
    proven = optimum_figures(campaign)
    optima = np.array([proven[at.label]["loss"] for at in campaign.problems])
    everywhere = range(len(optima))
    path = HERE / f"{name}.csv"
    rows = read_rows(path)
    with ProcessPoolExecutor(workers) as pool:

        def run(stage: str, settings: Settings, places: Sequence[int], seeds: Sequence[int]) -> None:
            if any(row["round"] == stage and json.loads(row["settings"]) == settings for row in rows):
                return
            tasks = [(name, settings, place, seed) for seed in seeds for place in places]
            ratios = np.array(list(pool.map(best_losses, tasks))).reshape(len(seeds), len(places), -1)
            logs = np.log(ratios / optima[list(places), np.newaxis]).mean(axis=(0, 1))
            values = [stage, json.dumps(settings), *(f"{np.exp(log):.4f}" for log in (logs.mean(), *logs))]
            rows.append(dict(zip_longest(HEAD, values, fillvalue="")))
            _write(path, rows)
            print(name, *values, flush=True)

        for settings in drawn(name):
            run("trial", settings, FEWER_PROBLEMS.get(name, everywhere), [FIRST_SEED])
        trials = sorted((row for row in rows if row["round"] == "trial"), key=lambda row: float(row["score"]))
        finalists = [json.loads(row["settings"]) for row in trials[:FINALISTS]]
        first = drawn(name)[0]
        for settings in (first, *(found for found in finalists if found != first)):
            run("final", settings, everywhere, FINAL_SEEDS)
    finals = [row for row in rows if row["round"] == "final"]
    print(name, "best:", min(finals, key=lambda row: float(row["score"]))["settings"])


def development_problems() -> Campaign:
    """The campaign devhard.toml, for its problems."""
    return load_campaign(str(RESULTS / "campaigns" / "devhard.toml"), lambda name: {name: load_layer(name)})


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", choices=sorted(RANGES), help="the searchers to tune")
    parser.add_argument("--workers", type=int, default=2, help="how many processes run cells")
    options = parser.parse_args()
    for each in options.names:
        tune(each, options.workers)
