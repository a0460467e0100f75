"""Proofs by a lower bound over intervals of tiles: what the engine is handed, and what authors get wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.core.listed import Wanted
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from dse.plugins import InputError, LowerBounds, interval_proof
from dse.proof.engine import Search
from tests.models import bus_model
from tests.models.bus_model import Bus, make_boxes
from tests.optimum.test_certify_elsewhere import CHUNK
from tests.third_party import offered

LAYER = Layer("CONV", 3, 2, 3, 2, 1, 1)
LONGER = Layer("CONV", 7, 5, 6, 5, 1, 1)
MACHINE = Accelerator(4, 12, 40, 4, 1)
ORDERS = {"outer.order": "KCYX", "inner.order": "XYCK"}


@pytest.fixture(autouse=True)
def bus(tmp_path: Any) -> Iterator[None]:
    with offered(tmp_path, {"bus": Bus}):
        yield


def problem(objective: str = "edp", tiles: str = "any", **fixed: Any) -> Problem:
    return Problem(LAYER, MACHINE, objective, "bus", tiles=tiles, fixed={**ORDERS, **fixed})


def every_loss(asked: Problem) -> np.ndarray:
    """The losses of all vectors of the space, those that are feasible, each once."""
    sizes, losses = asked.space.sizes.tolist(), []
    for start in range(0, asked.space.vectors, CHUNK):
        places = np.arange(start, min(start + CHUNK, asked.space.vectors))
        losses.append(np.unique(asked.price(np.stack(np.unravel_index(places, sizes), axis=1)).loss))
    every = np.unique(np.concatenate(losses))
    return every[np.isfinite(every)]


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_all_mappings_within_a_share_of_the_best_are_found(tiles: str) -> None:
    asked = problem(tiles=tiles, cluster=2)
    search = Search(make_boxes(asked), Clock(), wanted=Wanted(share=0.2))
    search.run()
    every = every_loss(asked)
    assert np.unique(search.listed[0]).tolist() == every[every <= every[0] * 1.2].tolist()


def test_of_a_point_each_nest_of_loops_is_found_once() -> None:
    asked = Problem(LAYER, MACHINE, "edp", "bus")
    boxes = make_boxes(asked)
    search = Search(boxes, Clock(), wanted=Wanted(most=50))
    search.run()
    mappings = [boxes.mapping_of(design) for design in search.listed[1]]
    assert len({asked.nest(mapping) for mapping in mappings}) > 10
    whole = boxes.roots()[:1]
    whole[:, 3:11] = whole[:, 11:19]
    # Tiles are whole: no loop is of more than one step, and all orders are the same nest.
    roomy = make_boxes(Problem(LAYER, Accelerator(4, 128, 256, 4, 2), "edp", "bus"))
    assert len(roomy.settle(whole, np.inf).losses) == 1


def test_a_proof_that_was_stopped_goes_on(tmp_path: Any) -> None:
    asked = Problem(LONGER, MACHINE, "edp", "bus", tiles="any", fixed=ORDERS)
    stopped, later = (certify(asked, 1e-9, cache=tmp_path) for _ in range(2))
    assert stopped.status == later.status == "bounded"
    assert 0 < stopped.lower_bound <= later.lower_bound
    assert stopped.counts.inner_levels < later.counts.inner_levels
    assert later.earlier_seconds > 0


def test_what_is_kept_of_another_kind_is_left_out() -> None:
    boxes, bounds = make_boxes(problem()).unpack(b"not boxes")
    assert boxes.shape == (0, 19)
    assert len(bounds) == 0


BAD = {
    "columns": (lambda boxes: 3, "must return 2 to 4 arrays of"),
    "shape": (lambda boxes: (np.ones(len(boxes.cluster) + 1), 1.0), "got as cycles an array of shape ("),
    "text": (lambda boxes: ("many", 1.0), "got as cycles 'many'"),
    "nan": (lambda boxes: (np.full(len(boxes.cluster), np.nan), 1.0), "gives nan as cycles, which must be 0"),
    "negative": (
        lambda boxes: LowerBounds(1, -2.0),
        "gives -2.0 as energy_nj, which must be 0",
    ),
    "above": (
        lambda boxes: LowerBounds(1, 1e-3, l1_size=12),
        "gives 12 as l1_size, and 3 is priced: {",
    ),
    "raises": (lambda boxes: boxes.tiles, "its lower_bound raised AttributeError"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bound_that_cannot_be_is_refused_in_a_line(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, message = BAD[kind]
    proof = interval_proof(lambda problem, boxes: made(boxes))
    monkeypatch.setattr(bus_model, "make_boxes", proof.make_boxes)
    with pytest.raises(InputError) as refused:
        certify(problem(), cache=False)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_bound_of_a_point_is_no_more_than_that_of_a_box_that_holds_it() -> None:
    asked = problem()
    boxes = make_boxes(asked)
    bounds = np.full(len(boxes.roots()), -np.inf)
    open_ = boxes.roots()
    for _ in range(6):
        parts = boxes.divide(open_, bounds, np.inf)
        losses = boxes.bound(open_, np.inf).losses
        inside = boxes.bound(parts.boxes, np.inf).losses
        assert (inside >= losses[parts.parents]).all()
        open_ = parts.boxes


def test_the_form_of_before_is_refused_with_what_it_is_now() -> None:
    with pytest.raises(InputError, match=r"enumerated is interval_proof now: its lower_bound takes \("):
        from dse.plugins import enumerated  # noqa: F401
