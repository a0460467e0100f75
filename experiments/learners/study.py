"""The study of Gogineni et al. beside what is measured here: `python -m experiments.learners.study`.

Reads phases.csv and returns.csv of results/learners, which experiments.learners.phases and .returns write,
and writes study.md there and the figures phases-LEARNER.png, rewards*.png and navigation.png.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.report.plots import png
from dse.report.plots.phases import phases_figure
from dse.support.arrays import FloatArray
from dse.support.files import write_whole
from experiments import read_rows
from experiments.learners.returns import HERE
from experiments.learners.rewards import LEARNERS, Rows, draw_curves, kept_reward, reward_lines
from learners.phases import P_LOSS, Q_LOSS, SAMPLING, TARGET_Q
from learners.profiling import PARTS, PHASES, UPDATING, ratio


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
            *kept_reward(rows),
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


def draw(found: Phases) -> None:
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
    draw(found)
    draw_curves(rows)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
