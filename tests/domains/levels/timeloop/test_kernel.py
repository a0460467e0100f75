"""The compiled kernel is the reference: the same counts, figures and faults, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import Level, Machine
from dse.domains.levels.workload import Tensor, Workload, make_convolution
from dse.models.timeloop import layout_of, prepared_prices, reference
from dse.models.timeloop.faults import Fault
from dse.models.timeloop.tables import Priced
from dse.support.errors import InputError
from tests.domains.levels.timeloop.problems import (
    random_convolution,
    random_machine,
    random_rows,
    random_workload,
)

PROBLEMS, ROWS = 60, 25


def counts_of(costs: reference.Costs, workload: Workload, machine: Machine) -> list[list[list[int]]]:
    """Reads, fills and updates by level and tensor, 0 where a tensor is not kept."""
    return [
        [
            [kept[name].reads, kept[name].fills, kept[name].updates] if name in kept else [0, 0, 0]
            for name in workload.tensor_names
        ]
        for kept in (costs.counts.get(level.name, {}) for level in machine.levels)
    ]


def assert_is_reference(priced: Priced, workload: Workload, machine: Machine, rows: RowArray) -> int:
    """Every row is priced as the reference prices it; returns how many have a price."""
    layout = layout_of(workload, machine)
    for place, row in enumerate(rows):
        costs = reference.evaluate_mapping(workload, machine, layout.decode(row))
        found = priced.fault[place], priced.where[place], priced.need[place]
        if isinstance(costs, reference.NotPriced):
            assert found == (costs.fault, costs.where, costs.need)
        else:
            assert found == (Fault.NONE, 0, 0)
            assert priced.counts[place].tolist() == counts_of(costs, workload, machine)
            assert priced.cycles[place] == costs.cycles
            assert priced.energy_pj[place] == costs.energy_pj
    return int(priced.valid.sum())


@pytest.mark.parametrize("kind", ["convolution", "sums", "shared dims"])
def test_the_kernel_equals_the_reference_on_random_problems(kind: str) -> None:
    rng, valid = np.random.default_rng(len(kind)), 0
    for _ in range(PROBLEMS):
        if kind == "convolution":
            workload = random_convolution(rng)
        else:
            workload = random_workload(rng, shared_dims=kind == "shared dims")
        machine = random_machine(workload, rng)
        rows = random_rows(workload, machine, ROWS, rng)
        if rng.random() < 0.2:
            rows[0, rng.integers(len(workload.dims))] = rng.integers(-1, 5)
        priced = prepared_prices(workload, machine)(rows, counts=True)
        valid += assert_is_reference(priced, workload, machine, rows)
    assert valid > PROBLEMS


def test_threads_change_no_figure() -> None:
    rng = np.random.default_rng(2)
    workload = random_convolution(rng)
    machine = Machine("two", (Level("DRAM", fan_out=64), Level("Buffer")), 1.0)
    price, rows = prepared_prices(workload, machine), random_rows(workload, machine, 2000, rng)
    one, two = price(rows), price(rows, threads=2)
    assert np.array_equal(one.cycles, two.cycles)
    assert np.array_equal(one.energy_pj, two.energy_pj)
    assert np.array_equal(one.fault, two.fault)


@pytest.mark.parametrize("entry", [-1, 0, 7, 64, 2**31 - 1])
def test_an_order_that_names_no_dim_or_one_twice_is_a_fault(entry: int) -> None:
    workload, machine = make_convolution({"K": 4}), Machine("one", (Level("DRAM"),), 1.0)
    layout = layout_of(workload, machine)
    row = np.ones((1, layout.columns), dtype=np.int32)
    row[0, layout.temporal(0).start + workload.names.index("K")] = 4
    row[0, layout.order(0)] = np.arange(7)
    assert prepared_prices(workload, machine)(row).valid[0]
    row[0, layout.order(0).start + 3] = entry
    assert prepared_prices(workload, machine)(row).fault[0] == Fault.ORDER


def test_factors_whose_product_leaves_64_bits_are_a_fault_and_no_wrong_price() -> None:
    workload, machine = make_convolution({"K": 4}), Machine("one", (Level("DRAM"), Level("Buffer")), 1.0)
    layout = layout_of(workload, machine)
    row = np.ones((1, layout.columns), dtype=np.int32)
    for level in range(2):
        row[0, layout.order(level)] = np.arange(7)
    row[0, [layout.temporal(0).start + 5, layout.temporal(1).start + 5]] = 2**30, 2**30
    priced = prepared_prices(workload, machine)(row)
    assert (priced.fault[0], priced.where[0]) == (Fault.FACTORS, workload.names.index("K"))


def test_cycles_beyond_64_bits_are_a_fault() -> None:
    from dse.domains.levels.machine import Bandwidth

    workload = make_convolution({"K": 4})
    slow = Level("DRAM", bandwidth=Bandwidth(shared=1e-300))
    layout = layout_of(workload, machine := Machine("slow", (slow,), 1.0))
    row = np.ones((1, layout.columns), dtype=np.int32)
    row[0, layout.order(0)] = np.arange(7)
    row[0, layout.temporal(0).start + 5] = 4
    assert prepared_prices(workload, machine)(row).fault[0] == Fault.CYCLES
    found = reference.evaluate_mapping(workload, machine, layout.decode(row[0]))
    assert isinstance(found, reference.NotPriced)
    assert found.fault == Fault.CYCLES


def test_an_axis_of_three_dims_needs_fan_outs_that_can_be_counted() -> None:
    sums = Tensor("I", ((("A", 1), ("B", 1), ("C", 1)),))
    workload = Workload((("A", 2**12), ("B", 2**12), ("C", 2)), (sums, Tensor("O", ((("A", 1),),), True)))
    with pytest.raises(InputError, match="axes of three dims or more need fan-outs of at most 1048576"):
        prepared_prices(workload, Machine("wide", (Level("DRAM", fan_out=2**24),), 1.0))


def test_rows_of_another_width_or_type_are_refused() -> None:
    workload, machine = make_convolution({"K": 4}), Machine("one", (Level("DRAM"),), 1.0)
    price = prepared_prices(workload, machine)
    with pytest.raises(ValueError, match=r"rows must be int32 of shape \(n, 24\)"):
        price(np.ones((1, 23), dtype=np.int32))
    with pytest.raises(ValueError, match="got int64"):
        price(np.ones((1, 24), dtype=np.int64))


def test_a_machine_that_keeps_a_tensor_which_the_layer_lacks_is_refused() -> None:
    machine = Machine("odd", (Level("DRAM"), Level("Buffer", keeps=("Weights",))), 1.0)
    with pytest.raises(InputError, match="unknown tensor 'Weights' in level Buffer, for this layer"):
        prepared_prices(make_convolution({"K": 4}), machine)
