"""What teams earn while they learn: the tables and figures of returns.csv, for experiments.learners.study."""

from __future__ import annotations

import numpy as np

from dse.report.plots.files import png_bytes
from dse.support.arrays import FloatArray
from dse.support.files import write_whole
from experiments.intervals import Verdict, apart, mean_of
from experiments.learners.curves_plot import curves_figure
from experiments.learners.returns import BINS, HERE, LONG, SHORT, SLOW

Rows = list[dict[str, str]]
LEARNERS = {"maddpg": "MADDPG", "masac": "MASAC"}
LAST = {SHORT: 200, SLOW: 500, LONG: 10_000}
"""Episodes at the end of a run whose mean return is compared, by its length."""
KEPT = 0.05
"""A loss of reward up to this share of it counts as none, where the interval says that it is no more."""
CURVES = (
    (
        "rewards",
        "fast_tag",
        "MADDPG by how mini-batches are drawn",
        SHORT,
        "maddpg",
        ("uniform", "neighbor", "shared"),
    ),
    ("rewards-masac", "fast_tag", "MASAC by learning rate", SLOW, "masac", ("shared", "gentle")),
    (
        "rewards-long",
        "fast_tag",
        "MADDPG for as long as in the study",
        LONG,
        "maddpg",
        ("uniform", "neighbor"),
    ),
    ("navigation", "simple_spread", "Cooperative navigation beside a random policy", SHORT, "", ("shared",)),
)
"""Figures of returns: file, task, what is shown, how long runs are, whose (or of both), and arms."""


def curves(rows: Rows, task: str, learner: str, arm: str, length: int = SHORT) -> dict[int, list[float]]:
    """The mean returns of each of BINS, by seed."""
    wanted, runs = (task, learner, arm, str(length)), dict[int, list[float]]()
    for row in rows:
        if (row["task"], row["learner"], row["arm"], row["length"]) == wanted:
            runs.setdefault(int(row["seed"]), []).append(float(row["return"]))
    return {seed: runs[seed] for seed in sorted(runs)}


def last_returns(rows: Rows, task: str, learner: str, arm: str) -> FloatArray:
    """The mean return of the LAST episodes of each short run, by seed: (seeds,)."""
    bins = LAST[SHORT] // BINS[SHORT]
    return np.array([np.mean(run[-bins:]) for run in curves(rows, task, learner, arm).values()])


def mean_and_interval(values: FloatArray) -> str:
    """A mean with its interval."""
    return mean_of(values).shown()


def reward_lines(rows: Rows) -> list[str]:
    """The tables of returns, as Markdown."""
    lines = [
        f"Mean return of the last {LAST[SHORT]} of {SHORT} episodes, three predators; arms are not paired.",
        "",
        "| learner | seeds | uniform | neighbor - uniform | shared - uniform | random policy |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    random = last_returns(rows, "fast_tag", "random", "")
    for learner, name in LEARNERS.items():
        uniform = last_returns(rows, "fast_tag", learner, "uniform")
        others = [last_returns(rows, "fast_tag", learner, arm) for arm in ("neighbor", "shared")]
        if len(uniform) < 2 or any(len(other) != len(uniform) for other in others):
            continue
        cells = [mean_and_interval(uniform), *(apart(other, uniform).shown() for other in others)]
        lines.append(f"| {name} | {len(uniform)} | {' | '.join(cells)} | {mean_and_interval(random)} |")
    lines += [*longer_lines(rows), "", "Cooperative navigation, three agents:"]
    lines += ["", "| policy | seeds | mean return | over the random policy |", "|---|---:|---:|---:|"]
    for learner, arm, name in (
        ("maddpg", "shared", "MADDPG"),
        ("masac", "shared", "MASAC"),
        ("random", "", "random"),
    ):
        values = last_returns(rows, "simple_spread", learner, arm)
        if len(values) > 1:
            over = apart(values, last_returns(rows, "simple_spread", "random", "")).shown()
            over = "-" if name == "random" else over
            lines.append(f"| {name} | {len(values)} | {mean_and_interval(values)} | {over} |")
    return lines


def longer_lines(rows: Rows) -> list[str]:
    """What longer runs earn in the end, in sentences."""
    lines = []
    for length, learner, name, one, other in (
        (SLOW, "masac", "MASAC", "shared", "gentle"),
        (LONG, "maddpg", "MADDPG", "uniform", "neighbor"),
    ):
        first, second = pairs(rows, learner, (one, other), length, LAST[length])
        if len(first) > 1:
            lines += [
                "",
                f"{name} over {length:,} episodes, the last {LAST[length]:,}, {len(first)} seeds: {one} "
                f"{mean_and_interval(first)}, {other} {mean_and_interval(second)}, {other} - {one} "
                f"{apart(second, first).shown()}; paired by seed {mean_and_interval(second - first)}.",
            ]
    return lines


def pairs(
    rows: Rows, learner: str, arms: tuple[str, str], length: int, last: int
) -> tuple[FloatArray, FloatArray]:
    """The mean returns of the last episodes of both arms, from the seeds that both have."""
    one, other = (curves(rows, "fast_tag", learner, arm, length) for arm in arms)
    seeds, bins = sorted(one.keys() & other.keys()), last // BINS[length]
    first, second = (np.array([np.mean(runs[seed][-bins:]) for seed in seeds]) for runs in (one, other))
    return first, second


def kept_reward(rows: Rows) -> tuple[str, Verdict]:
    """What drawing neighbours does to the reward at the end of the longest runs there are, and a verdict.

    A seed gives both arms their first weights and nothing more, so runs are not paired. The reward is kept
    where the interval says that at most KEPT of it is lost, and lost where it says that some is.
    """
    length = LONG if len(pairs(rows, "maddpg", ("uniform", "neighbor"), LONG, LONG)[0]) > 1 else SHORT
    uniform, neighbor = pairs(rows, "maddpg", ("uniform", "neighbor"), length, LAST[length])
    difference = apart(neighbor, uniform)
    first, second = pairs(rows, "maddpg", ("uniform", "neighbor"), length, length)
    ours = (
        f"neighbor - uniform {difference.shown()} over the last {LAST[length]:,} of {length:,} episodes, of "
        f"{uniform.mean():.2f}; {apart(second, first).shown()} over all; {len(uniform)} seeds an arm"
    )
    if difference.high < 0:
        return ours, "not borne out"
    kept = difference.low >= -KEPT * abs(uniform.mean())
    return ours, "borne out" if kept else "inconclusive"


def draw_curves(rows: Rows) -> None:
    """The figures of CURVES."""
    for name, task, title, length, only, arms in CURVES:
        learners = [only] if only else LEARNERS
        wanted = [(learner, arm) for learner in learners for arm in arms] + [("random", "")]
        found_curves = {
            f"{learner} {arm}".strip(): list(curves(rows, task, learner, arm, length).values())
            for learner, arm in wanted
        }
        drawn = {label: np.array(each) for label, each in found_curves.items() if each}
        if drawn:
            at = float(BINS[length]) * np.arange(1, len(next(iter(drawn.values()))[0]) + 1)
            bins = f"mean return of {BINS[length]:,} episodes while learning"
            how = f"three agents; {bins}; lines: means over seeds, bands: all seeds"
            figure = curves_figure(title, how, "episodes", "return", at, drawn)
            write_whole(HERE / f"{name}.png", png_bytes(figure), "figure")
