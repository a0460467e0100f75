"""Executing a chain's schedule as it is printed: each word is written before it is read, and has its room.

The schedule is plain data, as `chains.json` has it, and the chain is what the network's source says of it:
its layers, which of them reads what, and what else is read. Nothing of the solver or of its checks is used.

Layers run one after another, those named in `turns` run by run. A layer that holds its output in the home
writes nothing off the chip; all others write there, and where the output stays, a copy is kept besides.
Groups that share tiles run a part of rows at a time; those of convolutions row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.core.edges import BESIDE, INPUT, OUTPUT, Chain, Edge
from dse.core.layer import Layer
from dse.optimum.executor.groups import RefusedError, run_lines, tile_products
from dse.optimum.executor.stores import Box, Range, Store, words_of


@dataclass(frozen=True)
class Executed:
    """What was done: events, the most room taken at once, and words written and read of each layer's output.

    Words are those of one run of the chain, whatever an operand's tiles fetch again.
    """

    events: int
    peak: int
    written: Mapping[str, int]
    kept: Mapping[str, int]
    """Words that never left the chip."""


@dataclass
class Execution:
    """One run of a chain. `sizes` are the rooms of each layer's W, I and O in one of its runs, `room` is the
    home's.
    """

    chain: Chain
    schedule: Mapping[str, Any]
    sizes: Mapping[str, Mapping[str, int]]
    room: int
    events: int = 0
    peak: int = 0
    tiles: dict[str, int] = field(default_factory=dict)
    """Room of what is held for a while, by what it is."""
    passing: set[str] = field(default_factory=set)
    """Layers whose output is handed on in parts."""

    def __post_init__(self) -> None:
        names = self.chain.names
        self.layers: dict[str, Layer] = dict(zip(names, self.chain.layers, strict=True))
        self.runs = {name: layer.repeats // self.chain.times for name, layer in self.layers.items()}
        self.shapes = {name: (self.runs[name], *_made(layer)) for name, layer in self.layers.items()}
        self.off, self.home = Store(), Store()
        self.stays = [name for name in self.schedule["stays"] if name in names]
        self.elsewhere = dict(self.chain.also_read)
        self.entries = {one["layer"]: one for one in self.schedule["runs"] if one["layer"] in names}
        self.groups = [one for one in self.schedule["shared"] if one["layers"][0] in names]
        self.done: dict[str, int] = dict.fromkeys(names, 0)
        self.kept: dict[str, int] = dict.fromkeys(names, 0)

    def run(self) -> Executed:
        """Do all of it; RefusedError where that cannot be."""
        for block in self._blocks():
            steps = list(self._steps(block))
            by_turns = len(block) > 1 and block in map(list, self.schedule["turns"])
            turns = self.runs[block[0]] if by_turns else 1
            for turn in range(turns):
                for step in steps:
                    self._step(step, turn if turns > 1 else None)
        for name, runs in self.runs.items():
            if self.done[name] != runs:
                raise RefusedError(f"{name} is run {self.done[name]} times of {runs}")
            if name in self.elsewhere or not self.chain.readers_of(name):
                lost = self.off.missing(name, self._whole(name))
                if lost:
                    why = self.elsewhere.get(name, "nothing on the chip reads it")
                    raise RefusedError(f"{lost:,} words of {name} are never written off the chip: {why}")
        written = {name: self.off.count(name) for name in self.layers}
        return Executed(self.events, self.peak, written, self.kept)

    # Order

    def _blocks(self) -> Iterator[list[str]]:
        """The layers in running order, those that are run turn by turn together."""
        place, names = 0, list(self.chain.names)
        while place < len(names):
            block = next((one for one in self.schedule["turns"] if one[0] == names[place]), [names[place]])
            none: list[str] = []
            group = next((one["layers"] for one in self.groups if one["layers"][0] == names[place]), none)
            block = group if len(group) > len(block) else block
            if names[place : place + len(block)] != list(block):
                raise RefusedError(f"{', '.join(block)} are no neighbours")
            yield list(block)
            place += len(block)

    def _steps(self, block: list[str]) -> Iterator[Mapping[str, Any]]:
        """What is run in a block: a layer's entry, or a group's."""
        place = 0
        while place < len(block):
            group = next((one for one in self.groups if one["layers"][0] == block[place]), None)
            if group is not None:
                yield group
                place += len(group["layers"])
            elif block[place] in self.entries:
                yield self.entries[block[place]]
                place += 1
            else:
                raise RefusedError(f"{block[place]} is not run")

    def _step(self, step: Mapping[str, Any], turn: int | None) -> None:
        names = step["layers"] if "layers" in step else [step["layer"]]
        every = range(self.runs[names[0]]) if turn is None else [turn]
        # Runs that are alike, one after another, are one event, but of groups.
        together = [(every[0], every[-1] + 1)] if "layer" in step else [(one, one + 1) for one in every]
        for runs in together:
            if "layer" in step:
                self._layer(step, runs, by_turn=turn is not None)
            else:
                self._group(step, runs, by_turn=turn is not None)
            for name in names:
                self.done[name] += runs[1] - runs[0]
            self._release(names[-1], runs, by_turn=turn is not None)

    # Layers by themselves

    def _layer(self, step: Mapping[str, Any], runs: Range, *, by_turn: bool) -> None:
        """Some runs of a layer: all that it reads is there, and what it makes gets where it is said to."""
        name, held = step["layer"], set(step["held"])
        self._operands(name, held - {OUTPUT}, runs, by_turn=by_turn)
        self.make(name, (runs, *self._all(name)), held, step["taken"])

    def _operands(self, name: str, held: set[str], runs: Range, *, by_turn: bool) -> None:
        """See that each tensor that a layer reads is where it reads it."""
        inside = set()
        for edge in self.chain.read_by(name):
            box = self._read_by(edge, runs, by_turn=by_turn)
            stays = edge.source in self.stays
            if stays and edge.operand != BESIDE:
                inside.add(edge.operand)
            self.read(edge, box, self.home if stays else self.off)
        self._see_held(name, held, inside)

    def _read_by(self, edge: Edge, runs: Range, *, by_turn: bool) -> Box:
        """What some runs of a layer read: the same runs of one that takes turns with it, or all."""
        together = any(edge.source in block and edge.reader in block for block in self.schedule["turns"])
        same = self.runs[edge.source] == self.runs[edge.reader] and "B" not in edge.whole
        return (runs, *self._all(edge.source)) if by_turn and together and same else self._whole(edge.source)

    def read(self, edge: Edge, box: Box, store: Store) -> None:
        self.events += 1
        lost = store.missing(edge.source, box)
        if lost:
            where = "in the home" if store is self.home else "off the chip"
            said = f"{edge.reader} reads {words_of(box):,} words of {edge.source} {where}"
            raise RefusedError(f"{said}, {lost:,} of which are not there")

    def make(self, name: str, box: Box, held: set[str], taken: int) -> None:
        """A part of a layer's output is made."""
        self.events += 1
        if OUTPUT in held:
            if name not in self.stays:
                raise RefusedError(f"{name} holds its output, which does not stay")
            self.kept[name] += words_of(box)
        else:
            self.off.add(name, box)
        if name in self.stays:
            self.home.add(name, box)
        self._see_room(name, taken)

    def pass_on(self, name: str, box: Box, taken: int) -> None:
        """A part of an output is made that is handed on and goes nowhere else."""
        self.events += 1
        self.passing.add(name)
        self.home.add(name, box)
        self.kept[name] += words_of(box)
        self._see_room(name, taken)

    def needed(self, edge: Edge, box: Box) -> Box:
        """All that is needed of a source to make what needs a part of it element by element."""
        whole = self._whole(edge.source)
        places = whole[2] if {"B", "Y"} & set(edge.whole) else box[2]
        if "X" in edge.whole and places == box[2]:
            width = self.layers[edge.source].output[1]
            places = (places[0] // width * width, -(-places[1] // width) * width)
        return (whole[0] if "B" in edge.whole else box[0], whole[1] if "K" in edge.whole else box[1], places)

    # Room

    def _see_room(self, name: str, taken: int) -> None:
        """What is in the home now has the room that the layer left it."""
        inside = (*self.stays, *(one for one in self.passing if one not in self.stays))
        here = sum(self.element_words(one, self.home.count(one)) for one in inside)
        here += sum(self.tiles.values())
        self.peak = max(self.peak, here)
        if here > taken:
            raise RefusedError(f"{here:,} are taken as {name} is run, which leaves {taken:,}")
        if here > self.room:
            raise RefusedError(f"{here:,} are taken as {name} is run, of a room of {self.room:,}")

    def element_words(self, name: str, elements: int) -> int:
        """The room of so many elements of a layer's output."""
        _, channels, places = self.shapes[name]
        return -(-elements * self.sizes[name][OUTPUT] // (channels * places))

    def operand_words(self, name: str, tensor: str, elements: int) -> int:
        """The room of so many elements of an operand of a product."""
        layer = self.layers[name]
        rows, columns = layer.output
        whole = {"W": layer.K * layer.C, "I": rows * columns * layer.C, "O": rows * columns * layer.K}
        return -(-elements * self.sizes[name][tensor] // whole[tensor])

    def _release(self, name: str, runs: Range, *, by_turn: bool) -> None:
        """What nobody reads after this layer, or this turn of it, is gone."""
        names = self.chain.names
        for one in self.stays:
            last = max(names.index(edge.reader) for edge in self.chain.readers_of(one))
            if last > names.index(name):
                continue
            together = any(one in block and name in block for block in self.schedule["turns"])
            if by_turn and together:
                self.home.remove(one, (runs, *self._all(one)))
            elif not by_turn or self.done[name] == self.runs[name]:
                self.home.remove(one, self._whole(one))

    # Groups

    def _group(self, group: Mapping[str, Any], runs: Range, *, by_turn: bool) -> None:
        """One run of layers that share tiles, a part of the rows at a time."""
        moved = {(one["layer"], one["tensor"]) for one in group["moves"]}
        for name in group["layers"]:
            held = {tensor for entry in group["runs"] if entry["layer"] == name for tensor in entry["held"]}
            held -= {OUTPUT} | {tensor for layer, tensor in moved if layer == name}
            inside = {INPUT} if name != group["layers"][0] else set()
            for edge in self.chain.read_by(name):
                if edge.source in group["layers"]:
                    continue
                stays = edge.source in self.stays
                if stays and edge.operand != BESIDE:
                    inside.add(edge.operand)
                box = self._read_by(edge, runs, by_turn=by_turn)
                self.read(edge, box, self.home if stays else self.off)
            self._see_held(name, held, inside)
        (run_lines if group["kind"] == "lines" else tile_products)(self, group, runs)
        self.tiles.clear()

    @staticmethod
    def _see_held(name: str, held: set[str], inside: set[str]) -> None:
        """See that what a layer holds is in place, and that it holds all that is."""
        for operand in sorted(held - inside):
            raise RefusedError(f"{name} holds its {operand}, which nothing has put there")
        for operand in sorted(inside - held):
            raise RefusedError(f"{name} reads its {operand} off the chip, where it stays on it")

    # Boxes

    def _all(self, name: str) -> tuple[Range, Range]:
        _, channels, places = self.shapes[name]
        return (0, channels), (0, places)

    def _whole(self, name: str) -> Box:
        return ((0, self.shapes[name][0]), *self._all(name))


def _made(layer: Layer) -> tuple[int, int]:
    rows, columns = layer.output
    return (layer.C if layer.type == "DSCONV" else layer.K), rows * columns
