"""Proofs: the solver's figures are the cost model's, the check finds what is wrong, one cycle included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dse.core.certificate import Certificate
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.mapping import CLUSTER, OUTER_PARALLEL, OUTER_TILE
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.domains.clustered.space.genes import MAPPED_DIMS, ORDERS
from dse.models.maestro.check.outer_cases import OuterLevel
from dse.models.maestro.proof import box
from dse.models.maestro.proof.boxes import MaestroBoxes
from dse.optimum import verify
from dse.optimum.verification import Check, failed_checks
from dse.support.arrays import IntArray
from tests.optimum.any_points import point_margins
from tests.optimum.certify_cases import SMALL, odd_machine, real_problem
from workloads import load_layer

LAYERS = ("vgg16:conv1_2", "resnet18:0", "mobilenet_v2:1", "mobilenet_v2:8", "vgg16:fc7", "alexnet:conv3")
MACHINES = (PRESETS["eyeriss-small"], PRESETS["tpu-like"], odd_machine("eyeriss"))


def broken(checks: Sequence[Check]) -> list[str]:
    """The names of the checks that do not hold."""
    return [check.name for check in checks if not check.passed]


# The solver's figures


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_no_mapping_of_a_real_layer_is_below_the_bound_of_a_box_around_it(
    tiles: str, machine: Accelerator
) -> None:
    seen = 0
    for layer in LAYERS:
        for objective in ("latency", "energy", "edp"):
            problem = Problem(load_layer(layer), machine, objective, "maestro", tiles=tiles)
            margins = point_margins(problem, np.random.default_rng(7), 200)
            assert margins.min(initial=1.0) >= 1.0, problem
            seen += len(margins)
    assert seen > 100


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
        outer = OuterLevel(lowered, machine, tiles, machine.num_pes // rows[mine, CLUSTER], dim)
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
    checks = verify(problem, solve_problem(problem))
    assert failed_checks(checks) == []
    assert len(checks) == 4


def test_certificates_of_fixed_genes_and_of_nothing_feasible_pass_the_check() -> None:
    for case in SMALL[-3:]:
        for objective in ("latency", "energy", "edp", "area_maestro", "power"):
            problem = case.problem(objective)
            assert failed_checks(verify(problem, solve_problem(problem))) == []


def test_a_bound_that_time_cut_short_passes_the_check() -> None:
    problem = real_problem("mobilenet_v2:features.12.depthwise", "eyeriss-small", "edp")
    found = solve_problem(problem, Clock(1e-9))
    assert found.status == "bounded"
    assert failed_checks(verify(problem, found)) == []


def lone_cycle(certificate: Certificate, problem: Problem) -> float:
    """The certificate's latency, a cycle later."""
    assert certificate.best is not None
    return (certificate.best.cycles + 1) / (problem.accelerator.clock_ghz * 1e9)


def test_a_lower_bound_that_is_a_cycle_too_high_fails_the_check() -> None:
    layer = Layer("CONV", 8, 6, 8, 8, 3, 3)
    problem = Problem(layer, PRESETS["eyeriss-small"], "latency", "maestro")
    found = solve_problem(problem)
    wrong = replace(found, lower_bound=lone_cycle(found, problem))
    assert len(broken(verify(problem, wrong))) >= 2


def test_a_best_mapping_that_is_not_the_best_fails_the_check() -> None:
    problem = real_problem("resnet18:fc", "edge", "latency")
    found = solve_problem(problem)
    worse = solve_problem(replace(problem, fixed={"outer.tile.K": 1}))
    wrong = replace(found, best=worse.best, lower_bound=worse.lower_bound)
    assert "no box of tiles is left out" in broken(verify(problem, wrong))


def test_a_solver_that_leaves_boxes_out_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = real_problem("resnet18:5", "eyeriss-small", "edp")
    right, roots = solve_problem(problem), MaestroBoxes.roots
    assert right.best is not None
    missing = right.best.mapping.cluster_size

    def too_few(self: MaestroBoxes) -> IntArray:
        rows = roots(self)
        return rows[rows[:, box.CLUSTER] != missing]

    monkeypatch.setattr(MaestroBoxes, "roots", too_few)
    wrong = solve_problem(problem)
    assert wrong.status == "optimal"
    assert wrong.lower_bound > right.lower_bound
    assert "no box of tiles is left out" in broken(verify(problem, wrong))


def test_calling_a_feasible_problem_infeasible_fails_the_check() -> None:
    problem = real_problem("resnet18:fc", "edge", "energy")
    wrong = replace(solve_problem(problem), status="infeasible", best=None, lower_bound=float("inf"))
    assert len(broken(verify(problem, wrong))) >= 2


def test_the_certificate_of_another_problem_fails_the_check() -> None:
    one, other = (real_problem("resnet18:5", "edge", objective) for objective in ("energy", "edp"))
    assert broken(verify(one, solve_problem(other))) == ["the certificate is of this problem"]


def test_a_single_mapping_is_certified_and_checked() -> None:
    layer, machine = Layer("CONV", 1, 1, 3, 3, 3, 3), Accelerator(1, 60, 80, 2, 1)
    problem = Problem(layer, machine, "edp", "maestro")
    found = solve_problem(problem)
    assert found.counts.bounded == 0
    assert failed_checks(verify(problem, found)) == []
