"""Optima over tiles of any size under `maestro`: equal to brute force, with bounds below every price."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dse.core.certificate import BOUNDED, OPTIMAL
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.domains.clustered.space.genes import ORDERS
from dse.models.maestro.proof import box
from dse.models.maestro.proof.bounds import make_boxes
from dse.models.maestro.proof.records import distinct_orders
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from tests.optimum.any_cases import least_loss, random_problem, with_several_orders
from tests.optimum.any_points import point_margins
from workloads import load_layer

OBJECTIVES = ("latency", "energy", "edp", "energy * latency^2", "energy + 0.01 * latency")
PROBLEMS, MOST = 5, 20_000


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_certificate_is_what_pricing_every_mapping_finds(objective: str) -> None:
    for seed in range(PROBLEMS):
        problem = random_problem(np.random.default_rng(seed), objective, MOST, "maestro")
        found, least = solve_problem(problem, threads=1), least_loss(problem)
        assert (found.lower_bound, found.best.loss if found.best else math.inf) == (least, least), problem


@pytest.mark.parametrize("objective", OBJECTIVES[:3])
def test_of_several_orders_the_certificate_is_what_pricing_every_mapping_finds(objective: str) -> None:
    for seed in range(PROBLEMS):
        rng = np.random.default_rng((seed, 1))
        problem = with_several_orders(rng, random_problem(rng, objective, MOST // 4, "maestro"))
        found, least = solve_problem(problem, threads=1), least_loss(problem)
        assert (found.lower_bound, found.best.loss if found.best else math.inf) == (least, least), problem


def test_an_order_gives_way_only_to_the_same_with_the_parallel_loop_innermost() -> None:
    names = ["".join(order) for order in ORDERS]
    spread, other, better = names.index("KCYX"), names.index("XYCK"), names.index("CYXK")
    moves, parallel = 0b1110, "KCYX".index("K")

    def kept(*allowed: int) -> list[int]:
        count, *orders = distinct_orders(allowed, best=True)[moves, parallel].tolist()
        return orders[:count]

    assert kept(spread, other) == sorted([spread, other])
    assert kept(spread, better) == [better]
    assert kept(spread) == [spread]


@pytest.mark.parametrize(("size", "pes"), [(24, 5), (36, 8)])
def test_no_mapping_is_below_the_bound_of_a_box_of_inner_factors(size: int, pes: int) -> None:
    """Of 24 on 5 PEs tiles of 6 take fewer cycles than tiles of 4, and no factor is 5, what a PE gets."""
    layer, machine = Layer("CONV", size, 1, 3, 3, 2, 2), Accelerator(pes, 4_000, 100_000, 8, 8)
    boxes = make_boxes(Problem(layer, machine, "latency", "maestro", tiles="factors"))
    factors, seen = np.count_nonzero(boxes.given.inner_tiles[0]), 0
    for root in boxes.roots():
        root[box.INNER] = 0
        root[0:8:2] = root[1:8:2]
        for low in range(factors):
            for high in range(low, factors):
                root[8], root[9] = low, high
                bound = boxes.bound(root[np.newaxis].copy(), math.inf).losses[0]
                losses = boxes.settle(root[np.newaxis].copy(), math.inf).losses
                assert bound <= losses.min(initial=math.inf)
                seen += len(losses)
    assert seen > 10_000


def test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_around_it() -> None:
    seen = 0
    # In the last four a narrow NoC decides, with outputs that are free in the first step.
    for seed in (*range(13), 85, 102, 178, 273):
        rng = np.random.default_rng(seed)
        objective = OBJECTIVES[seed % 3 if seed < 13 else 0]
        problem = random_problem(rng, objective, 10**12, "maestro").with_changes(fixed={})
        found = point_margins(problem, rng, 1000)
        assert found.min(initial=1.0) >= 1.0, problem
        seen += len(found)
    assert seen > 1000


@pytest.mark.parametrize(("order", "parallel"), [("KCYX", "K"), ("CKYX", "C"), ("YKCX", "Y")])
def test_no_mapping_of_a_fixed_order_is_below_the_bound_of_a_box_around_it(order: str, parallel: str) -> None:
    # Clusters that are too few for the outermost loop are too few at every step of those inside.
    fixed = {"outer.order": order, "outer.parallel": parallel}
    for layer in (Layer.gemm(5, 6, 6), Layer("CONV", 6, 4, 8, 8, 3, 3), Layer.gemm(1, 300, 200)):
        problem = Problem(
            layer, Accelerator(8, 64, 2000, 2, 8), "energy", "maestro", tiles="any", fixed=fixed
        )
        found = point_margins(problem, np.random.default_rng(0), 500)
        assert len(found) > 20
        assert found.min() >= 1.0, problem


@pytest.mark.parametrize("objective", OBJECTIVES[:3])
def test_a_decoded_token_of_a_language_model_has_its_optimum_at_once(objective: str) -> None:
    problem = Problem(Layer.gemm(1, 14336, 4096), PRESETS["edge"], objective, "maestro", tiles="any")
    found = solve_problem(problem, threads=1)
    assert found.status == OPTIMAL
    # A box is never far below what its tiles have to bring.
    assert found.counts.groups < 20_000


def test_tiles_of_any_size_are_never_worse_than_perfect_factors() -> None:
    # Sizes that are prime: no tile is a perfect factor but one and all.
    layer = Layer("CONV", 13, 7, 13, 13, 3, 3)
    problem = Problem(layer, PRESETS["edge"], "edp", "maestro", tiles="any")
    found = certify(problem, cache=False)
    factors = certify(problem.with_changes(tiles="factors"), cache=False)
    assert found.status == factors.status == OPTIMAL
    assert found.lower_bound < factors.lower_bound
    assert not failed_checks(verify(problem, found))


def test_a_proof_whose_time_runs_out_has_a_bound_and_goes_on() -> None:
    problem = Problem(load_layer("vgg16:1"), PRESETS["edge"], "latency", "maestro", tiles="any")
    first = solve_problem(problem, Clock(1e-9), threads=1)
    assert (first.status, first.best is not None) == (BOUNDED, True)
    assert first.best is not None
    assert 0.9 < first.lower_bound / first.best.loss < 1
    second = solve_problem(problem, Clock(0.2), first, threads=1)
    assert second.best is not None
    assert second.best.loss <= first.best.loss
    assert second.lower_bound >= first.lower_bound
