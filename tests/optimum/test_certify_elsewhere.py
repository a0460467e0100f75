"""Optima are proven under a cost model from elsewhere that brings a bound; what is false is found out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse as package
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.plugins import LowerBounds, TileBoxes
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.models import bus_model
from tests.models.bus_model import Bus, interval_proof, lower_bound
from tests.third_party import offered

ROOMY = Accelerator(4, 64, 256, 4, 2)
TIGHT = Accelerator(4, 12, 40, 4, 1)
TINY = Accelerator(2, 2, 4, 1, 1)
ODD = Layer("CONV", 3, 1, 5, 3, 1, 1)
SMALL = Layer("CONV", 2, 2, 2, 2, 1, 1)
FILTER = Layer("CONV", 3, 2, 4, 3, 2, 2)
DEPTHWISE = Layer("DSCONV", 1, 4, 3, 3, 2, 2)
CHUNK = 2**17


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The model, installed by a package of somebody else's; with it two whose proofs are not there."""
    with offered(tmp_path_factory.mktemp("bus"), {"bus": Bus, "lost": Lost, "empty": Empty}):
        yield


class Lost(Bus):
    name = "lost"
    proof_module = "nowhere_to_be_found"


class Empty(Bus):
    name = "empty"
    proof_module = "colorsys"


def brute_force(problem: Problem) -> float:
    """The least loss of all vectors of the space."""
    sizes, least = problem.space.sizes.tolist(), np.inf
    for start in range(0, problem.space.vectors, CHUNK):
        places = np.arange(start, min(start + CHUNK, problem.space.vectors))
        genes = np.stack(np.unravel_index(places, sizes), axis=1)
        least = min(least, float(problem.price(genes).loss.min()))
    return least


@pytest.mark.usefixtures("bus")
@pytest.mark.parametrize(
    ("layer", "machine", "objective", "fixed"),
    [
        (SMALL, ROOMY, "edp", {"cluster": 2, "inner.order": "XCKY"}),
        (SMALL, TIGHT, "latency", {"outer.parallel": "K", "inner.order": "KCYX"}),
        (SMALL, TIGHT, "energy^0.5 * latency^2", {"inner.parallel": "C", "inner.order": "YXKC"}),
        (SMALL, TIGHT, "energy", {"inner.parallel": "C", "outer.order": "CYKX"}),
        (FILTER, TIGHT, "edp", {"outer.order": "KCYX", "cluster": 2}),
        (DEPTHWISE, TIGHT, "edp", {"inner.order": "YXKC"}),
        (DEPTHWISE, ROOMY, "latency", {"outer.order": "CKXY", "outer.tile.C": 2}),
    ],
    ids=str,
)
def test_the_proven_optimum_is_the_best_of_all_mappings(
    layer: Layer, machine: Accelerator, objective: str, fixed: dict[str, Any]
) -> None:
    problem = Problem(layer, machine, objective, "bus", fixed=fixed)
    proof = package.certify(problem, cache=False, tiles="factors")
    assert proof.status == "optimal"
    assert proof.best is not None
    assert proof.best.loss == proof.lower_bound == brute_force(problem)
    assert all(check.passed for check in package.verify(problem, proof))


@pytest.mark.usefixtures("bus")
@pytest.mark.parametrize(
    ("layer", "machine", "objective", "fixed"),
    [
        (ODD, TIGHT, "edp", {"outer.order": "KCYX", "inner.order": "XYCK"}),
        (ODD, ROOMY, "latency + 3 * energy", {"outer.order": "CKXY", "inner.order": "KCYX", "cluster": 2}),
        (DEPTHWISE, TIGHT, "energy", {"outer.order": "YXKC", "inner.order": "KCYX", "outer.parallel": "K"}),
    ],
    ids=str,
)
def test_so_it_is_over_tiles_of_any_size(
    layer: Layer, machine: Accelerator, objective: str, fixed: dict[str, Any]
) -> None:
    problem = Problem(layer, machine, objective, "bus", fixed=fixed, tiles="any")
    proof = package.certify(problem, cache=False)
    assert (proof.status, proof.tiles) == ("optimal", "any")
    assert proof.best is not None
    assert proof.best.loss == proof.lower_bound == brute_force(problem)


@pytest.mark.usefixtures("bus")
def test_where_no_mapping_fits_that_is_proven() -> None:
    problem = Problem(SMALL, TINY, "edp", "bus", fixed={"outer.order": "KCYX", "inner.order": "KCYX"})
    proof = package.certify(problem, cache=False)
    assert (proof.status, proof.best) == ("infeasible", None)
    assert brute_force(problem) == np.inf


@pytest.mark.usefixtures("bus")
def test_a_bound_that_is_too_high_is_found_out_by_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_high(problem: Problem, boxes: TileBoxes) -> LowerBounds:
        bounds = lower_bound(problem, boxes)
        # Inner tiles that may be whole are said to be the best.
        whole = (boxes.outer_high == boxes.inner_high).all(axis=1)
        return bounds._replace(cycles=bounds.cycles * np.where(whole, 1, 1000))

    for name in ("make_boxes", "checks"):
        monkeypatch.setattr(bus_model, name, getattr(interval_proof(too_high), name))
    problem = Problem(FILTER, TIGHT, "edp", "bus")
    proof = package.certify(problem, cache=False)
    failed = [check for check in package.verify(problem, proof) if not check.passed]
    assert [check.name for check in failed] == ["bounds are below the prices in their boxes"]


@pytest.mark.usefixtures("bus")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Problem(SMALL, ROOMY, "power", "bus"),
            "under cost model 'bus' only latency and energy",
        ),
        (lambda: Problem(SMALL, ROOMY, "area", "bus"), "cost model 'bus' has no bound of the area"),
        (
            lambda: Problem(SMALL, ROOMY, "edp", "lost"),
            "'lost': proof_module 'nowhere_to_be_found'",
        ),
        (
            lambda: Problem(SMALL, ROOMY, "edp", "empty"),
            "'empty': proof_module 'colorsys' lacks GROUP",
        ),
    ],
)
def test_what_cannot_be_proven_is_refused_in_a_line(make: Callable[[], Problem], message: str) -> None:
    with pytest.raises(InputError) as refused:
        package.certify(make(), cache=False)
    assert message in str(refused.value)


@pytest.mark.usefixtures("bus")
def test_the_commands_prove_verify_and_check_it(tmp_path: Path, dse: Dse) -> None:
    given = ("--layer", "resnet18:fc", "--accelerator", "edge", "--objective", "edp", "--cost-model", "bus")
    told = dse("certify", *given, "--time-limit", "2", "--json").json
    assert told["status"] in ("optimal", "bounded")
    assert 0 < told["lower_bound"] <= told["best"]["loss"]
    checked = dse("check-cost-model", "bus", "--mappings", "20", "--json").json
    assert checked["passed"], checked
    assert checked["declares"] == {"proof_module": "tests.models.bus_model"}
