"""Layers and drawn mapping spaces, for the tests of spaces and of their moves."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.space.mapping_space import MappingSpace

VGG_CONV1_2 = Layer("CONV", 64, 64, 224, 224, 3, 3, padding=(1, 1))
RESNET_STEM = Layer("CONV", 64, 3, 224, 224, 7, 7, stride=(2, 2), padding=(3, 3))
MOBILENET_DEPTHWISE = Layer("DSCONV", 1, 144, 56, 56, 3, 3, stride=(2, 2), padding=(1, 1))
RESNET_FC = Layer.fc(1000, 512)
LONG_GEMM = Layer.gemm(50_000, 4096, 1021)
LAYERS = (VGG_CONV1_2, RESNET_STEM, MOBILENET_DEPTHWISE, RESNET_FC, LONG_GEMM)
EYERISS = PRESETS["eyeriss"]

NAMES = [
    *("outer.order", "outer.parallel", "outer.tile.K", "outer.tile.C", "outer.tile.Y", "outer.tile.X"),
    *("inner.order", "inner.parallel", "inner.tile.K", "inner.tile.C", "inner.tile.Y", "inner.tile.X"),
    "cluster",
]
ORDERS = list(itertools.permutations("KCYX"))


def divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def accelerator(num_pes: int) -> Accelerator:
    return replace(EYERISS, num_pes=num_pes)


@st.composite
def spaces(draw: st.DrawFn) -> MappingSpace:
    """Spaces over small and odd layers and arrays, of either kind of tiles, with some genes fixed.

    Tiles are fixed at one size or at several.
    """
    kind = draw(st.sampled_from(["CONV", "DSCONV"]))
    channels = 1 if kind == "DSCONV" else draw(st.integers(1, 60))
    inputs, rows, columns = (draw(st.integers(1, 60)) for _ in range(3))
    height, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    layer = Layer(kind, channels, inputs, rows + height - 1, columns + width - 1, height, width)
    tiles = draw(st.sampled_from(["factors", "any"]))
    num_pes = draw(st.integers(1, 200))
    fixed: dict[str, Any] = {}
    for dim in draw(st.sets(st.sampled_from("KCYX"))):
        choices = divisors if tiles == "factors" else lambda whole: range(1, whole + 1)
        several = st.lists(st.sampled_from(choices(layer.loops[dim])), max_size=3)
        outer = draw(st.sampled_from(choices(layer.loops[dim])))
        inner = draw(st.sampled_from(choices(outer)))
        # An inner tile that fits in none of several outer ones is left out; one of these has `inner`.
        outers = [outer, *draw(several)]
        inners = [inner, *draw(several)] if len(set(outers)) > 1 else [inner]
        which = draw(st.sampled_from(["outer", "inner", "both"]))
        fixed |= {f"outer.tile.{dim}": outers} if which != "inner" else {}
        fixed |= {f"inner.tile.{dim}": inners} if which != "outer" else {}
    for level in draw(st.sets(st.sampled_from(["outer", "inner"]))):
        fixed[f"{level}.order"] = draw(st.permutations("KCYX"))
        fixed[f"{level}.parallel"] = draw(st.sampled_from("KCYX"))
    if draw(st.booleans()):
        fixed["cluster"] = draw(st.sampled_from(divisors(num_pes)))
    return MappingSpace(layer, accelerator(num_pes), tiles, fixed)
