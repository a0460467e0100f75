"""What a search has visited is known by its design, whatever vector it is asked for by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.testing.landscapes import small
from searchers.common.visited import Visited
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")


def test_what_was_visited_is_not_new_and_nothing_is_new_twice() -> None:
    one, other, third = points = PROBLEM.space.sample(np.random.default_rng(0), 3)
    visited, asked = Visited(PROBLEM.space), np.array([one, other, one, third])
    assert (visited.new(asked) == points).all()
    visited.add(asked[1:2])
    assert (visited.new(asked) == [one, third]).all()
    assert len(visited) == 1


def test_a_design_is_found_at_its_first_sample() -> None:
    space = PROBLEM.space
    vectors = space.sample(np.random.default_rng(0), 4)
    visited = Visited(space)
    visited.add(vectors[:2])
    visited.add(vectors[[1, 2]])
    assert visited.find(vectors).tolist() == [0, 1, 3, -1]
    assert visited.find(space.canonical(vectors)).tolist() == [0, 1, 3, -1]
    assert len(visited) == 3


def test_a_mapping_that_comes_twice_is_drawn_again() -> None:
    space, rng = PROBLEM.space, np.random.default_rng(0)
    visited = Visited(space)
    first, others = space.sample(rng, 8), space.sample(rng, 3)
    asked = []

    def redraw(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
        asked.append((rows.tolist(), known.tolist()))
        return others[: len(rows)]

    assert (visited.renew(first, redraw, 5) == first).all()
    assert not asked
    batch = np.concatenate([first[3:4], others[2:], others[2:]])
    assert (visited.renew(batch, redraw, 5) == [others[0], others[2], others[1]]).all()
    assert asked == [([0, 2], batch[[0, 2]].tolist())]


def test_vectors_of_one_mapping_are_one() -> None:
    space = PROBLEM.space
    vectors = space.sample(np.random.default_rng(0), 1000)
    smallest = space.canonical(vectors)
    other = (vectors != smallest).any(axis=1)
    assert other.any()
    visited, asked = Visited(space), []
    visited.renew(smallest, lambda _, known: known, 0)
    visited.renew(vectors[other], lambda rows, known: (asked.append(len(rows)), known)[1], 1)
    assert asked == [other.sum()]


def test_where_nothing_new_is_left_the_known_is_kept() -> None:
    space, rng, calls = small().space, np.random.default_rng(0), []

    def redraw(rows: np.ndarray, _: np.ndarray) -> np.ndarray:
        calls.append(len(rows))
        return space.sample(rng, len(rows))

    visited = Visited(space)
    whole = visited.renew(space.sample(rng, 16), redraw, 1000)
    assert len(np.unique(whole, axis=0)) == space.vectors == 16
    calls.clear()
    assert space.contains(visited.renew(whole, redraw, 3)).all()
    assert calls == [16, 16, 16]


def test_what_is_given_is_not_changed() -> None:
    space, rng = PROBLEM.space, np.random.default_rng(0)
    given = np.repeat(space.sample(rng, 1), 4, axis=0)
    before = given.copy()
    assert (
        len(np.unique(Visited(space).renew(given, lambda rows, _: space.sample(rng, len(rows)), 5), axis=0))
        == 4
    )
    assert (given == before).all()


def test_spaces_with_large_genes_are_told_apart_too() -> None:
    huge = replace(PROBLEM, layer=load_layer("bert_base:intermediate"), tiles="any").space
    assert huge.sizes.max() > 256
    low, rng = np.zeros((1, len(huge.genes)), np.int64), np.random.default_rng(0)
    high = low.copy()
    high[0, np.argmax(huge.sizes)] = 256
    visited = Visited(huge)
    visited.renew(low, lambda rows, _: huge.sample(rng, len(rows)), 1)
    assert (visited.renew(high, lambda rows, _: huge.sample(rng, len(rows)), 1) == high).all()
