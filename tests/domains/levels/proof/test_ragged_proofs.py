"""Optima over tiles that do not divide, against all mappings of small spaces."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dse import certify, make_problem, verify
from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.domains.levels.layout import RowArray
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import NESTS
from dse.models.timeloop.proof.boxes import LevelBoxes
from dse.models.timeloop.proof.branches import OpenBranches
from dse.models.timeloop.proof.components import components_of
from dse.models.timeloop.proof.terms import unit_of_loss
from dse.proof.proving import prove_optimum
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.levels.test_uneven import open_levels, two_levels
from workloads import load_layer

LAYERS = [
    Layer.gemm(5, 3, 1),
    Layer("CONV", 1, 1, 5, 1, 3, 1),
    Layer.gemm(7, 3, 2),
    Layer("DSCONV", 1, 3, 5, 1, 2, 1),
    Layer("CONV", 1, 1, 7, 1, 3, 1, stride=2),
]
PRODUCTS = [Layer.gemm(5, 3, 1), Layer("CONV", 1, 1, 4, 1, 2, 1), Layer.gemm(3, 2, 2), Layer.gemm(1, 5, 3)]
FEW = 60_000
"""Vectors that are all priced."""


def least_of_all(problem: MachineProblem) -> float:
    """The least loss of all mappings of a problem."""
    space = problem.space
    every = np.stack(np.unravel_index(np.arange(space.vectors), space.sizes), axis=1)
    return float(problem.price(every).loss.min())


@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
@pytest.mark.parametrize(("nests", "layers"), [("even", LAYERS), ("uneven", PRODUCTS)])
def test_proven_optima_of_any_tiles_are_the_least_of_all_mappings(
    nests: str, layers: list[Layer], objective: str
) -> None:
    """`prove_ragged_proofs.py` has more problems."""
    assert assert_proven_optima_are_the_least(nests, layers, objective, 8 if nests == "even" else 12) > 3


def assert_proven_optima_are_the_least(nests: str, layers: list[Layer], objective: str, draws: int) -> int:
    """How many of the problems drawn had few mappings; the optimum of each is the least of all."""
    rng, seen = np.random.default_rng(1), 0
    for number in range(draws):
        layer, machine = layers[number % len(layers)], open_levels(rng)
        problem = MachineProblem(layer, machine, objective, "timeloop", "any", fixed={"nests": nests})
        if problem.space.vectors > FEW:
            continue
        # Nothing to begin with: the proof has to come upon the best mapping itself.
        boxes = LevelBoxes(problem, may_be_small=False)
        found = prove_optimum(problem, boxes, boxes.mapping_of, lambda: None, Clock())
        least = least_of_all(problem)
        assert found.status == ("infeasible" if np.isinf(least) else "optimal")
        if found.best:
            assert found.best.loss == pytest.approx(least)
        seen += 1
    return seen


def bound_of(problem: MachineProblem, branches: OpenBranches, row: RowArray) -> float:
    """The logarithm of the bound, in cycles and pJ, of a node that holds the chains of one mapping alone, and
    nothing is said of its orders.
    """
    layout = problem.space.layout
    lengths = layout.lengths(row[np.newaxis])[0]
    keep = [row[layout.keep(place)] for place in range(layout.levels)]
    every = [branches[number] for number in range(len(branches))]
    branch = next(one for one in every if (one.keep == keep).all())
    masks = []
    for component in components_of(problem):
        assert component.tiles is not None
        if component.tiles.max() > 1:
            own = lengths[:, list(component.dims)].T
            masks.append((component.tiles[..., 1:] == own).all(axis=(1, 2)))
            assert masks[-1].sum() == 1
    node, _ = branch.relaxed(branch.root().less(masks), math.inf, 24)
    assert node
    return node.bound


@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
def test_no_nest_of_any_tiles_costs_less_than_the_bound_of_its_chains(objective: str) -> None:
    """Where rests are cut again, and where loops next to a storage leave its tensor in place."""
    rng, seen = np.random.default_rng(2), 0
    for number in range(8):
        layer, nests = (Layer.gemm(10, 7, 3), *LAYERS[1::3])[number % 3], NESTS[number % 2]
        machine = open_levels(rng)
        problem = MachineProblem(layer, machine, objective, "timeloop", "any", fixed={"nests": nests})
        branches = OpenBranches(problem)
        unit = unit_of_loss(objective_named(objective), float(problem.criteria.hertz))
        points = problem.space.sample(rng, 60)
        losses = problem.price(points).loss
        for row, loss in zip(problem.space.decode(points).rows, losses, strict=True):
            if loss < math.inf:
                bound = bound_of(problem, branches, row)
                assert math.exp(bound) * unit <= loss * (1 + 1e-9)
                seen += 1
    assert seen > 100


def test_uneven_nests_of_any_tiles_are_lower_than_both() -> None:
    """A product of 7 x 5 x 3 on a buffer: neither even nests nor tiles that divide are as good."""
    losses = {}
    for nests, tiles in (("even", "any"), ("uneven", "factors"), ("uneven", "any")):
        problem = MachineProblem(
            Layer.gemm(7, 5, 3), two_levels(14), "energy", "timeloop", tiles, fixed={"nests": nests}
        )
        found = certify(problem, cache=False)
        assert found.status == "optimal"
        assert all(one.passed for one in verify(problem, found))
        losses[nests, tiles] = found.lower_bound
    best = losses.pop(("uneven", "any"))
    assert all(best < loss * (1 - 1e-6) for loss in losses.values())


def test_heads_of_197_tokens_gain_by_tiles_that_do_not_divide(dse: Dse, tmp_path: Path) -> None:
    given = ("--layer", "vit-b16:2", "--accelerator", "gemmini", "--cost-model", "timeloop")
    asked = ("--objective", "edp", "--cache", str(tmp_path), "--json")
    divided = dse("certify", *given, *asked).json
    found = dse("certify", *given, *asked, "--tiles", "any", "--verify").json
    assert divided["tiles"] == "factors"
    assert (found["tiles"], found["status"]) == ("any", "optimal")
    assert found["best"]["loss"] < 0.1 * divided["best"]["loss"]


def test_any_tiles_are_proven_where_the_ways_to_cut_a_dim_are_few() -> None:
    layer = load_layer("resnet18:6")
    for nests in ("even", "uneven"):
        problem = make_problem(layer, "eyeriss_like", "edp", "timeloop", tiles="any", fixed={"nests": nests})
        with pytest.raises(InputError, match="ways to cut one dim are too many to certify"):
            certify(problem, cache=False)


def test_the_code_that_checks_certificates_knows_lengths() -> None:
    problem = make_problem(
        load_layer("alexnet:fc8"), "gemmini", "edp", "timeloop", tiles="any", limits="Scratchpad_use <= 0.5"
    )
    found = certify(problem, 20, cache=False)
    assert found.best
    assert all(one.passed for one in verify(problem, found))
