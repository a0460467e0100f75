"""One dim of boxes of tiles beside every pair in them, run by `make prove`.

A bound of whole mappings may hide that a tensor's part of it is too high, where another's is too low.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.models.loopnest import Constants
from dse.models.loopnest.bound.figures import DIM_LEAST, INTERVALS
from dse.models.loopnest.bound.interval import measure_dim as measure_box
from dse.models.loopnest.extents import measure_dim
from dse.models.loopnest.params import machine_params
from dse.models.loopnest.records import DIM, INTERIOR, LAST
from dse.models.loopnest.traffic import INDICES, WINDOWS, C, K, Y, add_up
from dse.support.compiling import as_kernel

BOXES, LARGEST = 6000, 40


def test_no_pair_of_tiles_has_less_of_anything_than_its_box() -> None:
    rng = np.random.default_rng(0)
    for _ in range(BOXES):
        layer, dim = _layer(rng)
        spread = int(rng.choice([1, 1, 2, 3, 5])), int(rng.choice([1, 1, 2, 3, 4, 7]))
        box = _box(rng, int(layer.sizes[dim]), spread[1])
        least = np.zeros(1, DIM_LEAST)[0]
        as_kernel(measure_box)(box, dim, *spread, layer, least)
        for tile in range(box["low"], box["high"] + 1):
            for inner in range(box["least"], min(box["most"], tile) + 1):
                case = box, spread, tile, inner
                assert_no_less(_pair(layer, dim, spread, (tile, inner)), dim, least, case)


def assert_no_less(one: Any, dim: int, least: Any, case: object) -> None:
    """By the counts of a pair: sums over all steps, and what is new of them each time that loops go back."""
    last, before = one["kinds"][LAST], one["steps"] - 1
    whole = one["kinds"][LAST if before == 0 or one["uniform"] else INTERIOR]
    found = {name: one[name] for name in ("span", "last_span")} | {
        "outer_steps": one["steps"],
        "steps": one["all_steps"],
        "pieces": one["all_pieces"],
        "first_pieces": one["first_pieces"],
        "begin_pieces": whole["pieces"],
        "first": whole["needed"],
        "first_window": whole["window"],
        "serial": before * whole["extent"] + last["extent"],
        "last_serial": last["extent"],
    }
    for name, count in found.items():
        assert least[name] <= count, (name, case)
    sums = one["sums"][INDICES if dim <= C else WINDOWS]
    needs, rows = sums["everything"], least["rows"] * (1.0 - 1e-12)
    assert least["needs"] <= needs
    assert rows <= needs - sums["inner_next"] - sums["outer_next"], case
    new = needs - sums["inner_next"] - sums["inner_back"]
    assert least["moves"] * least["again"] * rows <= new, case
    assert whole["steps"] == 1 or least["if_moves"] * least["again"] * rows <= new, case
    if before > 0:
        new = needs - sums["inner_next"] - sums["outer_next"] - sums["outer_back"]
        assert least["again"] * rows <= new, case


def _layer(rng: np.random.Generator) -> tuple[Any, int]:
    """What kernels know of a layer with one large dim, and that dim: rows stand for columns too."""
    dim, size = int(rng.choice([K, C, Y])), int(rng.integers(1, LARGEST))
    filters, stride, dilation = rng.integers(1, [4, 4, 3]).tolist()
    if dim == Y:
        rows = (size - 1) * stride + (filters - 1) * dilation + 1
        layer = Layer("CONV", 1, 1, rows, 1, filters, 1, stride=(stride, 1), dilation=(dilation, 1))
    else:
        layer = Layer("CONV", size if dim == K else 1, size if dim == C else 1, 1, 1, 1, 1)
    return machine_params(layer, PRESETS["edge"], Constants())[0][0]["layer"], dim


def _box(rng: np.random.Generator, size: int, places: int) -> Any:
    """Intervals of tiles: often one tile, often with several inner steps."""
    wide = int(rng.choice([1, 2, 4, LARGEST]))
    low = int(rng.integers(1, size + 1))
    high = min(size, low + int(rng.integers(wide)))
    least = int(rng.integers(1, high + 1 if rng.random() < 0.4 else max(2, high // places + 1)))
    box = np.zeros(1, INTERVALS)[0]
    box["low"], box["high"] = low, high
    box["least"], box["most"] = least, min(high, least + int(rng.integers(wide)))
    return box


def _pair(layer: Any, dim: int, spread: tuple[int, int], tiles: tuple[int, int]) -> Any:
    """A dim that is measured with a pair of tiles."""
    one = np.zeros(1, DIM)[0]
    one["extent"], one["pitch"] = layer["sizes"][dim], 1
    (one["clusters"], one["places"]), (one["tile"], one["piece"]) = spread, tiles
    if dim >= Y:
        one["pitch"], one["overlap"] = layer["pitches"][dim - Y], layer["overlaps"][dim - Y]
    as_kernel(measure_dim)(one)
    as_kernel(add_up)(one, dim)
    return one
