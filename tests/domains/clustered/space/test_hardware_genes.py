"""Figures of the accelerator as genes: every row is priced and judged on hardware of its own."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dse.core.evaluations import Evaluations
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import MACHINE_FIGURES, PRESETS, Accelerator
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.space.parts import SPACES, read_parts, with_hardware
from dse.optimum import certify
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from workloads import load_layer

CONV = load_layer("resnet18:2")
DEPTHWISE = load_layer("mobilenet_v2:2")
EDGE = PRESETS["edge"]
VALUES = {
    "num_pes": [64, 168, 256],
    "l1_size": [32, 256, 512],
    "l2_size": [2048, 16384, 131072],
    "noc_bandwidth": [4, 32],
    "offchip_bandwidth": {"from": 2, "to": 8, "step": 2},
    "noc_latency": [0, 1, 8],
    "simd_lanes": [1, 4],
    "clock_ghz": [0.5, 0.7, 1.0],
}
assert tuple(VALUES) == MACHINE_FIGURES


def open_problem(
    model: object = "loopnest", objective: str = "edp", layer: Layer = CONV, figures: Sequence[str] = ()
) -> Problem:
    """A problem whose space has these figures of the accelerator as genes: all of them, if none is named."""
    hardware = {name: VALUES[name] for name in figures or VALUES}
    return Problem(layer, EDGE, objective, model, space={"hardware": hardware})


def points(problem: Problem, count: int = 300, seed: int = 0) -> IntArray:
    """Random points, and some of small tiles, which fit most hardware."""
    genes = problem.space.sample(np.random.default_rng(seed), count)
    small = [place for place, gene in enumerate(problem.space.genes) if "tile" in gene.name]
    genes[: count // 2, small] //= 4
    return genes


def assert_row(priced: Evaluations, row: int, alone: Evaluations) -> None:
    """A row of a batch has every figure, and what follows from it, of the same design priced alone."""
    for name, column in alone.columns().items():
        assert getattr(priced, name)[row] == column[0], name
    for name in ("objective_value", "violation", "needs"):
        np.testing.assert_array_equal(getattr(priced, name)[row], getattr(alone, name)[0], err_msg=name)


def test_genes_of_the_hardware_come_last_in_the_order_of_the_figures() -> None:
    space = open_problem().space
    names = [gene.name for gene in space.genes[13:]]
    assert names == ["num_pes", *(f"hardware.{name}" for name in MACHINE_FIGURES[1:])]
    assert all(gene.kind == "ordinal" and gene.level is None for gene in space.genes[13:])
    assert [block.name for block in space.blocks][-8:] == names
    assert space.sizes[13:].tolist() == [3, 3, 3, 2, 4, 3, 2, 3]
    assert space.designs % np.prod(space.sizes[13:]) == 0


@pytest.mark.parametrize("objective", ["latency", "energy", "edp", "area", "power"])
@pytest.mark.parametrize("model", ["maestro", "loopnest"])
@pytest.mark.parametrize("layer", [CONV, DEPTHWISE], ids=["conv", "depthwise"])
def test_a_row_costs_what_it_costs_on_an_accelerator_of_its_figures(
    model: str, objective: str, layer: Layer
) -> None:
    problem = open_problem(model, objective, layer)
    genes = points(problem)
    batch, priced = problem.space.decode(genes), problem.price(genes)
    feasible = np.flatnonzero(priced.reason == 0)
    assert len(feasible) > 5
    kinds = np.unique(priced.reason, return_index=True)[1]
    for row in {*feasible[:12].tolist(), *kinds.tolist(), *range(10)}:
        machine = problem.space.machine(genes[row])
        fixed = Problem(layer, machine, objective, model)
        assert_row(priced, row, fixed.evaluate(batch[row]))
        assert problem.on_machine_of(genes[row]).accelerator == machine


@pytest.mark.parametrize("figure", MACHINE_FIGURES)
def test_each_figure_alone_is_a_gene(figure: str) -> None:
    problem = open_problem(figures=[figure])
    genes = points(problem, 60)
    batch, priced = problem.space.decode(genes), problem.price(genes)
    used = set()
    for row in range(30):
        machine = problem.space.machine(genes[row])
        used.add(getattr(machine, figure))
        assert replace(machine, **{figure: getattr(EDGE, figure)}) == EDGE
        assert_row(priced, row, Problem(CONV, machine, "edp", "loopnest").evaluate(batch[row]))
    assert len(used) > 1


ASKED: list[object] = []


def price_by_figures(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, float]:
    """A user's cost model, in which every figure of the accelerator counts."""
    ASKED.append((accelerator, mapping))
    cycles = 1 + sum(accelerator.to_dict().values())
    return {"cycles": int(cycles), "energy_nj": accelerator.clock_ghz * mapping.outer["K"]}


def test_a_function_is_told_the_hardware_of_each_row_and_asked_once_for_a_design() -> None:
    problem = open_problem(price_by_figures)
    ASKED.clear()
    genes = np.repeat(points(problem, 40), 2, axis=0)
    batch, priced, again = problem.space.decode(genes), problem.price(genes), problem.price(genes)
    assert len(ASKED) == len(set(ASKED)) <= 40
    np.testing.assert_array_equal(again.loss, priced.loss)
    valid = np.flatnonzero(priced.cycles)
    assert len(valid) > 10
    for row in valid[:10]:
        machine = problem.space.machine(genes[row])
        assert priced.cycles[row] == int(1 + sum(machine.to_dict().values()))
        assert_row(priced, row, Problem(CONV, machine, "edp", price_by_figures).evaluate(batch[int(row)]))


def test_what_does_not_fit_is_judged_by_the_rows_own_buffers() -> None:
    problem = open_problem()
    genes = points(problem)
    priced, batch = problem.price(genes), problem.space.decode(genes)
    l1, l2 = batch.machines[:, 1], batch.machines[:, 2]
    assert (priced.capacities == np.stack([l1, l2], axis=1)).all()
    for reason, need, there in (
        (Reason.L1_TOO_SMALL, priced.l1_size, l1),
        (Reason.L2_TOO_SMALL, priced.l2_size, l2),
    ):
        rows = priced.reason == reason
        assert rows.any()
        assert (need[rows] > there[rows]).all()
    assert (priced.violation[priced.reason == 0] == 0).all()
    assert (priced.reason == 0)[l1 < EDGE.l1_size].any()


def test_criteria_stay_with_their_rows_when_rows_are_taken_joined_and_replayed() -> None:
    problem = open_problem()
    genes = points(problem, 40)
    priced = problem.price(genes)
    order = np.arange(40)[::-1]
    taken = priced.take(order)
    np.testing.assert_array_equal(taken.violation, priced.violation[order])
    np.testing.assert_array_equal(taken.objective_value, priced.objective_value[order])
    halves = problem.price(genes[:1]).joined(problem.price(genes[1:]))
    np.testing.assert_array_equal(halves.violation, priced.violation)
    np.testing.assert_array_equal(halves.objective_value, priced.objective_value)
    replayed = replace(priced, criteria=problem.criteria.of_points(genes))
    np.testing.assert_array_equal(replayed.violation, priced.violation)
    np.testing.assert_array_equal(replayed.objective_value, priced.objective_value)


@pytest.mark.parametrize("tiles", ["factors", "any"])
@pytest.mark.parametrize("named", ["default", "paper"])
def test_designs_encode_to_vectors_that_decode_to_them(named: str, tiles: str) -> None:
    space = MappingSpace(CONV, EDGE, tiles, parts=with_hardware(SPACES[named], VALUES))
    rng = np.random.default_rng(1)
    genes = np.concatenate([space.sample(rng, 200), space.neighbour(rng, space.sample(rng, 200))])
    batch = space.decode(genes)
    again = space.encode(batch)
    assert np.array_equal(space.decode(again).designs, batch.designs)
    assert np.array_equal(space.canonical(genes), again)
    assert set(batch.named()) >= {gene.name for gene in space.genes}
    assert set(np.unique(batch.named()["hardware.clock_ghz"])) == {0.5, 0.7, 1.0}


def test_neighbours_are_the_next_smaller_and_larger_figure() -> None:
    space = open_problem().space
    genes = np.zeros(len(space.sizes), np.int64)
    genes[-1] = 1
    clocks = [space.machine(near).clock_ghz for near in space.blocks[-1].neighbours(genes)]
    assert clocks == [0.5, 1.0]
    assert [space.machine(near).l1_size for near in space.blocks[-7].neighbours(genes)] == [256]


def test_features_are_log2_of_the_figures_and_finite() -> None:
    space = open_problem().space
    genes = space.sample(np.random.default_rng(0), 50)
    features = space.features(genes)
    assert np.isfinite(features).all()
    assert space.feature_names[-8:] == tuple(f"log2 {name}" for name in MACHINE_FIGURES)
    for row in range(10):
        machine = space.machine(genes[row])
        assert features[row, -7] == np.log2(machine.l1_size)
        assert features[row, -1] == np.log2(machine.clock_ghz)


def test_open_hardware_is_part_of_what_a_problem_is_and_travels() -> None:
    problem = open_problem()
    assert pickle.loads(pickle.dumps(problem)) == problem
    parts = problem.identity["space"]["parts"]
    assert parts["num_pes"] == [64, 168, 256]
    assert parts["hardware"]["offchip_bandwidth"] == [2, 4, 6, 8]
    assert Problem(CONV, EDGE, "edp", "loopnest", space=parts) == problem
    assert problem.fingerprint != open_problem(figures=["l1_size"]).fingerprint


def test_the_pe_count_by_either_name_is_one_space() -> None:
    old, new = read_parts({"num_pes": [64, 128]}), read_parts({"hardware": {"num_pes": [64, 128]}})
    assert old == new
    assert new.to_dict() == {"dims": "KCYX", "cluster": "divisors", "num_pes": [64, 128]}


def test_a_clock_is_exact_even_where_its_decimals_have_no_end() -> None:
    clocks = [0.1, 1 / 3, 0.7, 2.0]
    space = MappingSpace(CONV, EDGE, parts=read_parts({"hardware": {"clock_ghz": clocks}}))
    genes = np.zeros((4, len(space.sizes)), np.int64)
    genes[:, -1] = range(4)
    assert [space.machine(vector).clock_ghz for vector in genes] == clocks


def test_a_fixed_figure_is_one_of_the_choices() -> None:
    space = {"hardware": {"l1_size": [128, 256], "clock_ghz": [0.5, 1.0]}}
    fixed = {"hardware.l1_size": 256, "hardware.clock_ghz": 0.5}
    problem = Problem(CONV, EDGE, "edp", "loopnest", fixed=fixed, space=space)
    machine = problem.space.machine(problem.space.sample(np.random.default_rng(0), 1)[0])
    assert (machine.l1_size, machine.clock_ghz) == (256, 0.5)
    with pytest.raises(
        InputError, match=r"fixed hardware.l1_size = 300 is no choice; expected one of 128, 256"
    ):
        Problem(CONV, EDGE, fixed={"hardware.l1_size": 300}, space=space)


@pytest.mark.parametrize("model", ["maestro", "loopnest"])
def test_templates_are_fitted_to_the_hardware_nearest_to_the_accelerator(model: str) -> None:
    space = {"hardware": {"l1_size": [128, 300], "l2_size": [1000, 65536]}}
    problem = Problem(CONV, EDGE, "edp", model, space=space)
    near = replace(EDGE, l1_size=300, l2_size=65536)
    assert problem.space.nearest == near
    there = Problem(CONV, near, "edp", model)
    for name in problem.templates:
        mapping = problem.template(name)
        assert mapping == there.template(name)
        genes = problem.vectors([mapping])
        assert problem.space.machine(genes[0]) == near
        assert_row(problem.price(genes), 0, there.evaluate(mapping))
        assert_row(problem.evaluate(mapping), 0, there.evaluate(mapping))


def test_the_case_of_a_point_has_all_of_its_hardware() -> None:
    problem = open_problem("maestro", figures=["l1_size", "clock_ghz"])
    genes = points(problem, 1)[0]
    there = problem.on_machine_of(genes)
    case = there.case(problem.space.decode(genes[np.newaxis])[0])
    assert case["hardware"] == there.accelerator.to_dict()


@pytest.mark.parametrize(
    ("hardware", "message"),
    [
        ({"l1_sise": [1]}, "unknown key 'l1_sise' in space.hardware; did you mean 'l1_size'"),
        ({"l1_size": []}, "space.hardware.l1_size must be a list of 1 to 4,096 values, or a table with from"),
        ({"l1_size": 128}, "space.hardware.l1_size must be a list"),
        ({"l1_size": [256, 128]}, "space.hardware.l1_size must hold ascending values, each once, got 128"),
        ({"l1_size": [128, 128]}, "must hold ascending values, each once, got 128 after 128"),
        ({"l1_size": [0]}, "space.hardware.l1_size must be at least 1, got 0"),
        ({"l1_size": [128.5]}, "space.hardware.l1_size must be a whole number, got 128.5"),
        ({"l1_size": [True]}, "space.hardware.l1_size must be a whole number, got True"),
        ({"l1_size": [2**41]}, "space.hardware.l1_size must be at most"),
        ({"num_pes": [2**21]}, "space.hardware.num_pes must be at most"),
        ({"clock_ghz": [float("nan")]}, "space.hardware.clock_ghz must be a finite number"),
        ({"clock_ghz": [1e9]}, "space.hardware.clock_ghz must be from 1e-06 to 1e"),
        ({"noc_bandwidth": {"from": 8}}, "space.hardware.noc_bandwidth lacks 'to', 'step'"),
        ({"noc_bandwidth": {"from": 8, "to": 64, "step": 0}}, "noc_bandwidth.step must be a number above 0"),
        ({"noc_bandwidth": {"from": 8, "to": 64, "step": 0.5}}, "noc_bandwidth must be a whole number"),
        ({"noc_bandwidth": {"from": 8, "to": 4, "step": 1}}, "noc_bandwidth.to must be at least from"),
        ({"noc_bandwidth": {"from": 1, "to": 2**40, "step": 1}}, "has more than 4,096 values"),
        ({"clock_ghz": {"from": 0.1, "to": 1.0, "step": 1e-300}}, "has more than 4,096 values"),
        ({"levels": {"Buffer": {"size": [1]}}}, "space.hardware.levels is of machines of levels"),
        ([1], "space.hardware must be a table of names and values"),
    ],
)
def test_hardware_that_cannot_be_is_refused_in_one_line(hardware: object, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_parts({"hardware": hardware})


def test_the_pe_count_is_open_once() -> None:
    with pytest.raises(InputError, match=r"space has num_pes and hardware.num_pes; keep one of them"):
        read_parts({"num_pes": [8], "hardware": {"num_pes": [8]}})


@pytest.mark.parametrize("objective", ["latency", "energy", "edp", "area"])
@pytest.mark.parametrize("model", ["maestro", "loopnest"])
def test_the_floor_of_open_hardware_is_below_every_point(model: str, objective: str) -> None:
    problem = open_problem(model, objective)
    found = certify(problem, 2.0, cache=False)
    assert found.best is not None
    losses = problem.price(points(problem, 2000)).loss
    assert 0 < found.lower_bound <= min(losses.min(), found.best.loss)
    there = problem.on_machine_of(found.best.genes)
    assert there.evaluate(found.best.mapping).loss[0] == found.best.loss
