"""Fill, drain and buffering: closed forms are a simulation, step by step; the default is Timeloop's roofline."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from dse.domains.levels.checks import BUFFERINGS, DOUBLE, OVERLAPPED, SINGLE
from dse.domains.levels.machine import RETURNED, UNEVEN, Bandwidth, Level, Machine
from dse.domains.levels.uneven import with_nests
from dse.domains.levels.workload import Workload, convolution
from dse.models.timeloop import layout_of, prepared, reference
from dse.models.timeloop.simulation import simulate
from tests.domains.levels.timeloop.problems import random_rows

NESTS = 80
MOST_STEPS = 1000


def small_machine(rng: np.random.Generator) -> Machine:
    """Two to four levels with fan-outs and rates of all kinds, and some buffering."""

    def rate() -> float | None:
        return None if rng.random() < 0.4 else float(rng.choice([0.5, 1, 2, 3, 8]))

    levels = [
        Level(
            f"L{place}",
            fan_out=int(rng.choice([1, 1, 2, 4])),
            multicast=bool(rng.random() < 0.7),
            reduction=bool(rng.random() < 0.7),
            bandwidth=Bandwidth(rate(), rate(), rate()),
            buffering=str(rng.choice(BUFFERINGS)) if place else OVERLAPPED,
        )
        for place in range(rng.integers(2, 5))
    ]
    fills, first = bool(rng.random() < 0.6), str(rng.choice(["counted", "elided", RETURNED]))
    return Machine("random", tuple(levels), 0.5, first, fill_and_drain=fills)


@pytest.mark.parametrize("nests", ["even", UNEVEN])
def test_the_closed_form_is_the_simulation_of_random_nests(nests: str) -> None:
    rng, compared, waiting = np.random.default_rng(49), 0, 0
    for _ in count():
        sizes = {dim: int(rng.choice([1, 2, 3, 4])) for dim in ("K", "C", "P", "R", "N")}
        workload = convolution(sizes, (int(rng.integers(1, 3)), 1))
        machine = with_nests(small_machine(rng), nests)
        layout, rows = layout_of(workload, machine), random_rows(workload, machine, 4, rng)
        priced = prepared(workload, machine)(rows)
        for place in np.flatnonzero(priced.valid).tolist():
            mapping = layout.decode(rows[place])
            steps = int(np.prod([n for level in mapping.levels for _, n in level.temporal]))
            if steps > MOST_STEPS:
                continue
            costs = reference.evaluate(workload, machine, mapping)
            assert isinstance(costs, reference.Costs)
            assert priced.cycles[place] == costs.cycles == simulate(workload, machine, mapping)
            assert priced.energy_pj[place] == costs.energy_pj
            compared, waiting = compared + 1, waiting + (machine.waits and costs.cycles > steps)
        if compared >= NESTS:
            break
    assert waiting > NESTS // 3
