"""Optima over a few machines: figures of the hardware that are open, which the solver goes through."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse import Problem, certify, load_accelerator, verify
from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL
from workloads import load_layer

EDGE = load_accelerator("edge")
LAYER = load_layer("mobilenet_v2:1")


def opened(objective: str, model: str = "loopnest", **hardware: list[int]) -> Problem:
    space = {"name": "default", "hardware": hardware}
    return Problem(LAYER, EDGE, objective, model, space=space)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
@pytest.mark.parametrize("objective", ["latency", "edp"])
def test_the_optimum_is_the_best_of_the_machines_each_by_itself(objective: str, model: str) -> None:
    values = {"offchip_bandwidth": [2, 4], "simd_lanes": [1, 2]}
    problem = opened(objective, model, **values)
    found = certify(problem, tiles="factors", cache=False)
    alone = [
        certify(
            Problem(LAYER, replace(EDGE, offchip_bandwidth=width, simd_lanes=lanes), objective, model),
            tiles="factors",
            cache=False,
        ).lower_bound
        for width in values["offchip_bandwidth"]
        for lanes in values["simd_lanes"]
    ]
    assert (found.status, found.lower_bound) == (OPTIMAL, min(alone))
    assert found.best is not None
    assert problem.price([found.best.genes]).loss[0] == found.lower_bound
    assert all(check.passed for check in verify(problem, found))


def test_where_no_machine_fits_that_is_proven() -> None:
    found = certify(opened("latency", l1_size=[1, 2]), tiles="factors", cache=False)
    assert (found.status, found.best) == (INFEASIBLE, None)


def test_with_the_number_of_pes_open_there_is_a_floor_alone() -> None:
    found = certify(opened("latency", num_pes=[200, 256]), tiles="factors", cache=False)
    assert found.counts.groups == 0
    assert found.status in (OPTIMAL, BOUNDED)
