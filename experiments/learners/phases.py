"""Where the time of MADDPG and MASAC goes: `python -m experiments.learners.phases`.

On predators and a prey, 3 to 48 predators, the study's setting, by phase: its replay and its neighbours in a
loop over agents, our replay in the same loop, and our replay with all agents stacked and one mini-batch for
all. Arms take turns update by update, in one process; CPU time, as one thread computes it. The game is the
one in arrays, and with 12 predators mpe2's own too. Writes phases.csv in results/learners, a line an update
and arm, in seconds, and goes on where it was stopped.
"""

from __future__ import annotations

from typing import NamedTuple

from experiments import read_rows, write_rows
from experiments.learners.returns import HERE
from learners.profiling import PHASES, profile_arms
from learners.registry import arms_of, load_task, make_learner

HEAD = ("task", "learner", "agents", "arm", "update", *PHASES, "hook")


class Cell(NamedTuple):
    """What is measured together: so many updates of every arm, memories holding so many steps."""

    task: str
    learner: str
    agents: int
    updates: int
    held: int


SIZES = ((12, 8, 5000), (3, 20, 5000), (6, 15, 5000), (24, 4, 4000), (48, 2, 2500))
"""Agents, updates and steps held: the larger the team, the dearer, and the less is left to chance."""

CELLS = [
    *(Cell("fast_tag", learner, *SIZES[0]) for learner in ("maddpg", "masac")),
    Cell("simple_tag", "maddpg", 12, 4, 2000),
    *(Cell("fast_tag", learner, *size) for size in SIZES[1:] for learner in ("maddpg", "masac")),
]


def main() -> None:
    """Measure what is missing."""
    path = HERE / "phases.csv"
    done = {(row["task"], row["learner"], int(row["agents"])) for row in read_rows(path)}
    for cell in CELLS:
        if (cell.task, cell.learner, cell.agents) in done:
            continue
        arms = {arm: make_learner(cell.learner, given) for arm, given in arms_of(cell.learner).items()}
        measured = profile_arms(
            arms, load_task(cell.task), cell.agents, updates=cell.updates, held=cell.held, clock="cpu"
        )
        lines = [
            (*cell[:3], one.arm, update, *(f"{second:.6f}" for second in seconds), f"{one.hook:.6f}")
            for one in measured
            for update, seconds in enumerate(one.seconds)
        ]
        write_rows(path, HEAD, lines, add=True)
        whole = ", ".join(f"{one.arm} {one.of().mean():.3f} s" for one in measured)
        print(cell.task, cell.learner, cell.agents, whole, flush=True)


if __name__ == "__main__":
    main()
