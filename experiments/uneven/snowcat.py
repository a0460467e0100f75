"""AccelForge's figures of its machine snowcat beside proven optima of the same layers.

Its buffer has no end and takes no energy: a figure is the bits that pass between it and the main memory. Of
`results/uneven/snowcat.json` each workload's products and convolutions are proven on that machine, and their
sum stands beside theirs in `results/uneven/snowcat.md`. Its other operators are no layers: a softmax, a gate,
the state of Mamba.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.widths import Widths
from dse.domains.levels.architecture import machine_from_dict
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.search import solve
from experiments import keep
from experiments.uneven.regression import FOLDER, layer_of

WORD = 8
MACHINE = machine_from_dict(
    {
        "name": "snowcat",
        "mac_pj": 0.0,
        "word_bits": WORD,
        "levels": [{"name": "MainMemory", "access_pj": WORD}, {"name": "GlobalBuffer", "access_pj": 0}],
    },
    "snowcat",
)
"""A pJ a bit, and a buffer that holds everything."""


def bits_of(product: Mapping[str, Any], limit: float) -> float:
    """The least bits that a layer moves, proven."""
    named: Any = product.get("layer")
    layer = Layer.from_dict(named) if named else layer_of(product)
    layer = replace(layer, bits=Widths(**product["bits"]))
    found = solve(MachineProblem(layer, MACHINE, "energy", "timeloop"), Clock(limit))
    assert found.best
    assert found.status == "optimal"
    return 1e3 * found.best.energy_nj


def table(limit: float) -> str:
    """A line a workload: the bits of its layers, theirs and ours, and what is no layer."""
    lines = [
        "| workload | bits, AccelForge | of layers | here / it | no layers, left out |",
        "|---|---|---|---|---|",
    ]
    for figure in json.loads((FOLDER / "snowcat.json").read_text())["figures"]:
        published = sum(one["moved"] for one in figure["products"])
        others = figure["others"]
        here = sum(bits_of(one, limit) for one in figure["products"])
        left = ", ".join(one["name"] for one in others) or "none"
        whole = published + sum(one["moved"] for one in others)
        lines.append(
            f"| {figure['workload']} | {whole:,} | {published:,} | {here / published:.4f} | {left} |"
        )
    return "\n".join(
        [*lines, "", "On snowcat each word of a tensor is moved once, by their mapper and by ours."]
    )


def write(limit: float) -> None:
    """Prove all, in seconds, and write the table."""
    keep(FOLDER / "snowcat.md", "experiments.uneven", table(limit))
