"""The boxes of several problems as those of one: how a proof has sets of tiles, under any cost model.

Bounds know tiles that are fixed at one size, or free. So a problem with sets is the union of those with one
size each (`tile_sets`), and the engine goes through the boxes of all of them at once: what one has found, the
others have to beat. A box is the number of its problem, and that problem's box.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import MappingBoxes
from dse.domains.clustered.tile_sets import one_tile_each
from dse.proof.contract import Bounded, Children, Found
from dse.support.arrays import AnyArray, FloatArray, IntArray


def boxes_of(problem: Problem, make: Callable[[Problem], Any], *, every: bool = False) -> MappingBoxes:
    """The boxes that `make` makes of a problem, of a problem with sets of tiles joined.

    With `every`, all good designs are asked for, which are rows of mappings.
    """
    problems = one_tile_each(problem)
    if problems[0] is problem:
        return cast("MappingBoxes", make(problem))
    return JoinedBoxes(problem, problems, [make(one) for one in problems], every=every)


class JoinedBoxes:
    """The boxes of problems that together have the mappings of one; see `dse.proof.contract.Boxes`.

    A design is the number of its problem, and that problem's design; with `every`, a row of a mapping.
    """

    def __init__(
        self, whole: Problem, problems: Sequence[Problem], boxes: Sequence[Any], *, every: bool
    ) -> None:
        self._whole, self._problems, self._boxes, self._every = whole, problems, boxes, every
        first = boxes[0]
        self.kind: str = first.kind
        self.rounds = first.rounds
        self.limits: tuple[str, ...] = getattr(first, "limits", ())
        self.begin_late: bool = getattr(first, "begin_late", False)

    def roots(self) -> AnyArray:
        """See Boxes."""
        return np.concatenate([_numbered(number, one.roots()) for number, one in enumerate(self._boxes)])

    def bound(self, boxes: AnyArray, to_beat: float) -> Bounded:
        """See Boxes."""
        losses, met = np.empty(len(boxes)), []
        for number, places, own in _of_each(boxes):
            bounded = self._boxes[number].bound(own, to_beat)
            losses[places] = bounded.losses
            boxes[places, 1:] = own.reshape(len(own), -1)
            met += [(number, bounded.found)] if bounded.found is not None else []
        return Bounded(losses, self._met(met) if met else None)

    def divide(self, boxes: AnyArray, bounds: FloatArray, to_beat: float) -> Children:
        """See Boxes: the parts in the order of their parents."""
        parts, parents, met = [boxes[:0]], [np.empty(0, np.int64)], []
        for number, places, own in _of_each(boxes):
            divided = self._boxes[number].divide(own, bounds[places], to_beat)
            parts.append(_numbered(number, divided.boxes))
            parents.append(places[divided.parents])
            met += [self._met([(number, found)]) for found in divided.found]
        every = np.concatenate(parents)
        order = np.argsort(every, kind="stable")
        return Children(np.concatenate(parts)[order], every[order], met)

    def settle(self, boxes: AnyArray, to_beat: float) -> Found:
        """See Boxes."""
        each = _of_each(boxes)
        return self._met([(number, self._boxes[number].settle(own, to_beat)) for number, _, own in each])

    def improve(self, design: Any, loss: float) -> Found:
        """See Boxes: of each problem that does, its own best design known to it alone."""
        met = []
        for number, one in enumerate(self._boxes):
            if improve := getattr(one, "improve", None):
                known = design is not None and not self._every and design[0] == number
                met.append((number, improve(design[1] if known else None, loss)))
        return self._met(met)

    def keys(self, designs: list[IntArray]) -> IntArray:
        """See Boxes."""
        found: IntArray = self._boxes[0].keys(designs)
        return found

    def mapping_of(self, design: tuple[int, Any]) -> Mapping:
        """See MappingBoxes."""
        number, own = design
        found: Mapping = self._boxes[number].mapping_of(own)
        return found

    def point_of(self, design: tuple[int, Any]) -> IntArray:
        """See PointBoxes."""
        number, own = design
        point = self._boxes[number].point_of(own)
        batch = self._problems[number].space.decode(point[np.newaxis])
        return np.asarray(self._whole.space.encode(batch)[0], np.int64)

    def floor(self) -> float:
        """See MappingBoxes."""
        return float(min(one.floor() for one in self._boxes))

    def cut_floor(self) -> float:
        """See PointBoxes."""
        return float(min(one.cut_floor() for one in self._boxes))

    def pack(self, boxes: AnyArray, bounds: FloatArray) -> bytes:
        """See Boxes: whose each box is, and what each problem's own boxes make of theirs."""
        file, kept = io.BytesIO(), {}
        for number, places, own in _of_each(boxes):
            packed = self._boxes[number].pack(own, bounds[places])
            kept[f"of_{number}"] = np.frombuffer(packed, np.uint8)
        np.savez_compressed(file, allow_pickle=False, numbers=boxes[:, 0].astype(np.int64), **kept)
        return file.getvalue()

    def unpack(self, kept: bytes) -> tuple[AnyArray, FloatArray]:
        """See Boxes."""
        nothing = np.empty((0, 2), np.int64), np.empty(0)
        try:
            with np.load(io.BytesIO(kept)) as file:
                numbers = file["numbers"]
                packed = {number: file[f"of_{number}"].tobytes() for number in np.unique(numbers).tolist()}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return nothing
        if not len(numbers) or numbers.min() < 0 or numbers.max() >= len(self._boxes):
            return nothing
        boxes, bounds = [], []
        for number, bytes_ in packed.items():
            own, known = self._boxes[number].unpack(bytes_)
            boxes.append(_numbered(number, own))
            bounds.append(known)
        if [len(each) for each in bounds] != [np.count_nonzero(numbers == number) for number in packed]:
            return nothing
        # As they were: `numbers` says which of each problem's came when.
        order = np.argsort(np.argsort(numbers, kind="stable"))
        return np.concatenate(boxes)[order], np.concatenate(bounds)[order]

    def _met(self, found: Sequence[tuple[int, Found]]) -> Found:
        """Designs of several problems: the best of each, or all of them."""
        some = [(number, one) for number, one in found if len(one.losses)]
        if not some:
            return Found(np.empty(0), ())
        if self._every:
            return Found(
                np.concatenate([one.losses for _, one in some]),
                np.concatenate([np.asarray(one.designs) for _, one in some]),
            )
        best = [(number, one, int(one.losses.argmin())) for number, one in some]
        losses = np.array([one.losses[place] for _, one, place in best])
        return Found(losses, [(number, one.designs[place]) for number, one, place in best])


def _numbered(number: int, boxes: AnyArray) -> AnyArray:
    """Boxes of a problem with its number before them; such as are objects are a column of these."""
    return np.column_stack([np.full(len(boxes), number), boxes])


def _of_each(boxes: AnyArray) -> Iterator[tuple[int, IntArray, AnyArray]]:
    """The numbers of problems, the places of their boxes, and a copy of these as the problem knows them."""
    numbers = boxes[:, 0].astype(np.int64)
    for number in np.unique(numbers).tolist():
        places = np.flatnonzero(numbers == number)
        own = boxes[places, 1:]
        yield number, places, np.ascontiguousarray(own[:, 0] if own.dtype == object else own)
