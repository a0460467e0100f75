"""A machine's figures fitted to what was measured on it: bandwidths, latency, and how long a cycle is.

All machines of a grid around the one that was said price all samples, of any number of layers. The one with
the least squares of relative errors (in log) is taken, and its clock makes up for what is left on average. Of
its own counters those of time are equations, too (`equations.py`).
Intervals are those of fits to samples drawn anew (bootstrap), the error is that of samples left out of a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from dse.core.cost_models import cost_model
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.counted import Counted, fixed_terms, follow_counters
from dse.domains.clustered.energies import (
    DRAWS,
    FOLDS,
    LEAST,
    SEED,
    Constant,
    Energies,
    Measured,
    fit_energies,
)
from dse.domains.clustered.equations import Equations, Timed, timed_counters
from dse.domains.clustered.planning import plan as plan
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

LINKS = ("noc_bandwidth", "offchip_bandwidth")
FITTED = (*LINKS, "noc_latency")
"""Lanes are not: twice as many, bandwidths twice as wide and a clock half as fast are the same machine."""
FACTORS = tuple(2 ** (step / 2) for step in range(-8, 9))
"""By which a bandwidth may be another one."""
LATENCIES = (0, 1, 4, 16, 64)
PRICED = 200_000
"""Mappings that are priced at once."""


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
            **({} if self.energies is None else {"energies": self.energies.to_dict()}),
            **({"counters": [each.to_dict() for each in self.counters]} if self.counters else {}),
        }


def calibrate(machine: Accelerator, samples: Sequence[Measured], model: str) -> Calibration:
    """The machine's figures that make a cost model say what was measured. InputError for too few samples."""
    grid = _grid(machine)
    logs = np.log(_prices(machine, grid, samples, model))
    cycles = np.concatenate([each.cycles for each in samples])
    usable: BoolArray = np.asarray(np.isfinite(logs).all(axis=0))
    if usable.sum() < LEAST:
        raise InputError(
            f"to calibrate takes {LEAST} samples that cost model {model!r} prices, got {int(usable.sum())}"
        )
    layers = np.repeat(np.arange(len(samples)), [len(each.cycles) for each in samples])[usable]
    logs, measured = logs[:, usable], np.log(cycles[usable])
    errors = measured - logs
    equations = Equations(errors, _timed(machine, grid, samples, model, usable, logs, errors))
    chosen = equations.fit()
    own = int(np.flatnonzero((grid == _figures(machine)).all(axis=1))[0])
    predicted = _left_out(equations, logs)
    before = logs[own] + errors[own].mean()
    return Calibration(
        machine=_made(machine, grid[chosen], float(np.exp(errors[chosen].mean()))),
        cost_model=model,
        constants=_constants(machine, grid, equations, chosen),
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


def _figures(machine: Accelerator) -> IntArray:
    return np.array([getattr(machine, name) for name in FITTED], np.int64)


def _grid(machine: Accelerator) -> IntArray:
    """The figures FITTED of the machines that are tried: (m, figures)."""
    links = [sorted({max(round(getattr(machine, name) * factor), 1) for factor in FACTORS}) for name in LINKS]
    latencies = sorted({*LATENCIES, machine.noc_latency})
    return np.array(list(product(*links, latencies)), np.int64)


def _made(machine: Accelerator, figures: IntArray, factor: float = 1.0) -> Accelerator:
    """The machine with other figures, whose cycles are so many times as long."""
    changed: dict[str, Any] = dict(zip(FITTED, figures.tolist(), strict=True))
    return replace(machine, clock_ghz=machine.clock_ghz / factor, **changed)


def _prices(machine: Accelerator, grid: IntArray, samples: Sequence[Measured], name: str) -> FloatArray:
    """What each machine of the grid makes of each sample: cycles (m, n), inf where the model has none."""
    model = cost_model(name)
    if not isinstance(model, CostModel):
        raise InputError(f"cost model {name!r} prices no mappings of two levels")
    machines = np.array([_made(machine, figures).machine_row for figures in grid], np.int64)
    found = np.empty((len(grid), sum(len(each.cycles) for each in samples)))
    start = 0
    for each in samples:
        price = model.prepared(each.layer if model.prices_strides else each.layer.lowered(), machine)
        rows, count = each.mappings.rows, len(each.cycles)
        step = max(PRICED // count, 1)
        for first in range(0, len(grid), step):
            some = machines[first : first + step]
            costs = price(np.tile(rows, (len(some), 1)), np.repeat(some, count, axis=0))
            cycles = np.where(costs.valid, costs.cycles, np.inf)
            found[first : first + step, start : start + count] = cycles.reshape(len(some), count)
        start += count
    return found


def _timed(
    machine: Accelerator,
    grid: IntArray,
    samples: Sequence[Measured],
    name: str,
    usable: BoolArray,
    logs: FloatArray,
    errors: FloatArray,
) -> tuple[Timed, ...]:
    """The counters of time, of the samples that the model prices."""
    if not any(each.counters for each in samples):
        return ()
    starts = np.cumsum([len(each.cycles) for each in samples])[:-1]
    kept = [each.at(good) for each, good in zip(samples, np.split(usable, starts), strict=True)]
    kept = [each for each in kept if len(each.cycles)]
    machines = (_made(machine, figures) for figures in grid)
    fixed = fixed_terms(machine, kept, name)
    return timed_counters(machines, np.exp(logs), errors, kept, name, fixed)


def _left_out(equations: Equations, logs: FloatArray) -> FloatArray:
    """What fits to the other samples make of each: (n,)."""
    errors = equations.errors
    folds = np.random.default_rng(SEED).permutation(errors.shape[1]) % FOLDS
    found = np.empty(errors.shape[1])
    for fold in range(FOLDS):
        others = np.flatnonzero(folds != fold)
        chosen = equations.fit(others)
        found[folds == fold] = logs[chosen, folds == fold] + errors[chosen, others].mean()
    return found


def _constants(
    machine: Accelerator, grid: IntArray, equations: Equations, chosen: int
) -> dict[str, Constant]:
    errors = equations.errors
    rng, count = np.random.default_rng(SEED), errors.shape[1]
    drawn = []
    for _ in range(DRAWS):
        sample: IntArray = np.asarray(rng.integers(count, size=count))
        place = equations.fit(sample)
        drawn.append([*grid[place], machine.clock_ghz / np.exp(errors[place, sample].mean())])
    low, high = np.quantile(np.array(drawn, np.float64), (0.025, 0.975), axis=0)
    said = [*_figures(machine), machine.clock_ghz]
    fitted = [*grid[chosen], machine.clock_ghz / np.exp(errors[chosen].mean())]
    return {
        name: Constant(*map(float, (said[place], fitted[place], low[place], high[place])))
        for place, name in enumerate((*FITTED, "clock_ghz"))
    }


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
