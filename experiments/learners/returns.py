"""Returns while teams learn: `python -m experiments.learners.returns [fast_tag simple_spread] [--workers 2]`.

On predators and a prey, three agents with the study's setting and each way to draw mini-batches, from five
seeds (MASAC from three): what do neighbours' correlation and a shared mini-batch do to the reward? `uniform`
is what the arms per-agent and contiguous both come to (a test says so). On cooperative navigation: do the
learners learn, beside a random policy? An update is made every 25 samples, not 100: there are 600 episodes,
where the study has 60,000. Writes returns.csv in results/learners, a line for each 50 episodes of a run, and
goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from dse.support.arrays import FloatArray
from experiments import RESULTS, read_rows

HERE = RESULTS / "learners"
EPISODES, BIN = 600, 50
SHARED = {"update_every": 25}
ARMS: dict[str, dict[str, Any]] = {
    "uniform": {"shared_batch": False},
    "neighbor": {"shared_batch": False, "replay": "neighbor"},
    "shared": {},
}
"""All stacked, which comes to the numbers of a loop: uniform draws, an own mini-batch each; by neighbours;
uniform, and one mini-batch for all."""
HEAD = ("task", "learner", "arm", "seed", "episodes", "return")


class Run(NamedTuple):
    """A team that learns."""

    task: str
    learner: str
    arm: str
    seed: int


def runs(task: str) -> list[Run]:
    """What there is to run on a task; the learner `random` learns nothing."""
    if task == "fast_tag":
        return [
            Run(task, learner, arm, seed)
            for learner, seeds in (("maddpg", 5), ("masac", 3))
            for seed in range(seeds)
            for arm in ARMS
        ] + [Run(task, "random", "", seed) for seed in range(5)]
    return [
        Run(task, learner, arm, seed)
        for seed in range(3)
        for learner, arm in (("maddpg", "shared"), ("masac", "shared"), ("random", ""))
    ]


def played(run: Run) -> FloatArray:
    """The mean return of each BIN of episodes."""
    import torch

    from learners.registry import make_learner, task
    from learners.training import train

    torch.set_num_threads(1)
    name = "maddpg" if run.learner == "random" else run.learner
    # The random policy is one whose last layer is all that it has, and that never learns.
    settings = {"batch": 100_000, "hidden": []} if run.learner == "random" else SHARED | ARMS[run.arm]
    rng = np.random.default_rng([run.seed, 17])
    _, returns = train(make_learner(name, settings), task(run.task)(3), EPISODES * 25, rng)
    return returns.reshape(-1, BIN).mean(axis=1)


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["fast_tag", "simple_spread"])
    parser.add_argument("--workers", type=int, default=2, help="how many runs at once")
    options = parser.parse_args()
    path = HERE / "returns.csv"
    rows = read_rows(path)
    done = {Run(row["task"], row["learner"], row["arm"], int(row["seed"])) for row in rows}
    missing = [run for task in options.tasks for run in runs(task) if run not in done]
    with ProcessPoolExecutor(options.workers) as pool:
        for run, means in zip(missing, pool.map(played, missing), strict=True):
            with path.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if not file.tell():
                    writer.writerow(HEAD)
                for place, mean in enumerate(means):
                    writer.writerow((*run, (place + 1) * BIN, f"{mean:.4f}"))
            print(*run, f"{means[0]:.1f} to {means[-1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
