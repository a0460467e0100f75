"""Proofs under `loopnest`: figures are the model's, bounds hold, and the check finds what is wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

from dse.core.certificate import INFEASIBLE
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof import solver
from dse.domains.clustered.proof.bounds import Bounds
from dse.domains.clustered.proof.choices import ORDER_TABLE
from dse.domains.clustered.proof.solver import solve
from dse.models.loopnest import LoopNest, proof
from dse.models.loopnest.check.coverage import cover
from dse.models.loopnest.params import DEPTHWISE, NOC, PES
from dse.models.loopnest.proof.bounds import make_bounds
from dse.models.loopnest.proof.instance import Instance, make_instance
from dse.optimum import verify
from dse.optimum.verification import Check, failures
from tests.as_kernels import AsKernels
from tests.optimum.certify_cases import Case, every_price, real_problem
from tests.optimum.certify_loopnest_cases import MODEL, SMALL
from workloads import load_layer

IntArray = np.ndarray[Any, np.dtype[np.int64]]

NAMES = ("dims", "inner_level", "kernels", "links", "outer_level", "pieces", "search", "shapes", "tiles")
dims, inner_level, kernels, links, outer_level, pieces, search, shapes, tiles = (
    AsKernels(import_module(f"{proof.__name__}.{name}")) for name in NAMES
)
LAYERS = ("resnet18:0", "resnet18:4", "mobilenet_v2:1", "mobilenet_v2:8", "vgg16:fc7", "alexnet:conv1")
ODD = Accelerator(12, 700, 90_000, 13, 5, 4, 2)
OUTER_ORDER_GENE, INNER_ORDER_GENE = 0, 6


def real(layer: str, accelerator: str, objective: str) -> Problem:
    return real_problem(layer, accelerator, objective, MODEL)


def broken(checks: tuple[Check, ...]) -> list[str]:
    """The names of the checks that do not hold."""
    return [check.name for check in checks if not check.passed]


class Summed:
    """One mapping's figures as the solver's kernels sum them up."""

    def __init__(self, instance: Instance, genes: IntArray, row: IntArray) -> None:
        self.params, self.real = instance.params, np.zeros((2, 3), np.int64)
        params, cluster = self.params, int(row[CLUSTER])
        first = int(params[DEPTHWISE])
        outer_parallel, inner_parallel = (max(int(row[at]), first) for at in (OUTER_PARALLEL, INNER_PARALLEL))
        self.dims = np.zeros((dims.DIMS, dims.COLUMNS), np.int64)
        clusters = params[PES] // cluster
        for dim in range(dims.DIMS):
            outer, inner = row[OUTER_TILE + dim], row[INNER_TILE + dim]
            dims.set_outer(self.dims, dim, outer, clusters if dim == outer_parallel else 1, params)
            dims.set_inner(self.dims, dim, inner, cluster if dim == inner_parallel else 1, params)
        for axis in range(2):
            tile = instance.outer_tiles[2 + axis, 1:].tolist().index(row[OUTER_TILE + 2 + axis])
            spread = outer_parallel == 2 + axis
            number = instance.clusters.tolist().index(cluster) if spread else len(instance.clusters)
            self.real[axis] = instance.real[axis, tile, number]
        self.figures = np.zeros(tiles.FIGURES, np.int64)
        tiles.set_figures(self.dims, params, self.figures)
        self.spread = np.zeros((2, 3), np.int64)
        kernels.set_clusters(self.dims, outer_parallel, params, self.spread)
        self.orders = ORDER_TABLE[genes[OUTER_ORDER_GENE]], ORDER_TABLE[genes[INNER_ORDER_GENE]]

    def totals(self) -> list[int]:
        """Cycles and words of the whole mapping."""
        level, totals = np.zeros(inner_level.LEVEL, np.int64), np.zeros(outer_level.TOTALS, np.int64)
        step = self.figures[tiles.STEP]
        inner_level.time_inner(
            self.dims, self.orders[1], self.params, step, self.spread, *inner_level.inner_scratch(), level
        )
        outer_level.time_outer(
            self.dims,
            self.orders[0],
            self.params,
            step,
            level,
            self.real,
            *outer_level.outer_scratch(),
            totals,
        )
        found: list[int] = totals.tolist()
        return found

    def without_noc(self, work: int) -> tuple[list[int], list[int]]:
        """Cycles and DRAM words if each outer step does the same work, and nothing moves inside: two ways."""
        totals, level = np.zeros(outer_level.TOTALS, np.int64), np.zeros(inner_level.LEVEL, np.int64)
        scratch, known = links.link_scratch(), (self.dims, self.orders[0], self.params)
        links.set_links(self.dims, self.params, scratch[0])
        alone = links.time_link(*known, work, self.real, scratch)
        self.dims[:, dims.STEPS :] = 0
        level[inner_level.TIME : inner_level.INPUTS] = work * self.params[NOC]
        outer_level.time_outer(*known, 0, level, self.real, *outer_level.outer_scratch(), totals)
        return list(alone), [int(totals[outer_level.CYCLES]), int(totals[outer_level.AT_DRAM])]

    def bounds(self) -> list[tuple[int, int]]:
        """Of each case of the tiles, the fewest words to and from PEs, and at L2."""
        cases = np.zeros((tiles.CASES, outer_level.TOTALS), np.int64)
        number = tiles.bound_cases(self.dims, self.params, cases)
        return [(int(case[outer_level.TO_PES]), int(case[outer_level.AT_L2])) for case in cases[:number]]


class Parts:
    """The bounds of all mappings that have a mapping's shape, inner parallel dim and first inner tiles."""

    def __init__(self, problem: Problem) -> None:
        self.instance = make_instance(problem)
        self.walk = search.walk_scratch(self.instance.inner_tiles.shape[1])

    def bounds(self, genes: IntArray, row: IntArray) -> list[float]:
        """Losses: with any inner tiles, with the mapping's of K, of K and C, and of K, C and Y."""
        instance, summed, cluster = self.instance, Summed(self.instance, genes, row), int(row[CLUSTER])
        params, measured, best = instance.params, summed.dims, np.full(2, math.inf)
        parallel = max(int(row[INNER_PARALLEL]), int(params[DEPTHWISE])) if cluster > 1 else -1
        shape = self.shape(summed, cluster)
        lists = instance.parallels, instance.inner_tiles
        pieces.list_pieces(measured, cluster, params, *lists, self.walk[0], self.walk[1])
        known, figures = (measured, params, instance.constants, instance.terms, shape), self.walk[1]
        assert search.begin(parallel, *known, self.walk, best) == 0
        found = [float(pieces.bound_part(self.walk[2], *known)[0])]
        for dim in range(3):
            sizes = figures[0, dim, :, pieces.ALONE, pieces.SIZE].tolist()
            self.walk[-1][dim] = sizes.index(row[INNER_TILE + dim]) - 1
            assert search.descend(dim, parallel, *known, self.walk, best) == dim + 1
            found.append(float(pieces.bound_part(self.walk[2], *known)[0]))
        return found

    def shape(self, summed: Summed, cluster: int) -> tuple[int, ...]:
        """What bounds need of the shape."""
        instance, orders = self.instance, np.zeros((shapes.MAX_ORDERS, 2), np.int64)
        many = shapes.bound_orders(
            summed.dims, cluster, instance.params, instance.parallels, instance.inner_tiles, instance.orders,
            summed.real, ORDER_TABLE, links.link_scratch(), orders,
        )  # fmt: skip
        found: tuple[int, ...] = search.shape_figures(
            summed.dims, instance.params, instance.inner_tiles, orders, many
        )
        return found


# Figures and bounds


@pytest.mark.parametrize(("layer", "machine"), list(product(LAYERS, (PRESETS["eyeriss-small"], ODD))))
def test_two_levels_summed_apart_cost_what_the_model_says(layer: str, machine: Accelerator) -> None:
    problem = Problem(load_layer(layer), machine, cost_model=MODEL)
    instance, model = make_instance(problem), LoopNest()
    genes = problem.space.sample(np.random.default_rng(3), 40)
    batch = problem.space.decode(genes)
    for index, row in enumerate(batch.rows):
        counts = model.count(problem.layer, machine, batch[index])
        assert counts is not None
        dram = counts.dram_input + counts.dram_weight + counts.dram_output_up + counts.dram_output_down
        at_l2 = counts.l2_input + counts.l2_weight + counts.l2_output_up + counts.l2_output_down
        to_pes = counts.pe_input + counts.pe_weight + counts.pe_output_up + counts.l2_output_down
        assert Summed(instance, genes[index], row).totals() == [counts.cycles, to_pes, at_l2, dram]


@pytest.mark.parametrize(("layer", "machine"), list(product(LAYERS, (PRESETS["eyeriss-small"], ODD))))
def test_the_link_alone_is_two_levels_without_a_noc(layer: str, machine: Accelerator) -> None:
    problem = Problem(load_layer(layer), machine, cost_model=MODEL)
    instance, genes = make_instance(problem), problem.space.sample(np.random.default_rng(8), 60)
    for index, row in enumerate(problem.space.decode(genes).rows):
        # With less work the link is what steps wait for.
        for work in (1, 5000):
            alone, both = Summed(instance, genes[index], row).without_noc(work)
            assert alone == both


@pytest.mark.parametrize("layer", LAYERS)
def test_no_mapping_moves_fewer_words_than_the_bound_of_its_tiles(layer: str) -> None:
    problem = Problem(load_layer(layer), ODD, cost_model=MODEL)
    instance = make_instance(problem)
    genes = problem.space.sample(np.random.default_rng(4), 300)
    tight = 0
    for index, row in enumerate(problem.space.decode(genes).rows):
        summed = Summed(instance, genes[index], row)
        _, to_pes, at_l2, _ = summed.totals()
        bounds = summed.bounds()
        # One of the cases is the mapping's own.
        assert any(bound[0] <= to_pes and bound[1] <= at_l2 for bound in bounds)
        tight += any(bound == (to_pes, at_l2) for bound in bounds)
    assert tight > 0


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_no_mapping_is_below_the_bound_of_its_first_inner_tiles(layer: str, objective: str) -> None:
    problem = Problem(load_layer(layer), ODD, objective, MODEL)
    parts, genes = Parts(problem), problem.space.sample(np.random.default_rng(6), 400)
    rows, losses, near = problem.space.decode(genes).rows, problem.price(genes).loss, 0
    for index in np.flatnonzero(np.isfinite(losses)):
        bounds = parts.bounds(genes[index], rows[index])
        assert [*bounds, losses[index]] == sorted([*bounds, losses[index]])
        near += bounds[-1] > 0.9 * losses[index]
    assert near > 0


@pytest.mark.parametrize("case", SMALL[:-1], ids=lambda case: case.name)
def test_the_bound_of_a_shape_holds_everywhere(case: Case) -> None:
    for objective in ("latency", "energy", "edp", "energy * latency^2"):
        problem = case.problem(objective)
        for (tile, cluster, parallel), bound in shape_bounds(problem).items():
            whole = dict(zip(("K", "C", "Y", "X"), tile, strict=True))
            fixed = {f"outer.tile.{dim}": size for dim, size in whole.items()}
            fixed |= {"cluster": cluster, "outer.parallel": parallel}
            part = replace(problem, fixed={**problem.space.fixed, **fixed})
            least = min(float(prices.loss.min()) for prices in every_price(part))
            assert bound <= least


def shape_bounds(problem: Problem) -> dict[tuple[tuple[int, ...], int, str], float]:
    """Some shapes' bounds."""
    bounds = make_bounds(problem)
    instance, losses = bounds.instance, solver.bound_groups(bounds, math.inf, 1).losses
    fitting = np.flatnonzero(np.isfinite(losses))
    found, choice = {}, np.empty(6, np.int64)
    for shape in np.random.default_rng(5).choice(fitting, min(3, len(fitting)), replace=False):
        kernels.read_shape(shape, instance.outer_tiles, instance.clusters, instance.parallels, choice)
        tile = tuple(int(instance.outer_tiles[dim, 1 + choice[dim]]) for dim in range(4))
        parallel = "KCYX"[instance.parallels[0, 1 + choice[5]]]
        found[tile, int(instance.clusters[choice[4]]), parallel] = float(losses[shape])
    return found


def test_a_bound_of_a_cycle_more_would_not_hold() -> None:
    # One mapping, and nothing in it overlaps.
    problem = Problem(Layer.fc(1, 1), Accelerator(1, 512, 512, 2, 1), cost_model=MODEL)
    bound = float(solver.bound_groups(make_bounds(problem), math.inf, 1).losses.min())
    assert bound == min(float(prices.loss.min()) for prices in every_price(problem))


# Checking certificates


def test_a_lower_bound_that_is_a_cycle_too_high_fails_the_check() -> None:
    problem = real("mobilenet_v2:25", "edge", "latency")
    found = solve(problem)
    assert found.best is not None
    late = (found.best.cycles + 1) / (problem.accelerator.clock_ghz * 1e9)
    assert broken(verify(problem, replace(found, lower_bound=late)))


def test_a_solver_whose_bound_is_a_cycle_too_high_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(Layer.gemm(4, 2, 2), Accelerator(4, 12, 28, 3, 2, 0, 2), cost_model=MODEL)
    right, bound = solve(problem), solver.bound_groups

    def too_high(bounds: Bounds, deadline: float, threads: int) -> solver.Bounded:
        bounded = bound(bounds, deadline, threads)
        return bounded._replace(losses=bounded.losses + 1e-9)

    monkeypatch.setattr(solver, "bound_groups", too_high)
    wrong = solve(problem)
    assert wrong.counts.solved < right.counts.solved
    assert "no shape is left out" in broken(verify(problem, wrong))


def test_a_best_mapping_that_is_not_the_best_fails_the_check() -> None:
    problem = real("resnet18:fc", "edge", "energy")
    found, worse = solve(problem), solve(replace(problem, fixed={"outer.tile.K": 1}))
    wrong = replace(found, best=worse.best, lower_bound=worse.lower_bound)
    assert broken(verify(problem, wrong))


def test_calling_a_feasible_problem_infeasible_fails_the_check() -> None:
    problem = real("resnet18:fc", "edge", "latency")
    wrong = replace(solve(problem), status=INFEASIBLE, best=None, lower_bound=math.inf)
    assert len(broken(verify(problem, wrong))) >= 2


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_certificates_of_fixed_genes_and_of_nothing_feasible_pass_the_check(case: Case) -> None:
    problem = case.problem("edp")
    found = solve(problem)
    assert failures(verify(problem, found)) == []
    if found.best is not None:
        left = cover(problem, (found.best.loss, found.best.energy_nj)).below
        assert len(left) == found.counts.solved
