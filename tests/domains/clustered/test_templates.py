"""Dataflow templates: fitted to any layer and accelerator, by the rule that the module states."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.core.cost_models import cost_model
from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.templates import TEMPLATES
from tests.domains.clustered.template_rule import TILED, Cut, best_rank, cuts_of, spatial

# From the networks' papers: VGG-16, ResNet-18, MobileNet-v2, AlexNet (without groups), BERT-base, ViT-B/16,
# and the first fully connected layer of VGG-16 and the last of ResNet-18.
LAYERS = [
    Layer("CONV", 64, 3, 224, 224, 3, 3, padding=(1, 1), name="vgg16 conv1_1"),
    Layer("CONV", 64, 64, 224, 224, 3, 3, padding=(1, 1), name="vgg16 conv1_2"),
    Layer("CONV", 512, 512, 28, 28, 3, 3, padding=(1, 1), name="vgg16 conv4_2"),
    Layer("CONV", 64, 3, 224, 224, 7, 7, stride=(2, 2), padding=(3, 3), name="resnet18 conv1"),
    Layer("CONV", 128, 64, 56, 56, 1, 1, stride=(2, 2), name="resnet18 shortcut"),
    Layer("CONV", 96, 16, 112, 112, 1, 1, name="mobilenet_v2 expansion"),
    Layer("CONV", 320, 960, 7, 7, 1, 1, name="mobilenet_v2 projection"),
    Layer("DSCONV", 1, 96, 112, 112, 3, 3, stride=(2, 2), padding=(1, 1), name="mobilenet_v2 depthwise"),
    Layer("DSCONV", 1, 960, 7, 7, 3, 3, padding=(1, 1), name="mobilenet_v2 late depthwise"),
    Layer("CONV", 96, 3, 227, 227, 11, 11, stride=(4, 4), name="alexnet conv1"),
    Layer.gemm(512, 3072, 768, name="bert feed-forward"),
    Layer.gemm(197, 768, 768, name="vit projection"),
    Layer.fc(4096, 25088, name="vgg16 fc6"),
    Layer.fc(1000, 512, name="resnet18 fc"),
]
LOWERED = [layer.lowered() for layer in LAYERS]
DATAFLOWS = {"nvdla": ("K", "C"), "shidiannao": ("Y", "X"), "eyeriss": ("Y", "C")}

of_every_template = pytest.mark.parametrize("template", TEMPLATES)


@of_every_template
@pytest.mark.parametrize(
    ("model", "layer"),
    [*product(["loopnest"], LAYERS[::2]), *product(["maestro"], LAYERS[1::4])],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_on_every_preset_a_template_is_in_the_space_and_fits_or_has_the_smallest_tiles(
    model: str, layer: Layer, template: str
) -> None:
    """Of some layers under each model; `prove_templates.py` has all, and more numbers of PEs."""
    # The least that a PE can hold, twice: the window of one channel, its filter, and an output, which
    # MAESTRO charges with the halo of its inputs.
    window = layer.R * layer.S
    least = 2 * (window + window + (window if model == "maestro" else 1))
    for preset, accelerator in PRESETS.items():
        problem = Problem(layer, accelerator, "edp", model)
        mapping = problem.template(template)
        assert problem.space.decode(problem.space.encode(MappingBatch.of([mapping])))[0] == mapping, preset
        assert (mapping.outer.parallel, mapping.inner.parallel) == DATAFLOWS[template], preset
        assert (problem.explain(mapping) == "feasible") == (accelerator.l1_size >= least), preset
        smallest = all(level[dim] == 1 for level in (mapping.outer, mapping.inner) for dim in TILED)
        fits = not problem.evaluate(MappingBatch.of([mapping])).violation.any()
        assert fits or (smallest and mapping.cluster_size == accelerator.num_pes), preset


def test_a_strided_layer_is_fitted_with_the_rows_that_it_reads() -> None:
    # Every second row is skipped: a tile of n outputs reads n rows, not 2 n - 1.
    shortcut, machine = LAYERS[4], Accelerator(16, 66, 4096, 16, 4)
    mapping = Problem(shortcut, machine).template("shidiannao")
    assert Problem(shortcut, machine).explain(mapping) == "feasible"
    tile = mapping.inner
    assert (
        2 * (tile["C"] * tile["Y"] * tile["X"] + tile["K"] * tile["C"] + tile["K"] * tile["Y"] * tile["X"])
        <= 66
    )


@pytest.mark.parametrize("num_pes", [7, 1024])
@pytest.mark.parametrize("layer", LOWERED, ids=lambda layer: layer.name)
@of_every_template
def test_without_other_limits_as_many_pes_work_as_the_dataflow_allows(
    template: str, layer: Layer, num_pes: int
) -> None:
    accelerator = Accelerator(num_pes, 2**40, 2**40, 2**40, 2**40)
    mapping = TEMPLATES[template](layer, accelerator)
    ones = dict.fromkeys(TILED, 1)
    # Tiles of size 1 waste no PE, and a cluster's share of the inner parallel dim is whole.
    whole = {**ones, spatial(layer, mapping.inner): layer.loops[spatial(layer, mapping.inner)]}
    spread = [
        Mapping(with_tiles(layer, mapping.outer, tiles), cluster, with_tiles(layer, mapping.inner, ones))
        for cluster in accelerator.cluster_sizes
        for tiles in cuts_of(whole)
    ]
    rules = FeasibilityRules(layer, accelerator, "latency")
    floors = rules.serial_floors(MappingBatch.of([mapping, *spread]).rows)
    assert floors[0] == floors[1:].min()


@pytest.mark.parametrize(
    "layer",
    [Layer("CONV", 4, 6, 8, 6, 3, 3), Layer("DSCONV", 1, 12, 8, 6, 3, 3), Layer.gemm(12, 6, 8)],
    ids=str,
)
@of_every_template
@given(data=st.data())
@settings(max_examples=10)
def test_tiles_are_the_best_by_the_rule(template: str, layer: Layer, data: st.DataObject) -> None:
    accelerator = Accelerator(
        num_pes=data.draw(st.sampled_from([1, 4, 6, 12])),
        l1_size=data.draw(st.integers(54, 300)),
        l2_size=data.draw(st.integers(200, 3000)),
        noc_bandwidth=data.draw(st.integers(1, 20)),
        offchip_bandwidth=data.draw(st.integers(1, 20)),
        simd_lanes=data.draw(st.sampled_from([1, 4])),
    )
    mapping = TEMPLATES[template](layer, accelerator)
    outer, inner = spatial(layer, mapping.outer), spatial(layer, mapping.inner)

    def outer_cut(tiles: dict[str, int], cluster: int) -> tuple[Cut, Fraction]:
        busiest = {**tiles, inner: -(-tiles[inner] // cluster)}
        cut = Cut(layer, layer.loops, tiles, outer, accelerator.num_pes // cluster)
        return cut, cycles(layer, busiest, accelerator)

    def inner_cut(tiles: dict[str, int]) -> tuple[Cut, Fraction]:
        cut = Cut(layer, tiles_of(mapping.outer), tiles, inner, mapping.cluster_size)
        return cut, cycles(layer, tiles, accelerator)

    outers = [outer_cut(tiles, size) for tiles in cuts_of(layer.loops) for size in accelerator.cluster_sizes]
    outers = [(cut, time) for cut, time in outers if cut.l2_need() <= accelerator.l2_size]
    chosen = outer_cut(tiles_of(mapping.outer), mapping.cluster_size)
    bandwidth, order = accelerator.offchip_bandwidth, mapping.outer.order
    assert chosen in outers
    assert best_rank([chosen], bandwidth, order) == best_rank(outers, bandwidth, order)

    single = "Y" if template == "eyeriss" else ""
    inners = [inner_cut(tiles) for tiles in cuts_of(tiles_of(mapping.outer), single)]
    inners = [(cut, time) for cut, time in inners if cut.l1_need() <= accelerator.l1_size]
    chosen = inner_cut(tiles_of(mapping.inner))
    bandwidth, order = accelerator.noc_bandwidth, mapping.inner.order
    assert chosen in inners
    assert best_rank([chosen], bandwidth, order) == best_rank(inners, bandwidth, order)


@pytest.mark.parametrize("layer", LOWERED[:6], ids=lambda layer: layer.name)
def test_what_is_called_stationary_comes_and_goes_once(layer: Layer) -> None:
    accelerator = PRESETS["edge"]
    mappings = {name: template(layer, accelerator) for name, template in TEMPLATES.items()}

    def changes(name: str) -> tuple[Cut, list[int], Cut, list[int]]:
        mapping = mappings[name]
        clusters = accelerator.num_pes // mapping.cluster_size
        outer, inner = tiles_of(mapping.outer), tiles_of(mapping.inner)
        first = Cut(layer, layer.loops, outer, spatial(layer, mapping.outer), clusters)
        second = Cut(layer, outer, inner, spatial(layer, mapping.inner), mapping.cluster_size)
        return first, first.changes(mapping.outer.order), second, second.changes(mapping.inner.order)

    for outer, moved, inner, moved_inside in [changes("nvdla")]:
        assert moved[1] == outer.trips("K") * outer.trips("C")
        assert moved_inside[1] == inner.trips("K") * inner.trips("C")
    for outer, moved, inner, moved_inside in [changes("shidiannao")]:
        assert moved[2] == outer.trips("K") * outer.trips("Y") * outer.trips("X")
        assert moved_inside[2] == inner.trips("K") * inner.trips("Y") * inner.trips("X")
    for _, _, inner, moved_inside in [changes("eyeriss")]:
        assert inner.tiles["Y"] == 1
        assert moved_inside[1] == inner.trips("K") * inner.trips("C")


def test_a_size_with_very_many_divisors_is_fitted_too() -> None:
    layer = Layer("CONV", 5040, 5040, 5040, 5040, 1, 1)
    accelerator = Accelerator(5040, 2**12, 2**24, 512, 64)
    for template in TEMPLATES.values():
        mapping = template(layer, accelerator)
        space = MappingSpace(layer, accelerator)
        assert space.decode(space.encode(MappingBatch.of([mapping])))[0] == mapping
        assert mapping.outer.tile != (1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize("preset", ["eyeriss-small", "edge", "tpu-like"])
@pytest.mark.parametrize("layer", LOWERED[1:3] + LOWERED[5:8], ids=lambda layer: layer.name)
def test_the_best_template_is_a_reference_worth_naming(layer: Layer, preset: str) -> None:
    accelerator = PRESETS[preset]
    space, rules = MappingSpace(layer, accelerator), FeasibilityRules(layer, accelerator, "edp")
    templates = MappingBatch.of(template(layer, accelerator) for template in TEMPLATES.values())
    samples = space.decode(space.sample(np.random.default_rng(0), 1000))
    best = [
        rules.judge(batch.rows, cost_model("maestro").evaluate(layer, accelerator, batch))[0].min()
        for batch in (templates, samples)
    ]
    assert best[0] < 1.25 * best[1]


def cycles(layer: Layer, tiles: dict[str, int], accelerator: Accelerator) -> Fraction:
    """Cycles of a PE on tiles of its own."""
    macs = layer.R * layer.S * math.prod(tiles.values())
    return Fraction(macs, accelerator.simd_lanes)


def tiles_of(level: Level) -> dict[str, int]:
    return {dim: level[dim] for dim in TILED}


def with_tiles(layer: Layer, level: Level, tiles: dict[str, int]) -> Level:
    whole = {**tiles, "R": layer.R, "S": layer.S}
    return replace(level, tile=tuple(whole[dim] for dim in DIMS))
