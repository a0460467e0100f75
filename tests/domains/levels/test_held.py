"""Levels that hold a tensor before a layer begins or after it ends: what that costs, and what is proven."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.domains import hardware_from_dict
from dse.core.layer import Layer
from dse.domains.levels.machine import RETURNED, TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop import reference
from dse.optimum import certify, verify
from dse.support.errors import InputError
from tests.domains.levels.proof.test_certify_machines import LAYERS, MAX, least, random_machine


def two_levels(capacity: int, *holds: str, first_fill: str = "elided") -> Machine:
    """DRAM of 100 pJ and a word a cycle, and a buffer of 4 pJ."""
    dram = Level(
        "DRAM", keeps=TENSORS, may_keep=(), bandwidth=Bandwidth(shared=1.0), energy=Energy.of_any(100.0)
    )
    buffer = Level("B", capacity, keeps=TENSORS, may_keep=(), energy=Energy.of_any(4.0), holds=holds)
    return Machine("two", (dram, buffer), 1.0, first_fill)


def held(machine: Machine, rng: np.random.Generator) -> Machine:
    """The machine with tensors that its second level holds, and perhaps sums of an earlier run."""
    levels = list(machine.levels)
    levels[0] = replace(levels[0], fan_out=1)
    levels[1] = replace(levels[1], holds=tuple(rng.permutation(list(TENSORS))[: rng.integers(1, 3)].tolist()))
    first_fill = RETURNED if rng.random() < 0.3 else machine.first_fill
    return replace(machine, levels=tuple(levels), first_fill=first_fill)


def test_the_optimum_with_held_tensors_is_that_of_all_mappings_as_the_reference_prices_them() -> None:
    rng, proven = np.random.default_rng(2), 0
    for number in range(14):
        layer, objective = LAYERS[number % len(LAYERS)], ("edp", "latency", "energy")[number % 3]
        problem = MachineProblem(layer, held(random_machine(rng), rng), objective, "timeloop")
        if problem.space.vectors > MAX:
            continue
        found = certify(problem, cache=False)
        assert found.lower_bound == least(problem), (number, layer, problem.accelerator)
        proven += found.best is not None
        genes = problem.space.sample(rng, 40)
        prices, mappings = problem.price(genes), problem.space.decode(genes)
        for place in range(len(genes)):
            costs = reference.evaluate_mapping(problem.space.workload, problem.accelerator, mappings[place])
            assert isinstance(costs, reference.Costs) == (prices.reason[place] == 0)
            if isinstance(costs, reference.Costs):
                assert costs.cycles == prices.cycles[place]
                assert costs.energy_pj * 1e-3 == pytest.approx(prices.energy_nj[place], rel=1e-12)
    assert proven > 3


def test_a_held_tensor_is_moved_by_nobody_and_takes_no_room() -> None:
    layer = Layer.gemm(8, 8, 8)
    words = {}
    for holds in ((), ("I",), ("I", "O"), ("W", "I", "O")):
        room = 8 * 8 * (3 - len(holds))
        problem = MachineProblem(layer, two_levels(max(room, 1), *holds), "energy", "timeloop")
        found = certify(problem, cache=False)
        assert found.best is not None
        assert all(check.passed for check in verify(problem, found))
        detail = reference.evaluate_mapping(problem.space.workload, problem.accelerator, found.best.mapping)
        assert isinstance(detail, reference.Costs)
        words[holds] = sum(one.reads + one.updates for one in detail.counts.get("DRAM", {}).values())
        assert {"W", "I", "O"} == set(detail.counts["B"])
        assert all(detail.counts["B"][name].fills == 0 for name in holds)
    assert list(words.values()) == [192, 128, 64, 0]


def test_a_machine_that_holds_tensors_has_no_roofline() -> None:
    layer = Layer.gemm(8, 8, 8)
    for holds, known in (((), True), (("I", "O"), False)):
        problem = MachineProblem(layer, two_levels(192, *holds), "energy", "timeloop")
        assert (problem.model.roofline(layer, problem.accelerator) is not None) == known


def test_sums_of_an_earlier_run_come_back_once_more() -> None:
    layer, found = Layer.gemm(8, 8, 8), {}
    for first_fill in ("elided", RETURNED):
        problem = MachineProblem(layer, two_levels(192, first_fill=first_fill), "energy", "timeloop")
        best = certify(problem, cache=False).best
        assert best is not None
        found[first_fill] = best.energy_nj
    # Each of 64 words: read from DRAM, filled, and read as the first sum.
    assert found[RETURNED] - found["elided"] == pytest.approx(64 * (100 + 4 + 4) * 1e-3)


def test_a_machine_says_what_it_holds_and_is_read_again(tmp_path: Path) -> None:
    machine = two_levels(100, "I")
    assert hardware_from_dict(machine.to_dict(), "timeloop") == machine
    assert "holds" not in two_levels(100).to_dict()["levels"][1]
    with pytest.raises(InputError, match="held by two levels"):
        replace(machine, levels=(replace(machine.levels[0], holds=("I",)), machine.levels[1]))
    with pytest.raises(InputError, match="has 2 instances"):
        replace(machine, levels=(replace(machine.levels[0], fan_out=2), machine.levels[1]))
