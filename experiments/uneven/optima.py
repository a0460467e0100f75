"""Optima of even and of uneven nests beside another mapper's.

`results/uneven/published.json` has four machines, seventeen layers and 44 optima that AccelForge 1.0.467
found. Each is proven here, over even nests and over uneven ones: rows of `results/uneven/optima.csv`, which
stay when the command is called again, and the table of `results/uneven/optima.md`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.search import solve, warm
from experiments import RESULTS, keep, read_rows, write_rows

FOLDER = RESULTS / "uneven"
HEAD = ("layer", "machine", "objective", "nests", "status", "figure", "published", "gap", "seconds")
OUTPUT_DIMS = ("K", "P", "Q", "N")
PJ = 1e-12


def machine_of(name: str, data: Mapping[str, Any]) -> Machine:
    """The machine: levels that keep all tensors, which spread the dims of outputs.

    Sums that leave a level are read there once more, which costs what a read of it does: so an update of the
    level outside of it takes the energy of both. What comes for the first time is neither read nor written.
    """
    levels, inner = [], [*data["levels"][1:], {"pj_a_word": 0.0}]
    for level, below in zip(data["levels"], inner, strict=True):
        pj = float(level["pj_a_word"])
        levels.append(
            Level(
                level["name"],
                capacity=level["words"],
                fan_out=level["fan_out_below"],
                keeps=TENSORS,
                may_keep=(),
                spread=OUTPUT_DIMS,
                bandwidth=Bandwidth(shared=level["words_a_cycle"]),
                energy=Energy(pj, pj, pj + below["pj_a_word"]),
            )
        )
    return Machine(name, tuple(levels), float(data["mac_pj"]))


def layer_of(data: Mapping[str, Any]) -> Layer:
    """The layer; of a convolution the data have the outputs' rows and columns."""
    if data["type"] == "gemm":
        return Layer.gemm(data["M"], data["N"], data["K"])
    rows, columns = (
        (data[size] - 1) * data["stride"] + data[window] for size, window in (("P", "R"), ("Q", "S"))
    )
    sizes = {dim: data[dim] for dim in "KCRS" if dim in data}
    return Layer.from_dict(
        {"type": data["type"].upper(), **sizes, "Y": rows, "X": columns, "stride": data["stride"]}
    )


def asked(limit: float) -> Iterator[dict[str, object]]:
    """The rows that are not there yet, each when it is proven."""
    published = json.loads((FOLDER / "published.json").read_text())
    done = {tuple(row[key] for key in HEAD[:4]) for row in read_rows(FOLDER / "optima.csv")}
    warm()
    for figure in published["figures"]:
        for nests in ("even", "uneven"):
            names = figure["layer"], figure["machine"], figure["objective"], nests
            if names in done:
                continue
            machine = machine_of(figure["machine"], published["machines"][figure["machine"]])
            layer = layer_of(published["layers"][figure["layer"]])
            problem = MachineProblem(layer, machine, figure["objective"], "timeloop", fixed={"nests": nests})
            start = time.process_time()
            found = solve(problem, Clock(limit))
            assert found.best
            energy, cycles = found.best.energy_nj * 1e3, found.best.cycles
            figures = {"energy": energy, "latency": float(cycles), "edp": energy * cycles}
            yield dict(
                zip(
                    HEAD,
                    (
                        *names,
                        found.status,
                        f"{figures[figure['objective']]:.10g}",
                        f"{figure['accelforge']:.10g}",
                        f"{found.gap:.4f}",
                        f"{time.process_time() - start:.1f}",
                    ),
                    strict=True,
                )
            )


def table() -> str:
    """A line a figure: what was found beside what was published, as shares of it, and CPU seconds."""
    rows = read_rows(FOLDER / "optima.csv")
    both = {(row["layer"], row["machine"], row["objective"], row["nests"]): row for row in rows}
    lines = [
        "| layer | machine | objective | AccelForge | even / it | uneven / it | uneven / even | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    below = 0
    for layer, machine, objective, nests in both:
        names = layer, machine, objective
        if nests != "even" or (*names, "uneven") not in both:
            continue
        even, uneven = both[*names, "even"], both[*names, "uneven"]
        published, here, there = map(float, (even["published"], even["figure"], uneven["figure"]))
        below += there <= published * (1 + 1e-9)
        open_ = "" if uneven["status"] == "optimal" else ", not proven"
        shares = f"{here / published:.4f} | {there / published:.4f}{open_} | {there / here:.4f}"
        seconds = f"{even['seconds']}, {uneven['seconds']}"
        lines.append(f"| {' | '.join(names)} | {published:.6g} | {shares} | {seconds} |")
    counted = len(lines) - 2
    return "\n".join([*lines, "", f"Of {counted} optima of uneven nests {below} are not above AccelForge's."])


def write(limit: float) -> None:
    """Prove what is not in the file yet, and write the table."""
    for row in asked(limit):
        write_rows(FOLDER / "optima.csv", HEAD, [row], add=True)
        print(*row.values(), flush=True)
    keep(FOLDER / "optima.md", "experiments.uneven", table())
