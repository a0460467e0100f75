"""Tries settings of a searcher: `python -m experiments.tuning.try_out team patience=50 [--samples 5000]`.

Runs it on the problems of devhard.toml, or on those given by their place, from seeds 3000 on, and prints a
line of a table as team.md has them: best loss / proven optimum at so many samples, geometric mean over all
runs, a run without a feasible mapping counting for 12, and the CPU seconds of a run.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from dse.campaign.reference import optimum_figures
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.search.start import start_points
from dse.support.errors import InputError
from experiments.tuning.tune import development_problems

FIRST_SEED = 3000
SAMPLES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
WORST = 12.0


def try_out(task: tuple[str, dict[str, Any], int, int, int, str | None]) -> tuple[list[float], float]:
    """The best losses at SAMPLES up to a budget, on a problem from a seed, and CPU seconds."""
    name, settings, place, seed, budget, begin = task
    problem = development_problems().problems[place].problem
    points = start_points(problem, begin) if begin else ()
    cell = Cell(problem, name, make_searcher(name, settings), seed, budget, points)
    start = time.process_time()
    best = np.minimum.accumulate(run_cell(cell).evaluations().loss)
    return [float(best[samples - 1]) for samples in SAMPLES if samples <= budget], time.process_time() - start


def setting(text: str) -> tuple[str, Any]:
    """`patience=50` or `policy=uniform` as a name and a value."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: want NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main() -> None:
    """Run, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="the searcher")
    parser.add_argument("settings", nargs="*", type=setting, help="such as patience=50")
    parser.add_argument("--seeds", type=int, default=6, help="how many")
    parser.add_argument("--samples", type=int, default=2000, help="samples a run")
    parser.add_argument("--start", help="what runs begin with: templates, or a file of mappings")
    parser.add_argument("--problems", type=int, nargs="+", help="their places, from 0; all if not given")
    parser.add_argument("--workers", type=int, default=2, help="how many processes run cells")
    options = parser.parse_args()
    campaign = development_problems()
    places = options.problems or range(len(campaign.problems))
    if not set(places) <= set(range(len(campaign.problems))):
        parser.error(f"--problems: want places from 0 to {len(campaign.problems) - 1}")
    if options.seeds < 1 or options.samples < SAMPLES[0]:
        parser.error(f"want at least one of --seeds, and {SAMPLES[0]} --samples")
    try:
        make_searcher(options.name, dict(options.settings))
    except InputError as error:
        parser.error(str(error))
    proven = optimum_figures(campaign)
    tasks = [
        (options.name, dict(options.settings), place, FIRST_SEED + seed, options.samples, options.start)
        for seed in range(options.seeds)
        for place in places
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        found = list(pool.map(try_out, tasks))
    optima = np.array([proven[campaign.problems[task[2]].label]["loss"] for task in tasks])
    ratios = np.minimum(np.array([best for best, _ in found]) / optima[:, np.newaxis], WORST)
    means = [f"{math.exp(mean):.4f}" for mean in np.log(ratios).mean(axis=0)]
    named = ", ".join(f"{name}={value}" for name, value in options.settings) or "defaults"
    seconds = np.mean([cpu for _, cpu in found])
    print("|", " | ".join([named, str(len(places)), str(options.seeds), *means, f"{seconds:.2f}"]), "|")


if __name__ == "__main__":
    main()
