"""Line buffers: two convolutions in a row, the rows between which are kept as a window.

The second makes some rows of its output a step. The first makes the rows that this reads and that are not
there yet; the window keeps all columns and channels of the rows that are read again, so that nothing is made
twice. Weights of both may be held over the steps. Of the first one's input rows, those that two steps read
come twice, or a line buffer of its own holds what a step reads, and each word comes once.

Every number of steps that divides the rows and every choice of what is held is tried, each part with its own
best mapping, as shared tiles are (`sharing`). Rows of padding are not made, and take no room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from dse.core.edges import INPUT, OUTPUT, WEIGHT
from dse.core.layer import Layer
from dse.core.residence import Phase, Rates
from dse.optimum.chains.proofs import Proofs
from dse.optimum.chains.sharing import Sharing
from dse.optimum.chains.tilings import (
    Group,
    Move,
    Part,
    Tiling,
    ascending_divisors,
    operands_inside,
    reach_of,
    subsets,
)


def rows_of(layer: Layer, rows: int) -> Layer:
    """So many rows of a convolution's output, as a layer: padding above and below are rows like others."""
    tall = (rows - 1) * layer.stride[0] + reach_of(layer)
    return replace(layer, Y=tall, padding=(0, layer.padding[1]), name="", repeats=1)


@dataclass(frozen=True)
class Steps:
    """What is made of the first layer, so many rows how often; and the most rows of it that are alive."""

    made: tuple[tuple[int, int], ...]
    alive: int

    @classmethod
    def of(cls, one: Layer, two: Layer, rows: int, *, pieces: bool = False) -> Steps:
        """The steps in each of which the second layer makes so many rows.

        With `pieces` more rows than a step's are made in pieces of a step: the first window.
        """
        total, stride, above = one.output[0], two.stride[0], two.padding[0]
        count = two.output[0] // rows
        reads, step = (rows - 1) * stride + reach_of(two), rows * stride
        made, alive, parts = 0, 0, Counter[int]()
        for number in range(count):
            first = number * step - above
            # Rows that nobody reads are made too, at last.
            end = total if number == count - 1 else min(max(first + reads, made), total)
            alive = max(alive, end - min(max(first, 0), end))
            most = min(step, end - made) if pieces else end - made
            while made < end:
                piece = min(most, end - made)
                parts[piece] += 1
                made += piece
        return cls(tuple(parts.items()), alive)


def line_buffers(group: Group, words: Words, room: int) -> Iterator[Tiling]:
    """All of them that fit, for each number of steps and each choice of what is held."""
    one, two = group.layers
    for steps in ascending_divisors(two.output[0])[1:]:
        rows = two.output[0] // steps
        for found in {Steps.of(one, two, rows, pieces=pieces): None for pieces in (False, True)}:
            taken = group.taken + found.alive * words.row
            tallest = max(count for count, _ in found.made)
            choices = {f"{WEIGHT} of {at}": words.weights[at] for at in (0, 1) if at not in group.weights}
            if not group.reads and reach_of(one) > one.stride[0]:
                choices[INPUT] = words.reads(tallest)
            for held in subsets(tuple(choices)):
                now = taken + sum(choices[name] for name in held)
                if now <= room:
                    yield _tiling(group, found, (rows, steps), frozenset(held), now)


def _tiling(group: Group, steps: Steps, second: tuple[int, int], held: frozenset[str], taken: int) -> Tiling:
    """One way, as a tiling of rows alone."""
    one, two = group.layers
    weights = [at for at in (0, 1) if f"{WEIGHT} of {at}" in held]
    first = operands_inside(group, 0, weights, INPUT in held, True)
    parts = [Part(0, count, Phase(rows_of(one, rows), first, taken)) for rows, count in steps.made]
    rows, count = second
    last = operands_inside(group, 1, weights, True, False)
    parts.append(Part(1, count, Phase(rows_of(two, rows), last, taken)))
    moves = [Move(at, WEIGHT, touched(group.layers[at])[WEIGHT], 1) for at in weights]
    names = [f"{WEIGHT} of {group.layers[at].name}" for at in weights]
    if INPUT in held:
        moves += _lines(one, steps)
        names.append(f"{INPUT} of {one.name}, some rows of it")
    names.append(f"{OUTPUT} of {one.name}, {steps.alive} rows of it")
    return Tiling(count, (1,), False, tuple(names), tuple(parts), tuple(moves))


def _lines(one: Layer, steps: Steps) -> Iterator[Move]:
    """Input rows that come as each part of a layer is run: those that the steps before have not read."""
    row = touched(rows_of(one, 1))[INPUT] // reach_of(one)
    for number, (rows, count) in enumerate(steps.made):
        yield Move(0, INPUT, rows * one.stride[0] * row, count, number)
    yield Move(0, INPUT, (reach_of(one) - one.stride[0]) * row, 1, 0)


def touched(layer: Layer) -> dict[str, int]:
    """Words of each tensor, each once; those of inputs with the padding, as machines of levels count them."""
    rows, columns = layer.output
    wide = (columns - 1) * layer.stride[1] + (layer.S - 1) * layer.dilation[1] + 1
    tall = (rows - 1) * layer.stride[0] + reach_of(layer)
    made = layer.C if layer.type == "DSCONV" else layer.K
    return {
        WEIGHT: layer.K * layer.C * layer.R * layer.S,
        INPUT: layer.C * tall * wide,
        OUTPUT: made * rows * columns,
    }


@dataclass(frozen=True)
class Words:
    """Room of a row of what is between two layers, of their weights, and of the rows that some rows read."""

    first: Layer
    row: int
    weights: tuple[int, int]
    input_bits: int

    def reads(self, rows: int) -> int:
        """Room of the input rows that so many rows of the first layer read."""
        return touched(rows_of(self.first, rows))[INPUT] * self.input_bits


@dataclass
class LineBuffers(Sharing):
    """The line buffers of two convolutions, of the lowest bound first: see Sharing."""

    @cached_property
    def floor(self) -> float:
        """Nothing is known before there are steps."""
        return 0.0

    def _fitting(self) -> Iterator[Tiling]:
        return line_buffers(self.group, self._words, self.home.room)

    @cached_property
    def _words(self) -> Words:
        one, two = self.group.layers
        sizes = [self._sizes(layer) for layer in (one, two)]
        bits = sizes[0][INPUT] // touched(one)[INPUT]
        return Words(one, sizes[0][OUTPUT] // one.output[0], (sizes[0][WEIGHT], sizes[1][WEIGHT]), bits)

    def _sizes(self, layer: Layer) -> dict[str, int]:
        problem = self.proofs.problem_of(Phase(layer))
        assert problem is not None
        return dict(self.proofs.residence.sizes(problem))

    def _bound(self, tiling: Tiling) -> float:
        """What each part costs with all that can be held in place, and each word over the edge once."""
        rates, _ = self._rates
        return self._over_parts(tiling, self._all_held, lambda one, part: self._moved(one, part, rates))

    def _spent(self, tiling: Tiling, part: Part) -> float:
        """Without whole blocks: how rows come in pieces is not gone into."""
        return self._held(tiling, part, self._rates[0])

    def _all_held(self, proofs: Proofs, part: Part) -> float:
        """What a run of a part costs at least with everything in place."""
        held = tuple(sorted({INPUT, OUTPUT} | ({WEIGHT} & self._rates[0].kept)))
        phase = Phase(part.phase.layer, held)
        proofs.settle(phase)
        return proofs.bound(phase)

    def _moved(self, tiling: Tiling, part: Part, rates: Rates) -> float:
        """Each word over the edge of the home once a run, and what is held once in all."""
        words = touched(part.phase.layer)
        each = {INPUT: rates.comes[0], WEIGHT: rates.comes[1], OUTPUT: rates.goes}
        once = sum(words[name] * each[name] for name in words if name not in part.phase.held)
        return part.count * once + self._held(tiling, part, rates)
