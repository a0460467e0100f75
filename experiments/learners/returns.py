"""Returns while teams learn: `python -m experiments.learners.returns [fast_tag simple_spread] [--workers 2]`.

On predators and a prey, three agents with the study's setting and each way to draw mini-batches, from
SEEDS seeds: what do neighbours' correlation and a shared mini-batch do to the reward? `uniform` is what the
arms per-agent and contiguous both come to, and `neighbor` what those of neighbours do (tests say so). On
cooperative navigation: do the learners learn, beside a random policy? These runs have 600 episodes and an
update every 25 samples.

With `fast_tag --episodes 60000`, MADDPG plays as long as in the study, with an update every 100 samples as
there: some nine minutes of CPU a run. With `fast_tag --episodes 3000`, MASAC learns the game, with the
study's learning rate and with a tenth of it. Writes returns.csv in results/learners, a line for every so many
episodes of a run, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from dse.support.arrays import FloatArray
from experiments import RESULTS, read_rows, write_rows

HERE = RESULTS / "learners"
SHORT, SLOW, LONG = 600, 3000, 60_000
"""Episodes of a run; LONG is what the study has."""
BINS = {SHORT: 50, SLOW: 250, LONG: 1000}
"""Over how many episodes a return is averaged."""
SEEDS = {SHORT: 5, SLOW: 5, LONG: 15}
"""Runs of an arm on predators and a prey. With five of the longest, no sign test comes below p = 0.0625."""
UPDATE_EVERY = {SHORT: 25, SLOW: 25, LONG: 100}
"""Samples between updates; 100 is the study's."""
ARMS: dict[str, dict[str, Any]] = {
    "uniform": {"shared_batch": False},
    "neighbor": {"shared_batch": False, "replay": "contiguous-neighbor"},
    "shared": {},
    "gentle": {"learning_rate": 0.001},
}
"""All stacked, which comes to the numbers of a loop: uniform draws, an own mini-batch each; by neighbours;
uniform, and one mini-batch for all; the same with a tenth of the study's learning rate."""
HEAD = ("task", "learner", "arm", "seed", "length", "episodes", "return")


class Run(NamedTuple):
    """A team that learns."""

    task: str
    learner: str
    arm: str
    seed: int
    length: int


def runs(task: str, length: int) -> list[Run]:
    """What there is to run on a task; the learner `random` learns nothing."""
    teams = [("maddpg", "uniform"), ("maddpg", "neighbor")]
    if length == SLOW:
        teams = [("masac", "shared"), ("masac", "gentle")]
    if length == SHORT:
        arms = ("shared",) if task == "simple_spread" else ("uniform", "neighbor", "shared")
        teams = [(learner, arm) for learner in ("maddpg", "masac") for arm in arms] + [("random", "")]
    seeds = SEEDS[length] if task != "simple_spread" else 3
    return [Run(task, *team, seed, length) for seed in range(seeds) for team in teams]


def played(run: Run) -> FloatArray:
    """The mean return of each of its BINS."""
    import torch

    from learners.registry import load_task, make_learner
    from learners.training import train

    torch.set_num_threads(1)
    name = "maddpg" if run.learner == "random" else run.learner
    # The random policy is one whose last layer is all that it has, and that never learns.
    settings = {"batch": 100_000, "hidden": []} if run.learner == "random" else dict(ARMS[run.arm])
    settings.setdefault("train_freq", UPDATE_EVERY[run.length])
    rng = np.random.default_rng([run.seed, 17])
    _, returns = train(make_learner(name, settings), load_task(run.task)(3), run.length * 25, rng)
    return returns.reshape(-1, BINS[run.length]).mean(axis=1)


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["fast_tag", "simple_spread"])
    parser.add_argument("--episodes", type=int, choices=tuple(BINS), default=SHORT, help="of a run")
    parser.add_argument("--workers", type=int, default=2, help="how many runs at once")
    options = parser.parse_args()
    path = HERE / "returns.csv"
    rows = read_rows(path)
    done = {
        Run(row["task"], row["learner"], row["arm"], int(row["seed"]), int(row["length"])) for row in rows
    }
    missing = [run for task in options.tasks for run in runs(task, options.episodes) if run not in done]
    with ProcessPoolExecutor(options.workers) as pool:
        for run, means in zip(missing, pool.map(played, missing), strict=True):
            steps = ((place + 1) * BINS[run.length] for place in range(len(means)))
            lines = [(*run, at, f"{mean:.4f}") for at, mean in zip(steps, means, strict=True)]
            write_rows(path, HEAD, lines, add=True)
            print(*run, f"{means[0]:.1f} to {means[-1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
