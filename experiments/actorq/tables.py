"""The tables of ActorQ: `python -m experiments.actorq.tables` writes and prints results/quantised/actorq.md.

From the lines that experiments.actorq.study wrote. Intervals are 95 % over seeds (Student's); ratios are
paired by seed, geometric means.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from dse.support.arrays import FloatArray
from dse.support.files import write_whole
from experiments.actorq.asynchronous import PHASES
from experiments.actorq.reaching import NAMES, SIZED, Rows, chosen, in_all, interval, learning, table
from experiments.actorq.study import ACTIVATIONS, ARMS, HERE, PULLS, read
from experiments.intervals import mean_of
from learners.quantised import FULL
from searchers.actorq import ActorQ


def factor(values: FloatArray, base: FloatArray) -> str:
    """values / base, a geometric mean with its interval."""
    return mean_of(np.log(values / base)).exp().shown() if len(values) else "-"


def column(rows: Rows, *names: str) -> FloatArray:
    """The sums of columns, one a seed: of an actor's breakdowns, the last."""
    last = {row["seed"]: sum(float(row[name]) for name in names) for row in rows}
    return np.array(list(last.values()))


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


def searches() -> list[str]:
    """Best loss over the proven optimum of the searchers, over problems and seeds; ratios where both ran."""
    rows = read("searches")
    lines = []
    for arm in ARMS:
        cells = [arm, pulled(arm), ""]
        for at in ("at_500", "at_2000"):
            mine, base = (logs(rows, name, at) for name in (arm, "d4pg"))
            if not mine:
                break
            cells[2] = f"{len(mine)}"
            cells.append(f"{np.exp(np.mean(list(mine.values()))):.2f}")
            differences: dict[str, list[float]] = {}
            for problem, seed in sorted(mine.keys() & base.keys()):
                differences.setdefault(problem, []).append(mine[problem, seed] - base[problem, seed])
            over = np.array([np.mean(values) for values in differences.values()])
            cells.append("-" if arm == "d4pg" else mean_of(over).exp().shown())
        else:
            lines.append(cells)
    return table(
        ["searcher", "bits, a pull every", "searches", "500", "over d4pg", "2,000", "over d4pg"], lines
    )


def pulled(arm: str) -> str:
    """What an arm's actors act by, and how many of their steps lie between two pulls."""
    name, settings = ARMS[arm]
    made = {"bits": FULL, "pull_every": 1} if name == "d4pg" else asdict(ActorQ(**settings))
    steps = made["pull_every"]
    return f"{made['bits']}, {'step' if steps == 1 else f'{steps} steps'}"


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
        "In all of these runs": in_all(),
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
