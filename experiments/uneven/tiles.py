"""What tiles of any size gain on machines of levels over tiles that divide, both of even nests.

The 44 problems of `optima`, and the products of ResNet-50, BERT, ViT-B and Llama-3-8B on a preset: rows of
`results/uneven/tiles.csv`, which stay when the command is called again, and the table of
`results/uneven/tiles.md`. Where there are too many ways to cut a dim for a proof, what steps down from the
best tiles that divide find stands there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from dse.core.clock import Clock
from dse.core.cost_models import cost_model
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.search import good_mapping, solve, warm
from dse.support.errors import InputError
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.uneven.optima import layer_of, machine_of
from workloads import load_layer

FOLDER = RESULTS / "uneven"
HEAD = ("layer", "machine", "objective", "factors_status", "factors", "status", "any", "gap", "seconds")
MACHINE, OBJECTIVE = "gemmini", "edp"
LAYERS = {
    "resnet50": (0, 2, 10, 15, 21, 22),
    "bert_base": range(5),
    "vit-b16": range(7),
    "llama3-8b": range(7),
}
FOUND = "found"
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
    done = {tuple(row[key] for key in HEAD[:3]) for row in read_rows(FOLDER / "tiles.csv")}
    warm()
    for names, problem in problems():
        if names in done:
            continue
        divided = solve(problem.with_changes(tiles="factors"), Clock(limit))
        start = time.process_time()
        try:
            found = solve(problem, Clock(limit))
            best, status, gap = found.best, found.status, f"{found.gap:.4f}"
        except InputError:
            best, status, gap = good_mapping(problem, Clock(limit)), FOUND, ""
        seconds = f"{time.process_time() - start:.1f}"
        assert divided.best
        assert best
        figures = f"{divided.best.loss:.10g}", status, f"{best.loss:.10g}"
        yield (*names, divided.status, *figures, gap, seconds)


def table() -> str:
    """A line a problem: the share of its loss that tiles of any size save, and how well that is known."""
    rows = read_rows(FOLDER / "tiles.csv")
    lines = [
        "| layer | machine | objective | any / factors | any tiles | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    shares = []
    for row in rows:
        share = float(row["any"]) / float(row["factors"])
        shares.append(min(share, 1.0))
        known = "proven"
        if row["status"] != "optimal":
            known = f"gap {float(row['gap']):.1%}" if row["gap"] else "found, no proof"
        names = " | ".join(row[key] for key in HEAD[:3])
        lines.append(f"| {names} | {share:.4f} | {known} | {row['seconds']} |")
    less = [1 - share for share in shares if share < 1 - NOTHING]
    proven = sum(row["status"] == "optimal" for row in rows)
    said = (
        f"Of {len(rows)} problems {len(less)} gain, {sum(less) / len(rows):.1%} in the mean of all and up to "
        f"{max(less):.1%}; {proven} optima of any tiles are proven."
    )
    return "\n".join([*lines, "", said])


def write(limit: float) -> None:
    """Prove what is not in the file yet, and write the table."""
    for row in asked(limit):
        write_rows(FOLDER / "tiles.csv", HEAD, [row], add=True)
        print(*row, flush=True)
    keep(FOLDER / "tiles.md", "experiments.uneven", table())
