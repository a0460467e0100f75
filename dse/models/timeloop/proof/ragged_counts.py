"""What components contribute where tiles need not divide: as `counts`, from the pieces of every chain.

Words of all instances are products over components, as pieces along an axis are counted by themselves
(`dse.models.timeloop.ragged`). What an instance gets is here the mean of all: the first one gets no less. A
mapping whose tiles all divide is priced by the rules of factors, which may leave out more: of chains that
divide the lesser of both counts stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from dse.models.timeloop import tables
from dse.models.timeloop.proof.components import axes_of
from dse.models.timeloop.proof.counts import Counts
from dse.models.timeloop.proof.orders import Outside
from dse.models.timeloop.proof.ragged_words import Asked
from dse.models.timeloop.tables import Known, known_of
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.jit import load_kernels

WORDS = "dse.models.timeloop.proof.ragged_words"
NOTHING = -1


class RaggedCounts(Counts):
    """The counts of one component with lengths of tiles."""

    @cached_property
    def _known(self) -> tuple[Known, IntArray]:
        return known_of(self.workload, self.machine), tables.axes_of(self.workload)

    @cached_property
    def _divides(self) -> BoolArray:
        """The chains of which all tiles divide."""
        tiles, component = self.component.tiles, self.component
        assert tiles is not None
        counts = np.stack([component.temporal, component.spatial], axis=-1).reshape(tiles[..., 1:].shape)
        found: BoolArray = (counts * tiles[..., 1:] == tiles[..., :-1]).all(axis=(1, 2))
        return found

    def delivered(self, tensor: int, level: int, outside: Outside) -> FloatArray:
        """See Counts."""
        still, windows = bool(self._still(tensor)), self._windows(tensor)
        slide = outside.slide if outside.slide and outside.slide[1] in windows else None
        run = outside.run if still else level
        key = "pieces", tensor, level, run, slide, bool(windows) and not outside.known
        if key not in self._kept:
            slides = [slide] if outside.known else [*self._slides(tensor, level)]
            least = [self._words(tensor, level, level, run, one) for one in slides]
            words = np.log(np.minimum.reduce(least)) - self.instances(level)
            even = np.where(self._divides, super().delivered(tensor, level, outside), np.inf)
            self._kept[key] = np.minimum(words, even)
        return self._kept[key]

    def shared_out(self, tensor: int, level: int, below: int) -> FloatArray:
        """See Counts: the least of all orders, as a share of what is delivered."""
        key = "pieces shared", tensor, level, below
        if key not in self._kept:
            runs = range(below + 1) if self._still(tensor) else [below]
            last = below == len(self.machine.levels)
            shares = []
            for run in [below] if last else runs:
                for slide in [None] if last else self._slides(tensor, below):
                    asked = np.log(self._words(tensor, level, below, run, slide)) - self.instances(level)
                    if last:
                        shares.append(asked - self.steps())
                        continue
                    received = np.log(self._words(tensor, below, below, run, slide)) - self.instances(below)
                    shares.append(asked - received)
            least = np.minimum.reduce(shares)
            even = np.where(self._divides, super().shared_out(tensor, level, below), np.inf)
            self._kept[key] = np.minimum(least, even)
        return self._kept[key]

    def instances(self, level: int) -> FloatArray:
        """See Counts."""
        return self._once(("instances", level), lambda: self._at_work(level, range(len(self.component.dims))))

    def over_instances(self, level: int) -> FloatArray:
        """See Counts."""
        return self._once(("over instances", level), lambda: np.exp(-self.instances(level)))

    def still_instances(self, tensor: int, level: int) -> FloatArray:
        """See Counts."""
        return self._once(("still", tensor, level), lambda: self._at_work(level, self._still(tensor)))

    def steps(self) -> FloatArray:
        """See Counts: those of the first MAC."""
        levels = len(self.machine.levels)
        places = range(len(self.component.dims))
        return self._once(("steps",), lambda: self._pieces(places, levels, levels, False))

    def _at_work(self, level: int, places: range | list[int]) -> FloatArray:
        return self._pieces(places, level, 0, True)

    def _windows(self, tensor: int) -> list[int]:
        """The dims of the component that move an axis of the tensor together."""
        dims = self.component.dims
        axes = [
            [dims[place] for place, _ in terms] for terms in axes_of(self.workload, tensor, self.component)
        ]
        return [dim for moving in axes if len(moving) > 1 for dim in moving]

    def _slides(self, tensor: int, level: int) -> Iterator[tuple[int, int] | None]:
        """What the innermost loop outside of a level may be: none that moves a window, or one that does."""
        yield None
        for dim in self._windows(tensor):
            for outer in range(level):
                yield outer, dim

    def _words(
        self, tensor: int, level: int, child: int, run: int, slide: tuple[int, int] | None
    ) -> FloatArray:
        """Words that all instances of a level are asked for by a child, or by the MACs."""
        outer, dim = slide or (NOTHING, NOTHING)
        key = "words", tensor, level, child, run, slide
        if key not in self._kept:
            self._kept[key] = self._ask(Asked(tensor, level, child, run, outer, dim, True))
        return self._kept[key]

    def _pieces(self, places: range | list[int], level: int, run: int, every: bool) -> FloatArray:
        """How many pieces some dims are in at a level, of which so many outer levels' loops step."""
        return self._ask(Asked(NOTHING, level, level, run, NOTHING, NOTHING, every), places)

    def _ask(self, asked: Asked, places: range | list[int] | None = None) -> FloatArray:
        tiles, found = self.component.tiles, np.ones(len(self.component))
        assert tiles is not None
        here = range(len(self.component.dims)) if places is None else places
        counted = np.zeros(len(self.component.dims), dtype=np.bool_)
        counted[list(here)] = True
        dims = np.array(self.component.dims, dtype=np.int64)
        known, axes = self._known
        own = np.ascontiguousarray(tiles)
        load_kernels(WORDS).count_words(own, dims, counted, known, axes, asked, found)
        return found
