"""Small random layers, machines and mappings for the tests of `loopnest`, and what is compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import permutations, product

import numpy as np

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from dse.models.loopnest import Constants, LoopNest, reference
from dse.support.errors import InputError
from tests.models.loopnest_simulator import simulate

MAPPED = ("K", "C", "Y", "X")
ORDERS = tuple(permutations(MAPPED))
STRUCTURES = tuple(product(ORDERS, ORDERS, MAPPED, MAPPED))
"""Every pair of orders with every pair of parallel dims."""

MAX_MACS = 1500
MODEL = LoopNest()


@dataclass(frozen=True)
class Case:
    """One mapping to price."""

    layer: Layer
    accelerator: Accelerator
    mapping: Mapping


def area_mm2(constants: Constants, accelerator: Accelerator) -> float:
    """The area of all MACs and buffers of an accelerator."""
    sizes = accelerator.l1_size, accelerator.l2_size
    return float(constants.area_of(accelerator.num_pes, accelerator.simd_lanes, *sizes))


def small_layer(rng: np.random.Generator, *, dilated: bool = False) -> Layer:
    """A layer of at most MAX_MACS: a quarter depthwise, a tenth GEMMs, odd sizes, strides and paddings.

    If it is to be dilated, it is no GEMM, and has a dilation of up to 4 along an axis or both.
    """
    while True:
        kind = rng.random()
        channels = [int(size) for size in rng.integers(1, 8, 2)]
        rows, columns = (int(size) for size in rng.integers(1, 10, 2))
        if kind < 0.1 and not dilated:
            return Layer.gemm(rows, *channels)
        depthwise = kind < 0.35
        window = (int(size) for size in rng.integers(1, 5, 2))
        stride = tuple(int(step) for step in rng.integers(1, 4, 2))
        padding = tuple(int(pad) for pad in rng.integers(0, 4, 2) * (rng.random() < 0.6))
        dilation = tuple(int(step) for step in rng.integers(1, 5, 2)) if dilated else (1, 1)
        try:
            layer = Layer(
                "DSCONV" if depthwise else "CONV",
                1 if depthwise else channels[0],
                channels[1],
                rows,
                columns,
                *window,
                stride=(stride[0], stride[1]),
                padding=(padding[0], padding[1]),
                dilation=(dilation[0], dilation[1]),
            )
        except InputError:
            continue
        if layer.macs <= MAX_MACS and dilated == (layer.dilation != (1, 1)):
            return layer


def small_case(rng: np.random.Generator, number: int, *, dilated: bool = False) -> Case:
    """A random case; over 9,216 numbers in a row every order and parallel dim comes with every other."""
    outer_order, inner_order, outer_parallel, inner_parallel = STRUCTURES[number * 35 % len(STRUCTURES)]
    layer, num_pes = small_layer(rng, dilated=dilated), int(rng.integers(1, 9))
    rates = (int(rate) for rate in rng.integers(1, 12, 2))
    accelerator = Accelerator(
        num_pes, 10**6, 10**6, *rates, int(rng.integers(0, 4)), simd_lanes=int(rng.integers(1, 4))
    )
    sizes = layer.loops
    outer = {dim: int(rng.integers(1, sizes[dim] + 1)) for dim in MAPPED}
    inner = {dim: int(rng.integers(1, outer[dim] + 1)) for dim in MAPPED}
    if rng.random() < 0.2:
        # Tiles above what they cut are cut to it.
        outer = {dim: tile + int(rng.integers(3)) for dim, tile in outer.items()}
        inner = {dim: int(rng.integers(1, sizes[dim] + 2)) for dim in MAPPED}
    cluster = int(rng.integers(1, num_pes + 1))
    mapping = Mapping(
        level(layer, outer_parallel, outer_order, outer),
        cluster,
        level(layer, inner_parallel, inner_order, inner),
    )
    return Case(layer, accelerator, mapping)


def level(layer: Layer, parallel: str, order: tuple[str, ...], tile: dict[str, int]) -> Level:
    """A level whose filter is whole."""
    return Level(parallel, (*order, "R", "S"), (*(tile[dim] for dim in MAPPED), layer.R, layer.S))


def against_the_simulator(case: Case) -> dict[str, tuple[object, object]]:
    """What the plain reference counts otherwise than the executed nest does: nothing, if it is right."""
    run = simulate(case.layer, case.accelerator, case.mapping)
    found = asdict(reference.price_mapping(case.layer, case.accelerator, case.mapping))
    executed = {name: run.moved[name.replace("_", " ")] for name in reference.MOVED}
    executed |= {"cycles": run.cycles, "compute": run.compute_cycles}
    executed |= {"l1_need": run.l1_need, "l2_need": run.l2_need}
    assert run.macs == case.layer.macs
    return {name: (value, found[name]) for name, value in executed.items() if value != found[name]}


def against_the_reference(case: Case) -> dict[str, tuple[object, object]]:
    """What the kernel counts otherwise than the plain reference."""
    plain = asdict(reference.price_mapping(case.layer, case.accelerator, case.mapping))
    counts = MODEL.count(case.layer, case.accelerator, case.mapping)
    assert counts is not None
    found = asdict(counts)
    return {name: (value, found[name]) for name, value in plain.items() if value != found[name]}
