"""What a finished cell comes to: its improvement steps and its ledger, small enough to keep for ever."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from dse.campaign.config import NamedCell
from dse.core.evaluations import Evaluations
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.search.abilities import abilities_of
from dse.search.fronts import entering_rows, nondominated_rows
from dse.search.record import Record, count_distinct
from dse.search.run import RunTimes
from dse.support.arrays import FloatArray, IntArray

STEPS = ("index", "loss", "cycles", "energy_nj", "l1_size", "l2_size")
"""What is kept of each improvement: the sample that made it (from 0), and its figures."""

STEP_TYPES = {name: "d" if name in ("loss", "energy_nj") else "q" for name in STEPS}
"""Of each of STEPS, whether it is a whole number, as `array` calls them."""

ON_DISK = {"mean_losses": "returns"}
"""What files call fields of a Summary whose names have changed since the first were written."""


@dataclass(frozen=True)
class Summary:
    """One cell's result. `steps` holds, for each of STEPS, the figures of each sample that beat all before.

    `clock_ghz` is 0 where points have clocks of their own, as genes say them.
    `genes` is the best point (empty where nothing feasible was found), `infeasible` counts samples by reason,
    `mean_losses` are those of the feasible samples in each of up to 100 equal parts of the run, `inf` where
    there is none. Of several objectives, latency and energy, `steps` are the samples that moved the front,
    with 0 for a loss; `genes` are those of the whole front, one point after another, the fastest first, and
    `mean_losses` are none.
    """

    key: str
    fingerprint: str
    layer: str
    network: str
    repeats: int
    accelerator: str
    clock_ghz: float
    objective: str
    searcher: str
    type: str
    seed: int
    budget: int
    samples: int
    distinct: int
    infeasible: dict[str, int]
    elsewhere: int
    searcher_seconds: float
    model_seconds: float
    genes: list[int]
    mean_losses: Sequence[float]
    steps: dict[str, Sequence[float]] = field(repr=False)

    def __post_init__(self) -> None:
        # Packed, a summary takes a third of the memory: there may be a hundred thousand.
        for item in fields(self):
            if isinstance(value := getattr(self, item.name), str):
                object.__setattr__(self, item.name, sys.intern(value))
        steps = {name: _packed(STEP_TYPES.get(name, "d"), values) for name, values in self.steps.items()}
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "mean_losses", array("d", self.mean_losses))

    @classmethod
    def renamed(cls, row: Mapping[str, Any]) -> dict[str, Any]:
        """What `to_dict` gave, by the names of the fields."""
        ours = {stored: name for name, stored in ON_DISK.items()}
        return {ours.get(name, name): value for name, value in row.items()}

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data, by the names that it has on disk."""
        whole = {ON_DISK.get(item.name, item.name): getattr(self, item.name) for item in fields(self)}
        steps = {name: list(values) for name, values in self.steps.items()}
        return whole | {ON_DISK["mean_losses"]: list(self.mean_losses), "steps": steps}

    @property
    def best(self) -> float:
        """The lowest loss, `inf` where nothing feasible was found."""
        return self.at(self.samples)["loss"]

    def at(self, samples: int) -> dict[str, float]:
        """The best point after that many samples: its STEPS, or infinities where there was none yet."""
        count = int(np.searchsorted(self.steps["index"], samples, side="left"))
        if not count:
            return dict.fromkeys(STEPS, np.inf)
        return {name: self.steps[name][count - 1] for name in STEPS}


def _packed(kind: str, values: Sequence[float]) -> Sequence[float]:
    try:
        return array(kind, values)
    except TypeError:
        return array("d", values)


def summarise_cell(named: NamedCell, record: Record, times: RunTimes) -> Summary:
    """The summary of a cell from its whole record."""
    cell, problem = named.cell, named.problem
    return Summary(
        key=named.key,
        fingerprint=cell.fingerprint,
        layer=problem.layer,
        network=problem.network,
        repeats=cell.problem.layer.repeats,
        accelerator=problem.accelerator,
        clock_ghz=_clock_ghz(cell.problem, record),
        objective=problem.objective,
        searcher=named.variant.name,
        type=named.variant.type,
        seed=cell.seed,
        budget=cell.budget,
        distinct=count_distinct(cell.problem.space.decode(record.genes()).designs),
        elsewhere=abilities_of(cell.searcher).samples_elsewhere,
        searcher_seconds=round(times.searcher, 3),
        model_seconds=round(times.model, 3),
        **progress_of_record(record),
    )


def _clock_ghz(problem: AnyProblem, record: Record) -> float:
    """The clock of all points, 0 where each has its own."""
    hertz = problem.criteria.of_points(record.genes(0, 1)).hertz
    return 0.0 if isinstance(hertz, np.ndarray) else problem.accelerator.clock_ghz


def progress_of_record(record: Record) -> dict[str, Any]:
    """What a Summary has of the record alone, by its names."""
    evaluations = record.evaluations()
    several = bool(np.isnan(evaluations.loss).any())
    before = np.minimum.accumulate(np.concatenate([[np.inf], evaluations.loss[:-1]]))
    better = _moving(evaluations) if several else np.flatnonzero(evaluations.loss < before)
    steps = {"index": better.tolist()} | {
        name: getattr(evaluations, name)[better].tolist() for name in STEPS[1:]
    }
    reasons, counts = np.unique(evaluations.reason[evaluations.reason != 0], return_counts=True)
    best = record.best
    return {
        "samples": len(record),
        "infeasible": {Reason(code).name.lower(): int(n) for code, n in zip(reasons, counts, strict=True)},
        "genes": [] if best is None else record.genes(best, best + 1)[0].tolist(),
        "mean_losses": [] if several else _mean_losses(evaluations.loss),
        "steps": steps,
    } | (_front(record, better) if several else {})


def _moving(evaluations: Evaluations) -> IntArray:
    """The samples that moved the front of cycles and energy."""
    feasible = np.flatnonzero(evaluations.reason == 0)
    found: IntArray = feasible[entering_rows(_figures(evaluations)[feasible])]
    return found


def _front(record: Record, moving: IntArray) -> dict[str, Any]:
    """What a Summary has of several objectives alone."""
    evaluations = record.evaluations().take(moving)
    front = moving[nondominated_rows(_figures(evaluations))]
    steps = {"index": moving.tolist(), "loss": [0.0] * len(moving)} | {
        name: getattr(evaluations, name).tolist() for name in STEPS[2:]
    }
    return {"genes": record.genes()[front].ravel().tolist(), "steps": steps}


def _figures(evaluations: Evaluations) -> FloatArray:
    """Cycles and energy: (n, 2)."""
    return np.column_stack([evaluations.cycles.astype(np.float64), evaluations.energy_nj])


def _mean_losses(losses: np.ndarray) -> list[float]:
    parts = np.array_split(losses, min(100, len(losses)))
    finite = [part[np.isfinite(part)] for part in parts]
    return [float(part.mean()) if len(part) else np.inf for part in finite]
