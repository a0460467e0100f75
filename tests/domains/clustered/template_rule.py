"""The rule by which templates choose tiles, in plain integers, with loops walked to count traffic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dse.core.chains import find_divisors
from dse.core.layer import Layer
from dse.domains.clustered.mapping import Level

TILED = "KCYX"
COUPLED = {"CONV": ("CYX", "KC", "KYX"), "DSCONV": ("CYX", "C", "CYX")}


@dataclass(frozen=True)
class Cut:
    """Loops of `sizes` cut into `tiles`, with `units` tiles of the parallel dim at a time."""

    layer: Layer
    sizes: dict[str, int]
    tiles: dict[str, int]
    parallel: str
    units: int

    def trips(self, dim: str) -> int:
        return -(-self.sizes[dim] // (self.tiles[dim] * (self.units if dim == self.parallel else 1)))

    def all_trips(self) -> int:
        return math.prod(map(self.trips, TILED))

    def volumes(self, *, output_halo: bool, units: int) -> list[int]:
        """Elements of the input, weight and output tiles of so many units."""
        layer, tile = self.layer, self.tiles
        halo = {"Y": layer.R - 1, "X": layer.S - 1}
        busy = min(units, self.sizes[self.parallel] // tile[self.parallel])
        found = []
        for tensor, dims in enumerate(COUPLED[layer.type]):
            counts_inputs = tensor == 0 or (tensor == 2 and output_halo)
            volume = math.prod(tile[dim] + (halo.get(dim, 0) if counts_inputs else 0) for dim in dims)
            window = layer.R * layer.S if tensor == 1 else 1
            found.append(volume * window * (busy if self.parallel in dims else 1))
        return found

    def l1_need(self) -> int:
        return 2 * sum(self.volumes(output_halo=True, units=1))

    def l2_need(self) -> int:
        return 2 * sum(self.volumes(output_halo=False, units=self.units))

    def time(self, cycles: Fraction, bandwidth: int) -> Fraction:
        """Cycles of all steps if each computes for `cycles`, or waits for the next tiles."""
        inputs, weights, outputs = self.volumes(output_halo=False, units=self.units)
        return self.all_trips() * max(cycles, Fraction(max(inputs + weights, outputs), bandwidth))

    def changes(self, order: Sequence[str]) -> list[int]:
        """How often the input, weight and output tiles change while the loops are walked."""
        loops = [dim for dim in order if dim in TILED]
        found = [0, 0, 0]
        last: list[tuple[int, ...]] = [(), (), ()]
        for position in itertools.product(*(range(self.trips(dim)) for dim in loops)):
            at = dict(zip(loops, position, strict=True))
            for tensor, dims in enumerate(COUPLED[self.layer.type]):
                tile = tuple(at[dim] for dim in dims)
                found[tensor] += tile != last[tensor]
                last[tensor] = tile
        return found

    def traffic(self, order: Sequence[str]) -> int:
        """Elements that come and go meanwhile: an output comes and goes."""
        inputs, weights, outputs = self.changes(order)
        volumes = self.volumes(output_halo=False, units=self.units)
        return inputs * volumes[0] + weights * volumes[1] + 2 * outputs * volumes[2]


Rank = tuple[Fraction, int, int]


def best_rank(cuts: Sequence[tuple[Cut, Fraction]], bandwidth: int, order: Sequence[str]) -> Rank:
    """The least time, then traffic, then trips among cuts, each given with its cycles a step."""
    least = min(cut.time(cycles, bandwidth) for cut, cycles in cuts)
    ties = [cut for cut, cycles in cuts if cut.time(cycles, bandwidth) == least]
    return least, *min((cut.traffic(order), cut.all_trips()) for cut in ties)


def cuts_of(sizes: dict[str, int], single: str = "") -> Iterator[dict[str, int]]:
    """Every choice of tiles that divide the sizes; those of `single` are 1."""
    choices = [(1,) if dim in single else find_divisors(sizes[dim]) for dim in TILED]
    for tiles in itertools.product(*choices):
        yield dict(zip(TILED, tiles, strict=True))


def spatial(layer: Layer, level: Level) -> str:
    """The parallel dim of a level: in a depthwise layer K is C."""
    return "C" if layer.type == "DSCONV" and level.parallel == "K" else level.parallel
