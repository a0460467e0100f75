"""How mappings onto levels are judged: the words that they hold, against those that their machine has.

Of the levels with a capacity, the outermost first, arrays have a row for each mapping, or one for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dse.core.cost_model import Detail
from dse.core.evaluation import BufferUse, Line, buffer_line
from dse.core.evaluations import Criteria
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.limits import AT_LEAST, AT_MOST, PE_USE, USE, Limit
from dse.core.objective import parse_objectives
from dse.core.reasons import Reason
from dse.domains.levels.cost_model import LevelsCostModel
from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.batch import Limits
from dse.domains.levels.space.open_space import OpenSpace
from dse.domains.levels.space.opened import SIZE
from dse.support.arrays import BoolArray, CodeArray, IntArray
from dse.support.errors import InputError

FIGURES = ("latency", "energy")
"""What there is to minimise: no model of hierarchies says anything of area or power."""


def refuse_objectives(objective: str, model: str) -> None:
    """InputError for an objective of other figures than the model's."""
    for one in parse_objectives(objective):
        lacking = [figure for figure in one.figures if figure not in FIGURES]
        if lacking:
            raise InputError(
                f"objective {one.name!r} has no figures under cost model {model!r}, which says nothing of "
                f"{lacking[0]}; expected {' or '.join(FIGURES)}, or a product of their powers such as 'edp'"
            )


def find_misfits(
    reasons: CodeArray, words: IntArray, wide: IntArray, limits: Limits, use: LevelsUse
) -> CodeArray:
    """The reasons (n,), and where there is none yet, why what levels hold and spread over does not fit."""
    found = reasons.copy()
    found[(found == 0) & (words > limits.words).any(axis=1)] = Reason.LEVEL_TOO_SMALL
    found[(found == 0) & (wide < limits.least).any(axis=1)] = Reason.TOO_NARROW
    if use.limits:
        found[(found == 0) & use.broken(words, wide, limits)] = Reason.BEYOND_LIMIT
    return found


def criteria_of(objective: str, hertz: float, capacities: IntArray, *, each: bool = False) -> Criteria:
    """The criteria of `capacities` (n, levels); its buffers are the largest of the inner ones, the outermost.

    They are those of `each` of n points, or of all, whose capacities are in the one row.
    """
    if capacities.shape[1] > 1:
        capacities = np.stack([capacities[:, 1:].max(axis=1), capacities[:, 0]], axis=1)
    found = capacities if each else capacities[0].copy()
    found.setflags(write=False)
    return Criteria(objective, hertz, found)


def needs_of(held: IntArray, capacities: IntArray) -> tuple[IntArray, IntArray]:
    """`l1_size` and `l2_size` of the words (n, levels) that the levels hold.

    The second is those of the outermost level; the first those of the fullest of the others, in words of the
    largest of them.
    """
    nothing = np.zeros(len(held), dtype=np.int64)
    if held.shape[1] < 2:
        return (held[:, 0] if held.shape[1] else nothing), nothing
    words, inner = held[:, 1:], capacities[:, 1:]
    largest = np.maximum(inner.max(axis=1, keepdims=True), 1)
    # In floats: words times a capacity may be more than 64 bits. Exact where it is near the limit.
    scaled = np.ceil(words.astype(np.float64) * largest / np.maximum(inner, 1))
    exact = np.where(words <= np.maximum(inner, 1), np.minimum(scaled, largest), scaled)
    return exact.max(axis=1).astype(np.int64), held[:, 0]


class PriceEach:
    """Prices rows that each bring hardware, machine by machine; what a level holds changes no price."""

    def __init__(self, model: LevelsCostModel, layer: Layer, space: OpenSpace) -> None:
        self._model, self._layer, self._space = model, layer, space
        kinds = [figure for _, figure, _ in space.parts.choices]
        self._moving = [place for place, figure in enumerate(kinds) if figure != SIZE]
        self._ready: dict[bytes, Callable[[RowArray], CostBatch]] = {}

    def __call__(self, rows: RowArray, choices: IntArray | None) -> CostBatch:
        """The costs of rows (n, columns) on the hardware of their choices (n, figures), or the nearest."""
        if choices is None:
            choices = np.repeat(self._space.nearest, len(rows), axis=0)
        costs = CostBatch.zeros(len(rows))
        different, first, which = np.unique(
            choices[:, self._moving], axis=0, return_index=True, return_inverse=True
        )
        for number, key in enumerate(different):
            places = np.flatnonzero(which.reshape(-1) == number)
            found = self._price(key.tobytes(), choices[first[number]])(rows[places])
            for name, column in costs.columns().items():
                column[places] = getattr(found, name)
        return costs

    def _price(self, key: bytes, choices: IntArray) -> Callable[[RowArray], CostBatch]:
        if key not in self._ready:
            machine = self._space.machine_of(choices).unlimited
            self._ready[key] = self._model.prepared(self._layer, machine)
        return self._ready[key]


@dataclass(frozen=True)
class LevelsBreakdown:
    """What the levels with a capacity hold, in words or bits, and where the cycles go.

    `ideal_cycles` are the layer's MACs on all MACs of the machine, `busy_pes` the share of these that works,
    `bound` is compute or a level's name.
    """

    levels: dict[str, BufferUse]
    ideal_cycles: int
    utilisation: float
    busy_pes: float
    bound: str
    unit: str = "words"

    @classmethod
    def of(cls, machine: Machine, macs: int, detail: Detail, share: float, used: int) -> LevelsBreakdown:
        """That of a mapping of so many MACs, with a `share` of all at work, `used` of them at once."""
        capacities = {level.name: level.room for level in machine.levels}
        return cls(
            levels={
                name: BufferUse.of(sum(tiles.values()), capacity)
                for name, tiles in detail.buffers.items()
                if (capacity := capacities[name]) is not None
            },
            ideal_cycles=-(-macs // machine.macs),
            utilisation=share,
            busy_pes=used / machine.macs,
            bound=detail.bound,
            unit=machine.unit,
        )

    @property
    def held(self) -> dict[str, BufferUse]:
        """The levels by name."""
        return self.levels

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of it, as a table shows it."""
        ideal = f"{self.ideal_cycles:,} cycles on all MACs at once"
        return (
            *(buffer_line(name, use, self.unit) for name, use in self.levels.items()),
            Line("utilisation", f"{self.utilisation:.1%}", ideal),
            Line("busy PEs", f"{self.busy_pes:.1%}", "of the MACs, in every step"),
        )


def figures_of(machine: Machine) -> dict[str, str]:
    """The figures of a machine that can be limited, with the sign of each."""
    levels = (level.name for level in machine.levels if level.capacity is not None)
    return {**{name + USE: AT_MOST for name in levels}, PE_USE: AT_LEAST}


@dataclass(frozen=True)
class LevelsUse:
    """What limits of a user's own leave of a machine.

    `LEVEL_use`, as in `GlobalBuffer_use`, is what a level with a capacity has to hold over that capacity.
    `pe_use` is the product of all spatial factors over the machine's MACs: the share that works in every
    step. `dse evaluate` prints both.
    """

    limits: Mapping[str, Limit]
    machine: Machine

    @cached_property
    def _of_levels(self) -> dict[int, Limit]:
        return {
            place: self.limits[level.name + USE]
            for place, level in enumerate(self.machine.levels)
            if level.name + USE in self.limits.keys() - {PE_USE}
        }

    @cached_property
    def rooms(self) -> tuple[int | None, ...]:
        """What mappings may use of each level, in its unit; None without end. Costs are those of it whole."""
        rooms = [level.room for level in self.machine.levels]
        for place, limit in self._of_levels.items():
            rooms[place] = limit.of(rooms[place] or 0)
        return tuple(rooms)

    @property
    def least_macs(self) -> int:
        """How many MACs have to work."""
        return self._least_of(self.machine.macs)

    def broken(self, words: IntArray, wide: IntArray, limits: Limits) -> BoolArray:
        """Which mappings break a limit, of what levels hold and spread over (n, levels).

        `limits` has what there is of both, in a row for each or for all.
        """
        found = np.zeros(len(words), dtype=bool)
        for place, limit in self._of_levels.items():
            sizes, which = np.unique(limits.words[:, place], return_inverse=True)
            rooms = np.array([limit.of(size) for size in sizes.tolist()], dtype=np.int64)
            found |= words[:, place] > rooms[which]
        if PE_USE in self.limits:
            macs, which = np.unique(limits.widest.prod(axis=1), return_inverse=True)
            least = np.array([self._least_of(count) for count in macs.tolist()], dtype=np.int64)
            found |= wide.prod(axis=1) < least[which]
        return found

    def of(self, problem: Any, mapping: Any) -> dict[str, float]:
        """The shares of the limited figures of a mapping."""
        words, wide = (one[0].tolist() for one in problem.space.measure(problem.rows_of([mapping])))
        found = {
            limit.figure: words[place] / (self.machine.levels[place].room or 1)
            for place, limit in self._of_levels.items()
        }
        if PE_USE in self.limits:
            found[PE_USE] = math.prod(wide) / self.machine.macs
        return found

    def why(self, words: list[int], wide: list[int]) -> str:
        """Which limit a mapping breaks, with its figure; nothing if it breaks none."""
        levels, unit = self.machine.levels, self.machine.unit
        for place, limit in self._of_levels.items():
            level, size, room = levels[place], levels[place].room or 0, self.rooms[place] or 0
            if words[place] > room:
                use = words[place] / size if size else np.inf
                return (
                    f"{level.name}{USE} is {use:.6g}, and the limit is {limit}: {level.name} needs "
                    f"{words[place]} of {size} {unit}, of which {room} may be used"
                )
        used, least = int(np.prod(wide, dtype=np.int64)), self.least_macs
        if PE_USE in self.limits and used < least:
            return (
                f"{PE_USE} is {used / self.machine.macs:.6g}, and the limit is {self.limits[PE_USE]}: {used} "
                f"of {self.machine.macs} MACs work, and at least {least} have to"
            )
        return ""

    def _least_of(self, macs: int) -> int:
        limit = self.limits.get(PE_USE)
        return 0 if limit is None else -int(-Fraction(limit.share) * macs // 1)
