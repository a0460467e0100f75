"""Which words of tensors are somewhere: boxes of index ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

Range = tuple[int, int]
Box = tuple[Range, Range, Range]
"""Runs, channels (or columns) and places (or rows) of a layer's output, each from one to before another."""


@dataclass
class Store:
    """Words of tensors, by the layers that make them, as boxes that do not overlap."""

    held: dict[str, list[Box]] = field(default_factory=dict)

    def add(self, name: str, box: Box) -> None:
        """The words of a box are there from now on."""
        self.remove(name, box)
        if words_of(box):
            self.held.setdefault(name, []).append(box)

    def remove(self, name: str, box: Box) -> None:
        """They are there no more."""
        self.held[name] = [part for one in self.held.get(name, []) for part in without(one, box)]

    def missing(self, name: str, box: Box) -> int:
        """How many words of a box are not there."""
        there = (common(one, box) for one in self.held.get(name, []))
        return words_of(box) - sum(words_of(one) for one in there if one is not None)

    def count(self, name: str) -> int:
        """How many words of a tensor are there."""
        return sum(map(words_of, self.held.get(name, [])))


def words_of(box: Box) -> int:
    """How many words a box has."""
    return prod(max(end - start, 0) for start, end in box)


def common(one: Box, other: Box) -> Box | None:
    """What two boxes share; None if nothing."""
    ends = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True)]
    return (ends[0], ends[1], ends[2]) if all(start < end for start, end in ends) else None


def without(one: Box, other: Box) -> Iterator[Box]:
    """What is left of a box, in boxes."""
    shared = common(one, other)
    if shared is None:
        yield one
        return
    left = list(one)
    for axis, (start, end) in enumerate(shared):
        for first, last in ((left[axis][0], start), (end, left[axis][1])):
            if first < last:
                part = [*left]
                part[axis] = (first, last)
                yield part[0], part[1], part[2]
        left[axis] = (start, end)
