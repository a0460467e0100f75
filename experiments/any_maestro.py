"""What is proven over any tiles under `maestro`: `python -m experiments.any_maestro [--limit S] [--more N]`.

The problems of `experiments.perfect_factors`, in an order drawn by a seed: any number of them, from the
first on, is a sample of all. `--more` of them are proven, for `--limit` seconds of computing each, and added
to results/optima/any_maestro.csv.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator

import numpy as np

from dse.core.domains import make_problem
from dse.core.problem import AnyProblem
from dse.optimum import certify
from experiments import RESULTS, read_rows
from experiments.perfect_factors.problems import MACHINES, OBJECTIVES, SEED, layers

FILE = RESULTS / "optima" / "any_maestro.csv"
HEAD = ("layer", "accelerator", "objective", "any", "bound", "status", "seconds")


def problems() -> Iterator[tuple[str, str, AnyProblem]]:
    """All problems with the names of their layers and machines, in an order drawn by SEED."""
    every = [
        (name, machine, make_problem(layer, machine, objective, "maestro", tiles="any"))
        for name, layer in layers().items()
        for machine in MACHINES
        for objective in OBJECTIVES
    ]
    for at in np.random.default_rng(SEED).permutation(len(every)):
        yield every[at]


def add_rows(limit: float, more: int) -> None:
    """Prove the next problems that are not in the file."""
    known = len(read_rows(FILE))
    # Loading the kernels, and once compiling them, is no problem's time.
    certify(next(problems())[2], 1e-9, cache=False)
    with FILE.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not known:
            writer.writerow(HEAD)
        for number, (name, machine, problem) in enumerate(problems()):
            if known <= number < known + more:
                found = certify(problem, limit, cache=False, now=time.process_time)
                losses = repr(found.best.loss) if found.best else "inf", repr(found.lower_bound)
                writer.writerow(
                    (name, machine, problem.objective, *losses, found.status, f"{found.seconds:.1f}")
                )
                file.flush()


def main() -> None:
    """Prove more, and say what there is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a proof")
    parser.add_argument("--more", type=int, default=0, help="problems to add")
    given = parser.parse_args()
    add_rows(given.limit, given.more)
    rows = read_rows(FILE)
    open_ = [float(row["any"]) / float(row["bound"]) - 1 for row in rows if row["status"] == "bounded"]
    seconds = np.array([float(row["seconds"]) for row in rows])
    most = max(open_, default=0.0)
    print(f"{len(rows)} problems, {len(rows) - len(open_)} settled, the others within {most:.1e}")
    print(f"{np.median(seconds):.1f} s in the median, {seconds.max():.1f} s at most")


if __name__ == "__main__":
    main()
