"""Rows of whole chains: every order that differs in a loop that runs, once, and no other."""

import itertools

import numpy as np
import pytest

from dse import Layer
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.presets import load_machine
from dse.models.timeloop.proof.components import components_of
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.orders import EMPTY, First, orders_of
from dse.models.timeloop.proof.whole import LevelOrders, Rows


@pytest.mark.parametrize("running", [(), (0,), (2,), (0, 2), (0, 1, 2)])
def test_each_order_of_the_loops_that_run_is_there_once(running: tuple[int, ...]) -> None:
    orders = np.array(list(itertools.permutations(range(3))))
    known = LevelOrders.of(orders)
    bits = sum(1 << dim for dim in running)
    picks = known.picks[known.starts[bits] : known.starts[bits + 1]]
    found = [tuple(dim for dim in orders[pick] if dim in running) for pick in picks]
    assert sorted(found) == sorted(itertools.permutations(running))
    innermost = known.innermost[known.starts[bits] : known.starts[bits + 1]]
    assert innermost.tolist() == [order[-1] if order else -1 for order in found]


def test_rows_have_the_innermost_loops_of_their_pattern_in_all_orders() -> None:
    machine = load_machine("simple_weight_stationary")
    problem = MachineProblem(Layer.gemm(8, 8, 8), machine, "edp", "timeloop")
    components = [one for one in components_of(problem) if len(one) > 1]
    counts = [Counts(problem.space.workload, machine, one) for one in components]
    orders, layout = orders_of(problem), problem.space.layout
    outermost = min(level.place for level in problem.space.levels)
    chains = np.array([[int(np.flatnonzero(one.temporal[:, 0, outermost] > 1)[0]) for one in components]])
    innermost = components[0].dims[0]
    pattern = tuple(
        First((innermost,), alone=False) if level == outermost else EMPTY for level in range(layout.levels)
    )
    keep = np.ones((layout.levels, len(layout.tensors)), dtype=np.bool_)
    rows = Rows(problem, counts, orders).write(pattern, keep, chains)
    mirrored = orders.mirrored(pattern) != pattern
    # The other two loops have two orders outside of the innermost one.
    assert len(rows) == (4 if mirrored else 2)
    assert len({row.tobytes() for row in rows}) == len(rows)
    for row in rows[:2]:
        loops = [
            layout.dims[dim]
            for dim in row[layout.order(outermost)]
            if row[layout.temporal(outermost)][dim] > 1
        ]
        assert loops[-1] == layout.dims[innermost]
