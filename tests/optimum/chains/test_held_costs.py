"""What a tensor costs that stays in the home: two prices of one mapping, where it stays and where not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import Phase
from dse.core.widths import Widths
from dse.domains.levels.machine import TENSORS, Energy, Level, Machine
from dse.models.timeloop import reference
from tests.optimum.chains.small_chains import RESIDENCE

LAYERS = (Layer.gemm(6, 4, 10), Layer("CONV", 4, 3, 7, 6, 3, 3), Layer("CONV", 4, 4, 8, 8, 2, 2, stride=2))
WIDE = Widths(4, 8, 16)


def drawn_machine(rng: np.random.Generator) -> Machine:
    """DRAM, a buffer that is the home, and registers; blocks, clusters and energies are drawn."""

    def level(name: str, capacity: int | None, **more: object) -> Level:
        block, cluster = (int(one) for one in rng.choice([1, 2, 4], 2))
        energy = Energy(*(float(one) for one in rng.integers(1, 200, 3)))
        made = Level(name, capacity, keeps=TENSORS, may_keep=(), energy=energy, block=block, cluster=cluster)
        return replace(made, **more)

    return Machine("drawn", (level("DRAM", None), level("B", 4000, fan_out=2), level("R", 60)), 1.0)


def energy_pj(problem: AnyProblem, mapping: object) -> float | None:
    """What a mapping costs by the reference; None where it does not fit."""
    costs = reference.evaluate_mapping(problem.space.workload, problem.accelerator, mapping)
    return costs.energy_pj if isinstance(costs, reference.Costs) else None


@pytest.mark.parametrize("widths", [None, WIDE], ids=["words", "widths"])
def test_a_word_that_moves_over_the_edge_costs_no_less_than_bounds_of_shared_tiles_say(
    widths: Widths | None,
) -> None:
    rng, compared, equal = np.random.default_rng(5), 0, 0
    for number in range(12):
        layer = replace(LAYERS[number % len(LAYERS)], bits=widths) if widths else LAYERS[number % len(LAYERS)]
        problem = make_problem(layer, drawn_machine(rng), "energy", "timeloop")
        joules, _ = RESIDENCE.tiles.rates(problem)
        sizes = {one.name: one.words(problem.space.workload.sizes) for one in problem.space.workload.tensors}
        mappings = problem.space.decode(problem.space.sample(rng, 12))
        for tensor in TENSORS:
            staying = RESIDENCE.problem(problem, Phase(layer, (tensor,)))
            rate = joules.goes if tensor == "O" else joules.of(tensor)[0]
            held = RESIDENCE.placed(staying, mappings)
            for place in range(12):
                prices = energy_pj(problem, mappings[place]), energy_pj(staying, held[place])
                if None in prices:
                    continue
                saved = prices[0] - prices[1]
                least = rate * sizes[tensor] * 1e12
                assert saved >= least * (1 - 1e-12), (number, tensor)
                compared, equal = compared + 1, equal + (saved <= least * (1 + 1e-9))
    # A rate that is ever so little higher is above what some mappings save.
    assert compared > 50
    assert equal > 5
