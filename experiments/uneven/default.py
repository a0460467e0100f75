"""What a proof over uneven nests adds to one over even nests on machines that come along, in as much time.

Ten layers on presets and on the machines of `examples`, for EDP and latency: each proof has `SECONDS` of CPU
time. Rows of `results/uneven/default.csv`, which stay when the command is called again, and the table of
`results/uneven/default.md`: it says why `dse certify` begins with even nests where nobody says which.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from dse.core.certificate import Certificate
from dse.core.clock import Clock
from dse.core.domains import make_problem
from dse.domains.levels.uneven import NESTS
from dse.models.timeloop.proof.search import solve, warm
from experiments import RESULTS, keep, read_rows, write_rows
from workloads import load_layer

FOLDER = RESULTS / "uneven"
EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("layer", "machine", "objective")
HEAD = (*NAMES, "nests", "status", "loss", "bound", "seconds")
SECONDS = 30.0
PAIRS = (
    ("network.toml:conv1", "chip.toml"),
    ("resnet18:3", "chip.toml"),
    ("resnet18:3", "systolic.toml"),
    ("bert_base:4", "phone.toml"),
    ("resnet50:1", "proofs/four_levels.toml"),
    ("resnet18:3", "proofs/four_levels.toml"),
    ("resnet18:6", "gemmini"),
    ("bert_base:1", "simba_like"),
    ("mobilenet_v2:1", "simba_like"),
    ("resnet50:10", "eyeriss_like"),
)
OBJECTIVES = ("edp", "latency")


def beside_examples(name: str) -> str:
    """The name as it is, or the path of the example's file."""
    return str(EXAMPLES / name) if ".toml" in name else name


def proven(layer: str, machine: str, objective: str, nests: str, limit: float = SECONDS) -> Certificate:
    """The optimum over these nests, or what so many seconds of CPU time come to."""
    names = load_layer(beside_examples(layer)), beside_examples(machine), objective, "timeloop"
    return solve(make_problem(*names, fixed={"nests": nests}), Clock(limit, time.process_time))


def asked() -> Iterator[tuple[object, ...]]:
    """The rows that are not there yet, each when it is proven."""
    done = {tuple(row[key] for key in HEAD[:4]) for row in read_rows(FOLDER / "default.csv")}
    warm()
    for layer, machine in PAIRS:
        for objective in OBJECTIVES:
            for nests in NESTS:
                names = layer, machine, objective, nests
                if names in done:
                    continue
                start = time.process_time()
                found = proven(*names)
                assert found.best
                seconds = f"{time.process_time() - start:.1f}"
                yield (*names, found.status, f"{found.best.loss:.10g}", f"{found.lower_bound:.10g}", seconds)


def table() -> str:
    """A line a problem: what both proofs came to."""
    rows = read_rows(FOLDER / "default.csv")
    of_nests = {nests: [row for row in rows if row["nests"] == nests] for nests in NESTS}
    lines = [
        "| layer | machine | objective | even | CPU s | uneven | CPU s | uneven / even |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for even, uneven in zip(*(of_nests[nests] for nests in NESTS), strict=True):
        ratio = f"{float(uneven['loss']) / float(even['loss']):.4f}"
        cells = (_said(even), even["seconds"], _said(uneven), uneven["seconds"], ratio)
        lines.append(f"| {' | '.join((*(even[name] for name in NAMES), *cells))} |")
    ended = [sum(row["status"] == "optimal" for row in of_nests[nests]) for nests in NESTS]
    count = len(of_nests[NESTS[0]])
    ends = f"{ended[0]} of {count} proofs over even nests end, {ended[1]} over uneven ones."
    said = f"In {SECONDS:g} s of CPU time {ends}"
    return "\n".join([*lines, "", said])


def _said(row: dict[str, str]) -> str:
    if row["status"] == "optimal":
        return "optimal"
    bound = float(row["bound"])
    return f"at most {float(row['loss']) / bound - 1:.1%} above" if bound else "no bound yet"


def write(_: float) -> None:
    """Prove what is not in the file yet, and write the table."""
    for row in asked():
        write_rows(FOLDER / "default.csv", HEAD, [row], add=True)
        print(*row, flush=True)
    keep(FOLDER / "default.md", "experiments.uneven", table())
