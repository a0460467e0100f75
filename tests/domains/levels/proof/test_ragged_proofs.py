"""Optima over tiles that do not divide, against all mappings of small spaces."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from dse.models.timeloop.proof.branch import Branch
from dse.models.timeloop.proof.branches import OpenBranches
from dse.models.timeloop.proof.components import components_of
from dse.models.timeloop.proof.nodes import Node
from dse.models.timeloop.proof.terms import unit_of_loss
from dse.proof.proving import prove_optimum
from dse.support.arrays import BoolArray
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
Draw = Callable[[int], BoolArray]
"""Which of so many chains a node has besides."""
FEW = 60_000
"""Vectors that are all priced."""


def least_of_all(problem: MachineProblem) -> float:
    """The least loss of all mappings of a problem."""
    space = problem.space
    every = np.stack(np.unravel_index(np.arange(space.vectors), space.sizes), axis=1)
    return float(problem.price(every).loss.min())


@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
def test_proven_optima_of_any_tiles_are_the_least_of_all_mappings(objective: str) -> None:
    """`prove_ragged_proofs.py` has more problems, and uneven nests."""
    assert assert_proven_optima_are_the_least("even", LAYERS, objective, 8) > 3


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


def node_of(
    problem: MachineProblem, branches: OpenBranches, row: RowArray, others: Draw
) -> tuple[Branch, Node]:
    """A node that holds the chains of one mapping, and those others, and nothing is said of its orders."""
    layout = problem.space.layout
    lengths = layout.lengths(row[np.newaxis])[0]
    keep = [row[layout.keep(place)] for place in range(layout.levels)]
    every = [branches[number] for number in range(len(branches))]
    branch = next(one for one in every if (one.keep == keep).all())
    masks = []
    for component in components_of(problem):
        assert component.tiles is not None
        if component.tiles.max() > 1:
            own = (component.tiles[..., 1:] == lengths[:, list(component.dims)].T).all(axis=(1, 2))
            assert own.sum() == 1
            masks.append(own | others(len(own)))
    return branch, branch.root().less(masks)


def bound_of(problem: MachineProblem, branches: OpenBranches, row: RowArray) -> float:
    """The logarithm of the bound, in cycles and pJ, of the node of one mapping's chains alone."""
    branch, node = node_of(problem, branches, row, lambda size: np.zeros(size, dtype=np.bool_))
    left, _ = branch.relaxed(node, math.inf, 24)
    assert left
    return left.bound


@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
def test_no_nest_of_any_tiles_costs_less_than_the_bounds_of_its_nodes(objective: str) -> None:
    """Of its chains alone, where rests are cut again and where loops next to a storage leave its tensor in
    place; and of some others beside them: what is no better is left out there, but not the mapping itself.
    """
    rng, seen, tight = np.random.default_rng(2), 0, dict.fromkeys(NESTS, 0)
    for number in range(8):
        layer, nests = (Layer.gemm(10, 7, 3), *LAYERS[1::3])[number % 3], NESTS[number % 2]
        problem = MachineProblem(
            layer, open_levels(rng), objective, "timeloop", "any", fixed={"nests": nests}
        )
        branches = OpenBranches(problem)
        unit = unit_of_loss(objective_named(objective), float(problem.criteria.hertz))
        points = problem.space.sample(rng, 30)
        losses = problem.price(points).loss
        for row, loss in zip(problem.space.decode(points).rows, losses, strict=True):
            for few in (0, 2) if loss < math.inf else ():
                branch, node = node_of(
                    problem, branches, row, lambda size, few=few: rng.random(size) < few / size
                )
                left, _ = branch.relaxed(node, math.log(loss / unit) + 1e-8, 24)
                assert left, (number, few)
                assert math.exp(left.bound) * unit <= loss * (1 + 1e-9)
                tight[nests] += few > 0 and node.size > 1 and loss < 1.1 * math.exp(left.bound) * unit
                seen += 1
    assert seen > 200
    assert min(tight.values()) > 3, tight


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
