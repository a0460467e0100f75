"""Mappings as JSON and as batches."""

from __future__ import annotations

import json
import pickle
import pydoc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.core.layer import DIMS
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch, Tile
from dse.support.errors import InputError
from tests.models.mapping_strategies import any_mapping, refusal


@pytest.fixture
def plain() -> dict[str, Any]:
    """A mapping as plain data, to be broken."""
    level = {"parallel": "K", "order": list("KCYXRS"), "tile": dict.fromkeys(DIMS, 1)}
    return {"outer": level, "cluster_size": 4, "inner": json.loads(json.dumps(level))}


@given(any_mapping, st.sampled_from([None, 2]))
def test_a_mapping_survives_json(mapping: Mapping, indent: int | None) -> None:
    assert Mapping.from_json(mapping.to_json(indent)) == mapping


@given(any_mapping)
def test_keys_and_tiles_may_come_in_any_order(mapping: Mapping) -> None:
    def turned(value: object) -> object:
        if isinstance(value, dict):
            return {key: turned(item) for key, item in reversed(value.items())}
        return value

    assert Mapping.from_json(json.dumps(turned(mapping.to_dict()))) == mapping


@given(st.lists(any_mapping, max_size=5))
def test_mappings_survive_a_batch(chosen: list[Mapping]) -> None:
    batch = MappingBatch.of(chosen)
    assert len(batch) == len(chosen)
    assert [batch[i] for i in range(len(batch))] == chosen


def test_tiles_are_read_by_name_and_as_the_tuple_that_they_are(plain: dict[str, Any]) -> None:
    plain["inner"]["tile"] = dict(zip(DIMS, (8, 4, 7, 14, 3, 1), strict=True))
    tile = Mapping.from_dict(plain).inner.tile
    assert [tile[dim] for dim in DIMS] == list(tile) == [8, 4, 7, 14, 3, 1]
    assert tile["X"] == tile.X == tile[3] == Mapping.from_dict(plain).inner["X"]
    assert tile == (8, 4, 7, 14, 3, 1)
    assert tile[-2:] == (3, 1)
    assert pickle.loads(pickle.dumps(tile))["Y"] == 7
    with pytest.raises(KeyError, match="a tile has the dims K C Y X R S, got 'N'"):
        tile["N"]
    assert "in the order K, C, Y, X, R, S" in " ".join(pydoc.render_doc(Tile).split())


def test_a_level_has_a_tile_size_for_every_dim() -> None:
    assert Level("K", DIMS, iter(range(6))).tile["S"] == 5
    with pytest.raises(InputError, match=r"a size for each of K C Y X R S, got \(1, 2\)"):
        Level("K", DIMS, (1, 2))


def test_a_batch_refuses_rows_of_another_shape_or_type() -> None:
    with pytest.raises(ValueError, match="int64 array of shape"):
        MappingBatch(np.zeros((2, 26), dtype=np.int64))
    with pytest.raises(ValueError, match="int64 array of shape"):
        MappingBatch(np.zeros((2, 27), dtype=np.int32))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["levels"], [], "mapping is one of a machine of levels (--cost-model timeloop)"),
        (["extra"], 1, "unknown key 'extra' in mapping; expected one of outer, cluster_size, inner"),
        (["outer"], None, "mapping.outer must be a table of names and values, got None"),
        (["outer"], [1], "mapping.outer must be a table of names and values, got [1]"),
        (["inner", "tiles"], {}, "unknown key 'tiles' in mapping.inner; did you mean 'tile'?"),
        (["cluster_size"], "4", "mapping.cluster_size must be a whole number, got '4'"),
        (["cluster_size"], True, "mapping.cluster_size must be a whole number, got True"),
        (["cluster_size"], 4.0, "mapping.cluster_size must be a whole number, got 4.0"),
        (["cluster_size"], None, "mapping.cluster_size must be a whole number, got None"),
        (["cluster_size"], 2**63, "mapping.cluster_size must be at most what 64 bits hold"),
        (["cluster_size"], -(2**63) - 1, "mapping.cluster_size must be at least -9223372036854775808"),
        (["outer", "parallel"], "Z", "unknown dim 'Z' in mapping.outer.parallel; expected one of K, C"),
        (["outer", "parallel"], ["K"], "unknown dim ['K'] in mapping.outer.parallel"),
        (["outer", "order"], list("KKYXRS"), "mapping.outer.order must hold each of K C Y X R S once"),
        (["outer", "order"], list("KCYXR"), "mapping.outer.order must hold each of K C Y X R S once"),
        (["outer", "order"], "KCYXRS", "mapping.outer.order must be a list of dims, got 'KCYXRS'"),
        (["outer", "order"], [1, 2], "mapping.outer.order must be a list of dims, got [1, 2]"),
        (["inner", "tile"], [1] * 6, "mapping.inner.tile must be a table of names and values"),
        (["inner", "tile"], {"K": 1}, "mapping.inner.tile lacks 'C', 'Y', 'X', 'R', 'S'"),
        (["inner", "tile", "T"], 1, "unknown key 'T' in mapping.inner.tile; expected one of K, C, Y"),
        (["inner", "tile", "K"], 10**30, "mapping.inner.tile.K must be at most what 64 bits hold"),
        (["inner", "tile", "K"], "x" * 10_000_000, "mapping.inner.tile.K must be a whole number, got 'x"),
        (["outer", "order"], ["x" * 10_000_000], "mapping.outer.order must hold each of K C Y X R S"),
        (["outer", "parallel"], "\n\ud800", r"unknown dim '\n\ud800' in mapping.outer.parallel"),
    ],
)
def test_a_wrong_value_gets_one_line_that_names_its_place(
    plain: dict[str, Any], path: list[str], value: object, message: str
) -> None:
    place = plain
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    said = refusal(lambda: Mapping.from_json(json.dumps(plain)))
    assert said.startswith(message)


@pytest.mark.parametrize("key", ["outer", "cluster_size", "inner"])
def test_a_missing_key_is_named(plain: dict[str, Any], key: str) -> None:
    del plain[key]
    assert refusal(lambda: Mapping.from_json(json.dumps(plain))) == f"mapping lacks {key!r}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ('{"outer": 1', "not JSON"),
        ('{"cluster_size": NaN}', "NaN is not a JSON number"),
        ('{"cluster_size": -Infinity}', "-Infinity is not a JSON number"),
        ('{"cluster_size": 4, "cluster_size": 8}', "the key 'cluster_size' is there twice"),
        ('{"cluster_size": ' + "9" * 5000 + "}", "a number has too many digits"),
        ("[" * 100_000, "nested too deeply"),
        ('"' + "x" * 10_000_000 + '"', "must be a table of names and values, got 'xxx"),
        ("[" + "0," * 5_000_000 + "0]", "must be a table of names and values, got [0, 0"),
        ("x" * 10_000_000, "not JSON"),
    ],
    ids=lambda text: text[:20],
)
def test_a_text_that_is_no_mapping_gets_one_line(text: str, message: str) -> None:
    said = refusal(lambda: Mapping.from_json(text, "file.json"))
    assert said.startswith("file.json")
    assert message in said
