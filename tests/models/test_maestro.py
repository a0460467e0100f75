"""The compiled MAESTRO kernel does what the plain reference does, on every kind of case."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.cost_models import cost_model
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.cost_model import cost_columns
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.space.parts import read_parts
from dse.models.maestro import (
    Maestro,
    hardware_row,
    kernel,
    layer_row,
    price_cases,
)
from dse.models.maestro.kernel import LEFT, price_left, price_rows
from dse.models.maestro.reference import price_by_walk
from dse.support.errors import InputError
from tests.as_kernels import AsKernels
from tests.models.mapping_cases import KINDS, draw_cases

is_regular = AsKernels(kernel).is_regular

EXACT = ("cycles", "macs", "l1_size", "l2_size")
CLOSE = ("energy_nj", "power", "area")
CONV = Layer("CONV", 64, 64, 56, 56, 3, 3, padding=(1, 1))


def assert_equals_reference(costs: CostBatch, layers, hardware, rows) -> int:
    """Every row agrees with the reference; returns how many are valid."""
    for i, (layer, machine, row) in enumerate(zip(layers, hardware, rows, strict=True)):
        expected = price_by_walk(layer, machine, row)
        assert costs.reason[i] == expected["reason"], (layer, machine, row)
        for name in EXACT if costs.valid[i] else ():
            assert getattr(costs, name)[i] == expected[name], (name, layer, machine, row)
        for name in CLOSE if costs.valid[i] else ():
            assert getattr(costs, name)[i] == pytest.approx(expected[name], rel=1e-12)
    return int(costs.valid.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_equals_the_reference_on_fresh_cases(kind: str) -> None:
    """On some; `prove_maestro.py` draws many more."""
    cases = draw_cases(kind, 60, np.random.default_rng([7, KINDS.index(kind)]))
    valid = assert_equals_reference(Maestro().price_cases(*cases), *cases)
    if kind in ("std", "factors", "l1gtl2", "tilebig", "rs", "overflow", "inverted", "colossal"):
        assert valid > 4


def test_cases_of_every_end_are_among_the_fresh_ones() -> None:
    ends = set()
    for kind in KINDS:
        ends |= set(Maestro().price_cases(*draw_cases(kind, 4000, np.random.default_rng(3))).reason)
    assert {
        Reason.FEASIBLE,
        Reason.ZERO_TILE,
        Reason.PARTIAL_FILTER,
        Reason.CLUSTER_TOO_LARGE,
        Reason.NO_WORK,
        Reason.ZERO_FETCH,
        Reason.TOO_MANY_STEPS,
        Reason.ZERO_RUNTIME,
        Reason.OUT_OF_RANGE,
    } <= ends


@pytest.mark.parametrize("kind", ["factors", "std"])
def test_the_grouped_walk_equals_the_complete_one_on_regular_mappings(kind: str) -> None:
    cases = draw_cases(kind, 3000, np.random.default_rng(11))
    grouped = cost_columns(3000)
    price_rows(*cases, False, (0, 3000), grouped)
    cases = tuple(each[grouped.valid] for each in cases)
    count = len(cases[0])
    assert count > 1000
    complete = cost_columns(count)
    complete.reason[:] = LEFT
    price_left(*cases, False, (0, count), complete)
    for name in (*EXACT, *CLOSE):
        assert np.array_equal(getattr(grouped, name)[grouped.valid], getattr(complete, name))


def test_figures_do_not_depend_on_the_threads_or_the_batch() -> None:
    layers, hardware, rows = draw_cases("std", 2000, np.random.default_rng(5))
    alone = Maestro().price_cases(layers, hardware, rows)
    split = Maestro().price_cases(layers, hardware, rows, threads=3)
    single = [
        Maestro().price_cases(layers[i : i + 1], hardware[i : i + 1], rows[i : i + 1]) for i in range(50)
    ]
    for name in (*EXACT, *CLOSE, "reason"):
        assert np.array_equal(getattr(alone, name), getattr(split, name))
        assert [getattr(costs, name)[0] for costs in single] == list(getattr(alone, name)[:50])


def test_a_padded_strided_layer_is_priced_lowered() -> None:
    layer = Layer("CONV", 64, 3, 224, 224, 7, 7, stride=(2, 2), padding=(3, 3))
    edge = PRESETS["edge"]
    tiles = (8, 1, 4, 4, 7, 7)
    row = [0, 0, 1, 2, 3, 4, 5, *tiles, 16, 1, 0, 1, 2, 3, 4, 5, *tiles]
    batch = MappingBatch(np.array([row], dtype=np.int64))
    costs = Maestro().evaluate(layer, edge, batch)
    lowered = Layer("CONV", 64, 3, 118, 118, 7, 7)
    expected = price_by_walk(layer_row(lowered)[0], hardware_row(edge)[0], row)
    assert costs.cycles[0] == expected["cycles"]
    assert costs.macs[0] == layer.macs


def test_no_mapping_of_extreme_values_crashes_or_raises() -> None:
    rng = np.random.default_rng(2)
    extremes = np.array([-(2**63), -(2**31), -1, 0, 1, 2, 3, 168, 2**31 - 1, 2**31, 2**62, 2**63 - 1])
    n = 20_000
    layers, hardware = rng.choice(extremes, (n, 9)), rng.choice(extremes, (n, 5))
    rows = rng.choice(extremes, (n, 27))
    layers[:, 0] = rng.integers(2, size=n)
    for level in (0, 14):
        rows[:, level] = rng.integers(6, size=n)
        rows[:, level + 1 : level + 7] = rng.permuted(np.tile(np.arange(6), (n, 1)), axis=1)
    # Half of the machines and layers are sound, so that the mappings' own extremes are reached.
    hardware[: n // 2], layers[: n // 2, 1:] = (256, 16, 8, 1, 1), (8, 8, 14, 14, 3, 3, 1, 1)
    costs = Maestro().price_cases(layers, hardware, rows)
    assert set(costs.reason[costs.valid]) <= {0}
    assert (costs.cycles[~costs.valid] == 0).all()


def test_a_buffer_need_beyond_31_bits_wraps_as_printed_but_never_seems_to_fit() -> None:
    layer = Layer("CONV", 2**16, 2**16, 4, 4, 1, 1)
    row = [0, 0, 1, 2, 3, 4, 5, 2**16, 2**16, 4, 4, 1, 1, 1, 0, 0, 1, 2, 3, 4, 5, 2**15, 2**15, 4, 4, 1, 1]
    batch = MappingBatch(np.array([row], dtype=np.int64))
    edge = PRESETS["edge"]
    printed = Maestro().price_cases(layer_row(layer), hardware_row(edge), batch.rows)
    needed = Maestro().evaluate(layer, edge, batch)
    assert needed.l2_size[0] > 2**31
    assert printed.l2_size[0] == needed.l2_size[0].astype(np.int32)


def test_an_empty_batch_has_empty_figures() -> None:
    costs = cost_model("maestro").evaluate(CONV, PRESETS["edge"], MappingBatch.of([]))
    assert len(costs) == 0
    assert len(costs.energy_nj) == 0


def test_an_unknown_cost_model_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown cost model 'maestor'; did you mean 'maestro'\?"):
        cost_model("maestor")


@pytest.mark.parametrize("kind", ["CONV", "DSCONV"])
@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_a_filter_that_is_spread_whole_or_in_pieces_costs_the_same_by_either_walk(
    kind: str, tiles: str
) -> None:
    layer = Layer(kind, 6 if kind == "CONV" else 1, 5, 9, 8, 5, 3)
    whole = {f"{level}.tile.{dim}": layer.loops[dim] for level in ("outer", "inner") for dim in "RS"}
    machine = Accelerator(24, 512, 4096, 3, 2, noc_latency=2, simd_lanes=2)
    parts = read_parts({"dims": "KCYXRS", "cluster": [1, 3, 5, 24]})
    space = MappingSpace(layer, machine, tiles, whole, parts)
    rng = np.random.default_rng(0)
    rows = space.decode(space.sample(rng, 1500)).rows.copy()
    for row in rows:
        outer, inner = row[0], row[14]
        if inner > 3:
            row[21 + inner] = rng.integers(1, row[21 + inner] + 1)
            if outer == inner:
                row[7 + outer] = rng.integers(row[21 + inner], row[7 + outer] + 1)
    layers, hardware, count = layer_row(layer), hardware_row(machine), len(rows)
    costs = price_cases(layers, hardware, rows, wrap=False, threads=1)
    walked = cost_columns(count)
    walked.reason[:] = LEFT
    price_left(layers, hardware, rows, False, (0, count), walked)
    for name, column in costs.columns().items():
        assert np.array_equal(getattr(walked, name), column)
    regular = np.array([is_regular(layers[0], 24, row) for row in rows])
    cut_outside, cut_inside = ((rows[:, at] < [5, 3]).any(axis=1) for at in ([11, 12], [25, 26]))
    assert (regular & cut_inside & ~cut_outside).sum() > 50
    assert (regular & cut_outside).sum() > 5
    assert (~regular).sum() > 5
