"""Figures of a machine's levels as genes: every row is priced and judged on a machine of its own."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.domains import load_hardware, make_problem, problem_from_identity
from dse.core.evaluations import Evaluations
from dse.core.reasons import Reason
from dse.domains.levels.machine import Machine
from dse.domains.levels.problem import MachineProblem
from dse.optimum import certify
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from tests.conftest import Dse
from workloads import load_layer

CONV = load_layer("resnet18:2")
EYERISS: Any = load_hardware("eyeriss_like", "timeloop")
LEVELS = {
    "shared_glb": {"size": [2048, 16384, 131072], "bandwidth": [4, 16, 64.5]},
    "inter_PE_column_spatial": {"fan_out": [2, 14]},
    "inter_PE_spatial": {"fan_out": {"from": 4, "to": 12, "step": 4}},
    "psum_spad": {"size": [4, 16], "read_bandwidth": [1, 2], "write_bandwidth": [1, 2]},
}


def open_problem(objective: str = "edp", levels: object = LEVELS, **others: Any) -> MachineProblem:
    space = {"hardware": {"levels": levels}}
    return MachineProblem(CONV, EYERISS, objective, "timeloop", parts=space, **others)


def drawn(problem: MachineProblem, count: int = 120, seed: int = 0) -> IntArray:
    """Points that fit, and points that are drawn whatever they need."""
    rng = np.random.default_rng(seed)
    loose = rng.integers(0, problem.space.sizes, size=(count, len(problem.space.sizes)))
    return np.concatenate([problem.space.sample(rng, count), loose])


def machine_of(problem: MachineProblem, genes: IntArray) -> Machine:
    """The machine with the figures that a point's named columns say."""
    named = problem.space.decode(genes[np.newaxis]).named()
    levels = {level.name: level for level in problem.accelerator.levels}
    for name, values in problem.parts.figures.items():
        _, level, figure = name.split(".")
        value = named[f"hardware.{name}"][0].item()
        assert value in values
        if figure == "size":
            levels[level] = replace(levels[level], capacity=int(value))
        elif figure == "fan_out":
            levels[level] = replace(levels[level], fan_out=int(value))
        else:
            key = {"bandwidth": "shared"}.get(figure, figure.removesuffix("_bandwidth"))
            rates = replace(levels[level].bandwidth, **{key: value})
            levels[level] = replace(levels[level], bandwidth=rates)
    return replace(problem.accelerator, levels=tuple(levels.values()))


def assert_row(priced: Evaluations, row: int, alone: Evaluations) -> None:
    """A row of a batch has every figure, and what follows from it, of the same design priced alone."""
    for name, column in alone.columns().items():
        assert getattr(priced, name)[row] == column[0], name
    for name in ("objective_value", "violation", "needs"):
        np.testing.assert_array_equal(getattr(priced, name)[row], getattr(alone, name)[0], err_msg=name)


def test_genes_of_the_levels_come_last_from_the_outermost_level_in() -> None:
    space = open_problem(levels=dict(reversed(LEVELS.items()))).space
    names = [gene.name.removeprefix("hardware.levels.") for gene in space.genes[-7:]]
    assert names == [
        "shared_glb.size",
        "shared_glb.bandwidth",
        "inter_PE_column_spatial.fan_out",
        "inter_PE_spatial.fan_out",
        "psum_spad.size",
        "psum_spad.read_bandwidth",
        "psum_spad.write_bandwidth",
    ]
    assert space.sizes[-7:].tolist() == [3, 3, 2, 3, 2, 2, 2]
    assert [block.name for block in space.blocks][-7:] == [gene.name for gene in space.genes[-7:]]
    assert all(gene.kind == "ordinal" for gene in space.genes[-7:])


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_a_row_costs_what_it_costs_on_a_machine_of_its_figures(objective: str) -> None:
    problem = open_problem(objective)
    genes = drawn(problem)
    batch, priced = problem.space.decode(genes), problem.price(genes)
    found = set(priced.reason.tolist())
    assert found >= {Reason.FEASIBLE, Reason.LEVEL_TOO_SMALL, Reason.TOO_WIDE}
    kinds = np.unique(priced.reason, return_index=True)[1]
    for row in {*kinds.tolist(), *range(0, 240, 8)}:
        machine = machine_of(problem, genes[row])
        fixed = MachineProblem(CONV, machine, objective, "timeloop")
        assert_row(priced, row, fixed.evaluate(batch[row]))
        there = problem.on_machine_of(genes[row])
        assert there.accelerator == machine
        assert_row(priced, row, there.evaluate(batch[row]))


@pytest.mark.parametrize(("level", "figure"), [(name, key) for name in LEVELS for key in LEVELS[name]])
def test_each_figure_alone_is_a_gene(level: str, figure: str) -> None:
    problem = open_problem(levels={level: {figure: LEVELS[level][figure]}})
    genes = drawn(problem, 20)
    batch, priced = problem.space.decode(genes), problem.price(genes)
    machines = {machine_of(problem, vector) for vector in genes}
    assert len(machines) == len(problem.parts.hardware[0][1])
    for row in range(0, 40, 4):
        fixed = MachineProblem(CONV, machine_of(problem, genes[row]), "edp", "timeloop")
        assert_row(priced, row, fixed.evaluate(batch[row]))


def test_a_share_of_the_fan_out_is_of_the_fan_out_of_each_row() -> None:
    problem = open_problem(fixed={"inter_PE_spatial.utilization": 0.5})
    genes = drawn(problem)
    batch, priced = problem.space.decode(genes), problem.price(genes)
    narrow = np.flatnonzero(priced.reason == Reason.TOO_NARROW)
    assert len(narrow)
    for row in (*narrow[:5].tolist(), *np.flatnonzero(priced.reason == 0)[:5].tolist()):
        machine = machine_of(problem, genes[row])
        fixed = MachineProblem(CONV, machine, "edp", "timeloop", fixed=problem.fixed)
        assert_row(priced, row, fixed.evaluate(batch[row]))


def test_energies_stay_as_the_machine_says_them_whatever_the_size() -> None:
    problem = open_problem(levels={"shared_glb": {"size": [65536, 131072]}})
    genes = np.repeat(problem.space.sample(np.random.default_rng(0), 20), 2, axis=0)
    genes[::2, -1], genes[1::2, -1] = 0, 1
    priced = problem.price(genes)
    np.testing.assert_array_equal(priced.energy_nj[::2], priced.energy_nj[1::2])


def test_designs_encode_to_vectors_that_decode_to_them() -> None:
    space = open_problem().space
    genes = drawn(open_problem(), 60)
    batch = space.decode(genes)
    again = space.encode(batch)
    assert np.array_equal(space.decode(again).designs, batch.designs)
    assert np.array_equal(space.canonical(genes), again)
    assert len(np.unique(batch.designs, axis=0)) == len(np.unique(again, axis=0))
    assert set(batch.named()) >= {gene.name for gene in space.genes}


def test_neighbours_lie_in_the_space_and_differ_in_their_block_alone() -> None:
    space = open_problem().space
    start = space.canonical(space.sample(np.random.default_rng(0), 1))[0]
    for block in space.blocks:
        near = block.neighbours(start)
        assert space.contains(near).all()
        others = [place for place in range(len(start)) if place not in block.genes]
        assert (near[:, others] == start[others]).all()
        assert len(np.unique(near, axis=0)) == len(near)
        assert (near != start).any(axis=1).all()
    drawn_near = space.neighbour(np.random.default_rng(1), np.repeat(start[np.newaxis], 200, axis=0))
    assert len({tuple(np.flatnonzero(vector[-7:] != start[-7:])) for vector in drawn_near}) > 3


def test_features_have_log2_of_the_figures() -> None:
    space = open_problem().space
    genes = space.sample(np.random.default_rng(0), 30)
    features = space.features(genes)
    assert features.shape == (30, len(space.feature_names))
    assert len(space.feature_groups) == len(space.feature_names)
    assert np.isfinite(features).all()
    named = space.decode(genes).named()
    np.testing.assert_array_equal(features[:, -7], np.log2(named["hardware.levels.shared_glb.size"]))


def test_criteria_stay_with_their_rows_when_rows_are_taken_joined_and_replayed() -> None:
    problem = open_problem()
    genes = drawn(problem, 20)
    priced = problem.price(genes)
    joined = problem.price(genes[:1]).joined(problem.price(genes[1:]))
    replayed = replace(priced, criteria=problem.criteria.of_points(genes))
    for other in (joined, replayed, priced.take(np.arange(40)[::-1]).take(np.arange(40)[::-1])):
        np.testing.assert_array_equal(other.violation, priced.violation)
        np.testing.assert_array_equal(other.capacities, priced.capacities)
    assert len(np.unique(priced.capacities, axis=0)) == 3


def test_samples_fit_their_own_hardware() -> None:
    problem = open_problem()
    genes = problem.space.sample(np.random.default_rng(0), 200)
    assert (problem.price(genes).reason == 0).mean() > 0.9
    assert len(np.unique(genes[:, -7:], axis=0)) > 20


def test_a_mapping_without_hardware_is_for_the_nearest() -> None:
    problem = open_problem(levels={"shared_glb": {"size": [2048, 100_000]}})
    mapping = problem.space.decode(problem.space.sample(np.random.default_rng(0), 1))[0]
    genes = problem.vectors([mapping])
    assert genes[0, -1] == 1
    assert_row(problem.price(genes), 0, problem.evaluate(mapping))


def test_a_problem_travels_and_its_identity_makes_it_again() -> None:
    problem = open_problem()
    assert pickle.loads(pickle.dumps(problem)) == problem
    again = problem_from_identity(problem.identity)
    assert again.fingerprint == problem.fingerprint
    assert again.identity["space"]["parts"]["hardware"]["levels"]["psum_spad"]["size"] == [4, 16]
    assert "parts" not in MachineProblem(CONV, EYERISS, "edp", "timeloop").identity["space"]


@pytest.mark.parametrize("name", ["random", "genetic", "gamma", "team", "marl", "walk"])
def test_searchers_search_the_hardware_too(name: str) -> None:
    problem = open_problem()
    result = dse.search(problem, name, budget=40)
    assert len(result.record) == 40
    assert result.best is not None
    alone = MachineProblem(CONV, result.best.accelerator, "edp", "timeloop")
    assert alone.evaluate(result.best.mapping).loss[0] == result.best.loss
    entry = result.to_dict("resnet18:2", "eyeriss_like")["best"]
    assert entry["accelerator"] == result.best.accelerator.to_dict()
    sizes = {level["name"]: level.get("capacity") for level in entry["case"]["hardware"]["levels"]}
    assert sizes["psum_spad"] in (4, 16)


def test_open_figures_of_levels_are_not_certified() -> None:
    with pytest.raises(InputError, match="figures of a machine of levels that are open cannot be certified"):
        certify(open_problem(), 1.0, cache=False)


@pytest.mark.parametrize(
    ("hardware", "message"),
    [
        ({"levels": {"glb": {"size": [1]}}}, "unknown level 'glb' in hardware.levels; expected one"),
        ({"levels": {"shared_glb": {"sise": [1]}}}, "unknown key 'sise' in space.hardware.levels.shared_glb"),
        ({"levels": {"shared_glb": {"size": []}}}, "levels.shared_glb.size must be a list of 1 to 4,096"),
        ({"levels": {"shared_glb": {"size": [0]}}}, "levels.shared_glb.size must be at least 1, got 0"),
        ({"levels": {"shared_glb": {"fan_out": [1.5]}}}, "fan_out must be a whole number, got 1.5"),
        ({"levels": {"shared_glb": {"bandwidth": [-1]}}}, "bandwidth must be a finite number above 0"),
        ({"levels": {"shared_glb": 4}}, "levels.shared_glb must be a table of names and values"),
        ({"levels": {"psum_spad": {"fan_out": [2**30]}}}, "MACs are more than"),
        ({"l1_size": [128]}, "unknown key 'l1_size' in space.hardware"),
        ([1], "space.hardware must be a table of names and values"),
    ],
)
def test_figures_that_cannot_be_are_refused_in_one_line(hardware: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MachineProblem(CONV, EYERISS, "edp", "timeloop", parts={"hardware": hardware})


def test_of_levels_the_machine_says_what_else_the_space_is() -> None:
    with pytest.raises(InputError, match="the machine says what the space is"):
        make_problem(CONV, EYERISS, "edp", "timeloop", space="paper")
    with pytest.raises(InputError, match="unknown key 'dims' in space"):
        MachineProblem(CONV, EYERISS, "edp", "timeloop", parts={"dims": "KC"})


def test_figures_of_levels_are_opened_on_the_command_line(dse: Dse) -> None:
    where = ("--layer", "resnet18:2", "--accelerator", "eyeriss_like", "--cost-model", "timeloop")
    options = (
        "--hardware",
        "levels.shared_glb.size=2048,131072",
        "--hardware",
        "levels.psum_spad.size=4:16:4",
    )
    genes = dse("space", *where, *options, "--json").json["genes"]
    assert [(gene["name"], gene["size"]) for gene in genes[-2:]] == [
        ("hardware.levels.shared_glb.size", 2),
        ("hardware.levels.psum_spad.size", 4),
    ]
    search = ("search", *where, *options, "--objective", "edp", "--searcher", "genetic", "--budget", "80")
    best = dse(*search, "--json").json["best"]
    sizes = {level["name"]: level.get("size") for level in best["accelerator"]["levels"]}
    assert sizes["shared_glb"] in (2048, 131072)
    assert "on levels.shared_glb.size" in dse(*search).out.replace("\n", " ")
    refused = dse("certify", *where, *options, "--objective", "edp").refused()
    assert "cannot be certified" in refused
