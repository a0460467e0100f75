"""What a fit of a machine's figures goes by: measured cycles, and what the machine has counted of its time.

Each is an equation a sample. Cycles are the cost model's, times one factor. A counter that follows a part of
the model's cycles (waiting for DRAM, filling) is that part, times a factor of its own; one of words follows
words, which no bandwidth changes, so that it tells a fit nothing. The machine is the one under which all are
likeliest, where the errors of each kind are normal, of a deviation that is not known either: cycles in log,
counters as parts of the sample's cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dse.core.cost_models import cost_model
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.energies import LEAST, Measured
from dse.support.arrays import FloatArray, IntArray

LEAST_ERROR = 0.01
"""No equation counts as if it were nearer to the truth than this, relative: none stands for all others."""
COMPUTE, BEYOND = "compute", "cycles beyond compute"
TINY = 1e-300


@dataclass(frozen=True)
class Timed:
    """A counter of time: under m machines the part `term` of the model's cycles, `said` what was counted.

    Both are parts of the sample's measured cycles: (m, n) and (n,), NaN where nothing was counted.
    """

    counter: str
    term: str
    predicted: FloatArray
    said: FloatArray

    def squares(self, places: IntArray) -> tuple[FloatArray, int]:
        """The mean squares (m,) of errors at some samples, of the best factors; and how many have counted."""
        known = places[np.isfinite(self.said[places])]
        if not len(known):
            return np.zeros(len(self.predicted)), 0
        return mean_squares(self.predicted[:, known], self.said[known]), len(known)

    def times(self, machine: int) -> float:
        """How many times the part the counter is, under one of the machines."""
        known = np.isfinite(self.said)
        return _factor(self.predicted[machine, known], self.said[known])

    def error(self, machine: int) -> float:
        """By how much the median sample is off, as a part of its cycles."""
        known = np.isfinite(self.said)
        made = self.times(machine) * self.predicted[machine, known]
        return float(np.median(np.abs(made - self.said[known])))


@dataclass(frozen=True)
class Equations:
    """The `errors` of m machines at n samples, (m, n): measured over predicted cycles, in log."""

    errors: FloatArray
    counters: tuple[Timed, ...] = field(default=())

    def fit(self, places: IntArray | None = None) -> int:
        """The machine of the least errors at some samples, by default at all."""
        places = np.arange(self.errors.shape[1]) if places is None else places
        variances = self.errors[:, places].var(axis=1)
        if not self.counters:
            return int(np.argmin(variances))
        unlikely = len(places) * np.log(np.maximum(variances, LEAST_ERROR**2))
        for each in self.counters:
            squares, count = each.squares(places)
            unlikely += count * np.log(np.maximum(squares, LEAST_ERROR**2))
        # Of those that are as likely, the one that cycles alone would have.
        likeliest = np.flatnonzero(unlikely <= unlikely.min() + 1e-9)
        return int(likeliest[np.argmin(variances[likeliest])])


def mean_squares(predicted: FloatArray, said: FloatArray) -> FloatArray:
    """What is left of n numbers as a factor of at least 0 times those predicted (m, n): mean squares (m,)."""
    together, own = predicted @ said, np.square(predicted).sum(axis=1)
    explained = np.square(np.maximum(together, 0)) / np.maximum(own, TINY)
    found: FloatArray = np.maximum(np.square(said).sum() - explained, 0) / len(said)
    return found


def _factor(predicted: FloatArray, said: FloatArray) -> float:
    own = float(np.square(predicted).sum())
    return max(float(predicted @ said), 0.0) / own if own else 0.0


def timed_counters(
    machines: Iterable[Accelerator],
    cycles: FloatArray,
    samples: Sequence[Measured],
    name: str,
    constant: dict[str, FloatArray],
) -> tuple[Timed, ...]:
    """The counters that follow a part of the cycles, which machines change, by their names.

    `cycles` are what each machine makes of each sample (m, n); `constant` are terms by name, (n,) each, that
    no figure changes: what follows one of these better is no counter of time, but of words, steps or fills.
    """
    counted = _counted(samples)
    if not counted:
        return ()
    measured = np.concatenate([each.cycles for each in samples])
    parts = _parts(list(machines), cycles, samples, name)
    found = []
    for counter, said in counted.items():
        known = np.isfinite(said) & np.isfinite(cycles).all(axis=0)
        if (known & (said > 0)).sum() < LEAST:
            continue
        said = said / measured
        left = {
            term: float(mean_squares(part[:, known] / measured[known], said[known]).min())
            for term, part in parts.items()
        }
        others = [
            float(mean_squares((term[known] / measured[known])[np.newaxis], said[known])[0])
            for term in constant.values()
        ]
        best = min(left, key=lambda each: left[each])
        if left[best] < min(others, default=np.inf):
            found.append(Timed(counter, best, parts[best] / measured, np.where(known, said, np.nan)))
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
    found = {"cycles": cycles}
    for term in each[0][0] if each else ():
        whole = np.concatenate([[counts[term] for counts in one] for one in each], axis=1)
        if np.ptp(whole, axis=0).any():
            found[term] = whole.astype(np.float64)
        elif term == COMPUTE:
            found[BEYOND] = cycles - whole
    return found
