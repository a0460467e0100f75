"""What tiles of any size gain on machines of levels over tiles that divide, of even nests and of uneven ones.

The 44 problems of `optima`, and the products of ResNet-50, BERT, ViT-B and Llama-3-8B on a preset: rows of
`results/uneven/tiles.csv`, which stay when the command is called again, and the table of
`results/uneven/tiles.md`. Where there are too many ways to cut a dim for a proof, what steps down from the
best tiles that divide find stands there; of uneven nests there is no row then, nor where a machine has none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence

from dse.core.clock import Clock
from dse.core.cost_models import cost_model
from dse.domains.levels.machine import EVEN, UNEVEN
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import NESTS
from dse.models.timeloop.proof.search import good_mapping, solve, warm
from dse.support.errors import InputError
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.uneven.optima import layer_of, machine_of
from workloads import load_layer

FOLDER = RESULTS / "uneven"
HEAD = (
    "layer",
    "machine",
    "objective",
    "nests",
    "factors_status",
    "factors",
    "status",
    "any",
    "gap",
    "seconds",
)
MACHINE, OBJECTIVE = "gemmini", "edp"
LAYERS = {
    "resnet50": (0, 2, 10, 15, 21, 22),
    "bert_base": range(5),
    "vit-b16": range(7),
    "llama3-8b": range(7),
}
FOUND = "found"
CORRECTED = (
    "Two figures of even nests were higher here until 29 November 2026, as bounds of EDP were too high "
    "where rests are\ncut again: bert_base:4, 1.0000, and llama_up on m3, 0.9842."
)
NOTHING = 1e-9
"""A share that is no gain."""


def problems() -> Iterator[tuple[tuple[str, str, str], MachineProblem]]:
    """Each problem over tiles of any size, with the names of layer, machine and objective."""
    machine = cost_model("timeloop").load_machine(MACHINE)
    for network, numbers in LAYERS.items():
        for number in numbers:
            name = f"{network}:{number}"
            problem = MachineProblem(load_layer(name), machine, OBJECTIVE, "timeloop", "any")
            yield (name, MACHINE, OBJECTIVE), problem
    published = json.loads((FOLDER / "published.json").read_text())
    for figure in published["figures"]:
        names = figure["layer"], figure["machine"], figure["objective"]
        theirs = machine_of(names[1], published["machines"][names[1]])
        layer = layer_of(published["layers"][names[0]])
        yield names, MachineProblem(layer, theirs, names[2], "timeloop", "any")


def asked(limit: float) -> Iterator[tuple[object, ...]]:
    """The rows that are not there yet, each when it is proven."""
    done = {tuple(row[key] for key in HEAD[:4]) for row in read_rows(FOLDER / "tiles.csv")}
    warm()
    for nests in NESTS:
        for names, even in problems():
            if (*names, nests) in done:
                continue
            problem = even.with_changes(fixed={"nests": nests})
            if nests == EVEN or len(problem.accelerator.levels) > len(even.accelerator.levels):
                row = proven(problem, limit, or_found=nests == EVEN)
                if row:
                    yield (*names, nests, *row)


def proven(problem: MachineProblem, limit: float, *, or_found: bool) -> tuple[object, ...] | None:
    """What tiles that divide and tiles of any size have; of these perhaps only what was found."""
    start = time.process_time()
    try:
        found = solve(problem, Clock(limit))
        best, status, gap = found.best, found.status, f"{found.gap:.4f}"
    except InputError:
        if not or_found:
            return None
        best, status, gap = good_mapping(problem, Clock(limit)), FOUND, ""
    seconds = f"{time.process_time() - start:.1f}"
    divided = solve(problem.with_changes(tiles="factors"), Clock(limit))
    assert divided.best
    assert best
    return divided.status, f"{divided.best.loss:.10g}", status, f"{best.loss:.10g}", gap, seconds


def table() -> str:
    """A line a problem: the share of its loss that tiles of any size save, and how well that is known."""
    rows = read_rows(FOLDER / "tiles.csv")
    by_nests = {nests: {named(row): row for row in rows if row["nests"] == nests} for nests in NESTS}
    lines = [
        "| layer | machine | objective | even: any / factors | CPU s "
        "| uneven: any / factors | any: uneven / even | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for names, row in by_nests[EVEN].items():
        uneven = by_nests[UNEVEN].get(names)
        there = ["", "", ""]
        if uneven:
            there = [share(uneven), f"{float(uneven['any']) / float(row['any']):.4f}", uneven["seconds"]]
        lines.append(f"| {' | '.join([*names, share(row), row['seconds'], *there])} |")
    said = [gains(nests, [*of.values()]) for nests, of in by_nests.items()]
    return "\n".join([*lines, "", *said, "", "Proven, unless a gap or `found` is said.", CORRECTED])


def named(row: Mapping[str, str]) -> tuple[str, ...]:
    """The names of a row's layer, machine and objective."""
    return tuple(row[key] for key in HEAD[:3])


def share(row: Mapping[str, str]) -> str:
    """The loss of tiles of any size as a share of that of factors, and how well that is known."""
    known = ""
    if row["status"] != "optimal":
        known = f", gap {float(row['gap']):.1%}" if row["gap"] else ", found"
    return f"{float(row['any']) / float(row['factors']):.4f}{known}"


def gains(nests: str, rows: Sequence[Mapping[str, str]]) -> str:
    """How many problems gain how much, and how many optima are proven."""
    shares = [min(float(row["any"]) / float(row["factors"]), 1.0) for row in rows]
    less = [1 - share for share in shares if share < 1 - NOTHING]
    proven = sum(row["status"] == "optimal" for row in rows)
    mean = sum(less) / max(1, len(rows))
    return (
        f"Of {len(rows)} problems of {nests} nests {len(less)} gain, {mean:.1%} in the mean of all and up to "
        f"{max(less, default=0.0):.1%}; {proven} optima of any tiles are proven."
    )


def write(limit: float) -> None:
    """Prove what is not in the file yet, and write the table."""
    for row in asked(limit):
        write_rows(FOLDER / "tiles.csv", HEAD, [row], add=True)
        print(*row, flush=True)
    keep(FOLDER / "tiles.md", "experiments.uneven", table())
