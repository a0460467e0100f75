"""The tables of ActorQ: `python -m experiments.actorq.tables` writes and prints results/quantised/actorq.md.

From the lines that experiments.actorq.study wrote. Intervals are 95 % over seeds (Student's); ratios are
paired by seed, geometric means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.support.arrays import FloatArray
from dse.support.files import write_whole
from experiments.actorq.asynchronous import PHASES
from experiments.actorq.setting import SIZES
from experiments.actorq.study import ACTIVATIONS, ARMS, HERE, LEARNED, PULLS, read
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


def factor(values: FloatArray, base: FloatArray) -> str:
    """values / base, a geometric mean with its interval."""
    return mean_of(np.log(values / base)).exp().shown() if len(values) else "-"


def chosen(rows: Rows, **wanted: object) -> Rows:
    """The lines with such values, by seed."""
    found = [row for row in rows if all(row[key] == str(value) for key, value in wanted.items())]
    return sorted(found, key=lambda row: int(row["seed"]))


def column(rows: Rows, *names: str) -> FloatArray:
    """The sums of columns, one a seed: of an actor's breakdowns, the last."""
    last = {row["seed"]: sum(float(row[name]) for name in names) for row in rows}
    return np.array(list(last.values()))


def table(head: list[str], lines: list[list[str]]) -> list[str]:
    """Markdown."""
    rule = "|---|" + "---:|" * (len(head) - 1)
    return [f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines), ""]


def idle(policy: str, sent: str, done: str, every: int) -> Rows:
    """The breakdowns of actors that had no learner to wait for."""
    rows = read("breakdown")
    return chosen(
        rows,
        policy=policy,
        communication=sent,
        inference=done,
        pull_every=every,
        idle=True,
        task="CartPole-v1",
    )


def throughput() -> list[str]:
    """Steps that an actor makes in a second of CPU, by the precision of sent and executed policy."""
    lines = []
    for policy in ("large", "small"):
        base = column(idle(policy, "32", "32", 100), "step_cpu_s")
        for bits, said in NAMES.items():
            step = column(idle(policy, bits, bits, 100), "step_cpu_s")
            if len(step) == len(base) > 0:
                lines.append(
                    [
                        f"{SIZED[policy]}, {said}",
                        interval(step, 3),
                        interval(1000 / step, 0),
                        factor(base, step),
                    ]
                )
    head = ["policy", "CPU ms a step, environment with it", "steps a CPU second", "throughput / fp32"]
    return table(head, lines)


def breakdown() -> list[str]:
    """Where 1,000 steps go, and what loading costs."""
    lines = []
    for policy in ("large", "small"):
        for bits, said in NAMES.items():
            rows = idle(policy, bits, bits, 100)
            if rows:
                cells = [interval(1000 * column(rows, f"{phase}_cpu_s"), 1) for phase in PHASES]
                lines.append([f"{SIZED[policy]}, {said}", *cells, f"{int(rows[0]['message_bytes']):,}"])
    return table(["policy", *PHASES, "bytes a message"], lines)


def communication() -> list[str]:
    """What is gained by sending fewer bits, where inference is in 32."""
    lines: list[list[str]] = []
    phases = [phase for phase in PHASES if phase != "push"]
    for every in (100, 10):
        seeds = {row["seed"] for row in idle("large", "8", "32", every)}
        base = [row for row in idle("large", "32", "32", every) if row["seed"] in seeds]
        for bits in ("32", "8"):
            rows = base if bits == "32" else idle("large", bits, "32", every)
            if not rows or len(rows) != len(base):
                continue
            whole, taken = (
                [column(of, *(phase + unit for phase in phases)) for of in (rows, base)]
                for unit in ("_cpu_s", "_s")
            )
            moved = column(rows, "pull_cpu_s", "deserialise_cpu_s", "load_cpu_s")
            lines.append(
                [
                    f"every {every} steps, {NAMES[bits]}",
                    f"{int(rows[0]['message_bytes']):,}",
                    interval(moved),
                    interval(whole[0]),
                    factor(whole[1], whole[0]),
                    factor(taken[1], taken[0]),
                ]
            )
    head = ["pulls", "bytes a message", "pull, deserialise and load, CPU s", "whole, CPU s"]
    return table([*head, "speed / fp32, CPU", "speed / fp32, wall"], lines)


def pulls() -> list[str]:
    """What is earned while learning, by how often actors pull."""
    rows = read("pulls")
    lines = []
    for every in PULLS:
        mine, base = (areas(rows, place) for place in (every, PULLS[0]))
        if len(mine) == len(base) > 0:
            over = "-" if every == PULLS[0] else interval(mine - base, 1)
            lines.append([str(every), str(len(mine)), interval(mine, 1), over])
    return table(["steps between pulls", "seeds", "mean return over the run", f"over {PULLS[0]}"], lines)


def areas(rows: Rows, every: int) -> FloatArray:
    """The mean return of a run over its looks, by seed."""
    runs: dict[str, list[float]] = {}
    for row in chosen(rows, pull_every=every):
        runs.setdefault(row["seed"], []).append(float(row["return"]))
    return np.array([np.mean(values) for values in runs.values()])


def whole() -> list[str]:
    """Who is busy where policy and learner are of their size."""
    rows = read("runs")
    lines = []
    for bits, said in NAMES.items():
        mine, base = (
            chosen(rows, task="CartPole-v1", policy="large", inference=of, actors=1, idle=False)
            for of in (bits, "32")
        )
        if len(mine) != len(base) or not mine:
            continue
        cpu = [1000 * column(mine, f"{who}_cpu_s") / column(mine, "steps") for who in ("learner", "actors")]
        pace = [column(of, "steps_per_s") for of in (mine, base)]
        lines.append(
            [said, *(interval(part, 1) for part in cpu), interval(pace[0], 1), factor(pace[0], pace[1])]
        )
    head = ["actor", "learner's CPU ms a step", "actor's", "steps a second, wall", "over fp32"]
    return table(head, lines)


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


def searches() -> list[str]:
    """Best loss over the proven optimum of the searchers, over problems and seeds; ratios where both ran."""
    rows = read("searches")
    lines = []
    for arm in ARMS:
        cells = [arm, ""]
        for at in ("at_500", "at_2000"):
            mine, base = (logs(rows, name, at) for name in (arm, "d4pg"))
            if not mine:
                break
            cells[1] = f"{len(mine)}"
            cells.append(f"{np.exp(np.mean(list(mine.values()))):.2f}")
            differences: dict[str, list[float]] = {}
            for problem, seed in sorted(mine.keys() & base.keys()):
                differences.setdefault(problem, []).append(mine[problem, seed] - base[problem, seed])
            over = np.array([np.mean(values) for values in differences.values()])
            cells.append("-" if arm == "d4pg" else mean_of(over).exp().shown())
        else:
            lines.append(cells)
    return table(["searcher", "searches", "500", "over d4pg", "2,000", "over d4pg"], lines)


def logs(rows: Rows, arm: str, at: str) -> dict[tuple[str, str], float]:
    """Logarithms of best loss over the optimum by problem and seed; more than 12 counts for 12."""
    return {
        (row["problem"], row["seed"]): float(np.log(min(float(row[at]), 12.0)))
        for row in rows
        if row["arm"] == arm
    }


def mapper() -> list[str]:
    """Microseconds of CPU for one point."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in read("mapper"):
        found.setdefault((row["kind"], row["name"]), []).append(float(row["microseconds"]))
    lines = [[kind, name, f"{np.median(values):.1f}"] for (kind, name), values in found.items()]
    return table(["what", "which", "CPU microseconds, median of 9"], lines)


def arithmetic() -> str:
    """What layers of int8 computed with, as far as it was written down."""
    by_bits: dict[str, list[str]] = {}
    for name in ("pulls", "searches", "runs", "mapper"):
        for bits in sorted({row[ACTIVATIONS] for row in read(name)}):
            by_bits.setdefault(bits, []).append(name)
    said = [
        f"{' and '.join(names)}: {f'activations of {bits} bits' if bits else 'not written down'}"
        for bits, names in sorted(by_bits.items(), reverse=True)
    ]
    return f"int8 is weights of 8 bits; beside them, {'; '.join(said)}."


def main() -> None:
    """Write and print the tables."""
    parts = {
        "Actor throughput (Table 4)": throughput(),
        "One actor and a learner of 3 x 2048, 2,500 steps of CartPole (Table 4)": whole(),
        "Until 95 % of the reward, one actor (Table 4)": learning(),
        "How often actors pull (Fig. 7), lockstep, CartPole, int8": pulls(),
        "What is sent (Fig. 8), 3 x 2048, inference in fp32, for 1,000 steps": communication(),
        "Where 1,000 steps go, CPU ms, a pull every 100 (Fig. 9)": breakdown(),
        "As searchers: best loss / optimum, twelve development problems": searches(),
        "A mapper's actor and its cost models, one point at a time": mapper(),
    }
    lines = [
        "Written by `python -m experiments.actorq.tables`; intervals are 95 % over seeds.",
        arithmetic(),
        "",
    ]
    for title, part in parts.items():
        lines += [f"### {title}", "", *part]
    write_whole(HERE / "actorq.md", "\n".join(lines), "table")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
