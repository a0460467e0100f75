"""A machine's figures fitted to what was measured on it: bandwidths, latency, and how long a cycle is.

Many machines around the one that was said (`machines_tried.py`) price all samples, of any number of layers.
The one with the least squares of relative errors (in log) is taken, and its clock makes up for what is left
on average. Of its own counters those of time are equations, too (`equations.py`).
An interval of 95 % is that of all machines that fit nearly as well, all other figures fitted anew (a profile
likelihood), and of fits to samples drawn anew (bootstrap). The error is that of samples left out of a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.counted import Counted, fixed_terms, follow_counters
from dse.domains.clustered.energies import (
    AT_EDGE,
    DRAWS,
    ENDS_AT_EDGE,
    FOLDS,
    NOT_SHOWN,
    SEED,
    Constant,
    Energies,
    Measured,
    fit_energies,
    is_useful,
)
from dse.domains.clustered.equations import Equations, Timed, timed_counters
from dse.domains.clustered.machines_tried import (
    FITTED,
    LEAST_FIGURES,
    MachinesTried,
    folds_of,
    with_figures,
)
from dse.domains.clustered.planning import plan as plan
from dse.support.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Calibration:
    """A machine that was fitted, with each constant; errors are relative ones, of the median sample.

    `error_before` and `rank_before` are of the machine that was said, its cycles scaled; those after are of
    samples left out of the fit, a fifth at a time. Ranks are correlations (Spearman) within a layer, on
    average by samples. `predicted` (n,) are what such fits make of the samples, `measured` what they are.
    """

    machine: Accelerator
    cost_model: str
    constants: dict[str, Constant]
    samples: int
    layers: tuple[str, ...]
    error_before: float
    error_after: float
    rank_before: float
    rank_after: float
    predicted: FloatArray
    before: FloatArray
    measured: FloatArray
    energies: Energies | None = None
    counters: tuple[Counted, ...] = ()

    @property
    def useful(self) -> bool:
        """Whether the fit foretells samples that it has not seen better than what was said does."""
        return is_useful(self.error_before, self.error_after) and not self.rank_after <= 0

    def to_dict(self) -> dict[str, Any]:
        """All but the samples, as plain data."""
        return {
            "machine": self.machine.to_dict(),
            "cost_model": self.cost_model,
            "samples": self.samples,
            "layers": list(self.layers),
            "constants": {name: vars(constant) for name, constant in self.constants.items()},
            "error": {"before": self.error_before, "after": self.error_after},
            "rank": {"before": self.rank_before, "after": self.rank_after},
            "useful": self.useful,
            **({} if self.energies is None else {"energies": self.energies.to_dict()}),
            **({"counters": [each.to_dict() for each in self.counters]} if self.counters else {}),
        }


def calibrate(machine: Accelerator, samples: Sequence[Measured], model: str) -> Calibration:
    """The machine's figures that make a cost model say what was measured. InputError for too few samples."""
    tried = MachinesTried(machine, samples, model)
    logs, measured = tried.logs, tried.measured
    layers = np.repeat(np.arange(len(samples)), [len(each.cycles) for each in samples])[tried.usable]
    errors = measured - logs
    equations = Equations(errors, _timed(machine, tried, samples, model))
    chosen = equations.fit()
    predicted = _left_out(equations, logs)
    before = logs[0] + errors[0].mean()
    return Calibration(
        machine=with_figures(machine, tried.figures[chosen], float(np.exp(errors[chosen].mean()))),
        cost_model=model,
        constants=_constants(machine, tried, equations, chosen),
        samples=len(measured),
        layers=tuple(each.name for each in samples),
        error_before=_error(before, measured),
        error_after=_error(predicted, measured),
        rank_before=_rank(before, measured, layers),
        rank_after=_rank(predicted, measured, layers),
        predicted=np.exp(predicted),
        before=np.exp(before),
        measured=np.exp(measured),
        energies=fit_energies(machine, samples, model),
        counters=follow_counters(
            machine, samples, model, equations.counters, (chosen, float(np.exp(errors[chosen].mean())))
        ),
    )


def _timed(
    machine: Accelerator,
    tried: MachinesTried,
    samples: Sequence[Measured],
    name: str,
) -> tuple[Timed, ...]:
    """The counters of time, of the samples that the model prices."""
    if not any(each.counters for each in samples):
        return ()
    starts = np.cumsum([len(each.cycles) for each in samples])[:-1]
    kept = [each.at(good) for each, good in zip(samples, np.split(tried.usable, starts), strict=True)]
    kept = [each for each in kept if len(each.cycles)]
    machines = (with_figures(machine, figures) for figures in tried.figures)
    fixed = fixed_terms(machine, kept, name)
    return timed_counters(machines, np.exp(tried.logs), tried.measured - tried.logs, kept, name, fixed)


def _left_out(equations: Equations, logs: FloatArray) -> FloatArray:
    """What fits to the other samples make of each: (n,)."""
    errors = equations.errors
    folds = folds_of(errors.shape[1])
    found = np.empty(errors.shape[1])
    for fold in range(FOLDS):
        others = np.flatnonzero(folds != fold)
        chosen = equations.fit(others)
        found[folds == fold] = logs[chosen, folds == fold] + errors[chosen, others].mean()
    return found


def _constants(
    machine: Accelerator, tried: MachinesTried, equations: Equations, chosen: int
) -> dict[str, Constant]:
    errors = equations.errors
    rng, count = np.random.default_rng(SEED), errors.shape[1]
    draws: IntArray = rng.integers(count, size=(DRAWS, count))
    drawn = [
        [*tried.figures[place], errors[place, sample].mean()]
        for place, sample in zip(equations.fits(draws), draws, strict=True)
    ]
    low, high = np.quantile(np.array(drawn, np.float64), (0.025, 0.975), axis=0)
    likely, spread = equations.likely()
    figures = tried.figures[likely]
    factors = errors[likely].mean(axis=1)
    low = np.minimum([*np.floor(low[:-1]), low[-1]], [*figures.min(axis=0), (factors - spread).min()])
    high = np.maximum([*np.ceil(high[:-1]), high[-1]], [*figures.max(axis=0), (factors + spread).max()])
    found = {}
    for place, name in enumerate(FITTED):
        fitted, ends = float(tried.figures[chosen, place]), (float(low[place]), float(high[place]))
        remark = _remark(fitted, ends, tried.axes[place], LEAST_FIGURES[place])
        found[name] = Constant(float(getattr(machine, name)), fitted, *ends, remark)
    clocks = machine.clock_ghz / np.exp([errors[chosen].mean(), high[-1], low[-1]])
    return found | {"clock_ghz": Constant(machine.clock_ghz, *clocks.tolist())}


def _remark(fitted: float, ends: tuple[float, float], axis: list[int], least: int) -> str:
    """What is to be said of a figure whose value, or whose interval's end, is the last that was tried."""
    low, high = ends
    if low <= axis[0] and high >= axis[-1]:
        return NOT_SHOWN
    edges = [each for each in (axis[0], axis[-1]) if each != least]
    if fitted in edges:
        return AT_EDGE
    return ENDS_AT_EDGE if low in edges or high in edges else ""


def _error(predicted: FloatArray, measured: FloatArray) -> float:
    return float(np.expm1(np.median(np.abs(predicted - measured))))


def _rank(predicted: FloatArray, measured: FloatArray, layers: IntArray) -> float:
    """Spearman's correlation within each layer, averaged by its samples; NaN where nothing differs."""
    from scipy.stats import spearmanr

    found, weights = [], []
    for layer in np.unique(layers):
        here = layers == layer
        if here.sum() > 2 and np.ptp(measured[here]) > 0 and np.ptp(predicted[here]) > 0:
            found.append(float(spearmanr(predicted[here], measured[here]).statistic))
            weights.append(int(here.sum()))
    return float(np.average(found, weights=weights)) if found else float("nan")
