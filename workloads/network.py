"""A network as its distinct layers, and the two conventions of writing their sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dse.core.edges import Chain, Edge, WholeNetwork, chains_of, has_runs_of_groups, ordered_dims, see_edges
from dse.core.layer import Layer
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import INT64_MAX

CONVENTIONS = ("true", "gamma")
"""`true`: the network's own strides and paddings. `gamma`: unpadded input sizes and stride 1, as in the
tables of GAMMA (Kao and Krishna, ICCAD 2020; github.com/maestro-project/gamma, data/modelfile) and of
ArchGym (Krishnan et al., ISCA 2023; sims/gamma/data/model)."""

UNKNOWN = "what else reads it is not known"
INDEX = re.compile(r"-?[0-9]+")


@dataclass(frozen=True)
class LeftOut:
    """An operator of a model that became no layer: how often it is there, and why.

    `macs` are the multiply-accumulates of all of them, in the sums of products that they do; None where
    nobody knows.
    """

    operator: str
    count: int
    macs: int | None
    reason: str = ""


@dataclass(frozen=True)
class Network:
    """Distinct layers in order of first appearance, each with its name and repeat count.

    Groups and batches are folded into repeats (`Layer.folded`). Layers with equal loops are one: it has the
    name of the first and the repeats of all. `members[i]` holds the names of all layers that `layers[i]`
    stands for, `wholes[i]` those layers as they were before folding. `source` says where the table comes
    from, `left_out` what of a model is no layer. `in_order` are all layers as the network runs them, and
    `edges` which of them reads what another makes, as far as that is known; `also_read` are the layers whose
    output something else reads too, each with what that is (see dse.core.edges.Chain). All of `in_order` that
    is in chains is run `times`, one run after the other, as the blocks of a transformer are.
    """

    name: str
    source: str
    layers: tuple[Layer, ...]
    members: tuple[tuple[str, ...], ...]
    wholes: tuple[tuple[Layer, ...], ...]
    left_out: tuple[LeftOut, ...] = ()
    in_order: tuple[Layer, ...] = ()
    edges: tuple[Edge, ...] = ()
    also_read: tuple[tuple[str, str], ...] = ()
    times: int = 1

    @classmethod
    def of(
        cls,
        name: str,
        source: str,
        layers: Iterable[Layer],
        left_out: Iterable[LeftOut] = (),
        edges: Iterable[Edge] = (),
        also_read: Iterable[tuple[str, str]] | None = None,
        times: int = 1,
    ) -> Network:
        """The network of some named layers, in the order in which it runs them.

        `also_read` is empty where edges say all that reads a layer's output. None is of edges beside which
        nobody knows what else reads: then every layer's output is written off the chip.
        """
        layers, edges = tuple(layers), tuple(edges)
        names = [layer.name for layer in layers]
        see_edges(edges, names, name)
        if also_read is None:
            also_read = [(source, UNKNOWN) for source in dict.fromkeys(edge.source for edge in edges)]
        also_read = tuple(also_read)
        for layer_name, _ in also_read:
            if layer_name not in names:
                raise unknown_name("layer", layer_name, names, f"{name}: also_read")
        groups: dict[Layer, list[Layer]] = {}
        repeats: dict[Layer, int] = {}
        for layer in layers:
            folded = layer.folded()
            groups.setdefault(folded, []).append(layer)
            repeats[folded] = repeats.get(folded, 0) + folded.repeats
        macs = sum(layer.macs * count for layer, count in repeats.items())
        if macs > INT64_MAX:
            raise InputError(
                f"{name}: its multiply-accumulates with all repeats do not fit in 64 bits ({macs:.3g})"
            )
        return cls(
            name,
            source,
            tuple(replace(layer, repeats=count) for layer, count in repeats.items()),
            tuple(tuple(layer.name for layer in group) for group in groups.values()),
            tuple(map(tuple, groups.values())),
            tuple(left_out),
            layers,
            edges,
            also_read,
            times,
        )

    def in_convention(self, convention: str) -> Network:
        """The same layers in one of CONVENTIONS, where this is the true one."""
        if convention == CONVENTIONS[0]:
            return self
        layers = (unpadded(layer) for group in self.wholes for layer in group)
        return Network.of(self.name, self.source, layers, self.left_out)

    @property
    def chains(self) -> tuple[Chain, ...]:
        """The layers that read each other, groups and batches folded."""
        layers = [layer.folded() for layer in self.in_order]
        grouped = {layer.name for layer in self.in_order if has_runs_of_groups(layer)}
        edges = [
            replace(edge, whole=ordered_dims(f"B{edge.whole}"))
            if {edge.source, edge.reader} & grouped
            else edge
            for edge in self.edges
        ]
        return chains_of(layers, edges, self.also_read, self.times)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run of the network, repeats included."""
        return sum(layer.macs * layer.repeats for layer in self.layers)

    @property
    def merged(self) -> dict[str, tuple[str, ...]]:
        """The layers that stand for others with equal loops, with the names of those."""
        return {names[0]: names[1:] for names in self.members if len(names) > 1}

    @property
    def whole_chains(self) -> dict[str, WholeNetwork]:
        """One run of each chain by name: `chain`, `chain2`, ..."""
        found = {}
        for number, chain in enumerate(self.chains, 1):
            name = "chain" if number == 1 else f"chain{number}"
            layers = (replace(layer, repeats=layer.repeats // chain.times) for layer in chain.layers)
            found[name] = WholeNetwork(name, tuple(layers), chain.edges, chain.also_read)
        return found

    def layer(self, key: int | str) -> Any:
        """The layer at an index that counts from 0, or of a name, also of one that merged into another.

        A chain goes by its name as one.
        """
        text = str(key)
        if INDEX.fullmatch(text):
            return self._at(text)
        for layer, names in zip(self.layers, self.members, strict=True):
            if text in names:
                return layer
        if text in (chains := self.whole_chains):
            return chains[text]
        error = unknown_name("layer", text, [name for names in self.members for name in names], self.name)
        if "did you mean" in str(error):
            raise error
        # Without a near miss, all names would be a list of up to a hundred.
        raise InputError(
            f"unknown layer {shorten(text)} in {self.name}; expected an index from 0 to "
            f"{len(self.layers) - 1} or a name such as {shorten(self.layers[0].name)}"
        )

    def _at(self, index: str) -> Layer:
        # Python refuses to read integers of thousands of digits.
        number = int(index) if len(index) < 10 else None
        if number is None or not 0 <= number < len(self.layers):
            shown = shorten(index) if number is None else number
            raise InputError(
                f"layer index {shown} is out of range; {self.name} has layers 0 to "
                f"{len(self.layers) - 1}, counted from 0"
            )
        return self.layers[number]


def unpadded(layer: Layer) -> Layer:
    """The layer in the `gamma` convention: the same input size, stride 1, no padding and no dilation."""
    return replace(layer, stride=(1, 1), padding=(0, 0), dilation=(1, 1))
