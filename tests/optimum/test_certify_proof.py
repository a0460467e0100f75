"""Proofs: the solver's figures are the cost model's, the check finds what is wrong, one cycle included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dse.core.certificate import Certificate, Solved
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.check.enumeration import Groups, group_keys
from dse.domains.clustered.mapping import CLUSTER, INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof import solver
from dse.domains.clustered.proof.bounds import Bounds
from dse.domains.clustered.proof.choices import ORDER_TABLE
from dse.domains.clustered.proof.solver import solve
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS
from dse.models.maestro.check.coverage import COUNTER
from dse.models.maestro.check.inner_check import cycles_below_none, fewest_cycles
from dse.models.maestro.check.outer_cases import OuterLevel
from dse.models.maestro.proof import groups, kernels
from dse.models.maestro.proof import level as outer
from dse.models.maestro.proof.inner import solve_inner
from dse.models.maestro.proof.instance import AFTER_TABLE, make_instance
from dse.optimum import verify
from dse.optimum.verification import Check, failures
from tests.as_kernels import AsKernels
from tests.optimum.certify_cases import SMALL, Case, odd_machine, real_problem
from workloads import load_layer

level, inner_bound = AsKernels(outer), AsKernels(groups).inner_bound

LAYERS = ("vgg16:conv1_2", "resnet18:0", "mobilenet_v2:1", "mobilenet_v2:8", "vgg16:fc7", "alexnet:conv3")
MACHINES = (PRESETS["eyeriss-small"], PRESETS["tpu-like"], odd_machine("eyeriss"))
ORDER_GENES, PARALLEL_GENES = (0, 6), (1, 7)


def broken(checks: Sequence[Check]) -> list[str]:
    """The names of the checks that do not hold."""
    return [check.name for check in checks if not check.passed]


# The solver's figures


@pytest.mark.parametrize(("layer", "machine"), list(product(LAYERS, MACHINES)))
def test_two_levels_summed_apart_cost_what_the_model_says(layer: str, machine: Accelerator) -> None:
    problem = Problem(load_layer(layer), machine, cost_model="maestro")
    params = make_instance(problem).params
    genes = problem.space.sample(np.random.default_rng(7), 50)
    rows, costs = problem.space.decode(genes).rows, problem.price(genes)
    depthwise = problem.layer.type == "DSCONV"
    for index, row in enumerate(rows):
        outer_tiles, inner_tiles = row[OUTER_TILE : OUTER_TILE + 4], row[INNER_TILE : INNER_TILE + 4]
        outer_order, inner_order = (int(genes[index, gene]) for gene in ORDER_GENES)
        spatial = [max(int(row[column]), int(depthwise)) for column in (OUTER_PARALLEL, INNER_PARALLEL)]
        cluster, scratch = int(row[CLUSTER]), kernels.level_scratch()
        summary = scratch[-1]
        level.set_level(outer_tiles, inner_tiles, spatial[1], cluster, params, False, *scratch)
        steps = [-(-int(summary[work]) // params[level.LANES]) for work in (level.WORK, level.LAST_WORK)]
        data = summary[level.FIRST_INPUTS] + summary[level.FIRST_WEIGHTS]
        inner = steps[0] + params[level.LATENCY] - 1 - (-data // params[level.BANDWIDTH])
        inner += level.sum_order(
            ORDER_TABLE[inner_order], AFTER_TABLE[inner_order], spatial[1], *scratch, *steps
        )[0]
        sizes = params[level.SIZES : level.PARAMS]
        least = level.set_level(
            sizes, outer_tiles, spatial[0], machine.num_pes // cluster, params, True, *scratch
        )
        data = summary[level.FIRST_INPUTS] + summary[level.FIRST_WEIGHTS]
        cycles = max(inner + params[level.LATENCY] - 1 - (-data // params[level.BANDWIDTH]), least)
        cycles += level.sum_order(
            ORDER_TABLE[outer_order], AFTER_TABLE[outer_order], spatial[0], *scratch, inner, inner
        )[0]
        assert cycles == costs.cycles[index]
        assert 2 * (data + summary[level.OUT]) == costs.l2_size[index]


@pytest.mark.parametrize("layer", LAYERS)
def test_the_outer_cases_of_the_check_cost_what_the_model_says(layer: str) -> None:
    machine = odd_machine("eyeriss-small")
    problem = Problem(load_layer(layer), machine, "energy", "maestro")
    genes = problem.space.sample(np.random.default_rng(8), 3000)
    rows, costs = problem.space.decode(genes).rows, problem.price(genes)
    lowered = problem.space.layer
    data = lowered.C * lowered.Y * lowered.X, lowered.K * lowered.C * lowered.R * lowered.S
    compared = 0
    for parallel, order in product(range(4), range(len(ORDERS))):
        mine = np.flatnonzero((rows[:, OUTER_PARALLEL] == parallel) & (genes[:, 0] == order))
        if not len(mine):
            continue
        tiles = {dim: rows[mine, OUTER_TILE + place] for place, dim in enumerate(MAPPED_DIMS)}
        dim = "C" if lowered.type == "DSCONV" and parallel == 0 else MAPPED_DIMS[parallel]
        outer = OuterLevel(lowered, machine, tiles, rows[mine, CLUSTER], dim)
        sums = outer.totals("".join(ORDERS[order]), np.full(len(mine), 10**9))
        energy = 0.00023 * (
            sums.read_input * 18.61 + data[0] * 18.61 + sums.read_weights * 18.61 + data[1] * 18.61
            + sums.written * 18.61
        )  # fmt: skip
        assert (energy == costs.energy_nj[mine]).all()
        assert (outer.l2_need == costs.l2_size[mine]).all()
        assert (outer.written == sums.written).all()
        compared += len(mine)
    assert compared == len(rows)


def test_mappings_whose_counts_wrap_are_the_ones_that_the_model_refuses_or_finds_short_of_work() -> None:
    machine = Accelerator(3, 512, 2**22, 16, 4)
    problem = Problem(Layer.gemm(4096, 2048, 2048), machine, cost_model="maestro")
    params = make_instance(problem).params
    genes = problem.space.sample(np.random.default_rng(9), 3000)
    genes[:, 2:6] = np.minimum(genes[:, 2:6], 1)
    rows, costs = problem.space.decode(genes).rows, problem.price(genes)
    wraps = []
    for row in rows:
        scratch = kernels.level_scratch()
        tiles, spatial = row[OUTER_TILE : OUTER_TILE + 4], int(row[OUTER_PARALLEL])
        sizes, clusters = params[level.SIZES : level.PARAMS], machine.num_pes // int(row[CLUSTER])
        level.set_level(sizes, tiles, spatial, clusters, params, True, *scratch)
        wraps.append(level.largest_case(scratch[0], spatial, scratch[-1]) >= COUNTER)
    assert 0 < sum(wraps) < len(wraps)
    assert (np.isin(costs.reason, (Reason.TOO_MANY_STEPS, Reason.WORK_DROPPED)) == wraps).all()


# The bound on inner cycles


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_inner_bound_holds_everywhere_and_one_cycle_more_would_not(case: Case) -> None:
    problem = case.problem()
    instance = make_instance(problem)
    slack = []
    for tiles, clusters in Groups(problem).chunks():
        bounds = cycles_below_none(problem, tiles, clusters)
        for row, group in enumerate(group_keys(tiles, clusters)):
            sizes = np.array(group.tiles)
            mine = inner_bound(
                sizes, group.cluster, instance.params, instance.parallels[1], instance.fixed_inner
            )
            assert mine == bounds[row]
            least = fewest_cycles(problem, group.tiles, group.cluster, 10**6)
            result = np.zeros(kernels.INNER, np.int64)
            solve_inner(sizes, group.cluster, *instance.inner, result)
            assert least is not None
            if least.cycles is None:
                assert case.name == "nothing-fits"
                continue
            assert result[kernels.CYCLES] == least.cycles
            slack.append(least.cycles - mine)
    if slack:
        assert min(slack) == 0


# Checking certificates


@pytest.mark.parametrize(
    ("layer", "accelerator", "objective"),
    [
        ("resnet18:5", "eyeriss-small", "edp"),
        ("vgg16:fc7", "edge", "energy"),
        ("resnet18:5", "edge", "latency"),
        ("alexnet:conv3", "tpu-like", "latency"),
    ],
)
def test_certificates_pass_the_check(layer: str, accelerator: str, objective: str) -> None:
    problem = real_problem(layer, accelerator, objective)
    checks = verify(problem, solve(problem))
    assert failures(checks) == []
    assert len(checks) == 5


def test_certificates_of_fixed_genes_and_of_nothing_feasible_pass_the_check() -> None:
    for case in SMALL[-3:]:
        for objective in ("latency", "energy", "edp", "area_maestro", "power"):
            problem = case.problem(objective)
            assert failures(verify(problem, solve(problem))) == []


def test_a_bound_that_time_cut_short_passes_the_check() -> None:
    problem = real_problem("mobilenet_v2:features.12.depthwise", "eyeriss-small", "edp")
    found = solve(problem, Clock(1e-9))
    assert found.status == "bounded"
    assert failures(verify(problem, found)) == []


def lone_cycle(certificate: Certificate, problem: Problem) -> float:
    """The certificate's latency, a cycle later."""
    assert certificate.best is not None
    return (certificate.best.cycles + 1) / (problem.accelerator.clock_ghz * 1e9)


def test_a_lower_bound_that_is_a_cycle_too_high_fails_the_check() -> None:
    layer = Layer("CONV", 8, 6, 8, 8, 3, 3)
    problem = Problem(layer, PRESETS["eyeriss-small"], "latency", "maestro")
    found = solve(problem)
    wrong = replace(found, lower_bound=lone_cycle(found, problem))
    assert len(broken(verify(problem, wrong))) >= 2


def test_a_best_mapping_that_is_not_the_best_fails_the_check() -> None:
    problem = real_problem("resnet18:fc", "edge", "latency")
    found = solve(problem)
    worse = solve(replace(problem, fixed={"outer.tile.K": 1}))
    wrong = replace(found, best=worse.best, lower_bound=worse.lower_bound)
    assert "no outer configuration is below the bound" in broken(verify(problem, wrong))


def test_a_solver_whose_bound_is_a_cycle_too_high_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = next(case for case in SMALL if case.name == "depthwise").problem()
    right, bound = solve(problem), solver.bound_groups

    def too_high(bounds: Bounds, deadline: float, threads: int) -> solver.Bounded:
        bounded = bound(bounds, deadline, threads)
        return bounded._replace(losses=bounded.losses + 1e-9)

    monkeypatch.setattr(solver, "bound_groups", too_high)
    wrong = solve(problem)
    # It got away with it, and still the proof has a hole.
    assert wrong.lower_bound == right.lower_bound
    assert len(wrong.solved) < len(right.solved)
    assert broken(verify(problem, wrong)) == ["no outer configuration is below the bound"]


def test_a_solved_group_that_is_left_out_fails_the_check() -> None:
    problem = next(case for case in SMALL if case.name == "depthwise").problem()
    found = solve(problem)
    holes = [
        replace(found, solved=found.solved[:i] + found.solved[i + 1 :]) for i in range(len(found.solved))
    ]
    assert len(holes) == 2
    assert all(broken(verify(problem, hole)) for hole in holes)


def test_inner_cycles_that_are_one_off_fail_the_check() -> None:
    problem = real_problem("resnet18:5", "eyeriss-small", "latency")
    found = solve(problem)
    for error in (-1, 1):
        first, *rest = found.solved
        wrong = replace(found, solved=(Solved(first.tiles, first.cluster, first.cycles + error), *rest))
        assert "the solved inner problems take the cycles that are claimed" in broken(verify(problem, wrong))


def test_calling_a_feasible_problem_infeasible_fails_the_check() -> None:
    problem = real_problem("resnet18:fc", "edge", "energy")
    wrong = replace(solve(problem), status="infeasible", best=None, lower_bound=float("inf"))
    assert len(broken(verify(problem, wrong))) >= 2


def test_the_certificate_of_another_problem_fails_the_check() -> None:
    one, other = (real_problem("resnet18:5", "edge", objective) for objective in ("energy", "edp"))
    assert broken(verify(one, solve(other))) == ["the certificate is of this problem"]


def test_a_single_mapping_is_certified_and_checked() -> None:
    layer, machine = Layer("CONV", 1, 1, 3, 3, 3, 3), Accelerator(1, 60, 80, 2, 1)
    problem = Problem(layer, machine, "edp", "maestro")
    found = solve(problem)
    assert found.counts.groups == 1
    assert failures(verify(problem, found)) == []
