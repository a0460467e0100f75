"""What proofs make of a loss is never above what a mapping costs: that is all that their bounds rest on."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.levels.layout import RowArray
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.components import components_of
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.orders import EMPTY, OPEN, First, Orders, Pattern, orders_of
from dse.models.timeloop.proof.tables import Tables
from dse.models.timeloop.proof.terms import CYCLES, ENERGY, LIMIT, Terms
from tests.domains.levels.proof.test_certify_machines import random_machine, with_waits

LAYERS = (
    Layer("CONV", 4, 2, 9, 1, 3, 1, stride=(2, 1)),
    Layer("CONV", 4, 4, 18, 18, 3, 3),
    Layer("CONV", 2, 2, 14, 7, 6, 4, dilation=(2, 1)),
    Layer("CONV", 2, 3, 12, 1, 2, 1, stride=(3, 1)),
    Layer("DSCONV", 1, 3, 10, 8, 3, 2),
    Layer.gemm(6, 8, 4),
)


def pattern_of(problem: MachineProblem, orders: Orders, row: RowArray) -> Pattern:
    """What the innermost loop of each level of a mapping is."""
    layout, found = problem.space.layout, []
    for level in range(layout.levels):
        loops = row[layout.temporal(level)]
        running = [dim for dim in row[layout.order(level)].tolist() if loops[dim] > 1]
        if not orders.looped[level]:
            found.append(OPEN)
        elif not running:
            found.append(EMPTY)
        else:
            alone = all(orders.left[dim] == orders.left[running[-1]] for dim in running)
            found.append(First((running[-1],), alone))
    return tuple(found)


def sums(problem: MachineProblem, row: RowArray, *, said: bool) -> dict[int, list[float]]:
    """The sums of the groups of terms by kind, of one mapping; its pattern is known, or nothing is."""
    layout, machine = problem.space.layout, problem.accelerator
    keep = np.array([row[layout.keep(level)] for level in range(layout.levels)]).astype(bool)
    orders, components = orders_of(problem), components_of(problem)
    counts = [Counts(problem.space.workload, machine, component) for component in components]
    terms = Terms(problem, counts, keep)
    tables = Tables(terms, orders, counts)
    pattern = pattern_of(problem, orders, row) if said else (OPEN,) * layout.levels
    logs = np.zeros(len(terms.flat) + len(terms.firsts))
    for part, component in enumerate(components):
        dims = list(component.dims)
        temporal = np.stack([row[layout.temporal(level)][dims] for level in range(layout.levels)], axis=-1)
        spatial = np.stack([row[layout.spatial(level)][dims] for level in range(layout.levels)], axis=-1)
        same = (component.temporal == temporal).all(axis=(1, 2))
        (chain,) = np.flatnonzero(same & (component.spatial == spatial).all(axis=(1, 2)))
        column = np.empty((len(logs), 1))
        tables.write(pattern, part, np.array([chain]), column)
        logs += column[:, 0]
    found: dict[int, list[float]] = {ENERGY: [], CYCLES: [], LIMIT: []}
    values = iter(np.exp(logs[: len(terms.flat)]).tolist())
    firsts = iter(np.exp(logs[len(terms.flat) :]).tolist())
    for group in terms.groups:
        total = 0.0
        for term in group.terms:
            total += term.coefficient * next(values)
            if term.first is not None:
                total -= term.first.coefficient * term.first.size * next(firsts)
        found[group.kind].append(total)
    return found


@pytest.mark.parametrize(("said", "waits"), [(True, False), (False, False), (True, True)])
def test_terms_are_never_above_what_a_mapping_costs_and_nearly_always_equal_to_it(
    said: bool, waits: bool
) -> None:
    rng, others, near, seen = np.random.default_rng(3), np.random.default_rng(5), 0, 0
    for layer in LAYERS:
        for _ in range(3):
            machine = random_machine(rng)
            if waits:
                machine = with_waits(machine, others)
            problem = MachineProblem(layer, machine, "edp", "timeloop")
            genes = problem.space.sample(rng, 8)
            costs, rows = problem.price(genes), problem.space.decode(genes).rows
            for place in np.flatnonzero(costs.reason == 0).tolist():
                found = sums(problem, rows[place], said=said)
                energy, cycles = costs.energy_nj[place] * 1e3, int(costs.cycles[place])
                assert found[ENERGY][0] <= energy * (1 + 1e-9)
                assert max(found[CYCLES]) <= cycles * (1 + 1e-9)
                assert max(found[LIMIT]) <= 1 + 1e-9
                seen += 1
                near += max(found[CYCLES]) > cycles * 0.99 - 1
    assert seen > 60
    assert not said or near > 0.8 * seen
