"""A machine's figures fitted to what was measured on it: bandwidths, latency, and how long a cycle is.

Many machines around the one that was said (`machines_tried.py`) price all samples, of any number of layers.
The one with the least squares of relative errors (in log) is taken, and its clock makes up for what is left
on average. Of its own counters those of time are equations, too (`equations.py`).
An interval of 95 % is that of all machines that fit nearly as well, all other figures fitted anew (a profile
likelihood), and of fits to samples drawn anew (bootstrap). Of one whole number it goes to its neighbours, as
nothing between was tried. A figure that the samples do not show stays as it was said, and the others are
fitted with that. The error is that of samples left out of a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.core.calibration import order_in_words, reason_of_no_use
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.counted import Counted, fixed_terms, follow_counters
from dse.domains.clustered.energies import (
    AT_EDGE,
    DRAWS,
    ENDS_AT_EDGE,
    FOLDS,
    NOT_SHOWN,
    NOT_SHOWN_ALONE,
    SEED,
    Constant,
    Energies,
    Measured,
    fit_energies,
    is_less,
    layer_numbers,
    rank_in_layers,
    rank_or_none,
)
from dse.domains.clustered.equations import Equations, Timed, timed_counters
from dse.domains.clustered.machines_tried import FITTED, LEAST_FIGURES, MachinesTried, folds_of, with_figures
from dse.domains.clustered.planning import plan_samples as plan_samples
from dse.domains.clustered.refused import Answers as Answers
from dse.domains.clustered.refused import refused_in_words as refused_in_words
from dse.support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Calibration:
    """A machine that was fitted, with each constant; errors are relative ones, of the median sample.

    `error_before` and `rank_before` are of the machine that was said, its cycles scaled; those after are of
    samples left out of the fit, a fifth at a time. Ranks are correlations (Spearman) within a layer, on
    average by samples. `predicted` (n,) are what such fits make of the samples, `measured` what they are.
    `layers` are what samples came as, each layer once, `best` the least measured cycles of each.
    `left_out` counts samples that are not fitted, by the reason; `refused` says of those that a judge refused
    what they have in common.
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
    best: dict[str, float]
    left_out: dict[str, int]
    refused: str = ""
    energies: Energies | None = None
    counters: tuple[Counted, ...] = ()

    @property
    def reason(self) -> str:
        """Why the fit is of no use; nothing if it is."""
        return reason_of_no_use(is_less(self.error_before, self.error_after), self.rank_after, self.samples)

    @property
    def useful(self) -> bool:
        """Whether the fit foretells samples that it has not seen better than what was said does."""
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """All but the samples, as plain data."""
        return {
            "machine": self.machine.to_dict(),
            "cost_model": self.cost_model,
            "samples": self.samples,
            "layers": list(self.layers),
            "constants": {name: vars(constant) for name, constant in self.constants.items()},
            "error": {"before": self.error_before, "after": self.error_after},
            "rank": {"before": rank_or_none(self.rank_before), "after": rank_or_none(self.rank_after)},
            "orders_poorly": bool(order_in_words(self.rank_after)),
            "best": self.best,
            "left_out": self.left_out,
            **({"refused": self.refused} if self.refused else {}),
            "useful": self.useful,
            **({} if self.energies is None else {"energies": self.energies.to_dict()}),
            **({"counters": [each.to_dict() for each in self.counters]} if self.counters else {}),
        }


def calibrate_machine(machine: Accelerator, samples: Sequence[Measured], model: str) -> Calibration:
    """The machine's figures that make a cost model say what was measured. InputError for too few samples."""
    tried = MachinesTried(machine, samples, model)
    logs, measured = tried.logs, tried.measured
    layers = layer_numbers(samples)[tried.usable]
    errors = measured - logs
    every = Equations(errors, _timed(machine, tried, samples, model))
    ends = _intervals(tried, every)
    # With the figures that the samples do not show as they were said: of samples left out, too.
    kept = _as_said(machine, tried, every, ends)
    equations = every.among(kept)
    place = equations.fit()
    chosen, predicted = int(np.flatnonzero(kept)[place]), _left_out(equations, logs[kept])
    factor = float(errors[chosen].mean())
    before = logs[0] + errors[0].mean()
    return Calibration(
        machine=with_figures(machine, tried.figures[chosen], float(np.exp(factor))),
        cost_model=model,
        constants=_constants(machine, tried, factor, chosen, ends),
        samples=len(measured),
        layers=tuple(_names(samples).values()),
        error_before=_error(before, measured),
        error_after=_error(predicted, measured),
        rank_before=rank_in_layers(before, measured, layers),
        rank_after=rank_in_layers(predicted, measured, layers),
        predicted=np.exp(predicted),
        before=np.exp(before),
        measured=np.exp(measured),
        best=_best(samples),
        left_out=tried.left_out,
        energies=fit_energies(machine, samples, model),
        counters=follow_counters(machine, samples, model, equations.counters, (place, float(np.exp(factor)))),
    )


def _best(samples: Sequence[Measured]) -> dict[str, float]:
    """The least cycles that were measured of each layer."""
    names, best = _names(samples), dict[str, float]()
    for each in samples:
        if len(each.cycles):
            name = names[each.layer]
            best[name] = min(best.get(name, np.inf), float(each.cycles.min()))
    return best


def _names(samples: Sequence[Measured]) -> dict[Layer, str]:
    """What each layer's samples came as first: a folder and a file may call it by two names."""
    names: dict[Layer, str] = {}
    for each in samples:
        names.setdefault(each.layer, each.name)
    return names


def _timed(
    machine: Accelerator, tried: MachinesTried, samples: Sequence[Measured], name: str
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


def _intervals(tried: MachinesTried, equations: Equations) -> FloatArray:
    """The ends (2, figures) of each of FITTED, and of the log of the factor of all cycles."""
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
    return np.stack([low, high])


def _not_shown(tried: MachinesTried, ends: FloatArray) -> list[int]:
    """The places of FITTED whose intervals are all that was tried."""
    return [
        place
        for place, axis in enumerate(tried.axes)
        if ends[0, place] <= axis[0] and ends[1, place] >= axis[-1]
    ]


def _as_said(machine: Accelerator, tried: MachinesTried, equations: Equations, ends: FloatArray) -> BoolArray:
    """The machines (m,) that have what samples do not show as it was said; as much of it as they allow."""
    kept = np.ones(len(tried.figures), np.bool_)
    likely, _ = equations.likely()
    for place in _not_shown(tried, ends):
        as_said = tried.figures[:, place] == getattr(machine, FITTED[place])
        if (kept & as_said & likely).any():
            kept &= as_said
    return kept


def _constants(
    machine: Accelerator, tried: MachinesTried, factor: float, chosen: int, ends: FloatArray
) -> dict[str, Constant]:
    found, not_shown = {}, _not_shown(tried, ends)
    for place, name in enumerate(FITTED):
        said, fitted = float(getattr(machine, name)), float(tried.figures[chosen, place])
        low, high = ends[:, place].tolist()
        axis, least = tried.axes[place], LEAST_FIGURES[place]
        if place in not_shown:
            remark = NOT_SHOWN if fitted == said else NOT_SHOWN_ALONE
        else:
            remark = _remark(fitted, (low, high), axis, least)
        if low == high:
            low, high = max(low - 1, least), high + 1
        found[name] = Constant(said, fitted, low, high, remark)
    clocks = machine.clock_ghz / np.exp([factor, ends[1, -1], ends[0, -1]])
    return found | {"clock_ghz": Constant(machine.clock_ghz, *clocks.tolist())}


def _remark(fitted: float, ends: tuple[float, float], axis: list[int], least: int) -> str:
    """What is to be said of a figure whose value, or whose interval's end, is the last that was tried."""
    edges = [each for each in (axis[0], axis[-1]) if each != least]
    if fitted in edges:
        return AT_EDGE
    return ENDS_AT_EDGE if set(ends) & set(edges) else ""


def _error(predicted: FloatArray, measured: FloatArray) -> float:
    return float(np.expm1(np.median(np.abs(predicted - measured))))
