"""Functions that price, as users write them."""

from __future__ import annotations

import textwrap
from pathlib import Path

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS

LAYER, EDGE = Layer("CONV", 8, 4, 12, 12, 3, 3, (1, 1), (1, 1)), PRESETS["edge"]


WHERE = ("--layer", "resnet18:0", "--accelerator", "edge", "--objective", "edp", "--searcher", "random")


FAIR = """
def price(layer, accelerator, mapping):
    steps = layer.macs // mapping.inner.tile["K"]
    return {"cycles": steps, "energy_nj": 0.5 * steps + mapping.cluster_size}
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


# One that always fails


COUNTING = """
from pathlib import Path

def price(layer, accelerator, {mapping}):
    with Path(__file__).with_name("calls").open("a") as file:
        file.write("x")
    {body}
"""
