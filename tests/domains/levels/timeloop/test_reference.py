"""The rules, one by one, on mappings that fit on a page."""

from __future__ import annotations

from dataclasses import replace

from dse.domains.levels.machine import Bandwidth, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import Workload, make_convolution, read_parts
from dse.models.timeloop import reference
from dse.models.timeloop.faults import Fault
from dse.models.timeloop.presets import load_machine


def matrix_product(m: int, k: int, n: int) -> Workload:
    """I[M, K] times W[K, N], which makes O[M, N]."""
    return Workload(*read_parts({"type": "gemm", "dims": {"M": m, "K": k, "N": n}}, "layer"))


def priced(workload: Workload, machine: Machine, text: str) -> reference.Costs:
    costs = reference.evaluate_mapping(workload, machine, HierarchyMapping.parse(text))
    assert isinstance(costs, reference.Costs), costs
    return costs


def refused(workload: Workload, machine: Machine, text: str) -> reference.NotPriced:
    fault = reference.evaluate_mapping(workload, machine, HierarchyMapping.parse(text))
    assert isinstance(fault, reference.NotPriced)
    return fault


def two_levels(**outer: object) -> Machine:
    """DRAM with a fan-out of 64 above buffers that may keep anything."""
    return Machine("two", (replace(Level("DRAM", fan_out=64), **outer), Level("Buffer")), 1.0)


def test_a_convolution_on_a_gemmini_is_counted_by_hand() -> None:
    layer = make_convolution({"R": 3, "S": 3, "P": 28, "Q": 28, "C": 8, "K": 256})
    text = "L3[WIO] P2 K16 R3 Q14 - L2[WI] N1 K4X - L1[O] K4 S3 C2 Q2 P14 C4X - L0[W] N1"  # the order of DOSA
    costs = priced(layer, load_machine("gemmini-64-16-1024"), text)
    accesses = {
        (level, name): (counts.reads, counts.fills, counts.updates)
        for level, kept in costs.counts.items()
        for name, counts in kept.items()
    }
    assert accesses == {
        ("DRAM", "W"): (36_864, 0, 0),
        ("DRAM", "I"): (322_560, 0, 0),
        ("DRAM", "O"): (401_408, 0, 602_112),
        ("Scratchpad", "W"): (516_096, 36_864, 0),
        ("Scratchpad", "I"): (3_612_672, 322_560, 0),
        ("Accumulator", "O"): (852_992, 150_528, 903_168),
        ("Registers", "W"): (903_168, 32_256, 0),
    }
    assert costs.cycles == 953_344
    assert round(costs.energy_pj * 1e-6, 6) == 171.930842


def window_fills(text: str, **sizes: int) -> int:
    """Words of the input that come into the buffer of a one-dimensional convolution."""
    layer = make_convolution(sizes)
    return priced(layer, two_levels(), text).counts["Buffer"]["I"].fills


def test_a_sliding_window_brings_only_what_is_new() -> None:
    # A tile of 3 inputs, moved by one row 7 times.
    assert window_fills("L1[WIO] P8 - L0[WIO] R3", R=3, P=8) == 3 + 7


def test_a_window_that_moves_by_more_than_itself_comes_whole() -> None:
    assert window_fills("L1[WIO] R3 - L0[WIO] P8", R=3, P=8) == 8 + 2
    assert window_fills("L1[WIO] P8 - L0[WIO]", P=8) == 8


def test_a_loop_that_leaves_a_tensor_in_place_moves_nothing() -> None:
    assert window_fills("L1[WIO] K16 - L0[WIO] P8", K=16, P=8) == 8


def test_outside_of_another_loop_a_window_comes_whole() -> None:
    # P slides innermost: 3 + 3 a pass; C then brings all of it again.
    assert window_fills("L1[WIO] C5 P4 - L0[WIO] R3", R=3, P=4, C=5) == 5 * 6


def test_a_dim_that_is_split_in_two_slides_on() -> None:
    # Of two inner steps one is gone back by, so that the outer loop moves on by one more; of four, not.
    layer = make_convolution({"R": 3, "P": 8})
    machine = Machine("three", (Level("DRAM"), Level("Buffer"), Level("Store")), 1.0)
    costs = priced(layer, machine, "L2[WIO] P4 - L1[] P2 - L0[WIO] R3")
    assert costs.counts["Store"]["I"].fills == 10
    costs = priced(layer, machine, "L2[WIO] P2 - L1[] P4 - L0[WIO] R3")
    assert costs.counts["Store"]["I"].fills == 3 + 6 + 3


def test_children_that_need_the_same_data_share_a_read() -> None:
    layer = matrix_product(4, 4, 4)
    costs = priced(layer, two_levels(), "L1[WIO] K4 M4 N4X - L0[WIO]")
    assert costs.counts["DRAM"]["I"].reads == 16
    assert costs.counts["DRAM"]["W"].reads == 16
    alone = priced(layer, two_levels(multicast=False), "L1[WIO] K4 M4 N4X - L0[WIO]")
    assert alone.counts["DRAM"]["I"].reads == 64
    assert alone.counts["DRAM"]["W"].reads == 16


def test_children_that_work_on_the_same_output_are_added_up_on_their_way() -> None:
    layer = matrix_product(4, 4, 4)
    costs = priced(layer, two_levels(), "L1[WIO] M4 N4 K4X - L0[WIO]")
    assert costs.counts["DRAM"]["O"].updates == 16
    apart = priced(layer, two_levels(reduction=False), "L1[WIO] M4 N4 K4X - L0[WIO]")
    assert apart.counts["DRAM"]["O"].updates == 64


def test_the_first_partial_sums_are_not_read() -> None:
    layer = matrix_product(2, 3, 2)
    costs = priced(layer, Machine("one", (Level("DRAM"),), 1.0), "L0[WIO] M2 N2 K3")
    assert costs.counts["DRAM"]["O"].reads == 12 - 4
    assert costs.counts["DRAM"]["O"].updates == 12


def test_first_fills_are_counted_or_not_as_the_machine_says() -> None:
    layer, text = matrix_product(2, 3, 2), "L1[WIO] K3 M2 N2 - L0[WIO]"
    elided = priced(layer, two_levels(), text).counts["Buffer"]["O"]
    counted = priced(layer, replace(two_levels(), first_fill="counted"), text).counts["Buffer"]["O"]
    assert counted.fills == elided.fills + 4
    assert counted.reads == elided.reads


def test_a_bypassed_level_passes_on_what_it_is_asked_for() -> None:
    layer = matrix_product(4, 4, 4)
    costs = priced(layer, two_levels(), "L1[WIO] M4 - L0[IO] K4 N4")
    assert "W" not in costs.counts["Buffer"]
    assert costs.counts["DRAM"]["W"].reads == 64


def test_the_slowest_level_counts() -> None:
    layer, text = matrix_product(4, 4, 4), "L1[WIO] M4 - L0[WIO] K4 N4"
    assert priced(layer, two_levels(), text).cycles == 64
    # W, I and O are moved once: 16 words each.
    slow = two_levels(bandwidth=Bandwidth(read=0.25))
    assert priced(layer, slow, text).cycles == 32 * 4
    assert priced(layer, two_levels(bandwidth=Bandwidth(write=0.125)), text).cycles == 16 * 8
    assert priced(layer, two_levels(bandwidth=Bandwidth(shared=0.5)), text).cycles == 48 * 2


def test_energy_is_that_of_whole_blocks_of_all_instances_at_work_and_of_leakage() -> None:
    layer = matrix_product(3, 1, 1)
    buffer = Level("Buffer", block=2, energy=Energy(1.0, 10.0, 100.0), leak_pj=1000.0)
    machine = Machine("two", (Level("DRAM", fan_out=4), buffer), 0.5)
    costs = priced(layer, machine, "L1[WIO] M3X - L0[WIO]")
    # One read of W and of I each, one fill each, one update: of each of three buffers, for one cycle.
    assert costs.level_pj["Buffer"] == 3 * (2 * 1 + 2 * 10 + 100 + 1000)
    assert costs.mac_pj == 1.5


def test_instances_of_a_cluster_share_a_row() -> None:
    layer = matrix_product(4, 1, 1)
    for cluster, rows in ((1, 4), (4, 1), (2, 2)):
        store = Level("Store", energy=Energy(1.0), cluster=cluster)
        machine = Machine("two", (Level("DRAM", fan_out=4), store), 0.0)
        assert priced(layer, machine, "L1[WIO] M4X - L0[WI]").level_pj["Store"] == 2 * rows


def test_what_does_not_fit_says_by_how_much() -> None:
    layer = matrix_product(4, 4, 4)
    small = Machine("small", (Level("DRAM", fan_out=2), Level("Buffer", capacity=47)), 1.0)
    assert refused(layer, small, "L1[WIO] - L0[WIO] M4 K4 N4").reason == "Buffer: needs 48 of 47 words"
    assert refused(layer, small, "L1[WIO] M4X - L0[WI] K4 N4").reason == (
        "DRAM: spreads over 4 of 2 instances below it"
    )
    narrow = two_levels(spread=("K",))
    assert refused(layer, narrow, "L1[WIO] M4X - L0[WIO] K4 N4").fault == Fault.SPREAD
    assert refused(layer, small, "L1[WI] M4 - L0[WIO] K4 N4").reason == "DRAM: must keep W, I, O"
    assert refused(layer, small, "L1[WIO] M4 - L0[WI] K4 N2").reason == (
        "the factors of N must be at least 1 and multiply to 4"
    )
