"""What `dse quantise` shows: a table, the same as plain data, and a figure of quality against bits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.cli import output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from learners.trials import Tried


def as_data(policy: str, algorithm: str, quality: str, tried: Sequence[Tried]) -> dict[str, Any]:
    """The precisions as plain data; `worse` is a share of what full precision does.

    Qualities are of `weights` and `activations` as the formula rounds them; `executed_activations` are the
    bits of those layers that `microseconds` are of.
    """
    from learners.quantised_networks import activation_bits

    return {
        "of": policy,
        "algorithm": algorithm,
        "quality": quality,
        "runs": len(tried[0].runs),
        "precisions": [
            asdict(one.precision)
            | {
                "bits": one.precision.weights,
                "executed_activations": activation_bits(one.precision.weights),
                "quantised": one.quantised,
                "bytes": one.size,
                "microseconds": one.microseconds,
                "values": one.runs.tolist(),
                "mean": float(one.runs.mean()),
                "worse": one.worse[0],
                "low": one.worse[1],
                "high": one.worse[2],
            }
            for one in tried
        ],
    }


def print_table(data: Mapping[str, Any], out: object) -> None:
    """Print a row for each precision: bytes, time and quality; `out` is the folder that was written."""
    console = output.make_console()
    rows = [
        (
            row["bits"],
            row["activations"],
            row["quantised"] or None,
            row["bytes"],
            row["microseconds"],
            row["mean"],
            *((100 * row[name] if row["quantised"] else None) for name in ("worse", "low", "high")),
        )
        for row in data["precisions"]
    ]
    columns = ("bits", "activations", "quantised", "bytes", "us", "mean", "worse, %", "from", "to")
    title = (
        f"{data['of']} ({data['algorithm']}): {data['quality']}, {data['runs']} paired runs; bytes of "
        "its weights, us an inference, by how much it is worse with the ends of a 95 % confidence interval"
    )
    output.print_table(console, title, columns, rows)
    empty = sum(not math.isfinite(value) for row in data["precisions"] for value in row["values"])
    if empty:
        console.print(f"in {empty} runs nothing feasible was drawn: with more --samples all are compared")
    if any(row["executed_activations"] == 7 for row in data["precisions"]):
        console.print("us in 8 bits: with activations of 7 bits, for this CPU has no VNNI instructions")
    if out is not None:
        console.print(f"written to {out}")


def plot_losses(data: Mapping[str, Any]) -> Figure:
    """By how many per cent each precision is worse than full precision, against its bits, with intervals."""
    import numpy as np

    from searchers.commands.bits_plot import bits_figure

    lines: dict[str, dict[int, tuple[float, float, float]]] = {}
    for row in data["precisions"][1:]:
        if np.isfinite(row["worse"]):
            found = lines.setdefault(f"quantised {row['quantised']}", {})
            found[row["bits"]] = (row["worse"], row["low"], row["high"])
    reached = [100 * share for points in lines.values() for point in points.values() for share in point]
    room = [share for share in reached if np.isfinite(share)] + [0.0]
    margin = 0.08 * (max(room) - min(room)) or 1.0
    ends = (min(room) - margin, max(room) + margin)
    how = f"{data['quality']}, {data['runs']} paired runs, 95 % confidence intervals over runs"
    title = f"What is lost by fewer bits: {data['of']}"
    return bits_figure(title, how, "worse by, %", {"": lines}, ends)
