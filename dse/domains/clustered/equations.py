"""What a fit of a machine's figures goes by: measured cycles, and what the machine has counted of its time.

Each is an equation a sample. Cycles are the cost model's, times one factor, which is the clock's. A counter
that follows a part of the model's cycles (waiting for DRAM, filling) is that part, times nearly the same
factor; one of words follows words, which no bandwidth changes, so that it tells a fit nothing. Cycles come
first: of the machines that they leave possible the one is taken under which the counters are likeliest, where
errors are normal, of a deviation that is not known either: of cycles in log, of counters as parts of the
sample's cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dse.core.cost_models import cost_model
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.energies import LEAST, POSSIBLE, ROUNDING, Measured, most_possible, possible
from dse.support.arrays import BoolArray, FloatArray, IntArray

LEAST_ERROR = 0.01
"""No equation counts as if it were nearer to the truth than this, relative: none stands for all others."""
NEAR = 2.0
"""How many times as large as the clock says, or as small, a counter of time may be."""
EXPLAINED = 0.25
"""The most that a part may leave of a counter, of its square, for the counter to be one of that time."""
FOLLOWS = 0.5
"""The greatest error, relative, of the median sample with which a counter follows anything."""
COMPUTE, BEYOND = "compute", "cycles beyond compute"
TINY = 1e-300
CLOSE = 1e-9
"""Errors that differ by no more than this, in log or relative, are the same."""


@dataclass(frozen=True)
class Timed:
    """A counter of time: under m machines the part `term` of the model's cycles, `said` what was counted.

    Both are parts of the sample's measured cycles: (m, n) and (n,), NaN where nothing was counted.
    """

    counter: str
    term: str
    predicted: FloatArray
    said: FloatArray

    def squares(self, places: IntArray, clocks: FloatArray) -> tuple[FloatArray, int]:
        """The mean squares (m,) of errors at some samples, of factors near the clocks' (m,); of how many."""
        known = places[np.isfinite(self.said[places])]
        if not len(known):
            return np.zeros(len(self.predicted)), 0
        return mean_squares(self.predicted[:, known], self.said[known], clocks)[0], len(known)

    def nearest(self, likely: BoolArray, clocks: FloatArray) -> float:
        """How far off the median sample is under the machine that leaves least, as a part of the median."""
        known, places = np.isfinite(self.said), np.flatnonzero(likely)
        squares = mean_squares(self.predicted[places][:, known], self.said[known], clocks[places])[0]
        best = int(places[np.argmin(squares)])
        counted = self.said[known]
        return self.fitted(best, float(clocks[best]))[1] / float(np.median(counted[counted > 0]))

    def fitted(self, machine: int, clock: float) -> tuple[float, float]:
        """Under a machine, how many times the part the counter is; how far off the median sample is of it.

        The latter is a part of the sample's cycles.
        """
        known = np.isfinite(self.said)
        part, said = self.predicted[machine, known], self.said[known]
        times = float(mean_squares(part[np.newaxis], said, np.array([clock]))[1][0])
        return times, float(np.median(np.abs(times * part - said)))


@dataclass(frozen=True)
class Equations:
    """The `errors` of m machines at n samples, (m, n): measured over predicted cycles, in log."""

    errors: FloatArray
    counters: tuple[Timed, ...] = field(default=())

    def among(self, machines: BoolArray) -> Equations:
        """The same of some machines (m,) alone."""
        counters = tuple(replace(each, predicted=each.predicted[machines]) for each in self.counters)
        return Equations(self.errors[machines], counters)

    def fit(self, places: IntArray | None = None) -> int:
        """The machine of the least errors at some samples, by default at all."""
        places = np.arange(self.errors.shape[1]) if places is None else places
        variances = self.errors[:, places].var(axis=1)
        if not self.counters:
            return int(_first_of_least(variances))
        unlikely = self._unlikely(places, variances)
        # Of those that are as likely, the one that cycles alone would have.
        likeliest = np.flatnonzero(unlikely <= unlikely.min() + 1e-9)
        return int(likeliest[_first_of_least(variances[likeliest])])

    def fits(self, draws: IntArray) -> list[int]:
        """The machine of the least errors for each of many draws of samples, (draws, n)."""
        if self.counters:
            return [self.fit(places) for places in draws]
        count = self.errors.shape[1]
        shares = np.stack([np.bincount(places, minlength=count) for places in draws], axis=1) / draws.shape[1]
        # Around each machine's mean, so that squares of what is nearly exact lose no digits.
        around = self.errors - self.errors.mean(axis=1, keepdims=True)
        variances = np.square(around) @ shares - np.square(around @ shares)
        return [int(place) for place in _first_of_least(variances)]

    def likely(self) -> tuple[BoolArray, FloatArray]:
        """Which machines (m,) all samples leave possible; of these how far the clock may be off, in log."""
        count, every = self.errors.shape[1], np.arange(self.errors.shape[1])
        variances = self.errors.var(axis=1)
        found = possible(variances, count)
        if self.counters:
            unlikely = self._unlikely(every, variances)
            found = found & (unlikely <= unlikely.min() + POSSIBLE)
        most = most_possible(variances.min(), count)
        return found, np.sqrt(np.maximum(most - np.maximum(variances[found], ROUNDING**2), 0))

    def _unlikely(self, places: IntArray, variances: FloatArray) -> FloatArray:
        """Twice how unlikely counters are under each machine (m,), in log; inf where cycles rule it out."""
        found = np.where(possible(variances, len(places)), 0.0, np.inf)
        clocks = np.exp(self.errors[:, places].mean(axis=1))
        for each in self.counters:
            squares, count = each.squares(places, clocks)
            found += count * np.log(np.maximum(squares, LEAST_ERROR**2))
        return found


def _first_of_least(variances: FloatArray) -> IntArray:
    """The place of the first that is the least along the first axis, but for what sums of floats leave."""
    least = variances.min(axis=0)
    found: IntArray = np.argmax(variances <= least * (1 + CLOSE) + CLOSE**2, axis=0)
    return found


def mean_squares(
    predicted: FloatArray, said: FloatArray, clocks: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """What factors of at least 0, times what is predicted (m, n), leave of n numbers: mean squares, factors.

    Where clocks (m,) are given, factors are no more than NEAR times as large, or as small.
    """
    together, own = predicted @ said, np.square(predicted).sum(axis=1)
    factors: FloatArray = np.maximum(together, 0) / np.maximum(own, TINY)
    if clocks is not None:
        factors = np.clip(factors, clocks / NEAR, clocks * NEAR)
    left = np.square(said).sum() - 2 * factors * together + np.square(factors) * own
    return np.maximum(left, 0) / len(said), factors


def timed_counters(
    machines: Iterable[Accelerator],
    cycles: FloatArray,
    errors: FloatArray,
    samples: Sequence[Measured],
    name: str,
    constant: dict[str, FloatArray],
) -> tuple[Timed, ...]:
    """The counters that follow a part of the cycles, which machines change, by their names.

    `cycles` are what each machine makes of each sample, `errors` as of Equations: (m, n) both. `constant` are
    terms by name, (n,) each, that no figure changes: what follows one of these better is no counter of time,
    but of words, steps or fills. Models without counts have no parts.
    """
    counted = _counted(samples)
    if not counted:
        return ()
    measured = np.concatenate([each.cycles for each in samples])
    parts = _parts(list(machines), cycles, samples, name)
    likely, clocks = possible(errors.var(axis=1), errors.shape[1]), np.exp(errors.mean(axis=1))
    if not parts:
        return ()
    found = []
    for counter, said in counted.items():
        known = np.isfinite(said) & np.isfinite(cycles).all(axis=0)
        if (known & (said > 0)).sum() < LEAST:
            continue
        said = said / measured
        left = {
            term: float(mean_squares(part[:, known] / measured[known], said[known], clocks)[0][likely].min())
            for term, part in parts.items()
        }
        others = [
            float(mean_squares((term[known] / measured[known])[np.newaxis], said[known])[0][0])
            for term in constant.values()
        ]
        best, most = min(left, key=lambda each: left[each]), EXPLAINED * np.square(said[known]).mean()
        each = Timed(counter, best, parts[best] / measured, np.where(known, said, np.nan))
        if left[best] < min(most, *others) and each.nearest(likely, clocks) <= FOLLOWS:
            found.append(each)
    return tuple(found)


def _counted(samples: Sequence[Measured]) -> dict[str, FloatArray]:
    """Counters by name: (n,) of all samples, NaN where it was not counted."""
    names = sorted({name for each in samples for name in each.counters})
    return {
        name: np.concatenate([each.counters.get(name, np.full(len(each.cycles), np.nan)) for each in samples])
        for name in names
    }


def _parts(
    machines: list[Accelerator], cycles: FloatArray, samples: Sequence[Measured], name: str
) -> dict[str, FloatArray]:
    """The parts of the cycles that figures change, by name: (m, n) each."""
    model = cost_model(name)
    assert isinstance(model, CostModel)
    each: list[list[dict[str, IntArray]]] = []
    for sample in samples:
        layer = sample.layer if model.prices_strides else sample.layer.lowered()
        each.append([model.counts(layer, machine, sample.mappings) for machine in machines])
    found: dict[str, FloatArray] = {}
    for term in each[0][0] if each else ():
        whole = np.concatenate([[counts[term] for counts in one] for one in each], axis=1)
        if np.ptp(whole, axis=0).any():
            found[term] = whole.astype(np.float64)
        elif term == COMPUTE:
            found[BEYOND] = cycles - whole
    return found
