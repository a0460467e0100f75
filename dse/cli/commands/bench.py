"""`dse bench`: how fast things are on this machine."""

from __future__ import annotations

from typing import Any

import typer

from dse.cli import output
from dse.cli.options import CostModelName, Json

LAYER, ACCELERATOR = "resnet18:1", "edge"

command = typer.Typer(help="Measure how fast things are on this machine.")


@command.callback()
def _subcommands() -> None:
    # Without a callback typer would make the only subcommand the command itself.
    pass


@command.command()
def cost(cost_model: CostModelName = None, json: Json = False) -> None:
    """Measure how many mappings a second the cost model prices.

    Where DSE_MAESTRO names a MAESTRO executable, it is timed too.
    """
    from dse import bench
    from dse.accelerator import load_accelerator
    from dse.cost import DEFAULT_COST_MODEL
    from workloads import load_layer

    layer, accelerator = load_layer(LAYER), load_accelerator(ACCELERATOR)
    measured = bench.cost(layer, accelerator, cost_model or DEFAULT_COST_MODEL)
    where = {"layer": LAYER, "accelerator": ACCELERATOR}
    report = {name: [{**row, **where} for row in rows] for name, rows in measured.items()}
    if json:
        output.print_json(report)
    else:
        _show(report)


TABLES = {
    "cost": (
        f"Batches of random feasible mappings of {LAYER} on {ACCELERATOR}, best of several repeats",
        ("model", "tiles", "threads", "mappings_per_second"),
    ),
    "one_row": ("One point at a time, through Problem.price", ("model", "tiles", "microseconds")),
    "baselines": (
        "Other implementations, one mapping at a time; the ratio is to batches on one thread",
        ("name", "model", "tiles", "milliseconds", "ratio"),
    ),
}


def _show(report: dict[str, list[dict[str, Any]]]) -> None:
    console = output.make_console()
    for key, (title, columns) in TABLES.items():
        if report[key]:
            rows = [[_rounded(row[column]) for column in columns] for row in report[key]]
            output.print_table(console, title, [column.replace("_", " ") for column in columns], rows)


def _rounded(value: object) -> object:
    return round(value) if isinstance(value, float) and value >= 1000 else value
