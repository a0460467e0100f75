"""How far optima are from the roofline of their machine: a line, a table, a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.best_view import DIGITS
from dse.support.quantities import energy

if TYPE_CHECKING:
    from rich.console import Console

PICTURE = "roofline.png"
UNITS = ("bit", "word")


def roofline_line(entry: Mapping[str, Any]) -> str:
    """What no mapping of a layer does better than, and how far its best one is from it."""
    bounds = entry["roofline"]
    least = f"roofline: at least {bounds['cycles']:,} cycles ({bounds['bound_by']}) and "
    least += energy(bounds["energy_nj"], DIGITS)
    if bounds["cycles_above"] is None:
        return least
    return f"{least}; this takes {_times(bounds['cycles_above'])} and {_times(bounds['energy_above'])} that"


def show_rooflines(console: Console, data: Mapping[str, Any]) -> None:
    """Print a network's rooflines, a row a layer; a line that says so where the cost model has none."""
    if any("roofline" not in entry for entry in data["layers"]):
        console.print(f"cost model {data['cost_model']} has no roofline")
        return
    units = {unit for entry in data["layers"] for unit in UNITS if f"macs_per_{unit}" in entry["roofline"]}
    rows = []
    for entry in data["layers"]:
        bounds = entry["roofline"]
        above = (_times(bounds["cycles_above"]), _times(bounds["energy_above"]))
        name = entry["layer"].rpartition(":")[2]
        work = bounds.get("macs_per_word") or bounds["macs_per_bit"]
        figures = (f"{work:.4g}", bounds["bound_by"], bounds["cycles"])
        rows.append((name, *figures, above[0], energy(bounds["energy_nj"]), above[1]))
    heads = (
        "layer",
        f"MACs a {' or '.join(sorted(units))}",
        "bound by",
        "cycles",
        "taken",
        "energy",
        "spent",
    )
    title = "Roofline: what no mapping is below, each word moved once; what is taken and spent, over it"
    output.print_table(console, title, heads, rows, figures=[*heads[1:2], *heads[3:]])


def draw_rooflines(data: Mapping[str, Any], folder: Path) -> None:
    """Write the picture into the folder, where the cost model has rooflines and layers have mappings."""
    from dse.report.plots.files import png
    from dse.report.plots.roofline import roofline_figure
    from dse.support.files import write_whole

    layers = [
        {
            "name": entry["layer"].rpartition(":")[2],
            "work": entry["repeats"] * entry["best"]["cycles"],
            "macs_per_cycle": entry["roofline"]["macs"] / entry["best"]["cycles"],
            **entry["roofline"],
        }
        for entry in data["layers"]
        if "roofline" in entry and entry["best"]
    ]
    units = [unit for unit in UNITS if any(f"macs_per_{unit}" in layer for layer in layers)]
    if len(units) > 1:  # One axis cannot count both.
        layers = [layer for layer in layers if "macs_per_bit" in layer]
    if layers:
        how = f"least {data['objective']}, {data['cost_model']}; areas are shares of the network's cycles"
        figure = roofline_figure(f"{data['network']} on {data['accelerator']}", how, layers, units[0])
        write_whole(folder / PICTURE, png(figure), "figure")


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f} x"
