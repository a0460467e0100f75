"""Gemmini's RTL, by data: constants are of at least 0 and found again, and pairs are counted right."""

from __future__ import annotations

import json

import numpy as np

from dse.domains.levels.mapping import HierarchyMapping
from experiments.codesign.calibrated import CONSTANTS, COUNTS, chosen, counts, fitted, told, way

CUT = "L3[WIO] R3 K4 - L2[WI] K16X - L1[O] P14 K2 C16X - L0[W] P2"
DIMS = {"R": 3, "S": 1, "P": 28, "Q": 1, "C": 16, "K": 128}


def row(layer: str, cycles: float, rtl: float) -> dict[str, str]:
    named = {"network": "one", "layer": layer, "default_rtl_cycles": "100"}
    return named | {"cycles": str(cycles), "rtl_cycles": str(rtl)}


def test_the_constants_that_are_kept_are_of_at_least_0() -> None:
    for constants in json.loads(CONSTANTS.read_text(encoding="utf-8"))["constants"].values():
        assert tuple(constants) == COUNTS
        assert min(constants.values()) >= 0
        assert sum(constants.values()) > 0


def test_constants_are_found_again_from_what_they_make() -> None:
    rng = np.random.default_rng(0)
    rows, asked = rng.uniform(1, 1e6, (300, 4)), np.array([2.0, 0.0, 0.5, 30.0])
    assert np.allclose(fitted(rows, rows @ asked), asked, rtol=1e-2, atol=1e-2)


def test_steps_are_products_of_loops_and_words_those_of_the_model() -> None:
    found = counts(DIMS, (1, 1), "gemmini-16-8192-512", CUT)
    assert (found["dram_steps"], found["accumulator_steps"], found["register_steps"]) == (12, 336, 672)
    assert found["DRAM.W.reads"] >= 3 * 16 * 128
    assert found["cycles"] >= 672


def test_the_way_says_what_is_cut_and_looped() -> None:
    assert way(DIMS, HierarchyMapping.parse(CUT)) == 7
    assert way(DIMS | {"Q": 4}, HierarchyMapping.parse(CUT.replace(" K2", ""))) == 4
    assert way(DIMS | {"Q": 4}, HierarchyMapping.parse(CUT.replace(" R3", " C2").replace(" K2", ""))) == 0


def test_of_equal_mappings_the_mean_is_chosen_and_no_pair_told_apart() -> None:
    rows = [row("a", 5, 10), row("a", 5, 40), row("a", 6, 1), row("b", 7, 3)]
    first, second = chosen(rows)
    assert abs(float(first["rtl_cycles"]) - 20) < 1e-9
    assert second == row("b", 7, 3) | {name: second[name] for name in ("rtl_cycles", "default_rtl_cycles")}
    assert len(told(rows)) == 4
