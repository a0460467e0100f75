"""Spaces of other parts under maestro: PE counts are open, clusters fit, filters are cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.mapping import INNER_PARALLEL, INNER_TILE, OUTER_PARALLEL, OUTER_TILE
from dse.domains.clustered.problem import Problem
from dse.models.maestro.check.spaces import space_checks
from dse.models.maestro.proof import box
from dse.models.maestro.proof.bounds import make_boxes
from dse.models.maestro.proof.spaces import SpaceBoxes
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from tests.conftest import Dse
from tests.optimum.open_points import every_mapping, margins, on_machines
from workloads import load_layer

FIT = {"dims": "KCYXRS", "cluster": "fit"}
TIGHT = Accelerator(28, 40, 200, 2, 1)
SMALL = {
    "rows": (Layer("CONV", 4, 1, 4, 1, 3, 1), [4, 16]),
    "depthwise": (Layer("DSCONV", 1, 6, 1, 4, 1, 2), [5, 12]),
    "pointwise": (Layer("CONV", 4, 3, 1, 2, 1, 1), [7]),
    "columns": (Layer("CONV", 1, 2, 1, 9, 1, 4), [2, 28]),
}
REAL = ("vgg16:conv2_1", "mobilenet_v2:features.1.depthwise", "mobilenet_v2:features.1.project")


def small(name: str, objective: str, machine: Accelerator = TIGHT) -> Problem:
    """A problem whose mappings can all be priced."""
    layer, pes = SMALL[name]
    return Problem(layer, machine, objective, "maestro", space={**FIT, "num_pes": pes})


def with_weights() -> Problem:
    """A problem of mostly weights, whose PEs are more than the pieces of a filter."""
    layer, machine = Layer("CONV", 16, 16, 2, 1, 2, 1), Accelerator(28, 500, 9000, 3, 2)
    return Problem(layer, machine, "energy", "maestro", space={**FIT, "num_pes": [4]})


@pytest.mark.parametrize("machine", [TIGHT, Accelerator(28, 500, 9000, 3, 2, noc_latency=0, simd_lanes=2)])
@pytest.mark.parametrize("name", SMALL)
def test_the_optimum_is_that_of_all_mappings(name: str, machine: Accelerator) -> None:
    batches = [every_mapping(small(name, "latency", machine), cut=cut) for cut in (False, True)]
    for objective in ("latency", "edp", "energy"):
        problem = small(name, objective, machine)
        found = certify(problem, cache=False)
        whole, cut = (problem.evaluate(batch).loss.min(initial=np.inf) for batch in batches)
        boxes = make_boxes(problem)
        assert isinstance(boxes, SpaceBoxes)
        assert boxes.cut_floor() <= cut
        assert found.best is not None
        assert found.lower_bound == min(max(whole, found.lower_bound), boxes.cut_floor(), found.best.loss)
        if found.status == "optimal":
            assert found.best.loss == min(whole, cut) == found.lower_bound
        assert failed_checks(verify(problem, found)) == []


@pytest.mark.parametrize("within", ["K", "Y", "R"])
@pytest.mark.parametrize("layer", REAL)
def test_no_mapping_of_a_real_layer_is_below_the_bound_of_a_box_around_it(layer: str, within: str) -> None:
    rng, seen = np.random.default_rng(3), 0
    for objective in ("latency", "energy", "edp"):
        problem = Problem(load_layer(layer), PRESETS["eyeriss-small"], objective, "maestro", space="paper")
        filters = {"outer.tile.R": problem.layer.R, "inner.tile.S": problem.layer.S}
        drawn = problem.with_changes(fixed={"inner.parallel": within, **filters})
        batch = drawn.space.decode(drawn.space.sample(rng, 800))
        found = margins(make_boxes(problem), batch, rng)  # type: ignore[arg-type]
        assert found.min(initial=1.0) >= 1.0 - 1e-15
        seen += len(found)
    assert seen > 30


def test_mappings_that_stand_for_others_cost_the_same() -> None:
    problem = Problem(load_layer(REAL[0]), PRESETS["paper"], "edp", "maestro", space="paper")
    rng, layer = np.random.default_rng(5), problem.space.layer
    fixed = {"outer.parallel": "C", "outer.tile.R": 3, "outer.tile.S": 3}
    drawn = problem.with_changes(fixed=fixed)
    batch = drawn.space.decode(drawn.space.sample(rng, 3000))
    whole = (batch.rows[:, INNER_TILE + 4 : INNER_TILE + 6] == 3).all(axis=1)
    rows = batch.rows[whole]
    one, other = rows.copy(), rows.copy()
    # One cluster along C is as good as a whole filter dim that several share out.
    other[:, OUTER_PARALLEL] = DIMS.index("R")
    prices = [
        problem.evaluate(on_machines(problem, each, pes)).loss
        for each, pes in ((one, rows[:, 13]), (other, 3 * rows[:, 13]))
    ]
    assert np.array_equal(*prices)
    assert np.isfinite(prices[0]).sum() > 30
    # A lone PE has the same tiles whichever dim is parallel.
    for dim in "KCYX":
        place = DIMS.index(dim)
        alone = rows.copy()
        alone[:, 13], alone[:, INNER_PARALLEL] = 1, place
        alone[:, INNER_TILE + place] = alone[:, OUTER_TILE + place]
        of_filter = alone.copy()
        of_filter[:, INNER_PARALLEL] = DIMS.index("R")
        pes = rng.integers(1, 200, len(rows))
        prices = [problem.evaluate(on_machines(problem, each, pes)).loss for each in (alone, of_filter)]
        assert np.array_equal(*prices)
    # More clusters than the dim has indices are as good as still more.
    more = [
        problem.evaluate(on_machines(problem, rows, rows[:, 13] * count)).loss
        for count in (layer.C + 1, 3 * layer.C)
    ]
    assert np.array_equal(*more)


def test_a_bound_that_is_too_high_does_not_pass_the_check() -> None:
    for problem in (*(small(name, "latency") for name in SMALL), with_weights()):
        found = certify(problem, cache=False)
        wrong = replace(found, lower_bound=found.lower_bound * 1.2, best=None, status="bounded")
        assert failed_checks(verify(problem, wrong)), problem
        assert not all(check.passed for check in space_checks(problem, wrong)), problem


def test_a_filter_cut_on_clusters_that_idle_is_not_below_its_floor() -> None:
    problem = with_weights()
    row = [*[4, 1, 0, 2, 3, 4, 5], *[4, 8, 1, 1, 1, 1], 1, *[4, 1, 0, 2, 3, 4, 5], *[1] * 6]
    loss = problem.evaluate(on_machines(problem, np.array([row]), np.array([4]))).loss[0]
    boxes = make_boxes(problem)
    assert isinstance(boxes, SpaceBoxes)
    # Of two pieces of each filter MAESTRO reads the second one in the first step only.
    every_word_once = 0.00023 * 18.61 * (32 + 16 + 2 * 512)
    assert boxes.cut_floor() <= loss < every_word_once * 1e-9


def test_a_proof_is_kept_with_its_machine(tmp_path: Path) -> None:
    problem = small("pointwise", "latency")
    first, again = (certify(problem, cache=tmp_path) for _ in range(2))
    assert again.cached
    assert not first.cached
    assert again.best == first.best is not None
    assert problem.on_machine_of(again.best.genes).accelerator.num_pes in SMALL["pointwise"][1]


def test_parallel_dims_and_tiles_may_be_fixed() -> None:
    problem = small("depthwise", "latency")
    fixed = problem.with_changes(fixed={"outer.parallel": "K", "outer.tile.C": 3, "num_pes": 12})
    found = certify(fixed, cache=False)
    assert found.status == "optimal"
    assert found.best is not None
    assert found.best.mapping.outer.parallel == "K"
    assert found.best.mapping.outer.tile["C"] == 3
    rows = every_mapping(problem, cut=False)
    assert rows.machines is not None
    mine = (rows.rows[:, 0] == 0) & (rows.rows[:, OUTER_TILE + 1] == 3) & (rows.machines[:, 0] == 12)
    assert problem.evaluate(on_machines(problem, rows.rows[mine], np.full(mine.sum(), 12))).loss.min() == (
        found.best.loss
    )


@pytest.mark.parametrize("fixed", [{"outer.parallel": "R"}, {"outer.parallel": "K"}])
def test_what_is_priced_of_one_cluster_that_is_all_the_pes_is_a_point(fixed: dict[str, str]) -> None:
    problem = small("rows", "edp").with_changes(fixed={**fixed, "num_pes": 4, "inner.parallel": "K"})
    boxes = make_boxes(problem)
    assert isinstance(boxes, SpaceBoxes)
    roots = boxes.roots()
    mine = roots[roots[:, box.CLUSTER] == 4]
    mine[:, 0:8:2] = mine[:, 1:8:2]
    boxes.bound(mine, np.inf)
    found = boxes.settle(mine, np.inf)
    assert len(found.losses) > 0
    for design, loss in zip(found.designs, found.losses, strict=True):
        assert problem.price(boxes.point_of(design)[np.newaxis]).loss[0] == loss


def test_divisors_as_clusters_may_leave_pes_idle() -> None:
    layer = Layer("CONV", 12, 10, 6, 4, 1, 1)
    parts = {"cluster": "divisors", "num_pes": [12, 18]}
    problem = Problem(layer, PRESETS["eyeriss-small"], "edp", "maestro", space=parts)
    found = certify(problem, cache=False)
    assert found.status == "optimal"
    assert failed_checks(verify(problem, found)) == []
    points = problem.space.sample(np.random.default_rng(2), 20_000)
    assert found.beaten_by(problem.price(points).loss) is None


def test_a_layer_of_the_paper_is_proven_in_its_space(dse: Dse) -> None:
    where = (
        "--layer",
        "mobilenet_v2:3",
        "--accelerator",
        "paper",
        "--space",
        "paper",
        "--cost-model",
        "maestro",
    )
    shown = dse("certify", *where, "--objective", "latency", "--verify")
    assert shown.code == 0
    assert "optimal" in shown.out
    assert " PEs in " in shown.out


def test_what_has_a_floor_alone_is_not_said_to_go_on(dse: Dse) -> None:
    where = ("--layer", "mobilenet_v2:1", "--accelerator", "paper", "--space", "paper")
    shown = dse("certify", *where, "--cost-model", "maestro", "--objective", "energy").out
    assert "no mapping is below 3.50026" in shown
    assert "time ran out" not in shown
