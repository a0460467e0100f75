"""The study of Gogineni et al. beside what is measured here: `python -m experiments.learners.study`.

Reads phases.csv and returns.csv of results/learners, which experiments.learners.phases and .returns write,
and writes study.md there and the figures phases-LEARNER.png, rewards.png and navigation.png.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.report.plots import png
from dse.report.plots.learning import curves_figure
from dse.report.plots.phases import phases_figure
from dse.support.arrays import FloatArray
from dse.support.files import write_whole
from experiments import read_rows
from experiments.learners.returns import BINS, HERE, LONG, SHORT, SLOW
from learners.phases import P_LOSS, Q_LOSS, SAMPLING, TARGET_Q
from learners.profiling import PARTS, PHASES, UPDATING, ratio

Rows = list[dict[str, str]]
LEARNERS = {"maddpg": "MADDPG", "masac": "MASAC"}
LAST = {SHORT: 200, SLOW: 500, LONG: 10_000}
"""Episodes at the end of a run whose mean return is compared, by its length."""
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


class Phases:
    """The lines of phases.csv."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def sizes(self, learner: str, task: str = "fast_tag") -> list[int]:
        """The teams measured, the smallest first."""
        return sorted({int(r["agents"]) for r in self._rows if (r["learner"], r["task"]) == (learner, task)})

    def of(self, learner: str, agents: int, arm: str, *phases: str, task: str = "fast_tag") -> FloatArray:
        """Seconds of some phases together, (updates,); of all where none is named."""
        wanted = (task, learner, str(agents), arm)
        rows = [r for r in self._rows if (r["task"], r["learner"], r["agents"], r["arm"]) == wanted]
        return np.array([sum(float(row[phase]) for phase in phases or PHASES) for row in rows])

    def share(
        self, learner: str, agents: int, arm: str, *phases: str, within: Sequence[str] = PHASES
    ) -> float:
        """What share of the time of `within` some phases take."""
        part, whole = (self.of(learner, agents, arm, *names).sum() for names in (phases, within))
        return float(part / whole)

    def than(self, learner: str, agents: int, arm: str, *phases: str, task: str = "fast_tag") -> str:
        """An arm's time over that of the per-agent loop, with its interval."""
        mine, first = (self.of(learner, agents, name, *phases, task=task) for name in (arm, "per-agent"))
        share, low, high = ratio(mine, first)
        return f"{share:.3f} [{low:.3f}, {high:.3f}]"

    def hook(self) -> float:
        """The largest share of the time that measuring took."""
        return max(float(row["hook"]) for row in self._rows)


def phase_lines(found: Phases) -> list[str]:
    """The tables of phases, as Markdown."""
    lines = []
    for learner, name in LEARNERS.items():
        sizes = found.sizes(learner)
        lines += [f"### {name}", "", "| predators | " + " | ".join(map(str, sizes)) + " |"]
        lines.append("|---|" + "---:|" * len(sizes))
        for arm in ("per-agent", "stacked"):
            lines += _line(
                f"update, share of the time, {arm}",
                [f"{found.share(learner, n, arm, *UPDATING):.0%}" for n in sizes],
            )
        for phase in PARTS:
            lines += _line(
                f"{phase}, share of the update, per-agent",
                [f"{found.share(learner, n, 'per-agent', phase, within=UPDATING):.0%}" for n in sizes],
            )
        for arm in ("neighbor", "contiguous", "stacked"):
            lines += _line(
                f"sampling, {arm} / per-agent", [found.than(learner, n, arm, SAMPLING) for n in sizes]
            )
            lines += _line(f"whole, {arm} / per-agent", [found.than(learner, n, arm) for n in sizes])
        lines.append("")
    return lines


def _line(head: str, cells: Sequence[str]) -> list[str]:
    return [f"| {head} | " + " | ".join(cells) + " |"]


def curves(rows: Rows, task: str, learner: str, arm: str, length: int = SHORT) -> dict[int, list[float]]:
    """The mean returns of each of BINS, by seed."""
    wanted, runs = (task, learner, arm, str(length)), dict[int, list[float]]()
    for row in rows:
        if (row["task"], row["learner"], row["arm"], row["length"]) == wanted:
            runs.setdefault(int(row["seed"]), []).append(float(row["return"]))
    return {seed: runs[seed] for seed in sorted(runs)}


def last_returns(rows: Rows, task: str, learner: str, arm: str, length: int = SHORT) -> FloatArray:
    """The mean return of the LAST episodes of each run, by seed: (seeds,)."""
    last = LAST[length] // BINS[length]
    return np.array([np.mean(run[-last:]) for run in curves(rows, task, learner, arm, length).values()])


def mean_and_interval(values: FloatArray) -> str:
    """A mean with the 95 % interval of Student's distribution."""
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1)) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.2f} [{values.mean() - half:.2f}, {values.mean() + half:.2f}]"


def reward_lines(rows: Rows) -> list[str]:
    """The tables of returns, as Markdown."""
    lines = [
        f"Mean return of the last {LAST[SHORT]} of {SHORT} episodes, three predators; differences paired by "
        "seed.",
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
        cells = [mean_and_interval(uniform), *(mean_and_interval(other - uniform) for other in others)]
        lines.append(f"| {name} | {len(uniform)} | {' | '.join(cells)} | {mean_and_interval(random)} |")
    lines += [*longer_lines(rows), "", "Cooperative navigation, three agents:"]
    lines += [
        "",
        "| policy | seeds | mean return | over the random policy |",
        "|---|---:|---:|---:|",
    ]
    for learner, arm, name in (
        ("maddpg", "shared", "MADDPG"),
        ("masac", "shared", "MASAC"),
        ("random", "", "random"),
    ):
        values = last_returns(rows, "simple_spread", learner, arm)
        if len(values) > 1:
            over = mean_and_interval(values - last_returns(rows, "simple_spread", "random", ""))
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
        ends = [last_returns(rows, "fast_tag", learner, arm, length) for arm in (one, other)]
        paired = min(map(len, ends))
        if paired > 1:
            first, second = (values[:paired] for values in ends)
            lines += [
                "",
                f"{name} over {length:,} episodes, the last {LAST[length]:,}, {paired} seeds: {one} "
                f"{mean_and_interval(first)}, {other} {mean_and_interval(second)}, {other} - {one} "
                f"{mean_and_interval(second - first)}.",
            ]
    return lines


def kept_reward(rows: Rows) -> str:
    """What drawing neighbours does to the reward, in the longest runs that there are."""
    for length in (LONG, SHORT):
        ends = [last_returns(rows, "fast_tag", "maddpg", arm, length) for arm in ("neighbor", "uniform")]
        paired = min(map(len, ends))
        if paired > 1:
            break
    difference = mean_and_interval(ends[0][:paired] - ends[1][:paired])
    return f"neighbor - uniform {difference}, {length:,} episodes, {paired} seeds"


def verdict_lines(found: Phases, rows: Rows) -> list[str]:
    """Their figures, ours, and what becomes of theirs."""
    sizes = found.sizes("maddpg")
    grown = [found.share("maddpg", n, "per-agent", *UPDATING) for n in sizes]
    stacked = [found.share("maddpg", n, "stacked", *UPDATING) for n in sizes]
    split = [
        f"{phase} {found.share('maddpg', 12, 'per-agent', phase, within=UPDATING):.0%}"
        for phase in (SAMPLING, TARGET_Q, Q_LOSS, P_LOSS)
    ]
    of = ", ".join(map(str, sizes))
    near = [found.than("maddpg", n, "neighbor", SAMPLING) for n in (3, 12)]
    table = [
        (
            "update-all-trainers 35 to 85 % of the time, 3 to 48 agents",
            f"loop: {', '.join(f'{x:.0%}' for x in grown)} with {of}; stacked: "
            f"{', '.join(f'{x:.0%}' for x in stacked)}",
            "grows, as theirs" if grown[0] < grown[-1] else "does not grow",
        ),
        (
            "of it sampling 61 %, target Q 21 %, Q loss 10 %, P loss 8 %",
            ", ".join(split) + " (12)",
            "the same order",
        ),
        ("cache and dTLB misses 3.9x from 3 to 6 agents", "perf reads none on this machine", "not measured"),
        (
            "neighbor: sampling -26.66 % (3) to -27.39 % (12)",
            f"over per-agent: {near[0]} (3), {near[1]} (12)",
            "faster, by less than theirs",
        ),
        ("neighbor: end to end -10.2 % (12)", found.than("maddpg", 12, "neighbor"), "as theirs"),
        (
            "no loss of mean reward, 60,000 episodes",
            kept_reward(rows),
            "no loss seen",
        ),
        (
            "goal: contiguous takes 90 % off sampling",
            f"over per-agent: {found.than('maddpg', 12, 'contiguous', SAMPLING)} (12)",
            "reached",
        ),
        (
            "goal: stacked and contiguous, 3x faster end to end (12)",
            f"time over per-agent {found.than('maddpg', 12, 'stacked')}; where both play mpe2's own game "
            f"{found.than('maddpg', 12, 'stacked', task='simple_tag')}",
            "reached where the game is fast",
        ),
    ]
    return [
        "| theirs | ours (MADDPG) | verdict |",
        "|---|---|---|",
        *(f"| {theirs} | {ours} | {verdict} |" for theirs, ours, verdict in table),
    ]


def draw(found: Phases, rows: Rows) -> None:
    """Write the figures."""
    for learner, name in LEARNERS.items():
        panels = {
            f"{n} predators": {
                arm: [1e3 * float(found.of(learner, n, arm, phase).mean()) for phase in PHASES]
                for arm in ("per-agent", "neighbor", "contiguous", "stacked")
            }
            for n in found.sizes(learner)
        }
        how = "CPU ms of an update with its 100 steps, means over updates; the study's setting"
        made = phases_figure(f"Where the time of {name} goes", how, PHASES, panels)
        write_whole(HERE / f"phases-{learner}.png", png(made), "figure")
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
            write_whole(HERE / f"{name}.png", png(figure), "figure")


def main() -> None:
    """Write the tables and the figures."""
    found, rows = Phases(read_rows(HERE / "phases.csv")), read_rows(HERE / "returns.csv")
    lines = [
        "Written by `python -m experiments.learners.study`; ratios are paired, with 95 % intervals.",
        "",
        *verdict_lines(found, rows),
        "",
        *phase_lines(found),
        f"Measuring took {found.hook():.2%} of the time at most.",
        "",
        *reward_lines(rows),
    ]
    write_whole(HERE / "study.md", "\n".join(lines) + "\n", "table")
    draw(found, rows)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
