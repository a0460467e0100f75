"""`loopnest` counts what its loop nest does: the executed nest, the plain reference and the kernel agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.core.cost_models import cost_model, cost_models
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import Constants, LoopNest, reference
from dse.models.loopnest.breakdown import energy_parts
from dse.support.errors import InputError
from tests.models.loopnest_cases import (
    MODEL,
    STRUCTURES,
    Case,
    against_the_reference,
    against_the_simulator,
    area_mm2,
    level,
    small_case,
)
from workloads import load_layer

EXECUTED, DILATED, COUNTED, REAL = 110, 40, 350, 15
REAL_LAYERS = ("resnet18:0", "resnet18:1", "resnet18:3", "mobilenet_v2:1", "vgg16:conv4_2", "bert_base:1")


def real_case(name: str, accelerator: str, tiles: str, seed: int) -> tuple[Problem, MappingBatch]:
    problem = Problem(load_layer(name), PRESETS[accelerator], cost_model="loopnest", tiles=tiles)
    genes = problem.space.sample(np.random.default_rng(seed), REAL)
    return problem, problem.space.decode(genes)


def twice(one: Level) -> Mapping:
    """The mapping with the same level outside and inside."""
    return Mapping(one, 1, one)


def test_the_reference_counts_what_the_executed_nest_does() -> None:
    rng = np.random.default_rng(1)
    for number in range(EXECUTED):
        case = small_case(rng, number)
        assert against_the_simulator(case) == {}, case


def test_a_dilated_layer_is_counted_as_the_executed_nest_does_it() -> None:
    rng = np.random.default_rng(6)
    for number in range(DILATED):
        case = small_case(rng, number * 11, dilated=True)
        assert against_the_simulator(case) == {}, case
        assert against_the_reference(case) == {}, case


def test_a_link_wider_than_what_a_dilated_layer_has_taps_is_as_fast_as_its_words_allow() -> None:
    layer = Layer("CONV", 1, 1, 9, 9, 3, 3, dilation=4)
    ones = level(layer, "K", ("K", "C", "Y", "X"), {"K": 1, "C": 1, "Y": 1, "X": 1})
    case = Case(layer, Accelerator(1, 400, 400, 100, 100), twice(ones))
    assert against_the_reference(case) == {}


def test_the_kernel_counts_what_the_reference_counts() -> None:
    rng = np.random.default_rng(2)
    for number in range(COUNTED):
        case = small_case(rng, number)
        assert against_the_reference(case) == {}, case


def test_all_orders_come_with_all_parallel_dims() -> None:
    numbers = {number * 35 % len(STRUCTURES) for number in range(len(STRUCTURES))}
    assert len(numbers) == len(STRUCTURES) == 24 * 24 * 4 * 4


@pytest.mark.parametrize(("name", "tiles"), [*zip(REAL_LAYERS, ["factors", "any"] * 3, strict=True)])
def test_the_kernel_equals_the_reference_on_real_layers(name: str, tiles: str) -> None:
    """With one kind of tiles each, on few mappings; `prove_loopnest.py` has both, on more."""
    assert_real_mappings_equal_the_reference(name, tiles, 8)


def assert_real_mappings_equal_the_reference(name: str, tiles: str, count: int) -> None:
    problem, mappings = real_case(name, "eyeriss-small", tiles, seed=3)
    for index in range(count):
        case = Case(problem.layer, problem.accelerator, mappings[index])
        assert against_the_reference(case) == {}, case


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_figures_follow_from_the_counts_bit_by_bit(tiles: str) -> None:
    problem, mappings = real_case("resnet18:0", "edge", tiles, seed=4)
    costs = MODEL.evaluate(problem.layer, problem.accelerator, mappings)
    constants = Constants()
    for index in range(REAL):
        counts = reference.price_mapping(problem.layer, problem.accelerator, mappings[index])
        energy = sum(energy_parts(counts, problem.layer.macs, constants).values()) * 1e-3
        assert costs.energy_nj[index] == energy
        assert costs.cycles[index] == counts.cycles
        assert (costs.l1_size[index], costs.l2_size[index]) == (counts.l1_need, counts.l2_need)
        assert costs.macs[index] == problem.layer.macs
        leakage = area_mm2(constants, problem.accelerator) * constants.leakage_mw_per_mm2
        assert costs.power[index] == pytest.approx(energy * 1e3 / counts.cycles + leakage, rel=1e-12)
        assert costs.area[index] == area_mm2(constants, problem.accelerator)


def test_one_mac_on_one_pe_by_hand() -> None:
    layer, machine = Layer.gemm(1, 1, 1), Accelerator(1, 6, 6, 1, 1, noc_latency=5)
    ones = level(layer, "K", ("K", "C", "Y", "X"), dict.fromkeys("KCYX", 1))
    counts = MODEL.count(layer, machine, twice(ones))
    assert counts is not None
    # Two words over the link and the NoC, one MAC, one word back, a latency each way.
    assert counts.cycles == (2 + 2 + 5) + 1 + (1 + 5 + 1)
    assert (counts.filling, counts.compute, counts.drain, counts.dram_wait) == (9, 1, 7, 0)
    assert counts.l1_need == counts.l2_need == 6
    energy = MODEL.evaluate(layer, machine, MappingBatch.of([twice(ones)])).energy_nj[0]
    # A MAC; 4 + 3 accesses to L1; 3 words on the NoC; 3 + 3 accesses to L2; 3 to DRAM.
    assert energy == pytest.approx((1.5 + 7 * 1.5 + 3 * 3 + 6 * 9 + 3 * 300) * 1e-3)


def test_weights_stay_while_outputs_move_on_and_go_when_the_order_says_so() -> None:
    """Four K tiles over seven rows each: weights come once with Y inside K, seven times the other way."""
    layer, machine = Layer("CONV", 4, 2, 7, 1, 1, 1), Accelerator(1, 10**4, 10**4, 4, 4)
    whole, tile = {"K": 4, "C": 2, "Y": 7, "X": 1}, {"K": 1, "C": 2, "Y": 1, "X": 1}
    found = {}
    for order in (("K", "Y", "C", "X"), ("Y", "K", "C", "X")):
        mapping = Mapping(level(layer, "X", order, whole), 1, level(layer, "X", order, tile))
        counts = MODEL.count(layer, machine, mapping)
        assert counts is not None
        found[order[0]] = (counts.l2_weight, counts.l2_input)
    assert found == {"K": (8, 4 * 14), "Y": (7 * 8, 14)}


def test_padding_is_never_read_and_skipped_rows_are_never_moved() -> None:
    padded = Layer("CONV", 2, 3, 8, 8, 3, 3, padding=(1, 1))
    skipping = Layer("CONV", 2, 3, 9, 9, 1, 1, stride=(3, 3))
    machine = PRESETS["edge"]
    for layer, used in ((padded, 3 * 8 * 8), (skipping, 3 * 3 * 3)):
        whole = level(layer, "K", ("K", "C", "Y", "X"), layer.loops)
        counts = MODEL.count(layer, machine, twice(whole))
        assert counts is not None
        assert counts.dram_input == used


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        (7, 0, Reason.ZERO_TILE),
        (24, -3, Reason.ZERO_TILE),
        (11, 2, Reason.PARTIAL_FILTER),
        (26, 1, Reason.PARTIAL_FILTER),
        (0, 4, Reason.SPREAD_FILTER),
        (14, 5, Reason.SPREAD_FILTER),
        (13, 0, Reason.CLUSTER_TOO_LARGE),
        (13, 257, Reason.CLUSTER_TOO_LARGE),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(column: int, value: int, reason: Reason) -> None:
    problem, mappings = real_case("resnet18:1", "edge", "factors", seed=5)
    rows = mappings.rows[:3].copy()
    rows[1, column] = value
    costs = MODEL.evaluate(problem.layer, problem.accelerator, MappingBatch(rows))
    assert costs.reason.tolist() == [0, reason, 0]
    assert costs.valid.tolist() == [True, False, True]
    assert costs.cycles[1] == costs.energy_nj[1] == costs.l1_size[1] == costs.macs[1] == 0
    assert MODEL.count(problem.layer, problem.accelerator, MappingBatch(rows)[1]) is None


def test_a_layer_whose_counts_leave_64_bits_is_refused() -> None:
    huge = Layer("CONV", 2**20, 2**20, 2**10, 2**9, 1, 1)
    machine = PRESETS["edge"]
    whole = level(huge, "K", ("K", "C", "Y", "X"), huge.loops)
    costs = MODEL.evaluate(huge, machine, MappingBatch.of([twice(whole)]))
    assert costs.reason.tolist() == [Reason.OUT_OF_RANGE]


def test_the_macs_of_a_huge_layer_are_counted_to_the_last_one() -> None:
    huge = Layer("CONV", 2**20 + 1, 2**19 + 1, 2**8 + 1, 2**7 + 1, 1, 1)
    machine = replace(PRESETS["edge"], noc_bandwidth=1, offchip_bandwidth=1)
    whole = level(huge, "K", ("K", "C", "Y", "X"), huge.loops)
    costs = MODEL.evaluate(huge, machine, MappingBatch.of([twice(whole)]))
    assert huge.macs > 2**53
    assert costs.reason.tolist() == [Reason.FEASIBLE]
    assert costs.macs.tolist() == [huge.macs]


def test_a_depthwise_layer_takes_no_notice_of_its_k() -> None:
    problem, mappings = real_case("mobilenet_v2:1", "edge", "factors", seed=6)
    rows = mappings.rows.copy()
    rows[:, 7], rows[:, 21] = 0, 77
    other = MappingBatch(rows)
    for figure in ("cycles", "energy_nj", "l1_size"):
        one, two = (
            getattr(MODEL.evaluate(problem.layer, problem.accelerator, batch), figure)
            for batch in (mappings, other)
        )
        np.testing.assert_array_equal(one, two)


def test_threads_and_batches_change_nothing() -> None:
    problem = Problem(load_layer("resnet18:0"), PRESETS["edge"], cost_model="loopnest", tiles="any")
    mappings = problem.space.decode(problem.space.sample(np.random.default_rng(7), 2000))
    alone = MODEL.evaluate(problem.layer, problem.accelerator, mappings)
    shared = MODEL.evaluate(problem.layer, problem.accelerator, mappings, threads=2)
    one = MODEL.evaluate(problem.layer, problem.accelerator, MappingBatch(mappings.rows[1234:1235]))
    for figure in ("cycles", "energy_nj", "power", "area", "l1_size", "l2_size", "macs", "reason"):
        np.testing.assert_array_equal(getattr(alone, figure), getattr(shared, figure))
        assert getattr(one, figure)[0] == getattr(alone, figure)[1234]


def test_a_problem_hands_over_the_layer_as_it_is() -> None:
    strided = load_layer("resnet18:0")
    assert strided.stride == (2, 2)
    problem = Problem(strided, PRESETS["edge"], cost_model="loopnest")
    genes = problem.space.sample(np.random.default_rng(8), 300)
    costs = MODEL.evaluate(strided, PRESETS["edge"], problem.space.decode(genes))
    np.testing.assert_array_equal(problem.price(genes).cycles, costs.cycles)
    np.testing.assert_array_equal(problem.price(genes).energy_nj, costs.energy_nj)
    lowered = replace(problem, layer=strided.lowered())
    assert lowered.fingerprint != problem.fingerprint
    assert (lowered.price(genes).energy_nj != costs.energy_nj).any()
    assert (problem.price(genes).reason == 0).any()


def test_other_constants_price_otherwise() -> None:
    problem, mappings = real_case("resnet18:1", "edge", "factors", seed=9)
    usual = MODEL.evaluate(problem.layer, problem.accelerator, mappings)
    dear = LoopNest(Constants(dram_pj=600)).evaluate(problem.layer, problem.accelerator, mappings)
    for index in range(REAL):
        counts = reference.price_mapping(problem.layer, problem.accelerator, mappings[index])
        words = counts.dram_input + counts.dram_weight + counts.dram_output_up + counts.dram_output_down
        assert dear.energy_nj[index] - usual.energy_nj[index] == pytest.approx(0.3 * words)
    with pytest.raises(InputError, match="dram_pj must be a finite number above 0, got 0"):
        Constants(dram_pj=0)


def test_every_listed_model_can_be_made() -> None:
    assert {cost_model(name).name for name in cost_models()} == set(cost_models()) == {"loopnest", "maestro"}
