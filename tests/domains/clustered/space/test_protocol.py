"""What every space has to keep: shown on the space of mappings and on one that knows no mapping."""

from __future__ import annotations

import json
import math
from itertools import permutations

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.core.space import Space
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.space.parts import SPACES
from dse.domains.levels.machine import Level, Machine
from dse.domains.levels.space.space import HierarchySpace
from dse.testing.toy_problem import ORDERS, ToySpace

LAYER = Layer("CONV", 6, 4, 10, 10, 3, 3)
CHIP = Machine(
    "chip",
    (
        Level("DRAM", keeps=("W", "I", "O"), may_keep=()),
        Level("Buffer", capacity=500, keeps=("I",), may_keep=("W", "O"), fan_out=8, spread=("K", "C")),
        Level("Store", capacity=16, keeps=("O",), may_keep=("W",), loops=("K", "P", "C", "S")),
    ),
    mac_pj=1.0,
)
SPACES = [
    pytest.param(ToySpace(), id="toy"),
    pytest.param(MappingSpace(LAYER, PRESETS["edge"]), id="factors"),
    pytest.param(MappingSpace(LAYER, PRESETS["edge"], "any", {"outer.order": "CKYX"}), id="any"),
    pytest.param(HierarchySpace(LAYER, CHIP), id="hierarchy"),
    pytest.param(HierarchySpace(LAYER, CHIP, {"orders": "all"}), id="hierarchy of all orders"),
    pytest.param(MappingSpace(LAYER, PRESETS["edge"], parts=SPACES["paper"]), id="paper"),
]


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest) -> Space:
    return request.param


def drawn(space: Space, count: int = 400) -> np.ndarray:
    return space.sample(np.random.default_rng(0), count)


def test_sizes_are_those_of_the_genes_and_count_the_vectors(space: Space) -> None:
    assert space.sizes.tolist() == [gene.size for gene in space.genes]
    assert math.prod(space.sizes.tolist()) == space.vectors > space.designs
    assert not space.sizes.flags.writeable


def test_orders_are_counted_in_full_or_fixed(space: Space) -> None:
    for gene in space.genes:
        if gene.kind == "permutation":
            assert gene.size in (1, *map(math.factorial, range(4, 8)))
    assert [tuple(order) for order in ORDERS] == list(permutations(range(4)))


def test_blocks_share_out_the_genes(space: Space) -> None:
    assert sorted(gene for block in space.blocks for gene in block.genes) == list(range(len(space.genes)))
    assert [block.index for block in space.blocks] == list(range(len(space.blocks)))


def test_samples_lie_inside_and_others_do_not(space: Space) -> None:
    genes = drawn(space)
    assert space.contains(genes).all()
    assert not space.contains(genes + space.sizes).any()
    assert not space.contains(genes - space.sizes).any()
    assert len(np.unique(genes, axis=0)) > 350


def test_canonical_vectors_are_the_smallest_of_their_designs(space: Space) -> None:
    genes = np.random.default_rng(0).integers(0, space.sizes, (400, len(space.sizes)))
    canonical = space.canonical(genes)
    assert space.contains(canonical).all()
    assert (space.canonical(canonical) == canonical).all()
    assert (canonical <= genes).all()
    assert (canonical < genes).any()


def test_a_block_of_a_canonical_vector_may_take_canonical_values(space: Space) -> None:
    genes, others = np.split(space.canonical(drawn(space)), 2)
    for block in space.blocks:
        mixed = genes.copy()
        mixed[:, block.genes] = others[:, block.genes]
        assert (space.canonical(mixed) == mixed).all()


def test_neighbours_are_other_designs_that_differ_in_their_block_alone(space: Space) -> None:
    for vector in drawn(space, 20):
        for block in space.blocks:
            near = block.neighbours(vector)
            outside = [gene for gene in range(len(space.genes)) if gene not in block.genes]
            designs = space.canonical(np.vstack([vector, near]))
            assert space.contains(near).all()
            assert (near[:, outside] == vector[outside]).all()
            assert len(np.unique(designs, axis=0)) == 1 + len(near)
            assert (near[:, block.genes] == designs[1:, block.genes]).all()


def test_a_random_neighbour_is_one_of_the_neighbours(space: Space) -> None:
    genes = drawn(space, 20)
    found = space.neighbour(np.random.default_rng(1), genes)
    for vector, near in zip(genes, found, strict=True):
        every = np.concatenate([block.neighbours(vector) for block in space.blocks])
        assert (space.canonical(every) == space.canonical(near[np.newaxis])).all(axis=1).any()


def test_features_belong_to_designs_and_tell_them_apart(space: Space) -> None:
    genes = drawn(space)
    features = space.features(genes)
    assert features.shape == (400, len(space.feature_names))
    assert np.isfinite(features).all()
    assert (space.features(space.canonical(genes)) == features).all()
    distinct = len(np.unique(space.canonical(genes), axis=0))
    assert len(np.unique(features, axis=0)) == distinct
    assert space.features(genes[:0]).shape == (0, len(space.feature_names))


def test_only_mappings_have_a_mapping_structure() -> None:
    mappings = MappingSpace(LAYER, PRESETS["edge"])
    structure = mappings.structure
    assert ToySpace().structure is None
    assert structure.layer == LAYER.lowered()
    assert (structure.encode(structure.decode(drawn(mappings))) == mappings.canonical(drawn(mappings))).all()


def test_the_identity_is_plain_data(space: Space) -> None:
    assert json.loads(json.dumps(space.identity)) == space.identity
