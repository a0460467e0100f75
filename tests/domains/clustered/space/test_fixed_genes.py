"""What is outside of a space is refused; genes that are fixed; spaces as values."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.space.genes import parse_fixed
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from tests.domains.clustered.space.encoding_cases import a_mapping
from tests.domains.clustered.space.space_cases import (
    EYERISS,
    NAMES,
    RESNET_FC,
    VGG_CONV1_2,
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outer_tile": (5, 1, 1, 1, 3, 3)}, "outer.tile.K = 5 does not divide 64, the layer's K"),
        ({"outer_tile": (16, 8, 15, 28, 3, 3)}, "outer.tile.Y = 15 does not divide 224, the output's Y"),
        ({"inner_tile": (3, 8, 14, 28, 3, 3)}, "inner.tile.K = 3 does not divide 16, the outer tile"),
        ({"inner_tile": (32, 8, 14, 28, 3, 3)}, "inner.tile.K = 32 does not divide 16, the outer tile"),
        ({"inner_tile": (0, 8, 14, 28, 3, 3)}, "inner.tile.K = 0 does not divide 16"),
        (
            {"outer_tile": (-(2**63), 8, 14, 28, 3, 3)},
            "outer.tile.K = -9223372036854775808 does not divide 64",
        ),
        ({"inner_tile": (16, 8, 14, 28, 1, 3)}, "inner.tile.R = 1; expected 3, the whole filter"),
        ({"outer_parallel": "R"}, "outer.parallel = R; expected one of K, C, Y, X"),
        ({"inner_order": "KCYRXS"}, "inner.order = K C Y R X S; expected K C Y X in any order, then R S"),
        ({"inner_order": "KCYXSR"}, "inner.order = K C Y X S R; expected K C Y X in any order, then R S"),
        ({"cluster_size": 5}, "cluster = 5; expected one of 1, 2, 3, 4, 6, 7, 8, 12, 14, 21, 24"),
    ],
)
def test_a_mapping_outside_the_space_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS)
    batch = MappingBatch.of([a_mapping(), a_mapping(**changes), a_mapping(cluster_size=-1)])
    with pytest.raises(InputError) as error:
        space.encode(batch)
    assert str(error.value).startswith(f"mapping 1: {message}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outer_tile": (65, 8, 14, 28, 3, 3)}, "outer.tile.K = 65 is not within 1 and 64, the layer's K"),
        ({"inner_tile": (17, 8, 14, 28, 3, 3)}, "inner.tile.K = 17 is not within 1 and 16, the outer tile"),
        ({"inner_tile": (0, 8, 14, 28, 3, 3)}, "inner.tile.K = 0 is not within 1 and 16, the outer tile"),
    ],
)
def test_tiles_of_any_size_are_still_bounded(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MappingSpace(VGG_CONV1_2, EYERISS, "any").encode(MappingBatch.of([a_mapping(**changes)]))


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"outer.parallel": "Y"}, "outer.parallel = K; expected Y"),
        ({"inner.order": "XYCK"}, "inner.order = K C Y X R S; expected X Y C K, then R S"),
        ({"outer.tile.C": 16}, "outer.tile.C = 8, but the space fixes it at 16"),
        ({"inner.tile.C": 2}, "inner.tile.C = 8, but the space fixes it at 2"),
        ({"cluster": 168}, "cluster = 12; expected 168"),
    ],
)
@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_a_mapping_against_a_fixed_gene_is_refused(fixed: dict[str, Any], message: str, tiles: str) -> None:
    with pytest.raises(InputError, match=f"mapping 0: {message}"):
        MappingSpace(VGG_CONV1_2, EYERISS, tiles, fixed).encode(MappingBatch.of([a_mapping()]))


# Fixed genes


def test_fixed_genes_stay_in_the_vector_with_one_value() -> None:
    free = MappingSpace(VGG_CONV1_2, EYERISS)
    space = MappingSpace(
        VGG_CONV1_2, EYERISS, fixed={"cluster": 12, "outer.parallel": "K", "inner.order": "XYCK"}
    )
    single = [gene.name for gene in space.genes if gene.size == 1]
    assert single == ["outer.parallel", "inner.order", "cluster"]
    assert space.vectors == free.vectors // (16 * 4 * 24)
    assert space.fixed == {"outer.parallel": "K", "inner.order": ["X", "Y", "C", "K"], "cluster": 12}
    assert list(space.fixed) == ["outer.parallel", "inner.order", "cluster"]


def test_a_fixed_inner_tile_leaves_the_outer_tiles_that_it_fits_in() -> None:
    factors = MappingSpace(VGG_CONV1_2, EYERISS, fixed={"inner.tile.Y": 14})
    outers = factors.decode(every_value(factors, "outer.tile.Y"))
    assert [outers[i].outer["Y"] for i in range(len(outers))] == [14, 28, 56, 112, 224]
    anything = MappingSpace(VGG_CONV1_2, EYERISS, "any", {"inner.tile.Y": 220})
    outers = anything.decode(every_value(anything, "outer.tile.Y"))
    assert [outers[i].outer["Y"] for i in range(len(outers))] == [220, 221, 222, 223, 224]


def every_value(space: MappingSpace, name: str) -> IntArray:
    column = NAMES.index(name)
    genes = np.zeros((space.sizes[column], 13), dtype=np.int64)
    genes[:, column] = np.arange(space.sizes[column])
    return genes


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"outer.tiles.K": 64}, "unknown gene 'outer.tiles.K' in fixed; did you mean 'outer.tile.K'"),
        (
            {"outer.tile.K": 5},
            "fixed outer.tile.K = 5 does not divide 64, the layer's K; expected one of 1, 2",
        ),
        (
            {"inner.tile.K": 5},
            "fixed inner.tile.K = 5 does not divide 64, the layer's K; expected one of 1, 2, 4",
        ),
        (
            {"outer.tile.K": 8, "inner.tile.K": 16},
            "fixed inner.tile.K = 16 does not divide 8, the fixed outer tile; expected one of 1, 2, 4, 8",
        ),
        ({"outer.tile.K": 0}, "fixed outer.tile.K must be at least 1, got 0"),
        ({"outer.tile.K": "64"}, "fixed outer.tile.K must be a whole number, got '64'"),
        ({"outer.tile.K": 64.0}, "fixed outer.tile.K must be a whole number, got 64.0"),
        ({"outer.parallel": "R"}, "fixed outer.parallel must be one of K C Y X, got 'R'"),
        ({"outer.parallel": ["K", "R"]}, "fixed outer.parallel must be one of K C Y X, got 'R'"),
        ({"inner.order": "KCY"}, "fixed inner.order must hold each of K C Y X once, like KCYX, got 'KCY'"),
        ({"inner.order": ["K", "C", "Y", "Y"]}, "fixed inner.order must hold each of K C Y X once"),
        ({"inner.order": 3}, "fixed inner.order must hold each of K C Y X once"),
        (
            {"cluster": 5},
            "fixed cluster = 5 does not divide the 168 PEs; expected one of 1, 2, 3, 4, 6, 7, 8",
        ),
        ("outer.parallel=K", "fixed must be a table of names and values"),
    ],
)
def test_a_wrong_fixed_gene_is_refused_with_what_would_be_right(fixed: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        MappingSpace(VGG_CONV1_2, EYERISS, fixed=fixed)
    assert message in str(error.value)


def test_a_fixed_tile_of_any_size_must_fit() -> None:
    with pytest.raises(InputError, match=r"fixed outer.tile.Y = 225 is not within 1 and 224, the output's Y"):
        MappingSpace(VGG_CONV1_2, EYERISS, "any", {"outer.tile.Y": 225})
    with pytest.raises(
        InputError, match=r"fixed inner.tile.Y = 6 is not within 1 and 5, the fixed outer tile"
    ):
        MappingSpace(VGG_CONV1_2, EYERISS, "any", {"outer.tile.Y": 5, "inner.tile.Y": 6})


def test_unknown_tiles_are_refused() -> None:
    with pytest.raises(InputError, match="unknown tiles 'factor'; did you mean 'factors'"):
        MappingSpace(VGG_CONV1_2, EYERISS, "factor")


def test_fixed_genes_are_read_from_text() -> None:
    fixed = parse_fixed(["outer.parallel=K", " cluster = 16", "inner.order=XYCK", "outer.tile.K=64"])
    assert fixed == {"outer.parallel": "K", "cluster": 16, "inner.order": "XYCK", "outer.tile.K": 64}
    space = MappingSpace(VGG_CONV1_2, PRESETS["edge"], fixed=fixed)
    assert space.decode(np.zeros((1, 13), dtype=np.int64))[0].cluster_size == 16


def test_several_values_of_a_gene_are_a_space_of_just_these_mappings() -> None:
    fixed = parse_fixed(["inner.parallel=X,K,Y", "cluster=12, 4,4", "outer.parallel=C,C"])
    space = MappingSpace(VGG_CONV1_2, EYERISS, fixed=fixed)
    assert space.fixed == {"outer.parallel": "C", "inner.parallel": ["K", "Y", "X"], "cluster": [4, 12]}
    rng = np.random.default_rng(0)
    genes = space.canonical(
        np.concatenate([space.sample(rng, 200), space.neighbour(rng, space.sample(rng, 200))])
    )
    mappings = space.decode(genes)
    assert {mapping.inner.parallel for mapping in mappings} == {"K", "Y", "X"}
    assert {(mapping.outer.parallel, mapping.cluster_size) for mapping in mappings} == {("C", 4), ("C", 12)}
    assert (space.encode(mappings) == genes).all()
    one = {"outer.parallel": "C", "inner.parallel": "K", "cluster": 4}
    assert space.mappings == 6 * MappingSpace(VGG_CONV1_2, EYERISS, fixed=one).mappings
    assert pickle.loads(pickle.dumps(space)) == space
    parallel, block = NAMES.index("inner.parallel"), space.blocks[6]
    assert set(space.neighbours(genes[0], block)[:, parallel]) | {genes[0, parallel]} == {0, 1, 2}
    with pytest.raises(InputError, match=r"inner\.parallel = C; expected one of K, Y, X"):
        space.encode(MappingBatch.of([a_mapping(outer_parallel="C", inner_parallel="C", cluster_size=4)]))


def test_several_orders_are_a_space_of_just_these() -> None:
    fixed = parse_fixed(["outer.order=XYCK, KCYX,CKYX,KCYX", "inner.order=YXKC,YXKC"])
    space = MappingSpace(VGG_CONV1_2, EYERISS, fixed=fixed)
    three = [list("KCYX"), list("CKYX"), list("XYCK")]
    assert space.fixed == {"outer.order": three, "inner.order": list("YXKC")}
    assert MappingSpace(VGG_CONV1_2, EYERISS, fixed=space.fixed) == space
    assert pickle.loads(pickle.dumps(space)) == space
    assert json.loads(json.dumps(space.identity)) == space.identity
    rng = np.random.default_rng(0)
    genes = space.canonical(
        np.concatenate([space.sample(rng, 200), space.neighbour(rng, space.sample(rng, 200))])
    )
    mappings = space.decode(genes)
    assert {mapping.outer.order[:4] for mapping in mappings} == set(map(tuple, three))
    assert {mapping.inner.order[:4] for mapping in mappings} == {tuple("YXKC")}
    assert (space.encode(mappings) == genes).all()
    one = MappingSpace(VGG_CONV1_2, EYERISS, fixed={"outer.order": "XYCK", "inner.order": "YXKC"})
    assert space.mappings == 3 * one.mappings
    order, block = NAMES.index("outer.order"), space.blocks[4]
    assert block.name == "outer.order"
    assert set(space.neighbours(genes[0], block)[:, order]) | {genes[0, order]} == {0, 1, 2}
    with pytest.raises(InputError, match="expected K C Y X or C K Y X or X Y C K, then R S"):
        space.encode(MappingBatch.of([a_mapping(outer_order="CKXYRS", inner_order="YXKCRS")]))


def test_all_orders_named_are_those_of_a_free_gene_and_too_many_are_refused() -> None:
    every = ["".join(order) for order in permutations("KCYX")]
    named = MappingSpace(VGG_CONV1_2, EYERISS, fixed={"inner.order": every})
    free = MappingSpace(VGG_CONV1_2, EYERISS)
    genes = named.sample(np.random.default_rng(0), 100)
    assert np.array_equal(named.decode(genes).rows, free.decode(genes).rows)
    assert all(
        np.array_equal(named.neighbours(genes[0], mine), free.neighbours(genes[0], block))
        for mine, block in zip(named.blocks, free.blocks, strict=True)
    )
    paper = ["".join(order) for order in permutations("KCYXRS")]
    some = MappingSpace(VGG_CONV1_2, EYERISS, parts="paper", fixed={"inner.order": paper[::8]})
    points = some.sample(np.random.default_rng(0), 50)
    assert len(some.neighbour(np.random.default_rng(0), points)) == 50
    with pytest.raises(InputError, match=r"fixed inner.order takes at most 100 orders, got 720"):
        MappingSpace(VGG_CONV1_2, EYERISS, parts="paper", fixed={"inner.order": paper})
    with pytest.raises(InputError, match=r"fixed inner.order must hold each of K C Y X once"):
        MappingSpace(VGG_CONV1_2, EYERISS, fixed={"inner.order": [["KCYX", "CKYX"]]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("inner.order=KCYX,CKY", "fixed inner.order must hold each of K C Y X once, like KCYX, got 'CKY'"),
        ("inner.order=KCYX,", "fixed inner.order must hold each of K C Y X once, like KCYX, got ''"),
        ("inner.parallel=K,Z", "fixed inner.parallel must be one of K C Y X, got 'Z'"),
        ("cluster=4,5", "fixed cluster = 5 does not divide the 168 PEs"),
        ("cluster=4,", "fixed cluster must be a whole number"),
    ],
)
def test_values_that_cannot_be_together_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        MappingSpace(VGG_CONV1_2, EYERISS, fixed=parse_fixed([text]))
    assert str(error.value).startswith(message)
    with pytest.raises(InputError, match="at least one value"):
        MappingSpace(VGG_CONV1_2, EYERISS, fixed={"cluster": []})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["outer.parallel"], "must read GENE=VALUE, like outer.parallel=K, got 'outer.parallel'"),
        (["outer.parallel="], "must read GENE=VALUE"),
        (["cluter=4"], "unknown gene 'cluter'; did you mean 'cluster'"),
        (["cluster=4", "cluster=8"], "cluster is fixed twice, at 4 and at '8'"),
    ],
)
def test_malformed_text_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_fixed(texts)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["cluster=-4", "cluster=4.5", "cluster=K", "cluster=" + "9" * 30])
def test_text_that_is_no_size_is_refused_by_the_space(text: str) -> None:
    with pytest.raises(InputError, match="fixed cluster"):
        MappingSpace(VGG_CONV1_2, EYERISS, fixed=parse_fixed([text]))


# A space as a value


def test_the_identity_is_plain_json_and_tells_spaces_apart() -> None:
    fixed: dict[str, Any] = {"outer.order": ("X", "Y", "C", "K"), "cluster": np.int64(12)}
    variants = [
        MappingSpace(VGG_CONV1_2, EYERISS),
        MappingSpace(VGG_CONV1_2, EYERISS, "any"),
        MappingSpace(VGG_CONV1_2, EYERISS, fixed=fixed),
        MappingSpace(VGG_CONV1_2, PRESETS["edge"]),
        MappingSpace(RESNET_FC, EYERISS),
    ]
    texts = [json.dumps(space.identity) for space in variants]
    assert len(set(texts)) == len(variants)
    assert variants[0].identity == MappingSpace(VGG_CONV1_2.lowered(), EYERISS).identity
    # How the user wrote the fixed genes does not matter.
    rewritten = MappingSpace(VGG_CONV1_2, EYERISS, fixed={"cluster": 12, "outer.order": "XYCK"})
    assert json.dumps(rewritten.identity) == texts[2]


def test_a_space_is_a_frozen_value() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS, fixed={"cluster": 12})
    same = MappingSpace(VGG_CONV1_2, EYERISS, fixed={"cluster": 12})
    assert space == same
    assert hash(space) == hash(same)
    assert space != MappingSpace(VGG_CONV1_2, EYERISS)
    with pytest.raises(FrozenInstanceError):
        space.tiles = "any"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        space.sizes[0] = 1
    space.identity["fixed"]["cluster"] = 24
    assert space == same


def test_a_used_space_survives_pickling() -> None:
    space = MappingSpace(VGG_CONV1_2, EYERISS, "any", {"inner.order": "XYCK"})
    genes = space.sample(np.random.default_rng(0), 9)
    rows = space.decode(genes).rows
    copy = pickle.loads(pickle.dumps(space))
    assert copy == space
    assert np.array_equal(copy.decode(genes).rows, rows)


def test_a_space_is_laid_out_without_importing_numba() -> None:
    script = (
        "import sys\n"
        "from dse.domains.clustered.accelerator import PRESETS\n"
        "from dse.core.layer import Layer\n"
        "from dse.domains.clustered.space.mapping_space import MappingSpace\n"
        "space = MappingSpace(Layer.fc(1000, 512), PRESETS['edge'])\n"
        "space.vectors, space.mappings, space.sizes, space.blocks, space.identity\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
