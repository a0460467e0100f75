"""The study of Gogineni et al. beside what is measured here: `python -m experiments.learners.study`.

Reads phases.csv and returns.csv of results/learners, which experiments.learners.phases and .returns write,
and writes study.md there and the figures phases-LEARNER.png, rewards*.png and navigation.png.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dse.report.plots.files import png_bytes
from dse.support.arrays import FloatArray
from dse.support.files import write_whole
from experiments import read_rows
from experiments.intervals import Estimate, Verdict, at_least, at_most, overall, ratio_of_sums
from experiments.learners.returns import HERE
from experiments.learners.rewards import LEARNERS, Rows, draw_curves, kept_reward, reward_lines
from learners.phases import P_LOSS, Q_LOSS, SAMPLING, TARGET_Q
from learners.profiling import PARTS, PHASES, UPDATING
from searchers.commands.phases_plot import phases_figure


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

    def part(
        self, agents: int, *phases: str, less: Sequence[str] = (), of: Sequence[str] = UPDATING
    ) -> Estimate:
        """The share of phases, less that of others, in MADDPG's loop over agents, with its interval."""
        loop = ("maddpg", agents, "per-agent")
        wanted = self.of(*loop, *phases) - (self.of(*loop, *less) if less else 0)
        return ratio_of_sums(wanted, self.of(*loop, *of))

    def than(self, learner: str, agents: int, arm: str, *phases: str, task: str = "fast_tag") -> Estimate:
        """An arm's time over that of the per-agent loop, with its interval over updates."""
        return ratio_of_sums(
            *(self.of(learner, agents, name, *phases, task=task) for name in (arm, "per-agent"))
        )

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
            for what, names in (("sampling", (SAMPLING,)), ("whole", ())):
                cells = [found.than(learner, n, arm, *names).shown(3) for n in sizes]
                lines += _line(f"{what}, {arm} / per-agent", cells)
        lines.append("")
    return lines


def _line(head: str, cells: Sequence[str]) -> list[str]:
    return [f"| {head} | " + " | ".join(cells) + " |"]


THEIRS = {SAMPLING: 61, TARGET_Q: 21, Q_LOSS: 10, P_LOSS: 8}
"""Per cent of an update that its parts take in the study, the largest first."""


def verdict_lines(found: Phases, rows: Rows) -> list[str]:
    """Their figures, ours, and what becomes of theirs: every verdict follows from its row's figures."""
    near = {n: found.than("maddpg", n, "neighbor", SAMPLING) for n in (3, 12)}
    whole = found.than("maddpg", 12, "neighbor")
    contiguous = found.than("maddpg", 12, "contiguous", SAMPLING)
    stacked = found.than("maddpg", 12, "stacked")
    slower = found.than("maddpg", 12, "stacked", task="simple_tag")
    shares = {n: found.part(n, *UPDATING, of=PHASES) for n in found.sizes("maddpg")}
    table = [
        (
            "updates take a share of the time that grows from 3 to 48 agents (35 to 85 %)",
            ", ".join(f"{share.shown(0, 100)} % ({n})" for n, share in shares.items()),
            grows(list(shares.values())),
        ),
        (
            "of them sampling takes most, then target Q, Q loss, P loss (61, 21, 10, 8 %)",
            ", ".join(f"{part} {found.part(12, part).shown(0, 100)} %" for part in THEIRS) + " (12)",
            overall([at_least(0, found.part(12, one, less=(other,))) for one, other in pairwise(THEIRS)]),
        ),
        ("cache and dTLB misses 3.9x from 3 to 6 agents", "perf reads none on this machine", "not tested"),
        (
            "neighbor: sampling -26.66 % (3) to -27.39 % (12); here from memories of 5,000 steps",
            f"over per-agent: {', '.join(f'{one.shown(3)} ({n})' for n, one in near.items())}",
            overall([at_most(1 - 0.2666, near[3]), at_most(1 - 0.2739, near[12])]),
        ),
        ("neighbor: end to end -10.2 % (12)", whole.shown(3), at_most(1 - 0.102, whole)),
        ("no loss of mean reward, 60,000 episodes", *kept_reward(rows)),
        (
            "our goal: contiguous takes 90 % off sampling (12)",
            f"over per-agent: {contiguous.shown(3)}",
            at_most(0.1, contiguous),
        ),
        (
            "our goal: stacked and contiguous, 3x faster end to end (12)",
            f"time over per-agent {stacked.shown(3)}",
            at_most(1 / 3, stacked),
        ),
        (
            "the same, where both play mpe2's own game",
            f"time over per-agent {slower.shown(3)}",
            at_most(1 / 3, slower),
        ),
    ]
    return [
        "| claim or goal | ours (MADDPG) | verdict |",
        "|---|---|---|",
        *(f"| {theirs} | {ours} | {verdict} |" for theirs, ours, verdict in table),
    ]


def grows(shares: Sequence[Estimate]) -> Verdict:
    """Of a claim that shares grow: each interval is above the one before; not so where one is below it."""
    found = list(pairwise(shares))
    if any(after.high < before.low for before, after in found):
        return "not borne out"
    return "borne out" if all(before.high < after.low for before, after in found) else "inconclusive"


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
        write_whole(HERE / f"phases-{learner}.png", png_bytes(made), "figure")


def main() -> None:
    """Write the tables and the figures."""
    found, rows = Phases(read_rows(HERE / "phases.csv")), read_rows(HERE / "returns.csv")
    lines = [
        "Written by `python -m experiments.learners.study`. Ratios are of paired updates; 95 % intervals.",
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
