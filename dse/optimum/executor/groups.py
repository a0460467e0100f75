"""Executing layers that share tiles, a part of the rows at a time, and convolutions with a window of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.core.edges import INPUT, OUTPUT, WEIGHT, Edge
from dse.core.layer import Layer
from dse.optimum.executor.stores import Box, Range
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.optimum.executor.execution import Execution

Group = Mapping[str, Any]


def tile_products(run: Execution, group: Group, runs: Range) -> None:
    """Matrix products in a row: each part of the rows goes through all of them, or through two in rounds."""
    Tiles(run, group, runs).execute()


class Tiles:
    """One run of products that share tiles."""

    def __init__(self, run: Execution, group: Group, runs: Range) -> None:
        self.run, self.group, self.runs = run, group, runs
        self.names: list[str] = list(group["layers"])
        self.columns: list[int] = list(group["columns"])
        places = {run.shapes[name][2] for name in self.names}
        if len(places) > 1 or min(places) % group["rows"]:
            raise RefusedError(f"the rows of {', '.join(self.names)} are not in {group['rows']} equal parts")
        self.part = min(places) // group["rows"]
        self.edges = [handed_on(run, *pair) for pair in zip(self.names, self.names[1:], strict=False)]

    def execute(self) -> None:
        """All parts of the rows, with their rounds."""
        see_work(self.run, self.group)
        outside = self.group["columns_outside"]
        self._hold([WEIGHT, INPUT, OUTPUT] if outside else [WEIGHT], range(len(self.names)))
        if outside:
            for turn in range(self.columns[0]):
                for part in range(self.group["rows"]):
                    self._round(0, part, turn, last=turn == self.columns[0] - 1)
            return
        for part in range(self.group["rows"]):
            place = 0
            while place < len(self.names):
                if place + 1 < len(self.names) and self.columns[place] > 1:
                    self._rounds(place, part)
                    place += 2
                else:
                    self._alone(place, part)
                    place += 1

    def _hold(self, tensors: list[str], places: range) -> None:
        """Take the room of what is held over several parts."""
        for move in self.group["moves"]:
            if move["tensor"] in tensors and self.names.index(move["layer"]) in places:
                name, tensor = move["layer"], move["tensor"]
                words = self.run.operand_words(name, tensor, move["words"])
                self.run.tiles[f"{tensor} of {name}"] = words

    def _rows(self, part: int) -> Range:
        return part * self.part, (part + 1) * self.part

    def _taken(self, place: int) -> int:
        return next(int(one["taken"]) for one in self.group["runs"] if one["layer"] == self.names[place])

    def _alone(self, place: int, part: int) -> None:
        """A layer's part of the rows, all columns."""
        name = self.names[place]
        _, channels, _ = self.run.shapes[name]
        self._reads(place, part, None)
        self._makes(place, (self.runs, (0, channels), self._rows(part)))
        self._forget(place - 1, part, None)

    def _rounds(self, place: int, part: int) -> None:
        """Two layers with the columns between them in rounds."""
        before = dict(self.run.tiles)
        self._hold([INPUT, OUTPUT], range(place, place + 2))
        following = self.names[place + 1]
        sums = place + 2 < len(self.names)
        if sums:
            # What both make stands as sums that are not ready before the last round.
            room = self.run.element_words(following, self.part * self.run.shapes[following][1])
            self.run.tiles["sums"] = room
        for turn in range(self.columns[place]):
            self._round(place, part, turn, last=turn == self.columns[place] - 1)
        self.run.tiles.clear()
        self.run.tiles |= before
        self._forget(place - 1, part, None)

    def _round(self, place: int, part: int, turn: int, *, last: bool) -> None:
        """One part of the rows and columns of a layer, and what the next one makes of it."""
        name, following = self.names[place], self.names[place + 1]
        width = self.run.shapes[name][1] // self.columns[place]
        columns = turn * width, (turn + 1) * width
        self._reads(place, part, None)
        self._makes(place, (self.runs, columns, self._rows(part)))
        self._reads(place + 1, part, columns)
        self._forget(place, part, columns)
        if last:
            self.run.tiles.pop("sums", None)
            channels = self.run.shapes[following][1]
            self._makes(place + 1, (self.runs, (0, channels), self._rows(part)))

    def _reads(self, place: int, part: int, columns: Range | None) -> None:
        """What a layer reads of the one before it in the group."""
        if place:
            edge = self.edges[place - 1]
            channels = columns or (0, self.run.shapes[edge.source][1])
            box = self.run.needed(edge, (self.runs, channels, self._rows(part)))
            self.run.read(edge, box, self.run.home)

    def _makes(self, place: int, box: Box) -> None:
        name = self.names[place]
        if place + 1 < len(self.names):
            self.run.pass_on(name, box, self._taken(place))
        else:
            self.run.make(name, box, self._held(place), self._taken(place))

    def _held(self, place: int) -> set[str]:
        """What the last layer's output is held in place for: one that stays, not one held over rounds."""
        name = self.names[place]
        over = any(one["tensor"] == OUTPUT and one["layer"] == name for one in self.group["moves"])
        entry = next(one for one in self.group["runs"] if one["layer"] == name)
        return set(entry["held"]) - ({OUTPUT} if over else set())

    def _forget(self, place: int, part: int, columns: Range | None) -> None:
        if place >= 0:
            name = self.names[place]
            channels = columns or (0, self.run.shapes[name][1])
            self.run.home.remove(name, (self.runs, channels, self._rows(part)))


def run_lines(run: Execution, group: Group, runs: Range) -> None:
    """Two convolutions: the second makes some rows a step, of the rows of the first that are there."""
    see_work(run, group)
    one, two = group["layers"]
    first, second = run.layers[one], run.layers[two]
    edge = handed_on(run, one, two)
    if second.output[0] % group["rows"]:
        raise RefusedError(f"the rows of {two} are not in {group['rows']} equal steps")
    rows, total, width = second.output[0] // group["rows"], first.output[0], first.output[1]
    tallest = max(
        Layer.from_dict(dict(entry["part"])).output[0] for entry in group["runs"] if entry["layer"] == one
    )
    for move in group["moves"]:
        name = move["layer"]
        if move["tensor"] == INPUT:
            reach = (first.R - 1) * first.dilation[0] + 1
            tall = (total - 1) * first.stride[0] + reach
            row = run.sizes[one][INPUT] // tall
            run.tiles[INPUT] = ((tallest - 1) * first.stride[0] + reach) * row
        else:
            run.tiles[f"{WEIGHT} of {name}"] = run.sizes[name][WEIGHT]
    taken = min(int(entry["taken"]) for entry in group["runs"])
    held = set(next(entry["held"] for entry in group["runs"] if entry["layer"] == two))
    made, channels = 0, run.shapes[one][1]
    reads = (rows - 1) * second.stride[0] + (second.R - 1) * second.dilation[0] + 1
    for step in range(group["rows"]):
        start = step * rows * second.stride[0] - second.padding[0]
        end = total if step == group["rows"] - 1 else min(max(start + reads, made), total)
        run.home.remove(one, (runs, (0, channels), (0, min(max(start, 0), total) * width)))
        if end > made:
            run.pass_on(one, (runs, (0, channels), (made * width, end * width)), taken)
            made = end
        top, bottom = max(start, 0), min(start + reads, total)
        if bottom > top:
            box = run.needed(edge, (runs, (0, channels), (top * width, bottom * width)))
            run.read(edge, box, run.home)
        across = second.output[1]
        places = step * rows * across, (step + 1) * rows * across
        run.make(two, (runs, (0, run.shapes[two][1]), places), held, taken)
    run.home.remove(one, (runs, (0, channels), (0, total * width)))


def handed_on(run: Execution, source: str, reader: str) -> Edge:
    """The edge from a layer to the next in a group, which must be all that reads its output."""
    edges = run.chain.readers_of(source)
    if [(edge.reader, edge.operand) for edge in edges] != [(reader, INPUT)] or source in run.elsewhere:
        others = [edge.reader for edge in edges if edge.reader != reader]
        why = run.elsewhere.get(source) or f"{', '.join(others)} read it too"
        raise RefusedError(f"{source} is handed on to {reader} in parts, and is not written: {why}")
    return edges[0]


def see_work(run: Execution, group: Group) -> None:
    """See that the parts of each layer do all of its work, once."""
    for name in group["layers"]:
        done = sum(
            int(entry["count"]) // group["count"] * _macs(entry["part"])
            for entry in group["runs"]
            if entry["layer"] == name
        )
        if done != run.layers[name].macs:
            raise RefusedError(f"the parts of {name} do {done:,} MACs of {run.layers[name].macs:,}")


def _macs(part: Mapping[str, Any]) -> int:
    return Layer.from_dict(dict(part)).macs


class RefusedError(InputError):
    """A schedule cannot be run as it is printed; the message says where, and what is wrong."""
