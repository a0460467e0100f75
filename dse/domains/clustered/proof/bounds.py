"""What a cost model of two levels brings to a proof: boxes of mappings, for the engine of `dse.proof`."""

from __future__ import annotations

import io
import zipfile
from typing import Any, ClassVar, Protocol

import numpy as np

from dse.domains.clustered.limits import FIGURES
from dse.domains.clustered.mapping import INNER_PARALLEL, OUTER_PARALLEL, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.nests import nest_keys
from dse.domains.clustered.space.genes import LEVELS, named_parallel
from dse.proof.contract import Boxes
from dse.support.arrays import FloatArray, IntArray


class MappingBoxes(Boxes, Protocol):
    """Boxes of mappings, for the engine.

    `limits`, if it is there, are the figures of `dse.domains.clustered.limits` whose limits are kept to.
    Where there is a method `with_all()`, its boxes leave out no mapping that another is as good as, and have
    `keys`: mappings near the optimum can be listed.
    """

    def mapping_of(self, design: Any) -> Mapping:
        """The mapping that a design of `settle` is."""
        ...

    def floor(self) -> float:
        """A loss below that of any mapping, in other spaces too, known without looking at one."""
        ...


class RowBoxes:
    """What MappingBoxes share that are rows of so many `columns`, and whose designs are rows of mappings."""

    problem: Problem
    columns: ClassVar[int]
    limits: ClassVar[tuple[str, ...]] = tuple(FIGURES)

    def mapping_of(self, design: IntArray) -> Mapping:
        """The mapping of a row that was settled."""
        return mapping_of_row(self.problem, design)

    def keys(self, designs: list[IntArray]) -> IntArray:
        """See Boxes: of loops whose tiles all run at once the best place counts."""
        return nest_keys(self.problem, np.array(designs))

    def pack(self, boxes: IntArray, bounds: FloatArray) -> bytes:
        """See Boxes: both compressed."""
        file = io.BytesIO()
        np.savez_compressed(file, boxes=boxes, bounds=bounds)
        return file.getvalue()

    def unpack(self, kept: bytes) -> tuple[IntArray, FloatArray]:
        """See Boxes; no boxes where it was not `pack`, or of so many columns, that wrote them."""
        try:
            with np.load(io.BytesIO(kept)) as file:
                boxes, bounds = file["boxes"], file["bounds"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return np.empty((0, self.columns), np.int64), np.empty(0)
        if boxes.shape != (len(bounds), self.columns):
            return np.empty((0, self.columns), np.int64), np.empty(0)
        return boxes, bounds


class PointBoxes(MappingBoxes, Protocol):
    """Boxes of a space whose points say the machine too."""

    def point_of(self, design: Any) -> IntArray:
        """The point that a design of `settle` is."""
        ...

    def cut_floor(self) -> float:
        """What no mapping is below that is in none of the boxes."""
        ...


class Certifier(Protocol):
    """The proof module of a cost model. `GROUP` says in words what a box is a choice of.

    Where it has `takes_space(problem)`, that says whether `make_boxes` makes PointBoxes of a problem whose
    space is not the default.
    """

    GROUP: str

    def refuse(self, problem: Problem) -> None:
        """InputError unless the optimum of the problem can be proven, over its tiles."""
        ...

    def make_boxes(self, problem: Problem) -> MappingBoxes:
        """The problem as the engine sees it, if not refused: tiles are free, or fixed at one size."""
        ...

    def least_area(self, problem: Problem) -> float:
        """The area that every mapping needs; of models of two levels."""
        ...


def mapping_of_row(problem: Problem, row: IntArray) -> Mapping:
    """The mapping of a row of a batch; a parallel K that is fixed is called so in a depthwise layer."""
    named = row.copy()
    for level, column in zip(LEVELS, (OUTER_PARALLEL, INNER_PARALLEL), strict=True):
        named[[column]] = named_parallel(problem.space.fixed, level, named[[column]])
    return MappingBatch(named[np.newaxis])[0]
