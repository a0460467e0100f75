"""The machines that a fit tries: a grid around the one that was said, and whole numbers next to the best.

The clock makes up for what a machine's cycles leave on average, so that it is fitted anew for each. From
several of the grid's best, steps of all figures at once go on until none fits better. Then the range of each
figure is followed to its ends: at each value all other figures are fitted anew (a profile likelihood).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from dse.core.cost_models import cost_model
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import MACHINE_FIGURES, Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.energies import FOLDS, LEAST, SEED, Measured, possible
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

LINKS = ("noc_bandwidth", "offchip_bandwidth")
FITTED = (*LINKS, "noc_latency")
"""Lanes are not: twice as many, bandwidths twice as wide and a clock half as fast are the same machine."""
FACTORS = tuple(2 ** (step / 2) for step in range(-8, 9))
"""By which a bandwidth may be another one."""
LATENCIES = (0, 1, 4, 16, 64)
LEAST_FIGURES = (1, 1, 0)
"""The least that each of FITTED can be at all."""
STARTS, FOLD_STARTS, MOVES = 8, 2, 30
"""Machines of the grid from which steps go on, by all samples and without a fold; the most steps."""
STEPS = 8
"""Beside steps of one, the part of a figure that is one step."""
NOT_ON_ALL = "not priced on each machine that is tried"
PRICED = 200_000
"""Mappings that are priced at once."""

Machine = tuple[int, ...]
"""The figures FITTED of a machine."""


def with_figures(machine: Accelerator, figures: Iterable[int], factor: float = 1.0) -> Accelerator:
    """The machine with other figures FITTED, whose cycles are so many times as long."""
    changed: dict[str, Any] = dict(zip(FITTED, map(int, figures), strict=True))
    return replace(machine, clock_ghz=machine.clock_ghz / factor, **changed)


def folds_of(count: int) -> IntArray:
    """The part of the samples that each is left out with: (n,), below FOLDS."""
    found: IntArray = np.random.default_rng(SEED).permutation(count) % FOLDS
    return found


class MachinesTried:
    """Machines around one, with what a cost model makes of samples on each. InputError for too few samples.

    `usable` (n,) are the samples that the model prices; `figures` (m, 3) and `logs`, the log of cycles
    (m, usable samples), begin with the machine that was said and go on by how near they are to it. `axes` are
    the values of each figure that the grid has: none beyond them is tried.
    """

    def __init__(self, machine: Accelerator, samples: Sequence[Measured], name: str) -> None:
        self._machine, self._samples = machine, samples
        self._prices = _prepared(machine, samples, name)
        self.axes = _axes(machine)
        # Its figures are checked once; those of all others are no larger.
        largest = with_figures(machine, [axis[-1] for axis in self.axes])
        self._largest: IntArray = np.array([largest.machine_row], np.int64)
        self._known: dict[Machine, FloatArray] = {}
        self._left: dict[Machine, float] = {}
        grid = list(product(*self.axes))
        priced = self._priced(grid)
        self.usable: BoolArray = np.asarray(np.isfinite(priced).all(axis=0))
        self.left_out = self._why_left_out()
        if (count := int(self.usable.sum())) < LEAST:
            why = "; ".join(f"{many} not, {reason}" for reason, many in self.left_out.items())
            raise InputError(
                f"to calibrate takes {LEAST} samples that cost model {name!r} prices, got {count}"
                + (f" ({why})" if why else "")
            )
        cycles = np.concatenate([each.cycles for each in samples])
        self.measured: FloatArray = np.log(cycles[self.usable])
        self._keep(grid, priced)
        self._search(grid)
        self._follow_ranges()
        said = np.array([getattr(machine, each) for each in FITTED])
        priced_all = {each: logs for each, logs in self._known.items() if np.isfinite(logs).all()}
        tried = np.array(list(priced_all), np.int64)
        apart = np.abs(np.log1p(tried) - np.log1p(said)).sum(axis=1)
        order = np.argsort(apart, kind="stable")
        self.figures: IntArray = tried[order]
        self.logs: FloatArray = np.stack(list(priced_all.values()))[order]

    def _why_left_out(self) -> dict[str, int]:
        """How many samples are not usable, by the reason that the model has on the machine as it was said."""
        if self.usable.all():
            return {}
        reasons = [
            price(each.mappings.rows).reason for each, price in zip(self._samples, self._prices, strict=True)
        ]
        found = Counter(int(code) for code in np.concatenate(reasons)[~self.usable])
        return {Reason(code).text if code else NOT_ON_ALL: count for code, count in sorted(found.items())}

    def _search(self, grid: list[Machine]) -> None:
        """Step from the grid's best machines: by all samples, and by those that each fold leaves."""
        folds = folds_of(len(self.measured))
        searches = [(np.arange(len(folds)), STARTS)]
        searches += [(np.flatnonzero(folds != each), FOLD_STARTS) for each in range(FOLDS)]
        for places, starts in searches:
            variances = self._variances(grid, places)
            for place in np.argsort(variances, kind="stable")[:starts]:
                self._descend(grid[place], places)

    def _descend(self, start: Machine, places: IntArray, held: int | None = None) -> None:
        """Step to the neighbour that fits best while one fits better; one figure may be held."""
        least = np.inf
        for _ in range(MOVES):
            near = list(
                product(*([start[each]] if each == held else self._near(start, each) for each in range(3)))
            )
            self._try(near)
            variances = self._variances(near, places)
            best = int(np.argmin(variances))
            if not variances[best] < least:
                return
            start, least = near[best], float(variances[best])

    def _near(self, start: Machine, place: int) -> list[int]:
        value, axis = start[place], self.axes[place]
        step = max(value // STEPS, 2)
        near = {min(max(value + each, axis[0]), axis[-1]) for each in (-step, -1, 0, 1, step)}
        return sorted(near)

    def _follow_ranges(self) -> None:
        """Find the least and the greatest value of each figure with which a machine is possible."""
        for place, axis in enumerate(self.axes):
            for values in (axis[::-1], axis):
                self._follow_range(place, values)

    def _follow_range(self, place: int, values: list[int]) -> None:
        """Follow the values of a figure, in their order, from the first that is possible to the last."""
        ends = [each[place] for each, good in zip(self._known, self._possible(), strict=True) if good]
        ahead = values[-1] >= values[0]
        last = max(ends) if ahead else min(ends)
        for value in values:
            if (value > last) != ahead or value == last:
                continue
            if self._is_possible(place, value, last):
                last = value
                continue
            beyond = value
            while abs(beyond - last) > 1:
                middle = (beyond + last) // 2
                if self._is_possible(place, middle, last):
                    last = middle
                else:
                    beyond = middle
            return

    def _is_possible(self, place: int, value: int, last: int) -> bool:
        """Whether a machine with this value is possible, the other figures fitted anew."""
        every, machines = np.arange(len(self.measured)), list(self._known)
        variances = np.array(list(self._left.values()))
        starts = set()
        for other in (value, last):
            column = np.where([each[place] == other for each in machines], variances, np.inf)
            if np.isfinite(column.min()):
                best = machines[int(np.argmin(column))]
                starts.add((*best[:place], value, *best[place + 1 :]))
        for start in sorted(starts):
            self._descend(start, every, held=place)
        found = self._possible()
        return any(good and each[place] == value for each, good in zip(self._known, found, strict=True))

    def _possible(self) -> BoolArray:
        return possible(np.array(list(self._left.values())), len(self.measured))

    def _variances(self, machines: list[Machine], places: IntArray) -> FloatArray:
        logs = np.stack([self._known[each] for each in machines])[:, places]
        with np.errstate(invalid="ignore"):
            variances = (self.measured[places] - logs).var(axis=1)
        found: FloatArray = np.where(np.isfinite(variances), variances, np.inf)
        return found

    def _try(self, machines: list[Machine]) -> None:
        new = [each for each in machines if each not in self._known]
        if new:
            self._keep(new, self._priced(new))

    def _keep(self, machines: list[Machine], priced: FloatArray) -> None:
        self._known.update(zip(machines, priced[:, self.usable], strict=True))
        variances = self._variances(machines, np.arange(len(self.measured)))
        self._left.update(zip(machines, variances.tolist(), strict=True))

    def _priced(self, machines: list[Machine]) -> FloatArray:
        """The log of what each machine makes of each sample: (m, n), inf where the model has no cycles."""
        figures = np.repeat(self._largest, len(machines), axis=0)
        figures[:, [MACHINE_FIGURES.index(name) for name in FITTED]] = machines
        found = np.empty((len(machines), sum(len(each.cycles) for each in self._samples)))
        start = 0
        for each, price in zip(self._samples, self._prices, strict=True):
            rows, count = each.mappings.rows, len(each.cycles)
            step = max(PRICED // max(count, 1), 1)
            for first in range(0, len(figures), step):
                some = figures[first : first + step]
                costs = price(np.tile(rows, (len(some), 1)), np.repeat(some, count, axis=0))
                cycles = np.where(costs.valid, costs.cycles, np.inf)
                found[first : first + step, start : start + count] = cycles.reshape(len(some), count)
            start += count
        logs: FloatArray = np.log(found)
        return logs


def _axes(machine: Accelerator) -> list[list[int]]:
    """The values of each of FITTED that the grid has."""
    links = [sorted({max(round(getattr(machine, name) * factor), 1) for factor in FACTORS}) for name in LINKS]
    return [*links, sorted({*LATENCIES, machine.noc_latency})]


def _prepared(machine: Accelerator, samples: Sequence[Measured], name: str) -> list[Any]:
    model = cost_model(name)
    if not isinstance(model, CostModel):
        raise InputError(f"cost model {name!r} prices no mappings of two levels")
    return [
        model.prepared(each.layer if model.prices_strides else each.layer.lowered(), machine)
        for each in samples
    ]
