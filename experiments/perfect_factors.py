"""What perfect factors cost: `python -m experiments.perfect_factors [--limit S] [--more N] [--again N]`.

For the distinct layers of seven networks on three machines, `loopnest`, three objectives: the proven optimum
over tiles that divide what they cut, over the optimum over tiles of any size. Where the latter is not proven
in `--limit` seconds, what perfect factors cost is between the ratio to the best mapping found and that to the
bound. Problems come in an order drawn by a seed, so that any number of them, from the first on, is a sample
of all; `--more` of them are added to results/optima/perfect_factors.csv, then results/perfect-factors.md is
written. Seconds are of computing, and how near a bound is after them depends on the computer.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dse.core.certificate import BOUNDED
from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.optimum import certify
from experiments import RESULTS, keep, read_rows
from experiments.intervals import mean_over_groups
from workloads import load

NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "vgg16", "vit-b16", "bert_base", "gpt2_block")
MACHINES = ("eyeriss-small", "edge", "tpu-like")
OBJECTIVES = ("latency", "energy", "edp")
MODEL, SEED = "loopnest", 0
FILE, PAGE = RESULTS / "optima" / "perfect_factors.csv", RESULTS / "perfect-factors.md"
HEAD = ("layer", "accelerator", "objective", "factors", "any", "bound", "status", "seconds")
SHOWN = 10
Named = tuple[str, str, AnyProblem]


def layers() -> dict[str, Layer]:
    """The layers of all networks, each shape once, by the first name that has it."""
    found: dict[str, tuple[str, Layer]] = {}
    for network in NETWORKS:
        for layer in load(network).layers:
            found.setdefault(str(layer), (f"{network}:{layer.name}", layer))
    return dict(found.values())


def problems() -> Iterator[Named]:
    """All problems with the names of their layers and machines, in an order drawn by SEED."""
    every = [
        (name, machine, make_problem(layer, machine, objective, MODEL))
        for name, layer in layers().items()
        for machine in MACHINES
        for objective in OBJECTIVES
    ]
    for at in np.random.default_rng(SEED).permutation(len(every)):
        yield every[at]


def row(name: str, machine: str, problem: AnyProblem, limit: float) -> tuple[Any, ...]:
    """What is proven of a problem, as HEAD says: the best over any tiles may be one of perfect factors."""
    factors = certify(problem)
    found = certify(problem.with_changes(tiles="any"), limit, cache=False, now=time.process_time)
    best = [one.best.loss for one in (factors, found) if one.best is not None]
    losses = best[0] if factors.best else math.inf, min(best, default=math.inf), found.lower_bound
    about = name, machine, problem.objective
    return *about, *map(repr, losses), found.status, f"{found.seconds:.1f}"


def warm() -> None:
    """Load the kernels, and once compile them: that is no problem's time."""
    for objective in OBJECTIVES:
        problem = make_problem(Layer.fc(2, 2), MACHINES[0], objective, MODEL)
        certify(problem.with_changes(tiles="any"), cache=False)


def add_rows(
    path: Path, head: Sequence[str], every: Iterable[Named], make: Callable[..., tuple[Any, ...]], more: int
) -> None:
    """Add rows of the next problems that are not in the file: `make` takes the names and the problem."""
    path.parent.mkdir(exist_ok=True)
    done = {tuple(one[name] for name in head[:3]) for one in read_rows(path)}
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(head)
        for name, machine, problem in every:
            if more <= 0:
                return
            if (name, machine, problem.objective) not in done:
                more -= 1
                writer.writerow(make(name, machine, problem))
                file.flush()


def prove_again(limit: float, more: int) -> None:
    """Prove more of those problems over any tiles whose proofs were ended sooner than `limit`."""
    rows, named = read_rows(FILE), {(name, machine, p.objective): p for name, machine, p in problems()}
    ended = [one for one in rows if one["status"] == BOUNDED and float(one["seconds"]) < limit]
    for one in ended[:more]:
        problem = named[one["layer"], one["accelerator"], one["objective"]].with_changes(tiles="any")
        found = certify(problem, limit, cache=False, now=time.process_time)
        best = min(float(one["any"]), found.best.loss if found.best else math.inf)
        one |= {"any": repr(best), "bound": repr(found.lower_bound), "status": found.status}
        one["seconds"] = f"{found.seconds:.1f}"
        lines = [HEAD, *(tuple(each.values()) for each in rows)]
        FILE.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")


def show() -> None:
    """Write the table and the figure of what is in the file."""
    # Where nothing fits, nothing is compared.
    rows = [one for one in read_rows(FILE) if math.isfinite(float(one["factors"]))]
    least = np.array([float(one["factors"]) / float(one["any"]) for one in rows])
    most = np.array([float(one["factors"]) / float(one["bound"]) for one in rows])
    proven = np.array([one["status"] == "optimal" for one in rows])
    of = {"all": np.ones(len(rows), bool)}
    for column, names in (("objective", OBJECTIVES), ("accelerator", MACHINES)):
        of |= {name: np.array([one[column] == name for one in rows]) for name in names}
    heads = [
        "problems",
        "number",
        "proven",
        "at least, %",
        "at most, %",
        "proven ones, %",
        "largest proven, %",
    ]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, chosen in of.items():
        exact = chosen & proven
        if not exact.any():
            continue
        cells = [str(int(chosen.sum())), str(int(exact.sum()))]
        for ratios, which in ((least, chosen), (most, chosen), (least, exact)):
            groups = [one["layer"] for one, taken in zip(rows, which, strict=True) if taken]
            cells.append(mean_over_groups((ratios[which] - 1).tolist(), groups).shown(2, 100))
        cells.append(f"{100 * (least[exact].max(initial=1) - 1):.2f}")
        lines.append([name, *cells])
    every = sum(1 for _ in problems())
    what = (
        "What perfect factors cost: the optimum over tiles that divide, over that over any tiles, minus 1; "
        f"{MODEL}, {len(rows)} of {every} problems, the first in an order drawn by a seed. Where the optimum "
        "over any tiles is not proven, the best mapping found says how much it is at least, the bound how "
        "much at most. Means with Student's 95 % intervals over layers; the largest of those proven."
    )
    keep(PAGE, "experiments.perfect_factors", what, table(lines), f"The {SHOWN} largest:", _largest(rows))


def _largest(rows: list[dict[str, str]]) -> str:
    """The problems where perfect factors cost most, of what was found."""
    ratios = [float(one["factors"]) / float(one["any"]) for one in rows]
    lines = [["layer", "accelerator", "objective", "at least, %", "at most, %"], ["---"] * 3 + ["---:"] * 2]
    for at in sorted(range(len(rows)), key=lambda at: -ratios[at])[:SHOWN]:
        one = rows[at]
        ends = ratios[at], float(one["factors"]) / float(one["bound"])
        lines.append([*(one[name] for name in HEAD[:3]), *(f"{100 * (end - 1):.2f}" for end in ends)])
    return table(lines)


def table(lines: list[list[str]]) -> str:
    """A table of cells, line by line."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Prove more, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=8.0, help="seconds for a proof over any tiles")
    parser.add_argument("--more", type=int, default=0, help="problems to add")
    parser.add_argument("--again", type=int, default=0, help="proofs to begin anew that were ended sooner")
    given = parser.parse_args()
    warm()
    add_rows(FILE, HEAD, problems(), partial(row, limit=given.limit), given.more)
    prove_again(given.limit, given.again)
    show()


if __name__ == "__main__":
    main()
