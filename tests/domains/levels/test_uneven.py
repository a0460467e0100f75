"""Nests in which each tensor of a level has a depth of its own: what they cost, and their proven optima."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse as arena
from dse.core.domains import hardware_from_dict, load_hardware
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import with_nests
from dse.models.timeloop import reference
from dse.models.timeloop.proof.floors import least_cycles
from dse.optimum import certify, verify
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.levels.proof.test_certify_machines import LAYERS, random_machine, with_waits
from tests.domains.levels.timeloop.walk import walk_loops

MAX = 15_000
"""Vectors of a space that is gone through."""
PRODUCT = Layer.gemm(96, 80, 48)


def two_levels(size: int = 512) -> Machine:
    """A DRAM of 100 pJ and a word in 16 cycles, and a buffer of 4 pJ, read once more where sums go out."""
    dram = Level(
        "DRAM", keeps=TENSORS, may_keep=(), bandwidth=Bandwidth(shared=0.0625), energy=Energy(100, 100, 104)
    )
    buffer = Level("B", size, keeps=TENSORS, may_keep=(), energy=Energy.of_any(4))
    return Machine("two", (dram, buffer), 1.0)


def open_levels(rng: np.random.Generator) -> Machine:
    """One or two levels on the chip, small, with fan-outs, that keep all or leave some open."""
    levels = [replace(two_levels().levels[0], bandwidth=Bandwidth(shared=float(rng.choice([0.25, 1, 4]))))]
    for number in range(int(rng.integers(1, 3))):
        kept = TENSORS if rng.random() < 0.5 else tuple(rng.permutation(list(TENSORS))[:2].tolist())
        levels.append(
            Level(
                f"L{number}",
                capacity=int(rng.choice([5, 8, 16, 40])),
                fan_out=int(rng.choice([1, 2, 4])),
                keeps=kept,
                may_keep=() if rng.random() < 0.7 else TENSORS,
                spread=(None, ("K", "P"), ("C", "Q"))[rng.integers(3)],
                multicast=bool(rng.random() < 0.7),
                reduction=bool(rng.random() < 0.7),
                bandwidth=Bandwidth(shared=(None, 1.0, 3.0)[rng.integers(3)]),
                energy=Energy(*rng.uniform(1, 10, 3).tolist()),
                block=int(rng.choice([1, 2])),
                leak_pj=float(rng.choice([0, 0.5])),
            )
        )
    return Machine("open", tuple(levels), 1.0, str(rng.choice(["counted", "elided"])))


def least(problem: MachineProblem) -> float:
    """The least loss of all mappings, one by one."""
    sizes, found = problem.space.sizes.tolist(), np.inf
    for first in range(sizes[0]):
        vectors = np.indices([1, *sizes[1:]]).reshape(len(sizes), -1).T.astype(np.int64)
        vectors[:, 0] = first
        found = min(found, float(problem.price(vectors).loss.min()))
    return found


def test_the_rules_count_what_a_walk_through_the_loops_counts() -> None:
    rng, seen = np.random.default_rng(3), 0
    for number in range(18):
        machine = open_levels(rng) if number % 2 else random_machine(rng)
        nests = "even" if number % 3 == 0 else "uneven"
        layer = LAYERS[number % len(LAYERS)]
        problem = MachineProblem(layer, machine, "edp", "timeloop", fixed={"orders": "all", "nests": nests})
        space = problem.space
        for mapping in space.decode(space.sample(rng, 6)):
            costs = reference.evaluate_mapping(space.workload, problem.accelerator, mapping)
            if isinstance(costs, reference.NotPriced):
                continue
            walked = walk_loops(space.workload, problem.accelerator, mapping)
            for level, kept in costs.counts.items():
                for tensor, counts in kept.items():
                    here = walked[level][tensor]
                    assert (counts.reads, counts.fills, counts.updates) == (
                        here.reads,
                        here.fills,
                        here.updates,
                    ), (layer, mapping.text(), level, tensor)
            seen += 1
    assert seen > 40


def test_the_kernel_prices_uneven_nests_as_the_reference_does() -> None:
    rng, seen, faults = np.random.default_rng(4), 0, 0
    for number in range(16):
        machine = with_nests(open_levels(rng) if number % 2 else random_machine(rng), "uneven")
        problem = MachineProblem(LAYERS[number % len(LAYERS)], machine, "edp", "timeloop")
        rows = problem.space.decode(problem.space.uniform(rng, 40)).rows
        priced = problem.price_rows(rows)
        for place, row in enumerate(rows):
            mapping = problem.space.layout.decode(row)
            costs = reference.evaluate_mapping(problem.space.workload, problem.accelerator, mapping)
            assert (priced.reason[place] == 0) == isinstance(costs, reference.Costs)
            if isinstance(costs, reference.Costs):
                assert costs.cycles == priced.cycles[place]
                assert costs.energy_pj * 1e-3 == pytest.approx(priced.energy_nj[place], rel=1e-12, abs=0)
                seen += 1
            else:
                faults += 1
    assert seen > 100
    assert faults > 100


@pytest.mark.parametrize("waits", [False, True])
def test_an_even_nest_costs_the_same_as_an_uneven_one(waits: bool) -> None:
    layer, machine = Layer("CONV", 16, 8, 14, 14, 3, 3), load_hardware("simba_like", "timeloop")
    if waits:
        machine = with_waits(machine, np.random.default_rng(5))
    even = MachineProblem(layer, machine, "edp", "timeloop")
    uneven = even.with_changes(fixed={"nests": "uneven"})
    genes = even.space.sample(np.random.default_rng(5), 40)
    vectors = uneven.vectors([even.space.decode(genes)[place] for place in range(40)])
    here, there = even.price(genes), uneven.price(vectors)
    assert np.array_equal(here.cycles, there.cycles)
    np.testing.assert_allclose(here.energy_nj, there.energy_nj, rtol=1e-12)


@pytest.mark.parametrize("waits", [False, True])
def test_the_optimum_of_uneven_nests_is_that_of_all_of_them(waits: bool) -> None:
    rng, others, proven = np.random.default_rng(6), np.random.default_rng(5), 0
    for number in range(90):
        machine = open_levels(rng) if number % 2 else random_machine(rng)
        machine = with_waits(machine, others) if waits else machine
        layer, objective = LAYERS[number % len(LAYERS)], ("edp", "latency", "energy")[number % 3]
        problem = MachineProblem(layer, with_nests(machine, "uneven"), objective, "timeloop")
        every = problem.with_changes(fixed={"orders": "all"})
        if not problem.accelerator.even or every.space.vectors > MAX:
            continue
        found = certify(problem, cache=False)
        assert found.status == ("optimal" if found.best else "infeasible")
        assert found.lower_bound == pytest.approx(least(every), rel=1e-9, abs=0), (number, layer)
        proven += found.best is not None
    assert proven > 3, proven


@pytest.mark.parametrize(("size", "share"), [(10, 0.4941), (20, 0.6754)])
def test_even_nests_may_take_twice_as_much_as_the_best_of_all(size: int, share: float) -> None:
    problem = MachineProblem(
        Layer.gemm(6, 5, 3), two_levels(size), "edp", "timeloop", fixed={"nests": "uneven"}
    )
    found = certify(problem, cache=False).lower_bound
    assert found == pytest.approx(least(problem), rel=1e-12, abs=0)
    even = certify(problem.with_changes(fixed={"nests": "even"}), cache=False).lower_bound
    assert found / even == pytest.approx(share, abs=1e-4)


def test_a_product_on_two_levels_takes_the_energy_cycles_and_product_that_another_mapper_found() -> None:
    """AccelForge 1.0.467, as published of this product and machine; even nests take 4.5, 11 and 16 % more."""
    problem = MachineProblem(PRODUCT, two_levels(), "energy", "timeloop", fixed={"nests": "uneven"})
    found = certify(problem, cache=False)
    assert found.best
    assert found.best.energy_nj == pytest.approx(10_549.248)
    assert all(check.passed for check in verify(problem, found))
    latency = certify(problem.with_changes(objective="latency"), cache=False)
    assert latency.best
    assert latency.best.cycles == 663_552
    both = certify(problem.with_changes(objective="edp"), cache=False)
    assert both.best
    assert both.best.cycles * both.best.energy_nj * 1e3 == pytest.approx(6_999_974_608_896)
    even = certify(problem.with_changes(fixed={"nests": "even"}), cache=False)
    assert even.best
    assert even.best.energy_nj == pytest.approx(11_028.48)


def test_what_a_nest_stores_above_what_is_a_gene_of_its_level() -> None:
    problem = MachineProblem(PRODUCT, two_levels(), "edp", "timeloop", fixed={"nests": "uneven"})
    assert {"B.stack": 6}.items() <= {gene.name: gene.size for gene in problem.space.genes}.items()
    kept = problem.with_changes(accelerator=replace(two_levels(), levels=problem.accelerator.even.levels))
    assert "B.stack" not in {gene.name for gene in kept.space.genes}
    found = arena.search(problem, "genetic", budget=300, seed=1)
    assert found.best.loss >= certify(problem, cache=False).lower_bound


def test_a_machine_says_that_its_nests_are_uneven_and_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "chip.toml"
    file.write_text(
        'name = "chip"\nmac_pj = 1\nnests = "uneven"\n'
        '[[levels]]\nname = "DRAM"\naccess_pj = 100\n'
        '[[levels]]\nname = "B"\nsize = 64\nfan_out = 4\naccess_pj = 1\nbandwidth = 2\n'
    )
    machine = load_hardware(str(file), "timeloop")
    assert [level.name for level in machine.levels] == ["DRAM", "B", "B:2", "B:3"]
    assert [level.fan_out for level in machine.levels] == [1, 1, 1, 4]
    again = hardware_from_dict(machine.to_dict(), "timeloop")
    assert again == machine
    assert again.to_dict()["nests"] == "uneven"


def test_what_uneven_nests_cannot_be_is_said_in_a_line(tmp_path: Path, dse: Dse) -> None:
    with pytest.raises(InputError, match="unknown nests 'odd'; expected one of even, uneven"):
        MachineProblem(PRODUCT, two_levels(), "edp", "timeloop", fixed={"nests": "odd"})
    machine = two_levels()
    holding = replace(machine, levels=(machine.levels[0], replace(machine.levels[1], holds=("W",))))
    with pytest.raises(InputError, match="level B holds W: its nests are even"):
        with_nests(holding, "uneven")
    fixed = {"nests": "uneven", "B.temporal.K": 2}
    with pytest.raises(InputError, match="optima of uneven nests are proven without fixed loops"):
        certify(MachineProblem(PRODUCT, machine, "edp", "timeloop", fixed=fixed), cache=False)
    problem = MachineProblem(PRODUCT, two_levels(8), "edp", "timeloop", fixed={"nests": "uneven"})
    crowded = HierarchyMapping.parse("L3[WIO] P96 - L2[W] K80 - L1[I] - L0[O] C48")
    assert problem.explain(crowded) == "B needs 3889 of 8 words"
    twice = HierarchyMapping.parse("L3[WIO] P96 - L2[W] K80 - L1[IW] - L0[O] C48")
    assert problem.evaluate(twice).reason[0] != 0
    with pytest.raises(InputError, match="two loops over the same dim stand between its tensors"):
        problem.vectors([HierarchyMapping.parse("L3[WIO] P96 - L2[WIO] K4 - L1[] K20 - L0[] C48")])
    given = ("--layer", "alexnet:fc8", "--accelerator", "simba_like", "--cost-model", "timeloop")
    asked = ("certify", *given, "--nests", "uneven", "--format", "timeloop", "--out", str(tmp_path / "out"))
    assert "format timeloop has no words for uneven nests" in dse(*asked).err


def test_a_level_in_parts_is_shown_with_all_that_it_holds() -> None:
    problem = MachineProblem(PRODUCT, two_levels(), "edp", "timeloop", fixed={"nests": "uneven"})
    mapping = HierarchyMapping.parse("L3[WIO] P6 K5 C12 - L2[W] C4 - L1[O] K16 - L0[I] P16")
    judged = problem.judge(mapping)
    assert judged.breakdown
    assert {name: use.needed for name, use in judged.breakdown.held.items()} == {"B": 64 + 256 + 16}
    assert problem.accelerator.summary == "1 MACs, DRAM unlimited, B 512 words, 1 GHz"
    case = problem.case(mapping)
    case["hardware"]["levels"][2]["part_of"] = "none"
    (found,) = problem.model.price_lines([("line 1", json.dumps(case))])
    assert "part_of must name a level outside of it with as many instances, got 'none'" in found["reason"]


def test_open_sizes_are_those_of_the_level_whatever_its_parts() -> None:
    parts = {"hardware": {"levels": {"B": {"size": [64, 512], "fan_out": [1, 2]}}}}
    problem = MachineProblem(PRODUCT, two_levels(), "edp", "timeloop", fixed={"nests": "uneven"}, parts=parts)
    vectors = problem.space.sample(np.random.default_rng(1), 30)
    priced = problem.price(vectors)
    assert (priced.reason == 0).any()
    assert {problem.on_machine_of(vector).accelerator.levels[1].capacity for vector in vectors} == {64, 512}


def test_no_mapping_is_faster_than_all_macs_at_work_or_each_word_moved_once() -> None:
    rng, reached = np.random.default_rng(5), 0
    for number in range(12):
        layer, tiles = LAYERS[number % len(LAYERS)], ("factors", "any")[number % 2]
        problem = MachineProblem(layer, open_levels(rng), "latency", "timeloop", tiles)
        priced = problem.price(problem.space.sample(rng, 200))
        fastest = int(priced.cycles[priced.cycles > 0].min())
        assert least_cycles(problem) <= fastest
        reached += least_cycles(problem) > 0.5 * fastest
    assert reached > 3


def test_a_latency_that_words_from_outside_take_is_proven_at_once() -> None:
    """A product of 1 x 4096 x 4096 on three levels in parts: 600 arrangements that need not be bounded."""
    free = Bandwidth()
    dram = Level("DRAM", keeps=TENSORS, bandwidth=Bandwidth(shared=8), energy=Energy.of_any(100))
    levels = [
        Level(name, size, wide, TENSORS, (), spread=("K", "P"), bandwidth=free, energy=Energy.of_any(pj))
        for name, size, wide, pj in (("A", 131072, 16, 6), ("B", 2048, 16, 2), ("C", 16, 1, 1))
    ]
    machine = Machine("deep", (dram, *levels), 1.0)
    fixed = {"nests": "uneven"}
    problem = MachineProblem(Layer.gemm(1, 4096, 4096), machine, "latency", "timeloop", fixed=fixed)
    found = certify(problem, cache=False)
    assert (found.status, found.best and found.best.cycles) == ("optimal", 4096 * 4096 // 8 + 2 * 4096 // 8)
    # Of eight arrangements each.
    assert found.counts.inner_levels == 600 / 8
