"""What searchers that compare points share: every point has a score, and known mappings are drawn again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.problem.problem import Evaluations, Problem
from dse.spec.accelerator import PRESETS
from dse.spec.reasons import Reason
from dse.support.errors import InputError
from dse.testing.landscapes import small
from searchers.common.points import Drawn, scores
from searchers.common.settings import probability, share
from workloads import load_layer

ACCELERATOR = PRESETS["eyeriss-small"]
PROBLEM = Problem(load_layer("alexnet:conv2"), ACCELERATOR, "edp", "maestro")


def evaluations(**columns: list) -> Evaluations:
    count = len(columns["loss"])
    figures = dict.fromkeys(("cycles", "energy_nj", "power", "area", "macs"), np.ones(count))
    return Evaluations(**figures, **{name: np.array(column) for name, column in columns.items()})


def test_infeasible_points_come_after_all_losses_by_the_doublings_that_they_need() -> None:
    l1, l2 = ACCELERATOR.l1_size, ACCELERATOR.l2_size
    found = scores(
        evaluations(
            loss=[1e-9, 1e30, np.inf, np.inf, np.inf, np.inf, np.inf],
            reason=[0, 0, *[Reason.L1_TOO_SMALL] * 2, *[Reason.L2_TOO_SMALL] * 2, Reason.NO_WORK],
            l1_size=[1, l1, 2 * l1, 2 * l1, 1, l1, 0],
            l2_size=[1, l2, l2, 2 * l2, l2 + 1, 8 * l2, 0],
        ),
        ACCELERATOR,
    )
    assert np.argsort(found).tolist() == [0, 1, 4, 2, 3, 5, 6]
    assert found[:2].tolist() == [1e-9, 1e30]
    assert found[3] == 3e200
    assert found[6] == np.inf


def test_real_points_are_never_without_a_score() -> None:
    points = PROBLEM.price(PROBLEM.space.sample(np.random.default_rng(0), 5000))
    found = scores(points, ACCELERATOR)
    assert not np.isnan(found).any()
    assert (found[points.reason == 0] == points.loss[points.reason == 0]).all()
    assert found[points.reason != 0].min() > found[points.reason == 0].max()
    assert len(np.unique(found[points.reason == Reason.L1_TOO_SMALL])) > 100


def test_a_mapping_that_comes_twice_is_drawn_again() -> None:
    space, rng = PROBLEM.space, np.random.default_rng(0)
    drawn = Drawn(space)
    first, others = space.sample(rng, 8), space.sample(rng, 3)
    asked = []

    def redraw(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
        asked.append((rows.tolist(), known.tolist()))
        return others[: len(rows)]

    assert (drawn.renew(first, redraw, 5) == first).all()
    assert not asked
    batch = np.concatenate([first[3:4], others[2:], others[2:]])
    assert (drawn.renew(batch, redraw, 5) == [others[0], others[2], others[1]]).all()
    assert asked == [([0, 2], batch[[0, 2]].tolist())]


def test_vectors_of_one_mapping_are_one() -> None:
    space = PROBLEM.space
    vectors = space.sample(np.random.default_rng(0), 1000)
    smallest = space.encode(space.decode(vectors))
    other = (vectors != smallest).any(axis=1)
    assert other.any()
    drawn, asked = Drawn(space), []
    drawn.renew(smallest, lambda _, known: known, 0)
    drawn.renew(vectors[other], lambda rows, known: (asked.append(len(rows)), known)[1], 1)
    assert asked == [other.sum()]


def test_where_nothing_new_is_left_the_known_is_kept() -> None:
    space, rng, calls = small().space, np.random.default_rng(0), []

    def redraw(rows: np.ndarray, _: np.ndarray) -> np.ndarray:
        calls.append(len(rows))
        return space.sample(rng, len(rows))

    drawn = Drawn(space)
    whole = drawn.renew(space.sample(rng, 16), redraw, 1000)
    assert len(np.unique(whole, axis=0)) == space.vectors == 16
    calls.clear()
    assert space.contains(drawn.renew(whole, redraw, 3)).all()
    assert calls == [16, 16, 16]


def test_what_is_given_is_not_changed() -> None:
    space, rng = PROBLEM.space, np.random.default_rng(0)
    given = np.repeat(space.sample(rng, 1), 4, axis=0)
    before = given.copy()
    assert (
        len(np.unique(Drawn(space).renew(given, lambda rows, _: space.sample(rng, len(rows)), 5), axis=0))
        == 4
    )
    assert (given == before).all()


def test_spaces_with_large_genes_are_told_apart_too() -> None:
    huge = replace(PROBLEM, layer=load_layer("bert_base:intermediate"), tiles="any").space
    assert huge.sizes.max() > 256
    low, rng = np.zeros((1, 13), np.int64), np.random.default_rng(0)
    high = low.copy()
    high[0, np.argmax(huge.sizes)] = 256
    drawn = Drawn(huge)
    drawn.renew(low, lambda rows, _: huge.sample(rng, len(rows)), 1)
    assert (drawn.renew(high, lambda rows, _: huge.sample(rng, len(rows)), 1) == high).all()


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "half"])
def test_a_probability_out_of_range_is_refused(value) -> None:
    with pytest.raises(InputError, match="rate must be between 0 and 1, got "):
        probability(value, "rate")


def test_a_share_of_nothing_is_refused() -> None:
    assert share(1, "elite") == 1
    with pytest.raises(InputError, match="elite must be above 0 and at most 1, got 0"):
        share(0, "elite")
