"""A chain as it is run: which of its tensors can stay on chip, and in which layers each takes room.

Neighbours that are matrix products of equally many runs, such as the heads of attention, are run turn by
turn: what one of them makes in a run and another reads in the same run takes the room of that run. They are
not where an operator between them needs all runs.

A tensor that something besides the chain's layers reads is written off the chip by its maker, whether or not
a copy stays for them: no room of its own is saved by that, and no way that keeps only a part of it is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dse.core.edges import BESIDE, INPUT, OUTPUT, ROWS, WEIGHT, Chain, Edge
from dse.core.layer import Layer
from dse.optimum.chains.tilings import Group, can_stream, is_product, size_of
from dse.support.errors import InputError

MAX_GROUP = 3
"""Layers that share tiles, at most."""
LINES = "KX"
"""What an operator may need whole of rows that come one after another."""
MAX_ALIVE = 14
"""Tensors that may be alive at once: every subset of them is a state."""


@dataclass(frozen=True)
class Tensor:
    """What layer `maker` makes: `words` of the home, from layer `first` to layer `last`, by place."""

    maker: int
    words: int
    first: int
    last: int

    def alive(self, place: int) -> bool:
        """Whether it takes room while a layer is run."""
        return self.first <= place <= self.last


@dataclass(frozen=True)
class Program:
    """A chain and what its layers' tensors take of the home: `sizes` by layer, empty where there is none."""

    chain: Chain
    sizes: Mapping[Layer, Mapping[str, int]]
    most: int = MAX_GROUP
    """Layers that share tiles, at most; 1 if none do."""
    lines: bool = False
    """Whether two convolutions may keep rows of what is between them in a line buffer."""
    copies: bool = True
    """Whether the home keeps all outputs in any case, so that a copy may stay of what is written too."""

    @cached_property
    def runs(self) -> tuple[int, ...]:
        """How often each layer is run in one run of the chain."""
        return tuple(layer.repeats // self.chain.times for layer in self.chain.layers)

    @cached_property
    def turns(self) -> tuple[tuple[int, int], ...]:
        """Of each layer the first and the last of those that are run turn by turn with it."""
        layers, found, start = self.chain.layers, [], 0
        for place in range(1, len(layers) + 1):
            together = (
                place < len(layers)
                and self.runs[place] == self.runs[start] > 1
                and all(layers[one].product is not None for one in (start, place))
                and not any("B" in edge.whole for edge in self._between(start, place))
            )
            if not together:
                found += [(start, place - 1)] * (place - start)
                start = place
        return tuple(found)

    def _between(self, start: int, place: int) -> list[Edge]:
        """What a layer reads of those from `start` on."""
        before = self.chain.names[start:place]
        return [edge for edge in self.chain.read_by(self.chain.names[place]) if edge.source in before]

    @cached_property
    def written(self) -> dict[int, str]:
        """The makers of what is read elsewhere too, with what that is: it is written off the chip."""
        return {self.chain.place(name): why for name, why in self.chain.also_read}

    @cached_property
    def tensors(self) -> dict[int, Tensor]:
        """What can stay on chip, by its maker: outputs that others read just as they are, or beside."""
        found: dict[int, Tensor] = {}
        if not self.sizes:
            return found
        for place, layer in enumerate(self.chain.layers):
            edges = self.chain.readers_of(layer.name)
            readers = [self.chain.place(edge.reader) for edge in edges]
            fit = all(
                self._fits(place, reader, edge.operand) for reader, edge in zip(readers, edges, strict=True)
            )
            if edges and fit and (self.copies or place not in self.written):
                found[place] = self._tensor(place, max(readers))
        return found

    @cached_property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """Neighbours that may share tiles: products of equal rows, each read by the next one alone."""
        last, found = len(self.chain.layers), []
        for start in range(last):
            for end in range(start + 1, min(start + self.most, last)):
                if not self._linked(end - 1, end):
                    break
                found.append((start, end))
            if self.lines and self._streams(start):
                found.append((start, start + 1))
        return tuple(found)

    def group(self, place: int, end: int, staying: frozenset[int]) -> Group:
        """The group from one layer to another, where these tensors stay."""
        layers = self.chain.layers[place : end + 1]
        edges = [self.chain.read_by(layer.name) for layer in layers[1:]]
        whole_rows = tuple(any(edge.whole_rows for edge in one if edge.operand == INPUT) for one in edges)
        reads, makes = INPUT in self.held(place, staying), OUTPUT in self.held(end, staying)
        taken = self.taken(place, staying, end)
        first = self.sizes[layers[0]]
        bits = tuple(first[name] // self._count(place, name) for name in (INPUT, WEIGHT, OUTPUT))
        weights = tuple(at for at in range(len(layers)) if WEIGHT in self.held(place + at, staying))
        return Group(layers, whole_rows, reads, makes, taken, (bits[0], bits[1], bits[2]), weights)

    def begins(self, place: int, end: int) -> tuple[int, ...]:
        """The makers of the tensors that may stay from one of these layers on, but what they hand on."""
        return tuple(
            maker
            for maker, tensor in self.tensors.items()
            if place <= tensor.first <= end and not place <= maker < end
        )

    def _streams(self, one: int) -> bool:
        """Whether a layer hands rows to the next alone, and one of both is no product."""
        pair = self.chain.layers[one : one + 2]
        fit = len(pair) > 1 and can_stream(*pair) and not all(map(is_product, pair))
        return fit and self._hands_on(one, LINES)

    def _hands_on(self, one: int, whole: str) -> bool:
        """Whether a layer's output is read by the next alone, which is run as often.

        Operators between may need no more than these dims whole.
        """
        before, after = self.chain.layers[one : one + 2]
        edges = self.chain.readers_of(before.name)
        alone = [(edge.reader, edge.operand) for edge in edges] == [(after.name, INPUT)]
        narrow = all(set(edge.whole) <= set(whole) for edge in edges)
        known = one in self.tensors and one not in self.written
        return alone and narrow and known and self.runs[one] == self.runs[one + 1]

    def _linked(self, one: int, two: int) -> bool:
        """Whether a layer's output is read by the next alone, and both are products of the same rows."""
        before, after = self.chain.layers[one], self.chain.layers[two]
        if not self._hands_on(one, ROWS):
            return False
        rows, columns, _ = size_of(before)
        return is_product(before) and is_product(after) and size_of(after)[::2] == (rows, columns)

    def held(self, place: int, staying: frozenset[int]) -> tuple[str, ...]:
        """Which operands of a layer stay on chip, where the tensors of these makers do."""
        edges = self.chain.read_by(self.chain.layers[place].name)
        found = {edge.operand for edge in edges if self.chain.place(edge.source) in staying} - {BESIDE}
        alone = place in staying and place not in self.written
        return tuple(sorted(found | ({OUTPUT} if alone else set())))

    def taken(self, place: int, staying: frozenset[int], end: int | None = None) -> int:
        """The room that staying tensors take while a layer is run, or a group up to another layer.

        The layers of a group take turns: what the first reads and what the last makes are there together.
        """
        places = range(place, (place if end is None else end) + 1)
        alive = (one for one in staying if any(map(self.tensors[one].alive, places)))
        return sum(self.tensors[one].words for one in alive)

    def alive(self, place: int) -> tuple[int, ...]:
        """The makers of the tensors that take room while a layer is run, if they stay."""
        return tuple(maker for maker, tensor in self.tensors.items() if tensor.alive(place))

    def refuse(self) -> None:
        """InputError where there are too many states."""
        for place, layer in enumerate(self.chain.layers):
            alive = len(self.alive(place))
            if alive > MAX_ALIVE:
                raise InputError(
                    f"{alive} tensors could stay on chip while {layer.name} is run, and every subset of them "
                    f"is a state: at most {MAX_ALIVE}"
                )

    def _fits(self, maker: int, reader: int, operand: str) -> bool:
        """Whether a layer reads all that another makes, and no more."""
        made = self._count(maker, OUTPUT) * self.runs[maker]
        return operand == BESIDE or self._count(reader, operand) * self.runs[reader] == made

    def _count(self, place: int, operand: str) -> int:
        """Elements of a layer's operand, padding left out."""
        layer = self.chain.layers[place]
        if operand == INPUT:
            return layer.C * layer.Y * layer.X
        if operand == WEIGHT:
            return layer.K * layer.C * layer.R * layer.S
        rows, columns = layer.output
        return (layer.C if layer.type == "DSCONV" else layer.K) * rows * columns

    def _tensor(self, maker: int, last: int) -> Tensor:
        words = self.sizes[self.chain.layers[maker]][OUTPUT]
        (start, end), (_, last_end) = self.turns[maker], self.turns[last]
        if start < end and last <= end:
            return Tensor(maker, words, maker, last)
        return Tensor(maker, words * self.runs[maker], start, last_end)
