"""MAST's claim, up to 20 times fewer FLOPs and less than 3 % worse: `python -m experiments.mast TASK`.

Tasks are `spread` and `refine`. Arms, each at the same share of the dense networks' connections: `small`
(dense, fewer units), `static`, `set`, `rigl`, `rlx2` (RigL, targets over many steps later; without its replay
of changing size), `mast` (RigL and the three aids), and `mast` without one aid each. On mpe2's simple_spread
with discrete actions, the mean return of the greedy policy over 40 episodes; on the form `refine`, the best
loss over the proven optimum on four problems of devhard.toml. Writes results/sparse/mast_TASK.csv, a line a
run, and goes on where it was stopped. `--show` prints the table: medians over seeds, FLOPs of training and of
inference over those of `dense`, counted by learners.sparse.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from experiments import RESULTS
from searchers.common.torch_apart import torch_apart

HERE = RESULTS / "sparse"
HEAD = ("arm", "density", "seed", "problem", "outcome", "training_flops", "inference_flops")
UNITS, EMBEDDING = 128, 32
DENSITIES = (0.1, 0.05, 0.2)
AIDS: dict[str, dict[str, Any]] = {
    "mast": {"mellow": True, "returns": "hybrid", "recent": 1000},
    "mast, maximum": {"returns": "hybrid", "recent": 1000},
    "mast, one step": {"mellow": True, "recent": 1000},
    "mast, one memory": {"mellow": True, "returns": "hybrid"},
    "rlx2": {"returns": "delayed"},
}
ARMS = ("small", "static", "set", "rigl", "rlx2", "mast")
ABLATIONS = ("mast, maximum", "mast, one step", "mast, one memory")
SPREAD_STEPS, EPISODES = 10_000, 40
REFINE_SAMPLES, REFINE_PROBLEMS = 2000, (0, 3, 6, 9)


def plan(seeds: int) -> Iterator[tuple[str, float, int]]:
    """Arms with densities and seeds, a seed after the other, what tells most first."""
    for seed in range(seeds):
        yield "dense", 1.0, seed
        yield from ((arm, DENSITIES[0], seed) for arm in ARMS)
    for density in DENSITIES[1:]:
        yield from ((arm, density, seed) for seed in range(seeds) for arm in ("small", "static", "mast"))
    yield from ((arm, DENSITIES[0], seed) for seed in range(seeds) for arm in ABLATIONS)


def algorithm(arm: str, density: float, updates: int, **settings: Any) -> Any:
    """The learner of an arm."""
    from learners.qmix import QMIX
    from learners.sparse import Sparsity

    made = QMIX(hidden=(UNITS, UNITS), embedding=EMBEDDING, schedule=updates, **settings)
    if arm == "small":
        shrunk = density**0.5
        units = round(UNITS * shrunk)
        return replace(made, hidden=(units, units), embedding=max(2, round(EMBEDDING * shrunk)))
    if arm == "dense":
        return made
    method = arm if arm in ("static", "set") else "rigl"
    sparsity = Sparsity(method, density, every=max(updates // 40, 1), until=updates * 3 // 4)
    return replace(made, sparsity=sparsity, **AIDS.get(arm, {}))


def spread(arm: str, density: float, seed: int) -> Iterator[dict[str, Any]]:
    """A team on simple_spread."""
    from mpe2 import simple_spread_v3

    from learners.team import Team
    from learners.training import begin_episode, play, play_step

    rng = np.random.default_rng([seed, 1])
    env = simple_spread_v3.parallel_env(N=3, max_cycles=25, local_ratio=0.0)
    settings = {"batch": 32, "explored_until": SPREAD_STEPS // 2, "discount": 0.9, "update_every": 4}
    team = Team.of(env)
    learner = algorithm(arm, density, SPREAD_STEPS // 4, **settings).begin(team, rng)
    play(learner, env, SPREAD_STEPS, rng)
    policy, returns = learner.policy(), []
    for _ in range(EPISODES):
        observations, so_far = begin_episode(env, team, rng), 0.0
        while env.agents:
            step = play_step(env, team, policy.act(observations), observations)
            observations, so_far = step.following, so_far + float(step.rewards.mean())
        returns.append(so_far)
    yield {
        "problem": "simple_spread",
        "outcome": np.mean(returns),
        "training_flops": learner.flops,
        "inference_flops": learner.inference_flops,
    }


def refine(arm: str, density: float, seed: int) -> Iterator[dict[str, Any]]:
    """A team that refines mappings."""
    from dse.campaign.reference import optimum_figures
    from dse.problem.problem import Problem
    from dse.search.evaluator import BudgetExhausted, Evaluator
    from dse.search.record import Record
    from experiments.tuning.tune import development_problems
    from learners.team import Team
    from learners.training import play
    from searchers.common.play import Game

    campaign = development_problems()
    proven = optimum_figures(campaign)
    for place in REFINE_PROBLEMS:
        listed = campaign.problems[place]
        problem: Problem = listed.problem
        rng = np.random.default_rng([seed, 2, place])
        record = Record(len(problem.space.genes))
        env = Game("refine").environment(Evaluator(problem, REFINE_SAMPLES, record=record))
        settings = {"batch": 32, "explored_until": REFINE_SAMPLES // 2, "discount": 0.8, "explored": 0.1}
        made = algorithm(arm, density, REFINE_SAMPLES // 4, learning_rate=0.002, **settings)
        learner = made.begin(Team.of(env), rng)
        with suppress(BudgetExhausted):
            play(learner, env, 2 * REFINE_SAMPLES, rng)
        best = float(record.evaluations().loss.min())
        yield {
            "problem": listed.label,
            "outcome": best / proven[listed.label]["loss"],
            "training_flops": learner.flops,
            "inference_flops": learner.inference_flops,
        }


TASKS: dict[str, Callable[[str, float, int], Iterator[dict[str, Any]]]] = {"spread": spread, "refine": refine}


def run(task: str, seeds: int) -> None:
    """Do the runs that are missing, and write each as it is done."""
    path = HERE / f"mast_{task}.csv"
    rows = read(task)
    done = {(row["arm"], row["density"], row["seed"]) for row in rows}
    HERE.mkdir(exist_ok=True)
    for arm, density, seed in plan(seeds):
        if (arm, str(density), str(seed)) in done:
            continue
        with torch_apart():
            for found in TASKS[task](arm, density, seed):
                outcome = f"{found.pop('outcome'):.5g}"
                rows.append({"arm": arm, "density": density, "seed": seed, **found, "outcome": outcome})
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, HEAD)
            writer.writeheader()
            writer.writerows(rows)
        print(*rows[-1].values(), flush=True)


def read(task: str) -> list[dict[str, Any]]:
    """The runs that are done."""
    path = HERE / f"mast_{task}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def show(task: str) -> None:
    """Print the table, an arm and density a line."""
    rows = read(task)
    print("| arm | density | runs | median | least, most | training FLOPs | inference FLOPs |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    dense = [row for row in rows if row["arm"] == "dense"]
    for arm, density in sorted(
        {(row["arm"], float(row["density"])) for row in rows}, key=lambda key: (-key[1], key[0])
    ):
        own = [row for row in rows if row["arm"] == arm and float(row["density"]) == density]
        # One number a seed: on several problems the geometric mean.
        found = []
        for seed in sorted({row["seed"] for row in own}):
            values = np.array([float(row["outcome"]) for row in own if row["seed"] == seed])
            found.append(values.mean() if task == "spread" else np.exp(np.log(values).mean()))
        costs = [
            np.mean([float(row[name]) for row in dense]) / np.mean([float(row[name]) for row in own])
            for name in ("training_flops", "inference_flops")
        ]
        cells = [arm, f"{density:g}", len(found), f"{np.median(found):.4g}"]
        cells += [f"{min(found):.4g}, {max(found):.4g}", *(f"1 / {cost:.1f}" for cost in costs)]
        print("|", " | ".join(map(str, cells)), "|")


def main() -> None:
    """Run, or show what has been run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=sorted(TASKS))
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--show", action="store_true", help="run nothing, print the table")
    options = parser.parse_args()
    if not options.show:
        run(options.task, options.seeds)
    show(options.task)


if __name__ == "__main__":
    main()
