"""Which layers of a chain share tiles, and how, as genes say it: every choice of them is a valid one.

A tensor that the next layer alone reads is off the chip, stays whole, or is handed on in shared tiles; layers
that hand on in a row are a group. Of a group its first tensor says in how many parts the rows are and whether
a pair has its columns outside, each tensor in how many parts its columns are, and each layer what is held.
What cannot be (columns of neighbours both split, more layers than a group may have) is as if not chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dse.core.edges import INPUT, OUTPUT, WEIGHT
from dse.core.space import Gene
from dse.optimum.chains.program import Program
from dse.optimum.chains.tilings import Group, Tiling, ascending_divisors, fitting_tilings, size_of
from dse.optimum.chains.whole import Step
from dse.support.arrays import IntArray

AWAY, WHOLE, SHARED = range(3)
"""Where a tensor is."""
UNLIMITED = 2**62


@dataclass(frozen=True)
class Choice:
    """How a group shares tiles; `held` are tensors such as `W of a`. See Tiling."""

    rows: int
    columns: tuple[int, ...]
    outside: bool
    held: frozenset[str]

    @classmethod
    def of(cls, tiling: Tiling) -> Choice:
        """That of a tiling."""
        return cls(tiling.rows, tiling.columns, tiling.columns_outside, frozenset(tiling.held))


@dataclass(frozen=True)
class Plan:
    """The makers of the tensors that stay whole, the steps of the chain, and the choices of its groups."""

    staying: frozenset[int]
    steps: tuple[Step, ...]
    choices: Mapping[Step, Choice]


@lru_cache(maxsize=256)
def choices_of(group: Group) -> dict[Choice, Tiling]:
    """All tilings of a group, whether or not they fit."""
    return {Choice.of(one): one for one in fitting_tilings(replace(group, taken=0), UNLIMITED)}


@dataclass(frozen=True)
class Shares:
    """The genes of what stays and what is shared, of a chain in which so many neighbours may share tiles."""

    program: Program

    @cached_property
    def tensors(self) -> tuple[int, ...]:
        """What can stay, by the layers that make it."""
        return tuple(self.program.tensors)

    @cached_property
    def links(self) -> tuple[int, ...]:
        """What can be handed on in shared tiles, by the layers that make it."""
        return tuple(start for start, end in self.program.groups if end == start + 1)

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        """Where each tensor is, and then what says how tiles are shared."""
        kinds = {"rows": "ordinal", "columns": "ordinal"}
        return tuple(
            Gene(f"{kind}.{self._name(place)}", size, kinds.get(kind, "categorical"), "chain")  # type: ignore[arg-type]
            for (kind, place), size in self._sizes.items()
        )

    @cached_property
    def place(self) -> dict[tuple[str, int], int]:
        """Where in a vector a gene is, by its kind and its layer."""
        return {key: at for at, key in enumerate(self._sizes)}

    @cached_property
    def _sizes(self) -> dict[tuple[str, int], int]:
        found = {("stays", one): 3 if one in self.links else 2 for one in self.tensors}
        for one in self.links:
            found["rows", one] = len(ascending_divisors(self._rows(one)))
            found["columns", one] = (
                1 if self._whole_rows(one) else len(ascending_divisors(self._columns(one)))
            )
            found["outside", one] = 2 if min(found["rows", one], found["columns", one]) > 1 else 1
        held = {(f"held.{WEIGHT}", at) for one in self.links for at in (one, one + 1)}
        for one in self.links:
            if found["columns", one] > 1:
                held |= {(f"held.{INPUT}", one), (f"held.{OUTPUT}", one + 1)}
        found |= dict.fromkeys(sorted(held, key=lambda one: (one[1], one[0])), 2)
        return {key: size for key, size in found.items() if size > 1}

    def _name(self, place: int) -> str:
        return self.program.chain.layers[place].name

    def _rows(self, place: int) -> int:
        return size_of(self.program.chain.layers[place])[0]

    def _columns(self, place: int) -> int:
        return size_of(self.program.chain.layers[place])[1]

    def _whole_rows(self, place: int) -> bool:
        return self.group((place, place + 1), frozenset()).whole_rows[0]

    def group(self, step: Step, staying: frozenset[int]) -> Group:
        """The group of a step."""
        return self.program.group(*step, staying)

    def plan(self, genes: IntArray) -> Plan:
        """What one vector (genes,) stands for."""
        value = {key: int(genes[at]) for key, at in self.place.items()}
        where = {one: value.get(("stays", one), 0) for one in self.tensors}
        steps = list(self._steps(where))
        staying = {one for one in self.tensors if where[one]}
        # What a group hands on is in no layer's room but its own.
        staying -= {one for start, end in steps for one in range(start, end)}
        choices: dict[Step, Choice] = {}
        for step in [one for one in steps if one[0] < one[1]]:
            rows, columns = self._split(step, value)
            if rows == max(columns) == 1:
                # Nothing is split: what is handed on is whole.
                staying |= set(range(*step))
                at = steps.index(step)
                steps[at : at + 1] = [(one, one) for one in range(step[0], step[1] + 1)]
            else:
                choices[step] = Choice(rows, columns, False, frozenset())
        kept = frozenset(staying)
        chosen = {step: self._held(step, kept, one, value) for step, one in choices.items()}
        return Plan(kept, tuple(steps), chosen)

    def _steps(self, where: Mapping[int, int]) -> Iterator[Step]:
        """Layers, and groups of those that hand on in shared tiles, as far as they may."""
        place, last = 0, len(self.program.chain.layers)
        while place < last:
            end = place
            while where.get(end) == SHARED and (place, end + 1) in self.program.groups:
                end += 1
            yield place, end
            place = end + 1

    def _split(self, step: Step, value: Mapping[tuple[str, int], int]) -> tuple[int, tuple[int, ...]]:
        """In how many parts a group's rows are, and the columns of each tensor."""
        rows = ascending_divisors(self._rows(step[0]))[value.get(("rows", step[0]), 0)]
        columns = [1]
        for one in range(*step):
            free = columns[-1] == 1
            columns.append(
                ascending_divisors(self._columns(one))[value.get(("columns", one), 0)] if free else 1
            )
        return rows, tuple(columns[1:])

    def _held(
        self, step: Step, staying: frozenset[int], choice: Choice, value: Mapping[tuple[str, int], int]
    ) -> Choice:
        """The choice with its columns outside or inside, and what is held."""
        (start, end), group = step, self.group(step, staying)
        split, across = choice.rows > 1, choice.columns
        outside = end == start + 1 and split and across[0] > 1 and bool(value.get(("outside", start), 0))
        may = {(WEIGHT, start + at) for at in range(len(across) + 1) if split and at not in group.weights}
        may |= {(INPUT, start)} if across[0] > 1 and not group.reads else set()
        may |= {(OUTPUT, end)} if across[-1] > 1 and not group.makes else set()
        held = frozenset(
            f"{tensor} of {self._name(at)}" for tensor, at in may if value.get((f"held.{tensor}", at), 0)
        )
        return replace(choice, outside=outside, held=held)

    def vector(self, plan: Plan) -> IntArray:
        """The smallest vector of a plan."""
        found = np.zeros(len(self.place), dtype=np.int64)

        def put(kind: str, place: int, value: int) -> None:
            if (kind, place) in self.place:
                found[self.place[kind, place]] = value

        for one in plan.staying:
            put("stays", one, WHOLE)
        for (start, end), choice in plan.choices.items():
            put("rows", start, ascending_divisors(self._rows(start)).index(choice.rows))
            put("outside", start, choice.outside)
            for one, count in zip(range(start, end), choice.columns, strict=True):
                put("stays", one, SHARED)
                put("columns", one, ascending_divisors(self._columns(one)).index(count))
            for tensor in (WEIGHT, INPUT, OUTPUT):
                for at in range(start, end + 1):
                    put(f"held.{tensor}", at, f"{tensor} of {self._name(at)}" in choice.held)
        return found

    def neighbours(self, genes: IntArray) -> Iterator[IntArray]:
        """Vectors one move away: a gene takes the next value or another, or a tensor is handed on in any
        parts of its rows or its columns alone.
        """
        for (kind, place), at in self.place.items():
            size = self._sizes[kind, place]
            near = (genes[at] - 1, genes[at] + 1) if kind in ("rows", "columns") else range(size)
            for value in near:
                if 0 <= value < size and value != genes[at]:
                    yield self._with(genes, {(kind, place): int(value)})
            if size == 3 and genes[at] != SHARED:
                for split in ("rows", "columns"):
                    for value in range(1, self._sizes.get((split, place), 1)):
                        yield self._with(genes, {(kind, place): SHARED, (split, place): value})

    def _with(self, genes: IntArray, values: Mapping[tuple[str, int], int]) -> IntArray:
        found = genes.copy()
        for key, value in values.items():
            found[self.place[key]] = value
        return found

    def tiling(self, step: Step, plan: Plan) -> tuple[Group, Tiling]:
        """The group of a step, and its tiling as it is where nothing takes room besides."""
        group = self.group(step, plan.staying)
        return group, choices_of(replace(group, taken=0))[plan.choices[step]]


def plain_shares(plan: Plan, program: Program) -> list[dict[str, Any]]:
    """How groups share tiles, as plain data."""
    names = [layer.name for layer in program.chain.layers]
    return [
        {
            "layers": names[start : end + 1],
            "rows": one.rows,
            "columns": list(one.columns),
            "columns_outside": one.outside,
            "held": sorted(one.held),
        }
        for (start, end), one in plan.choices.items()
    ]
