"""Blocks of genes and the moves from a mapping to its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.core.layer import Layer
from dse.core.space import Block
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.arrays import IntArray
from tests.domains.clustered.space.space_cases import (
    EYERISS,
    NAMES,
    VGG_CONV1_2,
    accelerator,
    divisors,
    spaces,
)


def block(space: MappingSpace, name: str) -> Block:
    return next(block for block in space.blocks if block.name == name)


def mappings(space: MappingSpace, genes: IntArray) -> list[Mapping]:
    batch = space.decode(genes)
    return [batch[index] for index in range(len(batch))]


def chains_reached(space: MappingSpace, start: IntArray, dim: str) -> set[tuple[int, int]]:
    """The (outer, inner) tiles of `dim` among a vector's neighbours by the moves of its tile chain."""
    near = mappings(space, block(space, f"tile.{dim}").neighbours(start))
    return {(mapping.outer[dim], mapping.inner[dim]) for mapping in near}


def chain_of(space: MappingSpace, genes: IntArray, dim: str) -> tuple[int, int]:
    (mapping,) = mappings(space, genes[np.newaxis])
    return mapping.outer[dim], mapping.inner[dim]


def is_one_factor_moved(size: int, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether a prime went from one of the levels outside, outer, inner to another, all else equal."""
    levels = [(size // outer, outer // inner, inner) for outer, inner in (one, other)]
    changed = sorted(b / a for a, b in zip(*levels, strict=True) if a != b)
    if len(changed) != 2 or changed[1] % 1:
        return False
    return len(divisors(int(changed[1]))) == 2 and changed[0] * changed[1] == 1


def test_the_blocks_share_out_the_genes() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    named = {block.name: [NAMES[gene] for gene in block.genes] for block in space.blocks}
    assert named == {
        "tile.K": ["outer.tile.K", "inner.tile.K"],
        "tile.C": ["outer.tile.C", "inner.tile.C"],
        "tile.Y": ["outer.tile.Y", "inner.tile.Y"],
        "tile.X": ["outer.tile.X", "inner.tile.X"],
        "outer.order": ["outer.order"],
        "inner.order": ["inner.order"],
        "parallel": ["outer.parallel", "inner.parallel"],
        "cluster": ["cluster"],
    }


@settings(max_examples=60)
@given(space=spaces(), seed=st.integers(0, 2**32))
def test_neighbours_are_distinct_other_mappings_of_the_space(space: MappingSpace, seed: int) -> None:
    (start,) = space.sample(np.random.default_rng(seed), 1)
    for moves in space.blocks:
        near = moves.neighbours(start)
        assert space.contains(near).all()
        untouched = [gene for gene in range(13) if gene not in moves.genes]
        assert (near[:, untouched] == start[untouched]).all()
        rows = space.decode(np.vstack([start[np.newaxis], near])).rows
        assert len(np.unique(rows, axis=0)) == 1 + len(near)
        # The genes that move are the smallest preimage.
        smallest = space.encode(space.decode(near))
        assert np.array_equal(near[:, moves.genes], smallest[:, moves.genes])


@pytest.mark.parametrize("size", [1, 7, 64, 60, 224])
def test_tile_moves_are_all_the_ways_to_move_one_prime_factor(size: int) -> None:
    space = MappingSpace(Layer("CONV", size, 3, 8, 8, 3, 3), EYERISS)
    chains = [(outer, inner) for outer in divisors(size) for inner in divisors(outer)]
    for start in space.sample(np.random.default_rng(size), 12):
        here = chain_of(space, start, "K")
        expected = {chain for chain in chains if is_one_factor_moved(size, here, chain)}
        assert chains_reached(space, start, "K") == expected


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        # Size 20. Outer 9: 8, 10, 4, 18, the divisors 5 and 10. Inner 6: 5, 7, 3, 12 cut to 9, the divisors
        # 3 and 9 of 9. Both doubled and both halved. Both to the nearest that leave no rest: 5 and 5,
        # 10 and 5 or 10. What leaves no rest goes there by any prime factor too.
        (
            (9, 6),
            {
                *((8, 6), (10, 6), (4, 4), (18, 6), (5, 5), (9, 5), (9, 7), (9, 3), (9, 9), (18, 12), (4, 3)),
                *((10, 5), (10, 10)),
            },
        ),
        ((1, 1), {(2, 1), (2, 2), (5, 1), (5, 5)}),
        ((20, 20), {(19, 19), (10, 10), (20, 19), (20, 10), (4, 4), (20, 4)}),
    ],
)
def test_moves_of_any_tiles_are_small_steps_doublings_next_divisors_and_factors(
    here: tuple[int, int], expected: set[tuple[int, int]]
) -> None:
    space = MappingSpace(Layer("CONV", 20, 1, 1, 1, 1, 1), EYERISS, "any")
    start = np.zeros(13, dtype=np.int64)
    start[NAMES.index("outer.tile.K")] = here[0] - 1
    start[NAMES.index("inner.tile.K")] = -(-(here[1] - 1) * 20 // here[0])
    assert chain_of(space, start, "K") == here
    assert chains_reached(space, start, "K") == expected


def test_moves_of_any_tiles_that_leave_no_rest_hold_those_of_factors() -> None:
    layer = Layer("CONV", 60, 1, 1, 1, 1, 1)
    perfect, anything = MappingSpace(layer, EYERISS), MappingSpace(layer, EYERISS, "any")
    for start in perfect.sample(np.random.default_rng(0), 12):
        (same,) = anything.encode(perfect.decode(start[np.newaxis]))
        assert chains_reached(perfect, start, "K") <= chains_reached(anything, same, "K")


def test_orders_swap_any_two_loops() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    (start,) = space.sample(np.random.default_rng(4), 1)
    for level in ("outer", "inner"):
        (mapping,) = mappings(space, start[np.newaxis])
        order = getattr(mapping, level).order
        near = mappings(space, block(space, f"{level}.order").neighbours(start))
        changed = [tuple(i for i in range(6) if getattr(other, level).order[i] != order[i]) for other in near]
        assert sorted(changed) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_parallel_dims_change_one_at_a_time_and_clusters_step_to_the_next_size() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    start = np.zeros(13, dtype=np.int64)
    start[[1, 7, 12]] = 2, 0, 5
    near = block(space, "parallel").neighbours(start)
    assert sorted(map(tuple, near[:, [1, 7]].tolist())) == [(0, 0), (1, 0), (2, 1), (2, 2), (2, 3), (3, 0)]
    assert sorted(block(space, "cluster").neighbours(start)[:, 12]) == [4, 6]
    start[12] = 0
    assert block(space, "cluster").neighbours(start)[:, 12].tolist() == [1]


@pytest.mark.parametrize("tiles", ["factors", "any"])
@pytest.mark.parametrize("fixed", [{}, {"inner.tile.K": 3}, {"outer.tile.K": 12}])
def test_every_chain_is_reached_by_tile_moves(tiles: str, fixed: dict[str, Any]) -> None:
    space = MappingSpace(Layer("CONV", 36, 1, 1, 1, 1, 1), EYERISS, tiles, fixed)
    everything = reached(space, [block(space, "tile.K")])
    if tiles == "factors":
        expected = {(outer, inner) for outer in divisors(36) for inner in divisors(outer)}
    else:
        expected = {(outer, inner) for outer in range(1, 37) for inner in range(1, outer + 1)}
    expected = {
        (outer, inner)
        for outer, inner in expected
        if outer == fixed.get("outer.tile.K", outer) and inner == fixed.get("inner.tile.K", inner)
    }
    assert {chain_of(space, np.array(genes), "K") for genes in everything} == expected


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_the_moves_of_all_blocks_reach_every_mapping(tiles: str) -> None:
    layer = Layer("DSCONV", 1, 4, 3, 3, 2, 1)
    space = MappingSpace(
        layer, accelerator(4), tiles, {"outer.order": "KCYX", "inner.parallel": "Y", "inner.tile.X": 1}
    )
    assert len(reached(space, space.blocks)) == space.mappings


def reached(space: MappingSpace, blocks: Sequence[Block]) -> set[tuple[int, ...]]:
    """The vectors to which moves lead from the zero vector."""
    start: tuple[int, ...] = (0,) * 13
    seen, frontier = {start}, [start]
    while frontier:
        vector = np.array(frontier.pop())
        near = {tuple(row) for moves in blocks for row in moves.neighbours(vector).tolist()} - seen
        seen |= near
        frontier.extend(near)
    return seen


def test_fixed_genes_never_move() -> None:
    fixed: dict[str, Any] = {
        "outer.parallel": "K",
        "inner.order": "XYCK",
        "cluster": 12,
        "outer.tile.K": 16,
        "inner.tile.C": 4,
    }
    space = MappingSpace(VGG_CONV1_2, EYERISS, fixed=fixed)
    for start in space.sample(np.random.default_rng(2), 20):
        for moves in space.blocks:
            for mapping in mappings(space, moves.neighbours(start)):
                assert (mapping.outer.parallel, mapping.cluster_size) == ("K", 12)
                assert (mapping.outer["K"], mapping.inner["C"]) == (16, 4)
    assert block(space, "cluster").neighbours(start).shape == (0, 13)
    assert block(space, "inner.order").neighbours(start).shape == (0, 13)
    assert len(block(space, "parallel").neighbours(start)) == 3


# Random neighbours


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_a_random_neighbour_is_drawn_evenly_from_all_blocks(tiles: str) -> None:
    space = MappingSpace(VGG_CONV1_2, PRESETS["edge"], tiles)
    (start,) = space.sample(np.random.default_rng(8), 1)
    expected = {tuple(row) for moves in space.blocks for row in moves.neighbours(start).tolist()}
    draws = space.neighbour(np.random.default_rng(9), np.tile(start, (30_000, 1)))
    counts = Counter(map(tuple, draws.tolist()))
    assert set(counts) == expected
    mean = len(draws) / len(expected)
    assert max(abs(count - mean) for count in counts.values()) < 5 * mean**0.5


@settings(max_examples=40)
@given(space=spaces(), seed=st.integers(0, 2**32))
def test_each_vector_of_a_batch_gets_a_neighbour_of_its_own(space: MappingSpace, seed: int) -> None:
    rng = np.random.default_rng(seed)
    genes = space.sample(rng, 6)
    before = genes.copy()
    found = space.neighbour(rng, genes)
    assert np.array_equal(genes, before)
    for start, neighbour in zip(genes, found, strict=True):
        near = {tuple(row) for moves in space.blocks for row in moves.neighbours(start).tolist()}
        assert tuple(neighbour) in (near or {tuple(start)})


def test_equal_generators_give_equal_neighbours() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    genes = space.sample(np.random.default_rng(1), 50)
    one, other = (space.neighbour(np.random.default_rng(6), genes) for _ in range(2))
    assert np.array_equal(one, other)
    assert space.neighbour(np.random.default_rng(6), genes[:0]).shape == (0, 13)


def test_the_only_mapping_of_a_space_is_its_own_neighbour() -> None:
    fixed = {"outer.order": "KCYX", "outer.parallel": "K", "inner.order": "XYCK", "inner.parallel": "C"}
    space = MappingSpace(Layer.fc(1, 1), accelerator(1), fixed=fixed)
    assert space.mappings == 1
    start = np.zeros((2, 13), dtype=np.int64)
    assert np.array_equal(space.neighbour(np.random.default_rng(0), start), start)


def test_a_size_with_many_primes_has_all_its_moves() -> None:
    primorial = 2 * 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23
    space = MappingSpace(Layer.gemm(primorial, 64, 64), EYERISS)
    start = np.zeros(13, dtype=np.int64)
    near = block(space, "tile.Y").neighbours(start)
    # From (1, 1) each of the nine primes comes in from outside, to the outer or to the inner tile.
    assert len(near) == 18


def test_a_vector_outside_the_space_has_no_neighbours() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    moves = block(space, "tile.K")
    with pytest.raises(ValueError, match=r"vector 0: gene cluster must be within 0 and 15, got 16"):
        moves.neighbours(np.array([0] * 12 + [16]))
    with pytest.raises(ValueError, match="must be integers of shape"):
        moves.neighbours(np.zeros((1, 13), dtype=np.int64))
    with pytest.raises(ValueError, match="must be integers of shape"):
        space.neighbour(np.random.default_rng(0), np.full((2, 13), 0.0))
