"""Proofs, checks and lists where tiles are fixed at several sizes: those of the sizes, put together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL
from dse.core.domains import prover_of
from dse.core.layer import Layer
from dse.core.listed import Wanted
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.advice import Adviser
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.joined import JoinedBoxes
from dse.domains.clustered.proof.prover import ClusteredProver
from dse.domains.clustered.proof.solver import solve_problem
from dse.domains.clustered.tile_sets import one_tile_each
from dse.optimum import certify, verify
from dse.optimum.near import with_near
from dse.optimum.verification import divided, failed_checks
from dse.optimum.verification.near import verify_near
from dse.proof.contract import Bounded, Children, Found, boxes_of
from dse.support.errors import InputError
from tests.models import bus_model
from tests.models.bus_model import Bus
from tests.optimum.certify_cases import every_price
from tests.optimum.tile_set_checks import expect_a_bound_that_is_too_high_to_be_seen
from tests.third_party import offered
from workloads import load_layer

ORDERS = {"outer.order": ["KCYX", "XYCK"], "inner.order": "XYCK"}
MACHINE, TIGHT = Accelerator(4, 60, 200, 3, 1), Accelerator(4, 16, 50, 3, 1)
"""The second one for the bus, whose buffers hold a tile once."""
LAYERS = {
    "factors": Layer("CONV", 6, 4, 5, 3, 2, 2),
    "any": Layer("CONV", 4, 3, 4, 1, 2, 1),
    "depthwise": Layer("DSCONV", 1, 6, 5, 3, 2, 2),
}
SETS = {
    "factors": {"outer.tile.K": [2, 3], "inner.tile.C": [1, 4], "inner.tile.Y": [2, 4]},
    "any": {"outer.tile.K": [2, 3], "outer.tile.C": [2, 3], "inner.tile.C": [1, 3]},
    "depthwise": {"outer.tile.C": [2, 6], "inner.tile.C": [1, 3, 6], "outer.parallel": ["C", "Y"]},
}
KINDS = tuple(LAYERS)
MODELS = ("loopnest", "maestro", "bus")
REAL = {"outer.tile.K": [16, 64], "inner.tile.C": [1, 4]}
MIDDLING = {"outer.tile.K": [6, 12], "inner.tile.C": [1, 4], "inner.order": "KCYX"}


@pytest.fixture(autouse=True)
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with offered(tmp_path_factory.mktemp("bus"), {"bus": Bus}):
        yield


def small(kind: str, model: str, objective: str = "edp", **more: Any) -> Problem:
    tiles, fixed = "any" if kind == "any" else "factors", ORDERS | SETS[kind]
    machine = TIGHT if model == "bus" else MACHINE
    return Problem(LAYERS[kind], machine, objective, model, tiles=tiles, fixed=fixed, **more)


def real(model: str, tiles: str = "factors", objective: str = "edp", layer: str = "resnet18:5") -> Problem:
    return Problem(load_layer(layer), PRESETS["eyeriss-small"], objective, model, tiles, REAL)


def least_loss(problem: Problem) -> float:
    """What pricing every mapping finds."""
    return min(float(costs.loss.min()) for costs in every_price(problem))


# The optimum


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_over_sets_is_the_best_of_each_size_and_of_every_mapping(
    kind: str, model: str, objective: str
) -> None:
    problem = small(kind, model, objective)
    found, parts = certify(problem, cache=False), one_tile_each(problem)
    each = [certify(part, cache=False) for part in parts]
    assert len(parts) > 3
    assert found.status == OPTIMAL
    assert found.lower_bound == found.best.loss == least_loss(problem)
    assert found.best.loss == min(one.best.loss for one in each if one.best)
    # Not all of them are as good: it is of use to go through all.
    assert len({one.best.loss for one in each if one.best}) > 1
    assert found.counts.mappings == problem.space.mappings == sum(one.counts.mappings for one in each)
    assert solve_problem(problem, threads=1).best == found.best


@pytest.mark.parametrize("model", MODELS)
def test_where_no_mapping_of_any_size_fits_that_is_proven(model: str) -> None:
    problem = replace(small("factors", model), accelerator=Accelerator(4, 6, 8, 3, 1))
    found = certify(problem, cache=False)
    assert (found.status, found.best, found.lower_bound) == (INFEASIBLE, None, math.inf)
    assert failed_checks(verify(problem, found)) == []


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_of_mappings_as_good_it_is_the_one_of_least_energy_whatever_its_size(model: str) -> None:
    problem = small("factors", model, "latency")
    found = dse.certify(problem, tiles="factors", cache=False)
    costs = list(every_price(problem))
    assert found.best.energy_nj == min(
        float(one.energy_nj[one.loss == found.best.loss].min(initial=np.inf)) for one in costs
    )
    assert failed_checks(dse.verify(problem, found)) == []


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_limits_hold_in_every_size(model: str) -> None:
    problem = small("factors", model, limits="l2_use <= 0.7")
    found = certify(problem, cache=False)
    assert found.lower_bound == least_loss(problem) > least_loss(small("factors", model))
    assert failed_checks(verify(problem, found)) == []


# Checks


@pytest.mark.parametrize("tiles", ["factors", "any"])
@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_a_check_goes_through_every_size_and_sees_a_bound_that_is_too_high(model: str, tiles: str) -> None:
    """Of a layer of a network; with tiles of any size of a smaller one: `prove_tile_sets.py` has that too."""
    problem = real(model, tiles)
    if tiles == "any":
        problem = replace(problem, layer=Layer("CONV", 24, 16, 7, 7, 3, 3), fixed=MIDDLING)
    expect_a_bound_that_is_too_high_to_be_seen(problem)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_checks_of_small_problems_pass_and_see_what_is_wrong(kind: str, model: str) -> None:
    problem = small(kind, model)
    found = certify(problem, cache=False)
    assert failed_checks(verify(problem, found)) == []
    assert failed_checks(verify(problem, replace(found, lower_bound=found.best.loss * 1.01)))


def test_a_size_that_is_left_out_of_a_proof_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = real("loopnest")
    found = certify(problem, cache=False)
    monkeypatch.setattr(ClusteredProver, "divided", lambda prover: one_tile_each(prover._problem)[1:])
    (failed,) = failed_checks(verify(problem, found))
    assert failed.startswith("problems of one size of each tile have all mappings: 3 problems, ")


def test_of_many_sizes_some_are_drawn_to_check_and_that_of_the_best_mapping(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, looked_at = real("loopnest"), list[Any]()
    found = certify(problem, cache=False)
    monkeypatch.setattr(divided, "DRAWN", 1)

    class Noted:
        def checks(self, part: Problem, certificate: Any, rng: Any) -> tuple[()]:
            looked_at.append((part.space.fixed, certificate))
            return ()

    for seed in range(5):
        looked_at.clear()
        rng, parts = np.random.default_rng(seed), one_tile_each(problem)
        (check,) = divided.checks_of_each(Noted(), problem, parts, found, rng)
        assert check.passed
        assert 1 <= len(looked_at) <= 2
        assert f", {len(looked_at)} of the problems drawn to check" in check.seen
        (best,) = [certificate.best for _, certificate in looked_at if certificate.best]
        assert best.loss == found.best.loss


# Lists


@pytest.mark.parametrize("wanted", [Wanted(share=0.1), Wanted(most=30)], ids=["within", "best"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_mappings_near_the_optimum_are_those_of_each_size(kind: str, model: str, wanted: Wanted) -> None:
    problem = small(kind, model)
    found = with_near(problem, certify(problem, cache=False), wanted)
    losses = []
    for part in one_tile_each(problem):
        own = certify(part, cache=False)
        # Within a share of the best of all is within more of its own best.
        if own.best is None or own.best.loss > found.best.loss * (1 + (wanted.share or math.inf)):
            continue
        near = with_near(part, own, wanted).within
        losses += [one.loss for one in near]
    losses = [loss for loss in sorted(losses) if loss <= found.best.loss * (1 + (wanted.share or math.inf))]
    assert found.within.complete
    assert [one.loss for one in found.within] == losses[: wanted.most]
    assert len(losses) > 1
    assert failed_checks(verify_near(problem, found)) == []


@pytest.mark.parametrize("name", ["loopnest", "maestro"])
def test_the_best_of_an_adviser_are_of_the_sizes_that_are_left(name: str) -> None:
    space = real(name).space
    points = Adviser(space, "edp", name).best(20, np.random.default_rng(0))
    assert len(points) == 20
    rows = space.decode(points).named()
    assert set(rows["outer.tile.K"]) <= {16, 64}
    assert set(rows["inner.tile.C"]) <= {1, 4}
    assert real(name).price(points).loss[0] == certify(real(name), cache=False).best.loss


# A proof in parts


@pytest.mark.parametrize(
    ("model", "tiles", "objective"),
    [("loopnest", "factors", "edp"), ("maestro", "factors", "edp"), ("maestro", "any", "latency")],
)
def test_runs_of_no_time_come_to_the_optimum_of_one(
    tmp_path: Path, model: str, tiles: str, objective: str
) -> None:
    problem = real(model, tiles, objective)
    runs = [certify(problem, 1e-9, cache=tmp_path)]
    while runs[-1].status == BOUNDED and len(runs) < 200:
        runs.append(certify(problem, 1e-9, cache=tmp_path))
    assert len(runs) > 2
    assert (runs[-1].status, runs[-1].best.loss) == (OPTIMAL, certify(problem, cache=False).best.loss)
    bounds = [run.lower_bound for run in runs]
    assert bounds == sorted(bounds)
    for run in runs:
        counts = run.counts
        assert counts.groups == counts.too_large + counts.bounded + counts.solved + counts.open
    # It has gone on: all runs together have worked out no more than one that begins with nothing.
    assert runs[-1].counts.inner_levels > runs[0].counts.inner_levels
    assert failed_checks(verify(problem, runs[len(runs) // 2])) == []


def joined(problem: Problem) -> JoinedBoxes:
    parts = one_tile_each(problem)
    return JoinedBoxes(problem, parts, [bus_model.make_boxes(part) for part in parts], every=False)


def test_boxes_are_read_as_they_were_kept_and_not_where_they_are_damaged() -> None:
    boxes = joined(small("any", "bus"))
    roots = boxes.roots()[::-1]
    bounds = np.arange(len(roots)) / 3
    kept = boxes.pack(roots, bounds)
    read, known = boxes.unpack(kept)
    assert np.array_equal(read, roots)
    assert np.array_equal(known, bounds)
    fewer = joined(small("any", "bus").with_changes(fixed=ORDERS | {"outer.tile.K": [2, 3]}))
    for damaged in (b"not boxes", kept[: len(kept) // 2]):
        assert len(boxes.unpack(damaged)[0]) == 0
    # Boxes of problems that are not there.
    assert len(fewer.unpack(kept)[0]) == 0


class Objects:
    """The boxes of another as objects, whose designs are no rows, as a certifier may have them."""

    def __init__(self, boxes: Any) -> None:
        self.boxes, self.kind, self.rounds = boxes, boxes.kind, boxes.rounds

    def _rows(self, boxes: Any) -> Any:
        return np.array([box.row for box in boxes]).reshape(len(boxes), -1)

    def _objects(self, rows: Any) -> Any:
        return boxes_of([Box(row) for row in rows])

    def roots(self) -> Any:
        return self._objects(self.boxes.roots())

    def bound(self, boxes: Any, to_beat: float) -> Bounded:
        found: Bounded = self.boxes.bound(self._rows(boxes), to_beat)
        return found

    def divide(self, boxes: Any, bounds: Any, to_beat: float) -> Children:
        found = self.boxes.divide(self._rows(boxes), bounds, to_beat)
        return Children(self._objects(found.boxes), found.parents)

    def settle(self, boxes: Any, to_beat: float) -> Found:
        found = self.boxes.settle(self._rows(boxes), to_beat)
        return Found(found.losses, [self.boxes.mapping_of(row) for row in found.designs])

    def mapping_of(self, design: Any) -> Any:
        return design

    def pack(self, boxes: Any, bounds: Any) -> bytes:
        found: bytes = self.boxes.pack(self._rows(boxes), bounds)
        return found

    def unpack(self, kept: bytes) -> tuple[Any, Any]:
        rows, bounds = self.boxes.unpack(kept)
        return self._objects(rows), bounds


class Box:
    """A row."""

    def __init__(self, row: Any) -> None:
        self.row = row


def test_boxes_that_are_objects_are_joined_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, make = Layer("CONV", 7, 5, 6, 5, 1, 1), bus_model.make_boxes
    problem = replace(small("any", "bus"), layer=layer, accelerator=Accelerator(4, 12, 40, 4, 1))
    expected = certify(problem, cache=False).best
    monkeypatch.setattr(bus_model, "make_boxes", lambda part: Objects(make(part)))
    stopped = certify(problem, 1e-9, cache=tmp_path)
    assert (stopped.status, bool(stopped.unsettled)) == (BOUNDED, True)
    found = certify(problem, cache=tmp_path)
    assert found.best == expected
    assert found.earlier_seconds > 0
    with pytest.raises(InputError, match="list none near the optimum"):
        prover_of(problem).refuse_list()  # type: ignore[attr-defined]


# Open hardware


def test_with_open_pes_sets_are_proven_too() -> None:
    space = {"dims": "KCYX", "cluster": "fit", "num_pes": [2, 4, 6]}
    fixed = {"outer.tile.K": [2, 6], "inner.tile.K": [1, 2], "num_pes": [4, 6]}
    layer = Layer("CONV", 6, 2, 3, 2, 2, 2)
    problem = Problem(layer, MACHINE, "edp", "maestro", fixed=fixed, space=space)
    found = certify(problem, cache=False)
    assert (found.status, found.best.loss) == (OPTIMAL, least_loss(problem))
    assert problem.on_machine_of(found.best.genes).accelerator.num_pes in (4, 6)
    assert failed_checks(verify(problem, found)) == []
    assert failed_checks(verify(problem, replace(found, lower_bound=found.best.loss * 1.01)))


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_each_machine_is_proven_over_the_sets(model: str) -> None:
    space = {"name": "default", "hardware": {"l1_size": [40, 60, 70], "noc_bandwidth": [1, 3]}}
    fixed = ORDERS | SETS["factors"] | {"hardware.l1_size": [40, 60]}
    problem = Problem(LAYERS["factors"], MACHINE, "edp", model, fixed=fixed, space=space)
    found = certify(problem, cache=False)
    assert (found.status, found.best.loss) == (OPTIMAL, least_loss(problem))
    assert failed_checks(verify(problem, found)) == []
