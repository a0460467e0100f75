"""What was measured of mappings, and energies of a cost model fitted to it: of a MAC, of an access.

An energy is a sum of counts, each times a constant of the model (those named in pJ). They are found by least
squares of relative errors, none below 0. An interval of 95 % has all values with which the other constants,
fitted anew, leave hardly more (a profile likelihood), and those of fits to samples drawn anew (bootstrap).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dse.core.calibration import reason_of_no_use
from dse.core.cost_models import cost_model, model_with
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

POSSIBLE = 3.84
"""Twice the logarithm of how much less likely a fit may be: chi squared, of 95 %."""
ROUNDING = 1e-3
"""What is as near as this, relative, tells no two fits apart: models and machines round."""
LEAST = 8
"""Samples that a fit takes."""
FOLDS, DRAWS, SEED = 5, 200, 0
NOT_SHOWN = "the samples do not show it"
NOT_SHOWN_ALONE = "the samples show it only together with other figures"
AT_EDGE, ENDS_AT_EDGE = "at the edge of what is tried", "the interval ends at the edge of what is tried"
"""What is remarked of a figure."""
SMALL = 0.01
"""An error of a fit that is of use whatever the error was before."""
UNIT = "_pj"
PULL = 1e-6
"""How strongly constants are drawn to what was said: enough for those that no sample tells."""
TINY = 1e-6
"""Of what was said, the least that a constant may be: models take none of 0."""
HALVINGS, MOST_TIMES = 30, 2.0**20
"""With which the end of an interval is found; the most that a constant may be of what was said."""


@dataclass(frozen=True)
class Measured:
    """Mappings of one layer with what was measured of each: cycles above 0, energies in nJ or NaN.

    `counters` are what the machine has counted itself, by name: (n,) each, NaN where it has not.
    """

    name: str
    layer: Layer
    mappings: MappingBatch
    cycles: FloatArray
    energies: FloatArray
    counters: dict[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        layer: Layer,
        designs: Sequence[Mapping] | MappingBatch,
        cycles: Any,
        energies: Any = None,
        counters: Sequence[dict[str, float]] = (),
    ) -> Measured:
        """Of mappings in a list, or as a space decodes them; counters by mapping."""
        mappings = designs if isinstance(designs, MappingBatch) else MappingBatch.of(list(designs))
        cycles = np.asarray(cycles, np.float64)
        unknown = np.full(len(cycles), np.nan)
        counted = {
            counter: np.array([each.get(counter, np.nan) for each in counters], np.float64)
            for counter in sorted({counter for each in counters for counter in each})
        }
        energies = unknown if energies is None else np.asarray(energies)
        return cls(name, layer, mappings, cycles, energies, counted)

    def at(self, places: BoolArray) -> Measured:
        """Some of the mappings, with what was measured of them."""
        return Measured(
            self.name,
            self.layer,
            MappingBatch(self.mappings.rows[places]),
            self.cycles[places],
            self.energies[places],
            {name: column[places] for name, column in self.counters.items()},
        )


@dataclass(frozen=True)
class Constant:
    """A figure: as said, as fitted, and its interval of 95 %; perhaps a remark on what they are worth."""

    said: float
    fitted: float
    low: float
    high: float
    remark: str = ""


@dataclass(frozen=True)
class Energies:
    """Constants by name; errors are relative ones, of the median sample: as said, and of samples left out.

    `rank_after` is the correlation (Spearman) of samples left out, within a layer; NaN where none differ.
    """

    constants: dict[str, Constant]
    samples: int
    error_before: float
    error_after: float
    rank_after: float

    @property
    def reason(self) -> str:
        """Why the fit is of no use; nothing if it is."""
        return reason_of_no_use(is_less(self.error_before, self.error_after), self.rank_after, self.samples)

    @property
    def useful(self) -> bool:
        """Whether the fit foretells samples that it has not seen better than what was said does."""
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"rank_after": rank_or_none(self.rank_after), "useful": self.useful}


def rank_or_none(rank: float) -> float | None:
    """A rank correlation as JSON has it: None where it is not known."""
    return rank if np.isfinite(rank) else None


def is_less(before: float, after: float) -> bool:
    """Whether an error after a fit is less than before, or so small that there is nothing to gain."""
    return after < before or after <= SMALL


def rank_in_layers(predicted: FloatArray, measured: FloatArray, layers: IntArray) -> float:
    """Spearman's correlation within each layer, averaged by its samples; NaN where nothing differs."""
    from scipy.stats import spearmanr

    found, weights = [], []
    for layer in np.unique(layers):
        here = layers == layer
        if here.sum() > 2 and np.ptp(measured[here]) > 0 and np.ptp(predicted[here]) > 0:
            found.append(float(spearmanr(predicted[here], measured[here]).statistic))
            weights.append(int(here.sum()))
    return float(np.average(found, weights=weights)) if found else float("nan")


def layer_numbers(samples: Sequence[Measured]) -> IntArray:
    """The number of the layer of each sample: (n,), equal for equal layers."""
    numbers = {layer: number for number, layer in enumerate({each.layer: None for each in samples})}
    found: IntArray = np.repeat(
        [numbers[each.layer] for each in samples], [len(each.cycles) for each in samples]
    )
    return found


def fit_energies(machine: Accelerator, samples: Sequence[Measured], name: str) -> Energies | None:
    """The energies of a model that its samples tell; None where none was measured, or where it has none."""
    energies = np.concatenate([each.energies for each in samples])
    known, said = energies > 0, _constants(name)
    if not (known.any() and said):
        return None
    parts = _parts(machine, samples, name, said)
    known &= np.isfinite(parts).all(axis=1)
    energies, layers = energies[known], layer_numbers(samples)[known]
    parts = parts[known] / energies[:, np.newaxis]
    count = len(parts)
    if count < LEAST:
        raise InputError(f"to calibrate energies takes {LEAST} samples that {name!r} prices, got {count}")
    rng = np.random.default_rng(SEED)
    held, folds = _as_said(parts), rng.permutation(count) % FOLDS
    factors = _fit(parts, held)
    left_out = np.empty(count)
    for fold in range(FOLDS):
        left_out[folds == fold] = parts[folds == fold] @ _fit(parts[folds != fold], held)
    drawn = np.array([_fit(parts[rng.integers(count, size=count)]) for _ in range(DRAWS)])
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    constants = {}
    for place, (key, value) in enumerate(said.items()):
        ends, factor = _profile(parts, place), float(factors[place])
        # What was held, and what was fitted beside it, may lie outside of where all fitted freely would be.
        least = min(ends[0], float(low[place]), factor)
        most = max(ends[1], float(high[place]), factor)
        remark = NOT_SHOWN if held[place] else _remark(factor, least)
        constants[key] = Constant(value, value * factor, value * least, value * most, remark)
    rank = rank_in_layers(left_out * energies, energies, layers)
    return Energies(constants, count, _error(parts.sum(axis=1)), _error(left_out), rank)


def _remark(factor: float, low: float) -> str:
    """What is to be said of a constant that is so many times what was said, and of its interval."""
    if factor > TINY:
        return ENDS_AT_EDGE if low <= TINY else ""
    return f"{AT_EDGE}: they leave nothing for it"


def _as_said(parts: FloatArray) -> BoolArray:
    """Which constants (t,) stay as they were said: those that the samples (n, t) leave all that is tried.

    Also such as a fit would make nothing of, where as they were said is as possible.
    """
    count, width = parts.shape
    factors, held = _fit(parts), np.square(parts * _usual(parts)).sum(axis=0) <= PULL * count
    most = most_possible(_left(parts, factors), count)
    for place in np.flatnonzero(~held & (factors <= TINY)):
        also = held | (np.arange(width) == place)
        if _left(parts, _fit(parts, also)) <= most:
            held = also
    found: BoolArray = held
    return found


def _profile(parts: FloatArray, place: int) -> tuple[float, float]:
    """The least and the greatest factor of a constant that leaves samples (n, t) likely enough."""
    factors, others = _fit(parts), np.arange(parts.shape[1]) == place
    best, most = float(factors[place]), most_possible(_left(parts, factors), len(parts))

    def is_possible(factor: float) -> bool:
        scaled = parts * np.where(others, factor, 1.0)
        return _left(scaled, _fit(scaled, others)) <= most

    ends = []
    for inside, outside in ((best, TINY), (best, MOST_TIMES)):
        if is_possible(outside):
            ends.append(outside)
            continue
        for _ in range(HALVINGS):
            # Halfway in log: an end may be thousands of times as far.
            middle = float(np.sqrt(inside * outside))
            inside, outside = (middle, outside) if is_possible(middle) else (inside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def _left(parts: FloatArray, factors: FloatArray) -> float:
    """The mean square of the relative errors that factors (t,) leave."""
    return float(np.square(parts @ factors - 1).mean())


def _constants(name: str) -> dict[str, float]:
    """The model's constants in pJ."""
    settings = getattr(cost_model(name), "constants", None)
    return (
        {} if settings is None else {key: each for key, each in vars(settings).items() if key.endswith(UNIT)}
    )


def _parts(
    machine: Accelerator, samples: Sequence[Measured], name: str, said: dict[str, float]
) -> FloatArray:
    """What each constant makes of the model's energies, in nJ: (n, constants); NaN where it has none."""
    own = _priced(machine, samples, name)
    kind = name.partition("(")[0]
    settings: dict[str, Any] = dict(vars(cost_model(name).constants))  # type: ignore[attr-defined]
    columns = []
    for key, value in said.items():
        model = model_with(kind, settings | {key: 2 * value}).spec
        columns.append(_priced(machine, samples, model) - own)
    return np.stack(columns, axis=1)


def _priced(machine: Accelerator, samples: Sequence[Measured], name: str) -> FloatArray:
    model, found = cost_model(name), []
    assert isinstance(model, CostModel)
    for each in samples:
        layer = each.layer if model.prices_strides else each.layer.lowered()
        costs = model.prepared(layer, machine)(each.mappings.rows)
        found.append(np.where(costs.valid, costs.energy_nj, np.nan))
    return np.concatenate(found)


def _fit(parts: FloatArray, held: BoolArray | None = None) -> FloatArray:
    """By what the constants are to be multiplied, for sums of parts (n, t) of what was measured to be 1.

    Those that are held (t,) by 1.
    """
    from scipy.optimize import nnls

    count, width = parts.shape
    free = np.ones(width, np.bool_) if held is None else ~held
    # Relative to what the model makes of samples: they may be a hundred times that.
    usual = _usual(parts)
    pull = np.sqrt(PULL * count) / usual
    rows = np.concatenate([parts[:, free], pull * np.eye(int(free.sum()))])
    rest = 1 - parts[:, ~free].sum(axis=1)
    factors = np.ones(width)
    if free.any():
        found, _ = nnls(rows, np.concatenate([rest, np.full(int(free.sum()), pull * usual)]))
        factors[free] = np.maximum(found, TINY)
    return factors


def _usual(parts: FloatArray) -> float:
    """How many times the sum of parts (n, t) what was measured is."""
    return float(1 / np.median(parts.sum(axis=1)))


def _error(ratios: FloatArray) -> float:
    return float(np.expm1(np.median(np.abs(np.log(ratios)))))


def most_possible(least: float, count: int) -> float:
    """The greatest mean square of so many errors that is possible, where the best fit has the least."""
    return float(max(least, ROUNDING**2) * np.exp(POSSIBLE / count))


def possible(variances: FloatArray, count: int) -> BoolArray:
    """Which fits are possible, by the mean squares (m,) of so many errors."""
    squares = np.maximum(variances, ROUNDING**2)
    ratios = np.log(squares) - np.log(squares.min())
    found: BoolArray = count * ratios <= POSSIBLE
    return found
