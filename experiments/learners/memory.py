"""How the memory's fill tells on drawing by neighbours: `python -m experiments.learners.memory`.

One memory an agent, as in the study, filled to 5,000, 20,000, 100,000 and 400,000 steps of predators and a
prey, and mini-batches of 1,024 drawn from it evenly and by neighbours, in turns: CPU time, one thread. It is
filled by steps that were recorded once, each copied for each agent, so that it lies in the machine's memory
as after a game. Teams whose memory would take more than MOST bytes are left out, and said to be. Writes
memory.csv and memory.md in results/learners; goes on where it was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np

from dse.support.arrays import FloatArray
from experiments import keep, read_rows, write_rows
from experiments.intervals import Estimate, at_most, mean_of, overall, ratio_of_sums
from experiments.learners.returns import HERE
from learners.registry import load_task
from learners.replay import PerAgentReplay, Transitions, sample_neighbors, sample_uniformly
from learners.team import Team
from learners.training import begin_episode, play_step

AGENTS, HELD = (3, 6, 12, 24, 48), (5_000, 20_000, 100_000, 400_000)
BATCH, RECORDED = 1024, 50
DRAWS = {3: 60, 6: 40, 12: 24, 24: 16, 48: 10}
"""Mini-batches of each arm, of which each is one agent's."""
MOST = 7_000_000_000
"""Bytes of a memory; a held array takes 112 beside its numbers, a tuple of five 96."""
THEIRS = {3: 0.2666, 12: 0.2739}
"""By what share of the time sampling is shorter in the study, by agents."""
ARMS = ("per-agent", "neighbor")
HEAD = ("agents", "held", "draw", *ARMS)


def recorded(agents: int) -> list[Transitions]:
    """So many steps of random play."""
    env, rng = load_task("fast_tag")(agents), np.random.default_rng(0)
    team, steps = Team.of(env), list[Transitions]()
    seen = begin_episode(env, team, rng)
    while len(steps) < RECORDED:
        chosen = rng.random((len(team.names), team.width), dtype=np.float32)
        steps.append(play_step(env, team, chosen, seen))
        seen = steps[-1].following if env.agents else begin_episode(env, team, rng)
    return steps


def size(step: Transitions) -> int:
    """Bytes that a step takes in memories of each agent's own."""
    columns = [getattr(step, name) for name in Transitions.__dataclass_fields__]
    return sum(column.nbytes for column in columns) + len(step.rewards) * (5 * 112 + 96)


def measured(agents: int, steps: list[Transitions], held: int) -> Iterator[tuple[float, ...]]:
    """CPU seconds of a draw of each of ARMS, in turns."""
    memory = PerAgentReplay(held)
    for place in range(held):
        memory.add(steps[place % len(steps)])
    rng = np.random.default_rng(held)
    for draw in range(DRAWS[agents] + 1):
        seconds = dict.fromkeys(ARMS, 0.0)
        for arm in np.roll(ARMS, draw).tolist():
            memory._draw = sample_neighbors if arm == "neighbor" else sample_uniformly
            begun = time.process_time()
            memory.sample(rng, BATCH)
            seconds[arm] = time.process_time() - begun
        if draw:
            yield tuple(seconds.values())


def main() -> None:
    """Measure what is missing, and write the table."""
    path = HERE / "memory.csv"
    done = {(int(row["agents"]), int(row["held"])) for row in read_rows(path)}
    for agents in AGENTS:
        steps = recorded(agents)
        for held in HELD:
            if (agents, held) in done or held * size(steps[0]) > MOST:
                continue
            lines = [
                (agents, held, draw, *(f"{second:.6f}" for second in seconds))
                for draw, seconds in enumerate(measured(agents, steps, held))
            ]
            write_rows(path, HEAD, lines, add=True)
    keep(HERE / "memory.md", "experiments.learners.memory", *pages())


def ratios() -> dict[tuple[int, int, str], Estimate]:
    """The time of a draw over that of an even one from memories of each agent's own, by arm."""
    rows: dict[tuple[int, int], list[list[float]]] = {}
    for row in read_rows(HERE / "memory.csv"):
        rows.setdefault((int(row["agents"]), int(row["held"])), []).append([float(row[arm]) for arm in ARMS])
    found = {}
    for cell, seconds in rows.items():
        columns: FloatArray = np.array(seconds).T
        for arm, column in zip(ARMS[1:], columns[1:], strict=True):
            found[(*cell, arm)] = ratio_of_sums(column, columns[0])
        found[(*cell, ARMS[0])] = mean_of(1000 * columns[0])
    return found


def pages() -> list[str]:
    """The tables, and how the smallest and the largest memory differ."""
    found, tables = ratios(), []
    for arm, title in (
        (ARMS[0], "Drawn evenly from memories of each agent's own, CPU ms a mini-batch"),
        (ARMS[1], "By neighbours over that"),
    ):
        lines = [f"## {title}", "", "| agents | " + " | ".join(f"{held:,} steps" for held in HELD) + " |"]
        lines.append("|---|" + "---:|" * len(HELD))
        for agents in AGENTS:
            cells = [
                found[agents, held, arm].shown(1 if arm == ARMS[0] else 3)
                if (agents, held, arm) in found
                else "-"
                for held in HELD
            ]
            lines.append(f"| {agents} | " + " | ".join(cells) + " |")
        tables.append("\n".join(lines))
    note = (
        f"Mini-batches of {BATCH:,}, {min(DRAWS.values())} to {max(DRAWS.values())} of each arm in turns; "
        "Student's intervals of paired draws. A dash: not measured; memories of more than "
        f"{MOST / 1e9:.0f} GB are left out. Cache misses were not counted, and other work shared the machine."
    )
    return [note, verdict_line(found), *tables]


def verdict_line(found: Mapping[tuple[int, int, str], Estimate]) -> str:
    """What becomes of the study's figures where memories are as full as they get here."""
    near = {n: found.get((n, HELD[-1], "neighbor")) for n in THEIRS}
    ours = ", ".join(f"{one.shown(3)} ({n})" for n, one in near.items() if one)
    verdict = overall([at_most(1 - THEIRS[n], one) for n, one in near.items()])
    return (
        "Sampling by neighbours takes 26.66 % less with 3 agents and 27.39 % less with 12, as published: "
        f"from memories of {HELD[-1]:,} steps over even draws {ours}: {verdict}."
    )


if __name__ == "__main__":
    main()
