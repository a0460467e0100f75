"""Which layer reads what in the networks that come along, by their layers' names.

Of a layer that is a source of an edge, the edges are all that reads its output within the network; what
outlives a run is said by the network besides (`also_read`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, WEIGHT, Edge
from dse.core.layer import Layer

Edges = Callable[[Sequence[Layer]], Iterator[Edge]]
POOLED = "YX"
"""What a pooling needs whole: all places of a channel."""


def in_a_row(layers: Sequence[Layer]) -> Iterator[Edge]:
    """Each layer reads the one before it, if it has the channels for that; other places are pooled ones."""
    for before, layer in pairwise(layers):
        if outputs_of(before) == layer.C:
            pooled = before.output != (layer.Y, layer.X)
            yield Edge(before.name, layer.name, INPUT, POOLED if pooled else "")


def mobilenet_v2(layers: Sequence[Layer]) -> Iterator[Edge]:
    """In a row; a block of equal channels and size adds what it read to what it makes."""
    yield from in_a_row(layers)
    made: Layer | None = None
    for layer in layers:
        if layer.name.endswith(".project"):
            if made is not None and (made.K, made.output) == (layer.K, layer.output):
                yield Edge(made.name, layer.name, BESIDE)
            made = layer


def efficientnet(layers: Sequence[Layer]) -> Iterator[Edge]:
    """As there; the projection reads the filtered channels, each times what squeeze and excitation made."""
    rest = [layer for layer in layers if not layer.name.endswith((".squeeze", ".excite"))]
    yield from mobilenet_v2(rest)
    for before, squeeze, excite, project in zip(layers, layers[1:], layers[2:], layers[3:], strict=False):
        if squeeze.name.endswith(".squeeze"):
            yield Edge(before.name, squeeze.name, INPUT, POOLED)
            yield Edge(squeeze.name, excite.name)
            yield Edge(excite.name, project.name, BESIDE)


def resnet(layers: Sequence[Layer]) -> Iterator[Edge]:
    """Blocks in a row; what a block reads is added, by way of a 1 x 1 convolution where there is one."""
    names = [layer.name for layer in layers]
    blocks = list(dict.fromkeys(name.rpartition(".")[0] for name in names if "." in name))
    last = names[0]
    for block in blocks:
        inside = [name for name in names if name.startswith(f"{block}.conv")]
        short, before = f"{block}.downsample", last
        # Behind the first convolution there is a pooling, which makes another tensor.
        if before != names[0]:
            yield Edge(before, inside[0])
        for one, two in pairwise(inside):
            yield Edge(one, two)
        last = inside[-1]
        if short in names:
            if before != names[0]:
                yield Edge(before, short)
            # The shortcut runs last, and adds what the block has made.
            yield Edge(last, short, BESIDE)
            last = short
        elif before != names[0]:
            yield Edge(before, last, BESIDE)


def attention(layers: Sequence[Layer]) -> Iterator[Edge]:
    """The products of a block of a transformer, by the names that they have in any of ours.

    Between scores and context is a softmax, and before a feed-forward part a norm: both need whole rows.
    Between projections and heads rows are grouped anew.
    """
    names = {layer.name for layer in layers}

    def first(*candidates: str) -> str | None:
        return next((name for name in candidates if name in names), None)

    wanted = (
        (first("q_proj", "query"), "scores", INPUT, EVERYTHING),
        (first("k_proj", "key"), "scores", WEIGHT, EVERYTHING),
        ("scores", "context", INPUT, ROWS),
        (first("v_proj", "value"), "context", WEIGHT, EVERYTHING),
        ("context", first("o_proj", "attention_output"), INPUT, EVERYTHING),
        (first("o_proj", "attention_output"), first("gate_proj"), INPUT, ROWS),
        (first("o_proj", "attention_output"), first("up_proj", "intermediate"), INPUT, ROWS),
        (first("gate_proj"), "up_proj", BESIDE, ""),
        (first("up_proj", "intermediate"), first("down_proj", "output"), INPUT, ""),
        (first("o_proj", "attention_output"), first("down_proj", "output"), BESIDE, ""),
    )
    yield from _among(names, wanted)
    yield from _experts(names)


def encoder(layers: Sequence[Layer]) -> Iterator[Edge]:
    """The same where a block's norms come behind its sums (BERT): what is added last is a norm's output."""
    for edge in attention(layers):
        yield replace(edge, whole=ROWS) if (edge.reader, edge.operand) == (last(layers), BESIDE) else edge


def last(layers: Sequence[Layer]) -> str:
    """The second product of the feed-forward part, by its name."""
    return next(layer.name for layer in layers if layer.name in ("down_proj", "output"))


def latent_attention(layers: Sequence[Layer]) -> Iterator[Edge]:
    """The same of latent attention, in both its forms; what reads a part of another's output cannot have it
    stay. Keys and values are made by one product, so that each of their readers takes a part.

    Layers with a dense feed-forward part are fewer than those with attention: those products are a chain.
    """
    names = {layer.name for layer in layers}
    wanted = (
        ("q_a_proj", "q_proj", INPUT, ROWS),
        ("kv_a_proj", "kv_b_proj", INPUT, ROWS),
        ("q_proj", "q_absorb" if "q_absorb" in names else "scores", INPUT, EVERYTHING),
        ("q_absorb", "scores", INPUT, EVERYTHING),
        ("kv_b_proj", "scores", WEIGHT, EVERYTHING),
        ("kv_b_proj", "context", WEIGHT, EVERYTHING),
        ("scores", "context", INPUT, ROWS),
        ("context", "v_absorb" if "v_absorb" in names else "o_proj", INPUT, EVERYTHING),
        ("v_absorb", "o_proj", INPUT, EVERYTHING),
        ("gate_proj", "up_proj", BESIDE, ""),
        ("up_proj", "down_proj", INPUT, ""),
    )
    yield from _among(names, wanted)
    yield from _experts(names)


def _experts(names: Collection[str]) -> Iterator[Edge]:
    """The feed-forward parts of a mixture: each expert's own, and the one that all tokens take."""
    for part in ("experts", "shared"):
        wanted = (
            (f"{part}.gate_proj", f"{part}.up_proj", BESIDE, ""),
            (f"{part}.up_proj", f"{part}.down_proj", INPUT, ""),
        )
        yield from _among(names, wanted)


Wanted = tuple[str | None, str | None, str, str]


def _among(names: Collection[str], wanted: Iterable[Wanted]) -> Iterator[Edge]:
    """The edges whose layers there are."""
    for source, reader, operand, whole in wanted:
        if source in names and reader in names:
            yield Edge(str(source), str(reader), operand, whole)


def gpt2_block(layers: Sequence[Layer]) -> Iterator[Edge]:
    """One product makes queries, keys and values: its parts are read by two others."""
    yield Edge("attn.scores", "attn.context", INPUT, ROWS)
    yield Edge("attn.context", "attn.c_proj", INPUT, EVERYTHING)
    yield Edge("attn.c_proj", "mlp.c_fc", INPUT, ROWS)
    yield Edge("mlp.c_fc", "mlp.c_proj")
    yield Edge("attn.c_proj", "mlp.c_proj", BESIDE)


CACHE = "the cache of keys and values outlives the run"


def cached(layers: Sequence[Layer]) -> Iterator[tuple[str, str]]:
    """The layers of a decoder whose output is kept for tokens to come: keys and values, or their latents."""
    names = {layer.name for layer in layers}
    latent = "kv_a_proj" in names
    for name in ("kv_a_proj",) if latent else ("k_proj", "v_proj"):
        if name in names:
            yield name, CACHE


def outputs_of(layer: Layer) -> int:
    """A layer's output channels."""
    return layer.C if layer.type == "DSCONV" else layer.K
