"""The long proof of `loopnest`, run by `make prove`: minutes, too long for every change.

Every pair of orders with every pair of parallel dims, twice over and more, executed on small layers; five
times as many counted by the kernel and by the reference; and searches that try to get below what any
execution takes.
"""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from dse import search
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import Constants
from tests.models.loopnest_cases import (
    STRUCTURES,
    against_the_reference,
    against_the_simulator,
    small_case,
)
from tests.models.test_loopnest import (
    REAL,
    REAL_LAYERS,
    assert_real_mappings_equal_the_reference,
)
from workloads import load_layer

CASES, SHARES = 20_480, 20
SAMPLES = 200_000
BELOW = (Reason.WORK_DROPPED, Reason.BELOW_COMPUTE_FLOOR, Reason.BELOW_SERIAL_FLOOR)
SEARCHES = [
    ("resnet18:1", "paper", "factors"),
    ("resnet18:1", "paper", "any"),
    ("resnet18:0", "eyeriss-small", "any"),
    ("mobilenet_v2:1", "edge", "any"),
]


@pytest.mark.parametrize("share", range(SHARES))
def test_small_cases_cost_what_their_execution_does(share: int) -> None:
    rng, each = np.random.default_rng([11, share]), CASES // SHARES
    assert 2 * len(STRUCTURES) < CASES
    for number in range(share * each, (share + 1) * each):
        case = small_case(rng, number)
        assert against_the_simulator(case) == {}, case
        assert against_the_reference(case) == {}, case


@pytest.mark.parametrize("share", range(SHARES))
def test_the_kernel_counts_what_the_reference_counts(share: int) -> None:
    rng, each = np.random.default_rng([12, share]), 5 * CASES // SHARES
    for number in range(share * each, (share + 1) * each):
        case = small_case(rng, number)
        assert against_the_reference(case) == {}, case


@pytest.mark.parametrize("tiles", ["factors", "any"])
@pytest.mark.parametrize("name", REAL_LAYERS)
def test_the_kernel_equals_the_reference_on_real_layers(name: str, tiles: str) -> None:
    assert_real_mappings_equal_the_reference(name, tiles, REAL)


def test_dilated_layers_are_counted_as_the_executed_nest_does_them() -> None:
    rng = np.random.default_rng(13)
    for number in range(2000):
        case = small_case(rng, number * 11, dilated=True)
        assert against_the_simulator(case) == {}, case
        assert against_the_reference(case) == {}, case


@pytest.mark.parametrize("objective", ["latency", "energy"])
@pytest.mark.parametrize(("layer", "accelerator", "tiles"), SEARCHES)
def test_a_genetic_search_finds_nothing_below_the_floors(
    layer: str, accelerator: str, tiles: str, objective: str
) -> None:
    problem = Problem(load_layer(layer), PRESETS[accelerator], objective, "loopnest", tiles)
    found = search(problem, "genetic", budget=SAMPLES, seed=1)
    history = found.history
    assert len(history) == SAMPLES
    assert not history.reason.isin([reason.text for reason in BELOW]).any()
    assert (history.macs == problem.layer.macs).all()
    assert history.cycles.min() >= cycles_floor(problem.layer, problem.accelerator)
    assert history.energy_nj.min() >= energy_floor(problem.layer)
    assert found.best is not None


def test_the_same_search_under_maestro_does_find_such_mappings() -> None:
    problem = Problem(load_layer("resnet18:1"), PRESETS["paper"], "latency", "maestro", "any")
    history = search(problem, "genetic", budget=20_000, seed=1).history
    assert history.reason.isin([reason.text for reason in BELOW]).any()


def compulsory(layer: Layer) -> tuple[int, int, int]:
    """Inputs that are real and used, weights, outputs."""
    used = [
        len({i * stride + r for i in range(size) for r in range(window)} & set(range(pad, pad + limit)))
        for size, window, stride, pad, limit in (
            (layer.loops["Y"], layer.R, layer.stride[0], layer.padding[0], layer.Y),
            (layer.loops["X"], layer.S, layer.stride[1], layer.padding[1], layer.X),
        )
    ]
    outputs = layer.loops["Y"] * layer.loops["X"] * (layer.C if layer.type == "DSCONV" else layer.K)
    return layer.C * used[0] * used[1], layer.K * layer.C * layer.R * layer.S, outputs


def cycles_floor(layer: Layer, machine: Accelerator) -> int:
    """All MACs on all lanes, or all elements over the DRAM link or the NoC, whichever takes longest."""
    words = sum(compulsory(layer))
    return max(
        ceil(layer.macs / (machine.num_pes * machine.simd_lanes)),
        ceil(words / machine.offchip_bandwidth),
        ceil(words / machine.noc_bandwidth),
    )


def energy_floor(layer: Layer) -> float:
    """Nanojoules of the MACs with their accesses, and of every element once through all stores."""
    constants, words = Constants(), sum(compulsory(layer))
    once = constants.dram_pj + 2 * constants.l2_pj + constants.noc_pj + constants.l1_pj
    return (layer.macs * (constants.mac_pj + 4 * constants.l1_pj) + words * once) * 1e-3
