"""Mappings as nests of loops for people."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse.domains.clustered.nest
from dse.core.cost_models import cost_model
from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from tests.models.mapping_strategies import (
    INT64_MAX,
    LAYERS,
    mappings,
    perfect_factors,
    refusal,
)


def loop_nest(layer: Layer, mapping: Mapping, accelerator: Accelerator | None = None) -> str:
    return dse.domains.clustered.nest.loop_nest(layer, mapping, accelerator, cost_model("maestro"))


def test_a_model_that_does_not_say_what_buffers_hold_is_not_spoken_for() -> None:
    mapping = Mapping(Level("K", DIMS, (1, 64, 8, 16, 3, 3)), 4, Level("C", DIMS, (1, 1, 8, 8, 3, 3)))
    nest = dse.domains.clustered.nest.loop_nest(LAYERS[0], mapping, PRESETS["edge"])
    assert "a PE does" in nest
    assert "holds" not in nest
    assert "mapped as" not in nest


def test_the_module_shows_what_it_prints() -> None:
    mapping = Mapping(
        Level("K", DIMS[:1] + DIMS[1:], (1, 64, 8, 16, 3, 3)),
        4,
        Level("C", DIMS, (1, 1, 8, 8, 3, 3)),
    )
    nest = loop_nest(LAYERS[0].lowered(), mapping, PRESETS["edge"])
    shown = dse.domains.clustered.nest.__doc__ or ""
    assert [line.strip() for line in nest.splitlines()] == [
        line.strip() for line in shown.splitlines()[2 : 2 + len(nest.splitlines())]
    ]


@given(st.data())
def test_the_trips_times_the_work_of_a_pe_is_the_layer(data: st.DataObject) -> None:
    layer = data.draw(st.sampled_from(LAYERS))
    accelerator = data.draw(st.sampled_from([PRESETS["eyeriss-small"], PRESETS["edge"], None]))
    num_pes = accelerator.num_pes if accelerator else 64
    mapping = data.draw(perfect_factors(layer, num_pes))
    nest = loop_nest(layer, mapping, accelerator)
    trips = re.findall(r"^ *(?:for|parallel) .*?([\d,]+) (?:tiles?|trips)\b", nest, re.MULTILINE)
    work = re.search(r"a PE does ([\d,]+) MAC", nest)
    assert work is not None
    assert math.prod(map(number, trips)) * number(work[1]) == layer.macs


@given(st.data())
def test_indices_of_loops_are_used_inside_them_only(data: st.DataObject) -> None:
    layer = data.draw(st.sampled_from(LAYERS))
    mapping = data.draw(perfect_factors(layer, 256))
    seen: set[str] = set()
    for line in loop_nest(layer, mapping, PRESETS["edge"]).splitlines():
        head = re.match(r" *(?:for|parallel) (\w+) in (\S+)", line)
        if head:
            assert set(re.findall(r"[a-z]\d", head[2])) <= seen
            seen.add(head[1])
        elif "a PE does" in line:
            assert set(re.findall(r"\b[a-z]\d", line)) <= seen


def test_idle_clusters_and_pes_show() -> None:
    mapping = Mapping(Level("Y", DIMS, (64, 1, 8, 14, 7, 7)), 12, Level("C", DIMS, (1, 1, 1, 1, 7, 7)))
    nest = loop_nest(LAYERS[1], mapping, PRESETS["eyeriss"])
    assert "168 PEs in 14 clusters of 12: at most 14 at work, on average 14.0" in nest
    assert re.search(r"parallel y0 in 0\.\.111 by 8 +14 tiles on 14 clusters\n", nest)
    assert re.search(r"parallel c1 in c0 +1 tile on 12 PEs, 11 idle\n", nest)


def test_tiles_that_do_not_divide_show_their_rest() -> None:
    layer = Layer("CONV", 10, 7, 5, 5, 1, 1)
    mapping = Mapping(Level("K", DIMS, (4, 3, 5, 5, 1, 1)), 3, Level("Y", DIMS, (4, 3, 2, 5, 1, 1)))
    accelerator = Accelerator(8, 512, 4096, 16, 4)
    nest = loop_nest(layer, mapping, accelerator)
    assert "8 PEs in 2 clusters of 3 (2 PEs in none)" in nest
    assert re.search(
        r"parallel k0 in 0\.\.9 by 4 +3 tiles, the last of 2 on 2 clusters: 2 rounds, 1 in", nest
    )
    assert re.search(r"for c0 in 0\.\.6 by 3 +3 trips, the last of 1\n", nest)
    assert re.search(r"parallel y1 in 0\.\.4 by 2 +3 tiles, the last of 1 on 3 PEs\n", nest)
    # The longest-running PE takes 4 + 2 output channels, 7 input channels, 2 of 5 rows, 5 columns.
    assert f"on average {10 * 7 * 5 * 5 / (6 * 7 * 2 * 5):.1f}" in nest


def test_a_depthwise_layer_has_no_k() -> None:
    mapping = Mapping(Level("K", DIMS, (1, 4, 7, 56, 3, 3)), 8, Level("Y", DIMS, (1, 1, 1, 56, 3, 3)))
    nest = loop_nest(LAYERS[2], mapping, PRESETS["edge"])
    assert re.search(r"parallel c0 in 0\.\.95 by 4 +24 tiles on 32 clusters, 8 idle", nest)
    assert not re.search(r"\bk[01]", nest)


def test_a_buffer_too_small_stands_out() -> None:
    mapping = Mapping(Level("K", DIMS, (1, 1, 1, 1, 7, 7)), 1, Level("C", DIMS, (1, 1, 1, 1, 7, 7)))
    nest = loop_nest(LAYERS[1], mapping, PRESETS["edge-small"])
    assert "L1 LACKS ROOM for 294 of 256 = 2 x (49 input + 49 weight + 49 output)" in nest


def test_without_an_accelerator_clusters_are_left_open() -> None:
    mapping = Mapping(Level("K", DIMS, (1, 64, 8, 16, 3, 3)), 4, Level("C", DIMS, (1, 1, 8, 8, 3, 3)))
    nest = loop_nest(LAYERS[0], mapping)
    assert "64 tiles, each on a cluster" in nest
    assert "L2 holds 24,448 for each cluster = 2 x (11,520 input + 576 weight + 128 output)" in nest


@pytest.mark.parametrize(
    ("outer", "cluster", "message"),
    [
        ((0, 1, 1, 1, 1, 1), 4, "outer.tile.K must be at least 1, got 0"),
        ((1, 1, -3, 1, 1, 1), 4, "outer.tile.Y must be at least 1, got -3"),
        ((1, 1, 1, 1, 1, 1), 0, "cluster_size must be at least 1, got 0"),
        ((1, 1, 1, 1, 1, 1), 257, "cluster_size must be at most 256, got 257"),
    ],
)
def test_what_is_no_nest_is_refused(outer: tuple[int, ...], cluster: int, message: str) -> None:
    mapping = Mapping(Level("K", DIMS, outer), cluster, Level("C", DIMS, (1, 1, 1, 1, 3, 3)))
    assert refusal(lambda: loop_nest(LAYERS[0], mapping, PRESETS["edge"])) == message


@given(st.sampled_from(LAYERS), mappings(st.integers(1, INT64_MAX)))
def test_oversized_tiles_are_cut_to_the_layer(layer: Layer, mapping: Mapping) -> None:
    whole = tuple(layer.loops[dim] for dim in DIMS)
    widest = Mapping(
        Level(mapping.outer.parallel, mapping.outer.order, whole),
        1,
        Level(mapping.inner.parallel, mapping.inner.order, whole),
    )
    beyond = Mapping(
        Level(mapping.outer.parallel, mapping.outer.order, tuple(size + 10**15 for size in whole)),
        1,
        Level(mapping.inner.parallel, mapping.inner.order, (INT64_MAX,) * 6),
    )
    assert loop_nest(layer, beyond, PRESETS["edge"]) == loop_nest(layer, widest, PRESETS["edge"])


def number(text: str) -> int:
    return int(text.replace(",", ""))
