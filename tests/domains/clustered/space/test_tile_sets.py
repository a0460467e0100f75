"""Tiles that are fixed at several sizes: a space of just these mappings."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.mapping import INNER_TILE, OUTER_TILE, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import parse_fixed
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.tile_sets import one_tile_each
from dse.optimum import certify
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from tests.domains.clustered.space.encoding_cases import a_mapping
from tests.domains.clustered.space.space_cases import EYERISS, NAMES, VGG_CONV1_2, accelerator

Pairs = set[tuple[int, ...]]

ONE = {
    "outer.order": "KCYX",
    "inner.order": "XYCK",
    "outer.parallel": "K",
    "inner.parallel": "C",
    "cluster": 1,
}
"""All that is no tile, at one value."""
LAYER = Layer("CONV", 12, 10, 1, 1, 1, 1)
SETS: list[tuple[str, dict[str, list[int]]]] = [
    ("factors", {"outer.tile.K": [4, 6]}),
    ("factors", {"inner.tile.K": [2, 3]}),
    ("factors", {"outer.tile.K": [2, 6, 12], "inner.tile.K": [3, 4]}),
    ("factors", {"outer.tile.K": [12, 3], "inner.tile.C": [1, 10], "outer.tile.C": [2, 5, 10]}),
    ("any", {"outer.tile.K": [5, 11], "outer.tile.C": [3]}),
    ("any", {"inner.tile.K": [4, 9], "outer.tile.C": [3]}),
    ("any", {"outer.tile.K": [2, 7, 12], "inner.tile.K": [3, 5, 10], "inner.tile.C": [7]}),
    ("any", {"outer.tile.K": [4, 10], "outer.tile.C": [3, 10], "inner.tile.C": [2, 7]}),
]


def space_of(tiles: str, sets: dict[str, Any]) -> MappingSpace:
    return MappingSpace(LAYER, accelerator(4), tiles, {**ONE, **sets})


def by_hand(tiles: str, sets: dict[str, Any]) -> Pairs:
    """The outer and inner tiles of K, and those of C, of every mapping."""
    found = []
    for dim in "KC":
        sizes = range(1, LAYER.loops[dim] + 1)
        outers, inners = (sets.get(f"{level}.tile.{dim}", sizes) for level in ("outer", "inner"))
        found.append(
            [
                (outer, inner)
                for outer, inner in itertools.product(outers, inners)
                if inner <= outer and (tiles == "any" or LAYER.loops[dim] % outer == outer % inner == 0)
            ]
        )
    return {(*of_k, *of_c) for of_k, of_c in itertools.product(*found)}


def tiles_of(space: MappingSpace, genes: IntArray) -> list[tuple[int, ...]]:
    columns = [OUTER_TILE, INNER_TILE, OUTER_TILE + 1, INNER_TILE + 1]
    return list(map(tuple, space.decode(genes).rows[:, columns].tolist()))


def every_vector(space: MappingSpace) -> IntArray:
    return np.stack(np.unravel_index(np.arange(space.vectors), tuple(space.sizes)), axis=1).astype(np.int64)


@pytest.mark.parametrize(("tiles", "sets"), SETS)
def test_vectors_decode_to_all_mappings_of_the_sets_and_to_no_others(
    tiles: str, sets: dict[str, list[int]]
) -> None:
    space, expected = space_of(tiles, sets), by_hand(tiles, sets)
    genes = every_vector(space)
    decoded = tiles_of(space, genes)
    assert set(decoded) == expected
    assert space.mappings == len(expected)
    # The first vector of each mapping is the smallest one.
    first: dict[tuple[int, ...], list[int]] = {}
    for vector, mapping in zip(genes.tolist(), decoded, strict=True):
        first.setdefault(mapping, vector)
    assert space.canonical(genes).tolist() == [first[mapping] for mapping in decoded]


@pytest.mark.parametrize(("tiles", "sets"), SETS)
def test_samples_and_moves_stay_in_the_sets_and_come_to_all_of_them(
    tiles: str, sets: dict[str, list[int]]
) -> None:
    space, expected = space_of(tiles, sets), by_hand(tiles, sets)
    drawn = space.sample(np.random.default_rng(0), 3000)
    assert set(tiles_of(space, drawn)) == expected
    near = space.neighbour(np.random.default_rng(1), drawn)
    assert set(tiles_of(space, near)) <= expected
    start = space.canonical(drawn[:1])
    met, front = set(tiles_of(space, start)), list(start)
    while front:
        point = front.pop()
        for block in space.blocks:
            for other in block.neighbours(point):
                (mapping,) = tiles_of(space, other[np.newaxis])
                front += [] if mapping in met else [other]
                met.add(mapping)
    assert met == expected


def test_a_tile_that_is_left_several_sizes_goes_to_the_next_one_and_keeps_the_other_if_it_can() -> None:
    space = space_of("factors", {"outer.tile.K": [3, 4, 12]})
    (k,) = (block for block in space.blocks if block.name == "tile.K")
    at = space.encode(MappingBatch.of([a_mapping(outer_order="KCYXRS", **tiles(4, 2))]))[0]
    assert {pair[:2] for pair in tiles_of(space, k.neighbours(at))} == {
        *((3, 1), (12, 2)),  # the next outer tiles, the lower one with the largest inner tile that it takes
        *((4, 1), (4, 4)),  # the next inner ones
        (12, 6),  # by a prime factor, both
    }


def tiles(outer: int, inner: int) -> dict[str, Any]:
    """Of `a_mapping`, a mapping of LAYER with such tiles of K."""
    return {
        "inner_order": "XYCKRS",
        "inner_parallel": "C",
        "cluster_size": 1,
        "outer_tile": (outer, 10, 1, 1, 1, 1),
        "inner_tile": (inner, 10, 1, 1, 1, 1),
    }


def test_sets_are_ascending_each_size_once_and_one_size_is_itself() -> None:
    fixed = parse_fixed(["outer.tile.K=32, 16,32", "inner.tile.C=8,8", "outer.tile.Y=7"])
    space = MappingSpace(VGG_CONV1_2, EYERISS, fixed=fixed)
    assert space.fixed == {"outer.tile.K": [16, 32], "outer.tile.Y": 7, "inner.tile.C": 8}
    same = MappingSpace(VGG_CONV1_2, EYERISS, fixed=space.fixed)
    assert same == space == pickle.loads(pickle.dumps(space))
    assert json.loads(json.dumps(space.identity)) == space.identity
    one = MappingSpace(VGG_CONV1_2, EYERISS, fixed={**space.fixed, "outer.tile.K": [16]})
    assert (
        one.identity == MappingSpace(VGG_CONV1_2, EYERISS, fixed={**space.fixed, "outer.tile.K": 16}).identity
    )


def test_all_sizes_of_a_tile_are_those_of_a_free_one() -> None:
    every = [1, 2, 4, 8, 16, 32, 64]
    named, free = (
        MappingSpace(VGG_CONV1_2, EYERISS, fixed=fixed)
        for fixed in ({"outer.tile.K": every, "inner.tile.K": every}, {})
    )
    assert (named.mappings, named.sizes.tolist()) == (free.mappings, free.sizes.tolist())
    genes = named.sample(np.random.default_rng(0), 100)
    assert np.array_equal(named.decode(genes).rows, free.decode(genes).rows)


def test_inner_tiles_that_fit_in_no_outer_one_have_no_gene() -> None:
    space = space_of("factors", {"outer.tile.K": [4, 12], "inner.tile.K": [1, 2, 3]})
    assert space.sizes[NAMES.index("inner.tile.K")] == 3
    space = space_of("factors", {"outer.tile.K": [2, 4], "inner.tile.K": [1, 2, 3]})
    assert space.sizes[NAMES.index("inner.tile.K")] == 2


@pytest.mark.parametrize(
    ("text", "tiles", "message"),
    [
        (
            "outer.tile.K=4,5",
            "factors",
            "fixed outer.tile.K = 5 does not divide 64, the layer's K; expected one of",
        ),
        ("outer.tile.K=4,65", "any", "fixed outer.tile.K = 65 is not within 1 and 64, the layer's K"),
        ("inner.tile.Y=7,15", "factors", "fixed inner.tile.Y = 15 does not divide 224, the output's Y"),
        ("outer.tile.K=4,", "factors", "fixed outer.tile.K must be a whole number, got ''"),
        ("outer.tile.K=4,0", "factors", "fixed outer.tile.K must be at least 1, got 0"),
    ],
)
def test_each_size_must_fit_its_dim(text: str, tiles: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        MappingSpace(VGG_CONV1_2, EYERISS, tiles, parse_fixed([text]))
    assert str(error.value).startswith(message)


def test_sizes_must_fit_together() -> None:
    both = {"outer.tile.K": [2, 8], "inner.tile.K": [16, 32]}
    with pytest.raises(InputError) as error:
        MappingSpace(VGG_CONV1_2, EYERISS, fixed=both)
    assert str(error.value) == (
        "fixed outer.tile.K = 2, 8 and inner.tile.K = 16, 32: no inner tile divides an outer one"
    )
    with pytest.raises(InputError, match="no inner tile is within an outer one"):
        MappingSpace(VGG_CONV1_2, EYERISS, "any", both)
    with pytest.raises(InputError, match=r"inner.tile.K = 16 does not divide 8, the fixed outer tile"):
        MappingSpace(VGG_CONV1_2, EYERISS, fixed={"outer.tile.K": 8, "inner.tile.K": [4, 16]})
    with pytest.raises(InputError, match=r"fixed outer.tile.K must have at least one value, got none"):
        MappingSpace(VGG_CONV1_2, EYERISS, fixed={"outer.tile.K": []})


def test_a_mapping_with_another_tile_is_refused_by_name() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS, fixed={"outer.tile.C": [16, 32]})
    with pytest.raises(InputError, match=r"outer.tile.C = 8, but the space fixes it at one of 16, 32"):
        space.encode(MappingBatch.of([a_mapping()]))


# Problems of one size each


def test_a_problem_is_divided_into_those_of_one_size_each_that_fit_together() -> None:
    fixed = {"cluster": [2, 4], "outer.tile.K": [2, 6], "inner.tile.K": [2, 3], "inner.tile.C": [1, 5]}
    problem = Problem(LAYER, accelerator(4), fixed=fixed)
    each = [dict(part.space.fixed) for part in one_tile_each(problem)]
    assert [(one["outer.tile.K"], one["inner.tile.K"], one["inner.tile.C"]) for one in each] == [
        *((2, 2, 1), (2, 2, 5)),
        *((6, 2, 1), (6, 2, 5), (6, 3, 1), (6, 3, 5)),
    ]
    assert all(one["cluster"] == [2, 4] for one in each)
    assert sum(part.space.mappings for part in one_tile_each(problem)) == problem.space.mappings
    whole = problem.with_changes(fixed={"outer.tile.K": 6, "cluster": [2, 4]})
    assert one_tile_each(whole) == [whole]


def test_more_problems_than_a_thousand_are_searched_but_not_certified() -> None:
    sizes = [1, 2, 4, 8, 16, 32, 64]
    fixed = {f"{level}.tile.{dim}": sizes for level in ("outer", "inner") for dim in "KC"}
    problem = Problem(VGG_CONV1_2, EYERISS, fixed=fixed | {"inner.tile.Y": [7, 14]})
    assert np.isfinite(problem.price(problem.space.sample(np.random.default_rng(0), 500)).loss).any()
    message = "make 1,568 choices of one size each; at most 1,000 can be certified: fix fewer"
    with pytest.raises(InputError, match=message):
        one_tile_each(problem)
    with pytest.raises(InputError, match=message):
        certify(problem, cache=False)
    assert len(one_tile_each(problem.with_changes(fixed=fixed))) == 784
