"""Mappings onto a hierarchy as numbers between which distances mean something."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.layers import LevelChoices
from dse.domains.levels.space.tables import Described, ShapeTables
from dse.domains.levels.workload import Workload
from dse.support.arrays import FloatArray, IntArray
from dse.support.jit import load_kernels


class Features:
    """What the loops of a mapping imply, in log2.

    The length of each level's tile along every dim, the spatial factors, the words of every tensor's tile,
    how often it comes anew, how much of it is moved in all, how much of that differs among children; the
    steps of the run. Orders and what is kept are 0/1 each.
    """

    def __init__(
        self, machine: Machine, workload: Workload, levels: Sequence[LevelChoices], shapes: ShapeTables
    ) -> None:
        self._levels, self._shapes = levels, shapes
        self._dims, self._tensors = len(workload.dims), len(workload.tensors)
        names = [level.name for level in machine.levels]
        dims, tensors = workload.names, workload.tensor_names
        self.names: tuple[str, ...] = (
            *(f"log2 {name}.tile.{dim}" for name in names for dim in dims),
            *(f"log2 {name}.spatial.{dim}" for name in names for dim in dims),
            *(
                f"log2 {what} of {tensor} at {name}"
                for what in ("words", "returns", "moved")
                for name in names
                for tensor in tensors
            ),
            *(f"log2 words of {tensor} served to {name}" for name in [*names, "MAC"] for tensor in tensors),
            "log2 steps",
            *(
                f"{level.order_gene} is {''.join(order)}"
                for level in levels
                if len(level.orders) > 1
                for order in level.orders
            ),
            *(level.keep_gene(tensor) for tensor in tensors for level in levels if tensor in level.open),
            *(
                f"{level.stack_gene} is {''.join(stack)}"
                for level in levels
                if len(level.stacks) > 1
                for stack in level.stacks
            ),
        )

        self.groups: tuple[int, ...] = tuple(self._grouped().tolist())

    def _grouped(self) -> IntArray:
        """A number for each feature: the same for those of one kind and level."""
        n, dims, tensors = len(self._levels), self._dims, self._tensors
        loops = np.repeat(np.arange(2 * n), dims)
        flows = np.repeat(np.arange(3 * n + n + 1), tensors) + 2 * n
        first = 6 * n + 1
        orders = [
            first + 1 + level.place for level in self._levels if len(level.orders) > 1 for _ in level.orders
        ]
        kept = [first + 1 + n for level in self._levels for _ in level.open]
        stacks = [first + 2 + n for level in self._levels if len(level.stacks) > 1 for _ in level.stacks]
        return np.concatenate([loops, flows, [first], orders, kept, stacks]).astype(np.int64)

    def __call__(self, genes: IntArray, rows: RowArray, places: Mapping[str, int]) -> FloatArray:
        """The features of canonical vectors and their rows: (n, features)."""
        choices = [np.empty((len(genes), 0))]
        for level in self._levels:
            if len(level.orders) > 1:
                choices.append(np.eye(len(level.orders))[genes[:, places[level.order_gene]]])
        kept = [place for name, place in places.items() if ".keep." in name]
        stacks = [
            np.eye(len(level.stacks))[genes[:, places[level.stack_gene]]]
            for level in self._levels
            if len(level.stacks) > 1
        ]
        parts = self._measured(rows)
        return np.column_stack([*map(_flat, parts), *choices, genes[:, kept], *stacks])

    def counts(self, rows: RowArray) -> FloatArray:
        """log2 of the words held, moved and served, by level and tensor, and of the steps: (n, counts)."""
        found = self._measured(rows)
        return np.column_stack([_flat(part) for part in (found.held, found.moved, found.served, found.steps)])

    def _measured(self, rows: RowArray) -> Described:
        """What `shapes.describe` writes."""
        n, levels = len(rows), len(self._levels)
        lengths, spread = np.empty((2, n, levels, self._dims))
        held, returns, moved = np.empty((3, n, levels, self._tensors))
        served, steps = np.empty((n, levels + 1, self._tensors)), np.empty(n)
        kernel = load_kernels("dse.domains.levels.space.kernels.shapes")
        described = Described(lengths, spread, held, returns, moved, served, steps)
        kernel.describe(rows, self._shapes, described)
        return described


def _flat(part: FloatArray) -> FloatArray:
    """A row for each mapping: (n, ...)."""
    return part.reshape(len(part), math.prod(part.shape[1:]))
