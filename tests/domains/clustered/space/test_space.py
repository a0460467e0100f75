"""Mapping spaces: gene vectors stand for mappings, all of them, and nothing else."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.core.equation1 import equation1
from dse.core.layer import Layer
from dse.domains.clustered.mapping import INNER_TILE, OUTER_TILE, Level, Mapping, MappingBatch
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from tests.domains.clustered.space.encoding_cases import a_mapping
from tests.domains.clustered.space.space_cases import (
    EYERISS,
    LAYERS,
    LONG_GEMM,
    MOBILENET_DEPTHWISE,
    NAMES,
    ORDERS,
    RESNET_FC,
    RESNET_STEM,
    VGG_CONV1_2,
    accelerator,
    divisors,
    spaces,
)


def decoded_by_the_design(layer: Layer, num_pes: int, tiles: str, vector: list[int]) -> Mapping:
    """What DESIGN.md says a vector of a space without fixed genes stands for, written as it says it."""
    gene = dict(zip(NAMES, vector, strict=True))
    outer, inner = {"R": layer.R, "S": layer.S}, {"R": layer.R, "S": layer.S}
    for dim in "KCYX":
        size, a, b = layer.loops[dim], gene[f"outer.tile.{dim}"], gene[f"inner.tile.{dim}"]
        if tiles == "any":
            outer[dim] = a + 1
            inner[dim] = b * outer[dim] // size + 1
        else:
            outer[dim] = divisors(size)[a]
            choices = divisors(outer[dim])
            inner[dim] = choices[b * len(choices) // len(divisors(size))]
    levels = {
        name: Level(
            "KCYX"[gene[f"{name}.parallel"]],
            (*ORDERS[gene[f"{name}.order"]], "R", "S"),
            tuple(tile[dim] for dim in "KCYXRS"),
        )
        for name, tile in (("outer", outer), ("inner", inner))
    }
    return Mapping(levels["outer"], divisors(num_pes)[gene["cluster"]], levels["inner"])


def every_vector(space: MappingSpace) -> IntArray:
    """All gene vectors of a small space."""
    return np.stack(np.unravel_index(np.arange(space.vectors), tuple(space.sizes)), axis=1).astype(np.int64)


# What a space is made of


def test_a_space_has_the_thirteen_genes_in_the_order_of_the_contract() -> None:
    genes = MappingSpace(VGG_CONV1_2, EYERISS).genes
    assert [gene.name for gene in genes] == NAMES
    assert [gene.size for gene in genes] == [24, 4, 7, 7, 12, 12, 24, 4, 7, 7, 12, 12, 16]
    assert [gene.kind for gene in genes[:3]] == ["permutation", "categorical", "ordinal"]
    assert (genes[8].level, genes[8].dim) == ("inner", "K")
    assert (genes[12].kind, genes[12].level, genes[12].dim) == ("ordinal", None, None)
    any_sizes = MappingSpace(VGG_CONV1_2, EYERISS, "any").sizes
    assert any_sizes.tolist() == [24, 4, 64, 64, 224, 224, 24, 4, 64, 64, 224, 224, 16]


def test_a_space_is_over_the_outputs_of_a_strided_layer() -> None:
    space = MappingSpace(RESNET_STEM, EYERISS, "any")
    assert space.layer == RESNET_STEM.lowered()
    assert space.sizes[4] == space.sizes[5] == 112


@pytest.mark.parametrize("tiles", ["factors", "any"])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_vectors_decode_as_the_design_says(layer: Layer, tiles: str) -> None:
    space = MappingSpace(layer, EYERISS, tiles)
    genes = space.sample(np.random.default_rng(1), 40)
    batch = space.decode(genes)
    for index, vector in enumerate(genes.tolist()):
        assert batch[index] == decoded_by_the_design(layer.lowered(), 168, tiles, vector)


@settings(max_examples=60)
@given(space=spaces(), seed=st.integers(0, 2**32))
def test_every_decoded_mapping_encodes_and_decodes_to_itself(space: MappingSpace, seed: int) -> None:
    genes = space.sample(np.random.default_rng(seed), 20)
    batch = space.decode(genes)
    encoded = space.encode(batch)
    assert space.contains(encoded).all()
    assert np.array_equal(space.decode(encoded).rows, batch.rows)
    assert (encoded <= genes).all()


@settings(max_examples=60)
@given(space=spaces(), seed=st.integers(0, 2**32))
def test_fixed_genes_hold_in_every_mapping(space: MappingSpace, seed: int) -> None:
    genes = space.sample(np.random.default_rng(seed), 5)
    batch = space.decode(genes)
    fixed: dict[str, Any] = dict(space.fixed)
    for mapping, (name, value) in itertools.product([batch[row] for row in range(5)], fixed.items()):
        level, _, part = name.partition(".")
        if name == "cluster":
            assert mapping.cluster_size == value
        elif part == "order":
            assert getattr(mapping, level).order == (*value, "R", "S")
        elif part == "parallel":
            assert getattr(mapping, level).parallel == value
        else:
            assert getattr(mapping, level)[part[-1]] in (value if isinstance(value, list) else [value])


# How large it is

SMALL = [
    (Layer("CONV", 2, 1, 1, 1, 1, 1), 2, "factors", {}),
    (Layer("CONV", 1, 1, 3, 1, 1, 1), 1, "any", {}),
    (Layer("CONV", 6, 4, 4, 1, 2, 1), 6, "factors", {"outer.order": "KCYX", "inner.order": "XYCK"}),
    (Layer("DSCONV", 1, 12, 6, 3, 3, 1), 4, "factors", {"outer.order": "KCYX", "inner.order": "XYCK"}),
    (Layer("CONV", 3, 4, 2, 1, 1, 1), 4, "any", {"outer.order": "KCYX", "inner.order": "XYCK"}),
    (
        Layer("DSCONV", 1, 5, 4, 3, 3, 1),
        2,
        "any",
        {"inner.order": "XYCK", "outer.parallel": "C", "cluster": 2},
    ),
    (Layer("CONV", 36, 8, 1, 1, 1, 1), 4, "factors", {"inner.tile.K": 6, "outer.tile.C": 4, "cluster": 2}),
    (
        Layer("CONV", 10, 7, 1, 1, 1, 1),
        1,
        "any",
        {"inner.tile.K": 4, "outer.tile.C": 6, "outer.order": "YXKC"},
    ),
    (Layer("CONV", 24, 1, 1, 1, 1, 1), 1, "factors", {"inner.tile.K": 3, "outer.tile.K": 12}),
]


@pytest.mark.parametrize(("layer", "num_pes", "tiles", "fixed"), SMALL)
def test_the_number_of_mappings_is_what_enumeration_finds(
    layer: Layer, num_pes: int, tiles: str, fixed: dict[str, Any]
) -> None:
    space = MappingSpace(layer, accelerator(num_pes), tiles, fixed)
    genes = every_vector(space)
    assert len(genes) == space.vectors <= 2_000_000
    rows = space.decode(genes).rows
    distinct, first = np.unique(rows, axis=0, return_index=True)
    assert len(distinct) == space.mappings
    # np.unique keeps the first, and the vectors stand in ascending order.
    assert np.array_equal(space.encode(MappingBatch(distinct)), genes[first])


def test_sizes_are_exact_beyond_64_bits() -> None:
    space = MappingSpace(LONG_GEMM, EYERISS, "any")
    tiles = 50_000 * 4096 * 1021
    assert space.vectors == 96**2 * 16 * tiles**2 > 2**63
    pairs = [size * (size + 1) // 2 for size in (50_000, 4096, 1021)]
    assert space.mappings == 96**2 * 16 * pairs[0] * pairs[1] * pairs[2]
    assert isinstance(space.vectors, int)
    assert isinstance(space.mappings, int)


def test_a_dim_of_thirty_one_bits_decodes_exactly() -> None:
    largest = 2**31 - 1
    layer = Layer.gemm(largest, 1, 1)
    space = MappingSpace(layer, EYERISS, "any")
    genes = np.zeros((2, 13), dtype=np.int64)
    genes[:, 4] = largest - 1
    genes[:, 10] = largest - 1, largest - 2
    batch = space.decode(genes)
    assert [batch[i].inner["Y"] for i in range(2)] == [largest, largest - 1]
    assert np.array_equal(space.encode(batch), genes)


def test_equation_1_gives_table_ii() -> None:
    assert equation1(n=10, d=3, k=3, l=1) == 36_000
    assert equation1(n=10, d=5, k=3, l=1) == 720_000_000
    assert equation1(n=10, d=7, k=3, l=1) == 10_584_000_000_000
    assert equation1(n=10, d=7, k=3, l=3) == 10_584_000_000_000**3
    with pytest.raises(InputError, match="k must be at most 3, got 4"):
        equation1(n=10, d=3, k=4, l=1)


@pytest.mark.parametrize(
    ("layer", "one_level"),
    [
        (LONG_GEMM, 36_000),
        (RESNET_FC, 36_000),
        (VGG_CONV1_2, 10_584_000_000_000),
        (MOBILENET_DEPTHWISE, 10_584_000_000_000),
    ],
)
def test_equation_1_counts_a_layers_dims_at_two_levels(layer: Layer, one_level: int) -> None:
    assert MappingSpace(layer, EYERISS).estimates["eq1"] == one_level**2


# Drawing and reading vectors


def test_samples_are_uniform_over_the_vectors() -> None:
    space = MappingSpace(RESNET_FC, EYERISS)
    genes = space.sample(np.random.default_rng(5), 30_000)
    assert genes.shape == (30_000, 13)
    assert genes.dtype == np.int64
    for column, size in zip(genes.T, space.sizes, strict=True):
        share = np.bincount(column, minlength=size) / len(genes)
        assert len(share) == size
        assert share == pytest.approx(1 / size, abs=5 * (size * len(genes)) ** -0.5)
    # Two genes that share a dim are drawn independently.
    pairs = np.bincount(genes[:, 2] * 16 + genes[:, 8], minlength=256) / len(genes)
    assert pairs == pytest.approx(1 / 256, abs=0.002)


def test_any_tiles_are_drawn_log_uniformly_and_half_of_them_leave_no_rest() -> None:
    layer = Layer("CONV", 61, 100, 1, 1, 1, 1)
    space = MappingSpace(layer, EYERISS, "any", {"inner.tile.C": 3})
    rows = space.decode(space.sample(np.random.default_rng(0), 20_000)).rows
    outer, inner = rows[:, OUTER_TILE], rows[:, INNER_TILE]
    # 61 is prime: of the outer tiles 1 and 61 a half, of the six powers of two up to 32 a sixth of the other.
    assert np.mean(outer == 1) == pytest.approx(1 / 4 + 1 / 12, abs=0.02)
    assert np.mean((outer >= 8) & (outer < 16)) == pytest.approx(1 / 12, abs=0.02)
    assert set(outer) == set(range(1, 62))
    assert np.mean(inner[outer == 7] < 4) == pytest.approx(2 / 3, abs=0.1)
    # No tile that 3 divides divides 100: all are of any size, and none is smaller than 3.
    assert set(rows[:, OUTER_TILE + 1]) == set(range(3, 101))
    assert set(rows[:, INNER_TILE + 1]) == {3}


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_equal_generators_give_equal_samples(tiles: str) -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS, tiles)
    one, other = (space.sample(np.random.default_rng(3), 7) for _ in range(2))
    assert np.array_equal(one, other)
    assert space.sample(np.random.default_rng(3), 0).shape == (0, 13)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint16, np.uint64, ">i8"])
def test_any_integer_type_decodes(kind: Any) -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    genes = space.sample(np.random.default_rng(2), 30)
    assert np.array_equal(space.decode(genes.astype(kind)).rows, space.decode(genes).rows)


def test_strided_and_read_only_vectors_decode() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    genes = space.sample(np.random.default_rng(2), 30)
    frozen = genes.copy()
    frozen.flags.writeable = False
    assert np.array_equal(space.decode(frozen).rows, space.decode(genes).rows)
    assert np.array_equal(space.decode(np.asfortranarray(genes)[::2]).rows, space.decode(genes).rows[::2])


@pytest.mark.parametrize("shape", [(13,), (2, 12), (1, 2, 13)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    for use in (space.decode, space.contains):
        with pytest.raises(ValueError, match=r"integers of shape \(n, 13\), got int64"):
            use(np.zeros(shape, dtype=np.int64))


@pytest.mark.parametrize("kind", [np.float64, np.bool_, object])
def test_vectors_that_are_not_integers_are_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="must be integers of shape"):
        MappingSpace(VGG_CONV1_2, EYERISS).decode(np.zeros((1, 13), dtype=kind))


@pytest.mark.parametrize(("column", "name", "size"), [(2, "outer.tile.K", 7), (12, "cluster", 16)])
@pytest.mark.parametrize("below", [True, False])
def test_the_first_gene_out_of_range_is_named(column: int, name: str, size: int, below: bool) -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    genes = np.zeros((6, 13), dtype=np.int64)
    genes[4:, column] = -1 if below else size
    assert space.contains(genes).tolist() == [True] * 4 + [False] * 2
    message = f"vector 4: gene {name} must be within 0 and {size - 1}, got {-1 if below else size}"
    with pytest.raises(ValueError, match=message):
        space.decode(genes)
    with pytest.raises(ValueError, match=message):
        space.neighbour(np.random.default_rng(0), genes)


def test_a_mapping_in_the_space_is_found_there() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    batch = MappingBatch.of([a_mapping()])
    assert space.decode(space.encode(batch))[0] == a_mapping()
    assert space.encode(MappingBatch.of([])).shape == (0, 13)
