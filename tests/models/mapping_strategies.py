"""Real layers, drawn mappings and the look of a refusal, for the tests of mappings and their texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from dse.core.chains import find_divisors
from dse.core.layer import DIMS, MAX_SIZE, Layer
from dse.domains.clustered.mapping import Level, Mapping
from dse.support.errors import InputError

INT64_MAX = 2**63 - 1

# From the networks' papers: VGG-16 conv1_2, ResNet-18 conv1, a MobileNet-v2 depthwise layer, BERT-base's
# feed-forward product over 512 tokens, ResNet-18's classifier.
LAYERS = [
    Layer("CONV", 64, 64, 224, 224, 3, 3, padding=(1, 1), name="conv1_2"),
    Layer("CONV", 64, 3, 224, 224, 7, 7, stride=(2, 2), padding=(3, 3), name="conv1"),
    Layer("DSCONV", 1, 96, 112, 112, 3, 3, stride=(2, 2), padding=(1, 1), name="block2.depthwise"),
    Layer.gemm(512, 3072, 768, name="ffn"),
    Layer.fc(1000, 512),
]


def levels(sizes: st.SearchStrategy[int]) -> st.SearchStrategy[Level]:
    tiles = st.tuples(*[sizes] * len(DIMS))
    return st.builds(Level, st.sampled_from(DIMS), st.permutations(DIMS).map(tuple), tiles)


def mappings(sizes: st.SearchStrategy[int]) -> st.SearchStrategy[Mapping]:
    return st.builds(Mapping, levels(sizes), sizes, levels(sizes))


any_mapping = mappings(st.integers(-INT64_MAX - 1, INT64_MAX))
written_mapping = mappings(st.integers(1, MAX_SIZE))


@st.composite
def perfect_factors(draw: st.DrawFn, layer: Layer, num_pes: int) -> Mapping:
    """A mapping of `layer` in which every tile divides what it is cut from."""
    outer = {dim: draw(st.sampled_from(find_divisors(size))) for dim, size in layer.loops.items()}
    inner = {dim: draw(st.sampled_from(find_divisors(size))) for dim, size in outer.items()}
    whole = {"R": layer.R, "S": layer.S}

    def level(tiles: dict[str, int]) -> Level:
        order = (*draw(st.permutations("KCYX")), "R", "S")
        tile = tuple({**tiles, **whole}[dim] for dim in DIMS)
        return Level(draw(st.sampled_from("KCYX")), order, tile)

    return Mapping(level(outer), draw(st.sampled_from(find_divisors(num_pes))), level(inner))


def refusal(call: Callable[[], object]) -> str:
    """The message of the InputError that `call` raises, which is one line."""
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 250
    return message
