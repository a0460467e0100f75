"""How long proofs over tiles of any size take: `python -m experiments.any_tiles [--limit S] [--more N]`.

The problems of `dse bench certify` under `loopnest`, each with a limit of so many seconds of computing, in an
order drawn by a seed, that of `--sample` there: any number of them, from the first on, is a sample of all.
`--more` of them are added to results/optima/any_tiles.csv, then results/any-tiles.md is written.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dse.bench.certify import ACCELERATORS, NETWORKS, OBJECTIVES, drawn_problems
from dse.core.certificate import BOUNDED
from dse.core.domains import make_problem
from dse.core.problem import AnyProblem
from dse.optimum import certify
from experiments import RESULTS, keep, read_rows
from experiments.perfect_factors.problems import MODEL, SEED, Named, add_rows, warm
from experiments.perfect_factors.tables import table
from workloads import load

FILE, PAGE = RESULTS / "optima" / "any_tiles.csv", RESULTS / "any-tiles.md"
HEAD = ("layer", "accelerator", "objective", "best", "bound", "status", "seconds")


def problems() -> Iterator[Named]:
    """All problems with the names of their layers and machines, in an order drawn by SEED."""
    sets = (
        (
            network,
            machine,
            objective,
            {one.name: make_problem(one, machine, objective, MODEL, "any") for one in load(network).layers},
        )
        for network in NETWORKS
        for machine in ACCELERATORS
        for objective in OBJECTIVES
    )
    for network, machine, _, layer, problem in drawn_problems(sets, np.random.default_rng(SEED)):
        yield f"{network}:{layer}", machine, problem


def row(name: str, machine: str, problem: AnyProblem, limit: float) -> tuple[Any, ...]:
    """What is proven of a problem, as HEAD says."""
    found = certify(problem, limit, cache=False, now=time.process_time)
    best = found.best.loss if found.best else math.inf
    about = name, machine, problem.objective
    return *about, repr(best), repr(found.lower_bound), found.status, f"{found.seconds:.2f}"


def show() -> None:
    """Write the table of what is in the file."""
    rows = read_rows(FILE)
    lines = [["problems", "number", "proven", "median s", "95 % within s", "largest gap, %"]]
    lines.append(["---", *["---:"] * (len(lines[0]) - 1)])
    for name in ("all", *OBJECTIVES, *ACCELERATORS):
        chosen = [one for one in rows if name in ("all", one["objective"], one["accelerator"])]
        if not chosen:
            continue
        seconds = np.array([float(one["seconds"]) for one in chosen])
        open_ = [one for one in chosen if one["status"] == BOUNDED]
        gaps = [float(one["best"]) / float(one["bound"]) - 1 for one in open_]
        shown = (
            f"{np.median(seconds):.1f}",
            f"{np.quantile(seconds, 0.95):.1f}",
            f"{100 * max(gaps, default=0):.2f}",
        )
        lines.append([name, str(len(chosen)), str(len(chosen) - len(open_)), *shown])
    every = sum(1 for _ in problems())
    what = (
        f"Proofs over tiles of any size under {MODEL}: {len(rows)} of the {every} problems of `dse bench "
        "certify`, the first in an order drawn by a seed. Seconds are of computing, as one core takes them; "
        "a proof that its limit ended has a gap between the best mapping and the bound."
    )
    keep(PAGE, "experiments.any_tiles", what, table(lines))


def main() -> None:
    """Prove more, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of computing for a proof")
    parser.add_argument("--more", type=int, default=0, help="problems to add")
    given = parser.parse_args()
    warm()
    add_rows(FILE, HEAD, problems(), partial(row, limit=given.limit), given.more)
    show()


if __name__ == "__main__":
    main()
