"""BERT on each of DOSA's 1,008 machines, one by one.

    python -m experiments.codesign.brute_force [SECONDS]

No box and no relaxed machine is looked at: on each machine every layer's EDP optimum is proven by `certify`,
whose square roots, added up and squared, no network EDP is below; where that is below the least so far, the
network's own least is proven as `dse certify --network` proves it. A machine is written to
results/codesign/brute_force.csv when it is done, and the next call goes on from there; after SECONDS of CPU
it stops. In the end the best is compared with what branch and bound has found.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from dse.core.domains import make_problem
from dse.domains.codesign.reading import read_space
from dse.optimum import certify
from dse.optimum.network import certify_network
from dse.optimum.network_options import NetworkOptions
from experiments import RESULTS, keep, read_rows, write_rows
from workloads import load

FOLDER = RESULTS / "codesign"
NETWORK, SPACE = "experiments/codesign/dosa/bert.toml", "experiments/codesign/dosa.toml"
HEADS = ("machine", "status", "bound", "least")
ROUNDED = 1e-12


def machine(point: tuple[int, ...], least: float) -> tuple[str, float, float]:
    """On one machine: whether all fit, what no network EDP is below, and the least, if it is looked for."""
    space = read_space(SPACE)
    priced = space.machine(point)
    problems = {
        str(layer.name): make_problem(layer, priced.hardware, "edp", priced.model)
        for layer in load(NETWORK).layers
    }
    proofs = [certify(problem, cache=False) for problem in problems.values()]
    if any(proof.best is None for proof in proofs):
        assert all(proof.status != "bounded" for proof in proofs)
        return "infeasible", math.inf, math.inf
    assert all(proof.status == "optimal" for proof in proofs)
    counts = [problem.layer.repeats for problem in problems.values()]
    bound = (
        sum(count * math.sqrt(proof.lower_bound) for count, proof in zip(counts, proofs, strict=True)) ** 2
    )
    if bound * (1 - ROUNDED) > least:
        return "bounded", bound, math.inf
    found = certify_network(NETWORK, "one", problems, NetworkOptions(cache=False))
    assert found["status"] == "optimal"
    return "proven", bound, found["totals"]["edp"]


def every(space: Any) -> Iterator[tuple[int, ...]]:
    """All machines, the largest first: they are better, and then fewer are looked at closely."""
    yield from product(*(reversed(range(len(values))) for values in space.parameters.values()))


def show(rows: list[dict[str, str]], machines: int) -> None:
    """Write what the machines that are done come to."""
    best = min((row for row in rows if row["status"] == "proven"), key=lambda row: float(row["least"]))
    found = json.loads((FOLDER / "dosa-bert.json").read_text())["best"]
    ours = " ".join(f"{value:g}" for value in found["parameters"].values())
    counts = {
        status: sum(row["status"] == status for row in rows) for status in ("proven", "bounded", "infeasible")
    }
    least = float(best["least"])
    same = (
        "bit for bit"
        if least == found["value"]
        else f"but for {abs(least / found['value'] - 1):.1g} of itself"
    )
    agrees = f"agrees, {same}" if best["machine"] == ours else "DISAGREES"
    text = (
        f"BERT, network EDP, {len(rows):,} of {machines:,} machines, one by one: on {counts['infeasible']:,} "
        f"some layer does not fit, on {counts['bounded']:,} the layers' own optima are above the best, on "
        f"{counts['proven']:,} the network's least is proven. Best: {best['machine']} (side, KB, KB), "
        f"{least!r} J s; branch and bound: {ours}, {found['value']!r} J s, so it {agrees}."
    )
    keep(FOLDER / "brute_force.md", "experiments.codesign.brute_force", text)


def main(seconds: float) -> None:
    """Go on with the machines that are not done."""
    path, space = FOLDER / "brute_force.csv", read_space(SPACE)
    rows = read_rows(path)
    done = {row["machine"] for row in rows}
    least = min((float(row["least"]) for row in rows), default=math.inf)
    for point in every(space):
        name = " ".join(f"{value:g}" for value in space.values(point).values())
        if name in done:
            continue
        if time.process_time() > seconds:
            break
        status, bound, value = machine(point, least)
        least = min(least, value)
        write_rows(path, HEADS, [(name, status, repr(bound), repr(value))], add=True)
    show(read_rows(path), space.machines)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else math.inf)
