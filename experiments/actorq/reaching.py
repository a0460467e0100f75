"""Whether actors of few bits learn as well: how often and when a policy of ActorQ's study is good enough."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.stats import binomtest

from dse.support.arrays import FloatArray
from experiments.actorq.setting import SIZES
from experiments.actorq.study import LEARNED, read
from experiments.intervals import mean_of

Rows = list[dict[str, str]]
SIZED = {name: f"{len(hidden)} x {hidden[0]}" for name, (hidden, _) in SIZES.items()}
NAMES = {"32": "fp32", "16": "fp16", "8": "int8"}
TARGETS = {
    "CartPole-v1": 475.0,
    "Acrobot-v1": -100.0,
    "MountainCar-v0": -110.0,
    "Pendulum-v1": -200.0,
    "cartpole-balance": 950.0,
    "walker-stand": 950.0,
}
"""Returns to be reached: where Gymnasium counts a task as solved, and 95 % of the most in dm_control's.

Pendulum has neither: it is near to what it ends at."""


def interval(values: FloatArray, digits: int = 2) -> str:
    """A mean with its interval; of one or two values, the mean; of none, a dash."""
    return mean_of(values).shown(digits) if len(values) else "-"


def chosen(rows: Rows, **wanted: object) -> Rows:
    """The lines with such values, by seed."""
    found = [row for row in rows if all(row[key] == str(value) for key, value in wanted.items())]
    return sorted(found, key=lambda row: int(row["seed"]))


def table(head: list[str], lines: list[list[str]]) -> list[str]:
    """Markdown."""
    rule = "|---|" + "---:|" * (len(head) - 1)
    return [f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines), ""]


def learning() -> list[str]:
    """When a policy first earns its target, with one actor."""
    curves, runs = read("curves"), read("runs")
    lines = []
    for task, policy in LEARNED:
        for bits, said in NAMES.items():
            wanted = {"task": task, "policy": policy, "inference": bits, "idle": False}
            seeds = sorted({row["seed"] for row in chosen(runs, **wanted)})
            if not seeds:
                continue
            reached = [first(chosen(curves, **wanted, seed=seed), TARGETS[task]) for seed in seeds]
            best = np.array(
                [max(float(row["return"]) for row in chosen(curves, **wanted, seed=seed)) for seed in seeds]
            )
            actor = [float(row["actors_cpu_s"]) / float(row["steps"]) for row in chosen(runs, **wanted)]
            lines.append(
                [
                    f"{task}, {SIZED[policy]}, {said}",
                    f"{sum(line is not None for line in reached)} of {len(seeds)}",
                    until(reached, "steps", 0),
                    until(reached, "wall_s", 1),
                    interval(best, 0),
                    interval(1000 * np.array(actor), 2),
                ]
            )
    head = [
        "task, policy",
        "reached",
        "steps until then, median",
        "wall s until then, median",
        "best return",
        "actor's CPU ms a step",
    ]
    return table(head, lines)


def in_all() -> list[str]:
    """How often a target was reached in all, by the actor's precision, in pairs of task, policy and seed."""
    curves, runs = read("curves"), read("runs")
    found: dict[str, dict[tuple[str, ...], bool]] = {}
    for (task, policy), bits in product(LEARNED, NAMES):
        wanted = {"task": task, "policy": policy, "inference": bits, "idle": False}
        for seed in {row["seed"] for row in chosen(runs, **wanted)}:
            there = first(chosen(curves, **wanted, seed=seed), TARGETS[task]) is not None
            found.setdefault(bits, {})[task, policy, seed] = there
    lines = []
    for bits, said in NAMES.items():
        mine, base = found[bits], found["32"]
        lost, won = (
            sum(one[key] and not other[key] for key in mine.keys() & base.keys())
            for one, other in ((base, mine), (mine, base))
        )
        word = "-" if bits == "32" else as_often(lost, won)
        lines.append([said, f"{sum(mine.values())} of {len(mine)}", str(lost), str(won), word])
    return table(["actor", "reached", "fp32 alone", "this one alone", "as often as fp32"], lines)


def as_often(lost: int, won: int) -> str:
    """By the sign test of the pairs in which one of two reached a target and the other did not."""
    told = lost + won > 0 and binomtest(won, lost + won).pvalue < 0.05
    return ("more often" if won > lost else "less often") if told else "inconclusive"


def until(reached: Sequence[dict[str, str] | None], name: str, digits: int) -> str:
    """When a target was reached: the median, the first and the last run. Runs that never got there are last.

    A mean over those that did would favour an arm whose slow runs fail.
    """
    times = sorted(np.inf if line is None else float(line[name]) for line in reached)
    middle = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
    said = [f"{time:.{digits}f}" if np.isfinite(time) else "never" for time in (middle, times[0], times[-1])]
    return f"{said[0]} ({said[1]} to {said[2]})" if said[1] != "never" else "never"


def first(rows: Rows, target: float) -> dict[str, str] | None:
    """The first look at which so much was earned."""
    return next((row for row in rows if float(row["return"]) >= target), None)
