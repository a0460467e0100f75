"""Laws that `loopnest` obeys on real layers: nothing is free, more of anything never hurts, X is like Y."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.core.figures import CostBatch
from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import Counts, LoopNest
from tests.models.loopnest_cases import small_layer
from workloads import load_layer

MODEL = LoopNest()
LAYERS = [
    load_layer(name)
    for name in (
        "resnet18:0",
        "resnet18:1",
        "mobilenet_v2:1",
        "mobilenet_v2:2",
        "vgg16:conv4_2",
        "bert_base:1",
    )
]
MACHINES = [PRESETS[name] for name in ("eyeriss", "eyeriss-small", "edge", "tpu-like")]
FIGURES = ("cycles", "energy_nj", "l1_size", "l2_size")

cases = st.tuples(
    st.sampled_from(LAYERS),
    st.sampled_from(MACHINES),
    st.sampled_from(["factors", "any"]),
    st.integers(0, 2**32 - 1),
)
tiny_layers = st.integers(0, 2**32 - 1).map(lambda seed: small_layer(np.random.default_rng(seed)))


def drawn(layer: Layer, machine: Accelerator, tiles: str, seed: int, count: int = 60) -> MappingBatch:
    space = Problem(layer, machine, cost_model="loopnest", tiles=tiles).space
    return space.decode(space.sample(np.random.default_rng(seed), count))


def priced(layer: Layer, machine: Accelerator, batch: MappingBatch) -> CostBatch:
    costs = MODEL.evaluate(layer, machine, batch)
    assert costs.valid.all()
    return costs


def counted(layer: Layer, machine: Accelerator, mapping: Mapping) -> Counts:
    counts = MODEL.count(layer, machine, mapping)
    assert counts is not None
    return counts


@settings(max_examples=40)
@given(cases)
def test_the_work_is_the_layers_and_takes_its_time(case: tuple[Layer, Accelerator, str, int]) -> None:
    layer, machine, _, _ = case
    batch = drawn(*case)
    costs = priced(layer, machine, batch)
    assert (costs.macs == layer.macs).all()
    assert (costs.cycles >= ceil(layer.macs / (machine.num_pes * machine.simd_lanes))).all()
    rules = FeasibilityRules(layer, machine, "latency")
    assert (costs.cycles >= rules.serial_floors(batch.rows)).all()


@settings(max_examples=60)
@given(cases)
def test_every_tensor_is_moved_at_least_once_and_no_link_is_too_fast(
    case: tuple[Layer, Accelerator, str, int],
) -> None:
    layer, machine, _, _ = case
    depthwise = layer.type == "DSCONV"
    outputs = layer.loops["Y"] * layer.loops["X"] * (layer.C if depthwise else layer.K)
    weights = layer.K * layer.C * layer.R * layer.S
    used = [
        {i * stride + r - pad for i in range(size) for r in range(window)} & set(range(limit))
        for size, window, stride, pad, limit in (
            (layer.loops["Y"], layer.R, layer.stride[0], layer.padding[0], layer.Y),
            (layer.loops["X"], layer.S, layer.stride[1], layer.padding[1], layer.X),
        )
    ]
    batch = drawn(*case, count=5)
    for index in range(5):
        counts = counted(layer, machine, batch[index])
        assert min(counts.dram_input, counts.l2_input) >= layer.C * len(used[0]) * len(used[1])
        assert min(counts.dram_weight, counts.l2_weight) >= weights
        assert counts.dram_output_up == counts.dram_output_down + outputs
        assert counts.l2_output_up == counts.l2_output_down + outputs
        assert min(counts.dram_output_down, counts.l2_output_down, counts.dram_wait) >= 0
        for tensor in ("input", "weight"):
            assert getattr(counts, f"l2_{tensor}") <= getattr(counts, f"pe_{tensor}")
        assert counts.l2_output_up <= counts.pe_output_up <= layer.macs
        noc = counts.l2_input + counts.l2_weight + counts.l2_output_up + counts.l2_output_down
        dram = counts.dram_input + counts.dram_weight + counts.dram_output_up + counts.dram_output_down
        assert counts.cycles >= noc / machine.noc_bandwidth
        assert counts.cycles >= dram / machine.offchip_bandwidth
        assert counts.cycles >= counts.filling + counts.compute + counts.dram_wait + counts.drain


@settings(max_examples=40)
@given(
    cases,
    st.sampled_from(["noc_bandwidth", "offchip_bandwidth", "simd_lanes"]),
    st.integers(1, 100),
)
def test_more_bandwidth_or_lanes_are_never_slower_and_move_nothing_more(
    case: tuple[Layer, Accelerator, str, int], name: str, more: int
) -> None:
    layer, machine, _, _ = case
    batch = drawn(*case)
    faster = replace(machine, **{name: getattr(machine, name) + more})
    before, after = priced(layer, machine, batch), priced(layer, faster, batch)
    assert (after.cycles <= before.cycles).all()
    np.testing.assert_array_equal(after.energy_nj, before.energy_nj)


@settings(max_examples=20)
@given(cases, st.integers(1, 50))
def test_a_longer_latency_is_never_faster(case: tuple[Layer, Accelerator, str, int], more: int) -> None:
    layer, machine, _, _ = case
    batch = drawn(*case)
    slower = replace(machine, noc_latency=machine.noc_latency + more)
    difference = priced(layer, slower, batch).cycles - priced(layer, machine, batch).cycles
    # A latency at either end of the run is never hidden.
    assert (difference >= 2 * more).all()


@settings(max_examples=20)
@given(cases, st.integers(1, 10**6), st.integers(1, 10**6))
def test_larger_buffers_are_never_infeasible(
    case: tuple[Layer, Accelerator, str, int], l1: int, l2: int
) -> None:
    layer, machine, _, _ = case
    batch = drawn(*case)
    larger = replace(machine, l1_size=machine.l1_size + l1, l2_size=machine.l2_size + l2)
    before = Problem(layer, machine, cost_model="loopnest").evaluate(batch)
    after = Problem(layer, larger, cost_model="loopnest").evaluate(batch)
    assert (after.reason[before.reason == 0] == 0).all()
    np.testing.assert_array_equal(after.cycles, before.cycles)


def turned(layer: Layer) -> Layer:
    """The layer with its rows and columns exchanged."""
    return Layer(
        layer.type,
        layer.K,
        layer.C,
        layer.X,
        layer.Y,
        layer.S,
        layer.R,
        layer.stride[::-1],
        layer.padding[::-1],
    )


def turned_level(level: Level) -> Level:
    other = {"Y": "X", "X": "Y", "R": "S", "S": "R", "K": "K", "C": "C"}
    order = tuple(other[dim] for dim in level.order)
    return Level(other[level.parallel], order, tuple(level[other[dim]] for dim in DIMS))


@settings(max_examples=60)
@given(st.one_of(st.sampled_from(LAYERS), tiny_layers), st.sampled_from(MACHINES), st.integers(0, 2**32 - 1))
def test_rows_and_columns_are_alike(layer: Layer, machine: Accelerator, seed: int) -> None:
    batch = drawn(layer, machine, "any", seed, count=20)
    mappings = [batch[index] for index in range(len(batch))]
    flipped = MappingBatch.of(
        Mapping(turned_level(one.outer), one.cluster_size, turned_level(one.inner)) for one in mappings
    )
    straight, sideways = priced(layer, machine, batch), priced(turned(layer), machine, flipped)
    for figure in FIGURES:
        np.testing.assert_array_equal(getattr(straight, figure), getattr(sideways, figure))


@settings(max_examples=40)
@given(cases)
def test_loops_that_run_once_may_stand_anywhere(case: tuple[Layer, Accelerator, str, int]) -> None:
    layer, machine, _, seed = case
    rng = np.random.default_rng(seed)
    rows = drawn(*case, count=20).rows.copy()
    sizes = [layer.loops[dim] for dim in DIMS]
    # One level without loops: its order must not matter.
    rows[:10, 7:13], rows[10:, 21:27] = sizes, rows[10:, 7:13]
    rows[10:, 14], rows[10:, 13] = 0, 1
    moved = rows.copy()
    moved[:10, 1:7] = rng.permuted(rows[:10, 1:7], axis=1)
    moved[10:, 15:21] = rng.permuted(rows[10:, 15:21], axis=1)
    before, after = (priced(layer, machine, MappingBatch(found)) for found in (rows, moved))
    for figure in FIGURES:
        np.testing.assert_array_equal(getattr(before, figure), getattr(after, figure))


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_one_step_on_one_pe_moves_everything_once(layer: Layer) -> None:
    machine = replace(PRESETS["paper"], num_pes=1)
    level = Level("K", DIMS, tuple(layer.loops[dim] for dim in DIMS))
    counts = counted(layer, machine, Mapping(level, 1, level))
    assert counts.compute == layer.macs
    assert counts.l2_weight == counts.pe_weight == counts.dram_weight == layer.K * layer.C * layer.R * layer.S
    assert counts.l2_output_down == counts.dram_output_down == counts.dram_wait == 0
