"""What a study comes to: every figure that tables, plots and the page show, as plain arrays.

Intervals are 95 % confidence intervals of a seeded bootstrap (see `stats.bootstrap`) in which each problem's
seeds are drawn anew, apart from the other problems' (stratified): they are about these problems. Where a
figure has a second one, `over_problems`, problems are drawn too: that one is about problems like these, and
wider. One problem says nothing of others: its ends are NaN.

A run that has found nothing feasible counts as `inf`: medians, trimmed means and ranks bear it, and come out
`inf` where too much of it is there. A ratio is always a loss over the problem's target (`Study.target`): 1 is
the best known, 2 is twice that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from dse.analysis.study import Triple
from dse.support.arrays import BoolArray, FloatArray, IntArray

RESAMPLES = 2000
TABLE_TAUS = (1.0, 1.01, 1.05, 1.1, 1.2, 1.5, 2.0)
"""The targets of tables, as multiples of the best known loss."""


class Interval(NamedTuple):
    """A figure and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def wide(self) -> bool:
        """Whether there is an interval: one seed, seeds that all end alike, and one problem make none."""
        return not (self.low == self.value == self.high or math.isnan(self.low))

    @property
    def finite(self) -> bool:
        """Whether there is a figure: the interval may reach to infinity."""
        return math.isfinite(self.value)


@dataclass(frozen=True)
class Band:
    """A curve with its interval: `centre`, `low` and `high` after so many `samples` (rising, to the budget).

    Values are `inf` where too few runs have found anything feasible yet. The budget is the searcher's own,
    which a campaign may make smaller than others': a curve ends there.
    """

    samples: IntArray
    centre: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def end(self) -> Interval:
        """The figure at the full budget."""
        return self.at(self.samples[-1])

    def at(self, samples: int) -> Interval:
        """The figure after so many samples, which the curve has."""
        place = int(self.samples.searchsorted(samples))
        return Interval(*(float(curve[place]) for curve in (self.centre, self.low, self.high)))


@dataclass(frozen=True)
class Profile:
    """The share of runs whose final ratio is at most `at` (rising from 1), with its interval."""

    at: FloatArray
    centre: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Improvement:
    """`probability[i, j]`: that a run of searcher i ends lower than one of j, ties half, over problems.

    The mean over problems on which both have runs; NaN where there is none. The diagonal is 0.5. Searchers
    that have not the campaign's whole budget are left out. `enough` says of which pairs the runs are enough
    for a difference to be significant.
    """

    searchers: tuple[str, ...]
    probability: FloatArray
    low: FloatArray
    high: FloatArray
    enough: BoolArray

    def chance(self, i: int, j: int) -> Interval:
        """That of a pair."""
        return Interval(*(float(part[i, j]) for part in (self.probability, self.low, self.high)))


@dataclass(frozen=True)
class Versus:
    """How likely a run of `reference` is lower than one of `searcher` after `budget` samples, ties half.

    `chance` is the mean over the `problems` on which both have runs. Runs of one seed have nothing in common,
    so that seeds are not paired: `seeds` and `other_seeds` are how many each has, at least, on a problem.
    """

    reference: str
    searcher: str
    budget: int
    chance: Interval
    over_problems: Interval
    problems: int
    seeds: int
    other_seeds: int


@dataclass(frozen=True)
class Standing:
    """A searcher's runs after `budget` samples over the targets: exp of the interquartile mean of the logs.

    `median` is another statistic of them: the geometric mean over problems of medians over seeds, of which a
    problem has at least `seeds`; `inf` if one median is. `own_seconds` and `model_seconds` are the CPU time
    of a mean run of the searcher's whole budget: its own, and the cost model's.
    """

    searcher: str
    budget: int
    ratio: Interval
    over_problems: Interval
    median: Interval
    median_over_problems: Interval
    seeds: int
    own_seconds: float
    model_seconds: float


@dataclass(frozen=True)
class TargetRatio:
    """How many times fewer samples `reference` needs than `searcher` to be within `tau` times the best known.

    A problem's ratio is the searcher's expected running time (COCO's) over the reference's, both of runs cut
    at `budget`, the smaller of their two: a run that is not there by then is charged so many samples, in
    vain. `ratio` is the median over the `known` problems, those of `problems` on which either gets there
    in any run; None if there are none. It is `inf` where `searcher` does not get there, 0 where `reference`
    does not; `missed` and `other_missed` are the problems on which no run of each does.
    """

    reference: str
    searcher: str
    tau: float
    budget: int
    ratio: Interval | None
    over_problems: Interval | None
    missed: tuple[Triple, ...]
    other_missed: tuple[Triple, ...]
    known: int
    problems: int

    @property
    def reached(self) -> int:
        """On how many problems a run of the reference gets there."""
        return self.problems - len(self.missed)

    @property
    def other_reached(self) -> int:
        """On how many problems a run of the other searcher gets there."""
        return self.problems - len(self.other_missed)


@dataclass(frozen=True)
class Efficiency:
    """How many times fewer samples `searcher` needs than `other` to reach other's final figure.

    A problem's target is the median over seeds of other's final loss; its ratio is other's expected running
    time to that target over searcher's (COCO's: all samples spent over runs that succeeded). `ratio` is the
    median over problems: below 1, searcher needs more. Both sides are charged for runs that miss the target,
    which half of other's do. A problem that searcher has reached in no run counts as 0, never: `reached` of
    `problems` are not so. If the median is 0, `ratio` is None; `censored` says that some problem is not
    reached. Both are read up to `budget`, the smaller of their two: "final" is what they have there. `enough`
    says whether the runs are enough for the difference to be significant.
    """

    searcher: str
    other: str
    ratio: Interval | None
    censored: bool
    reached: int
    problems: int
    budget: int
    over_problems: Interval | None = None
    enough: bool = False


@dataclass(frozen=True)
class Comparison:
    """The reference searcher against another, by median final loss on each problem that both have.

    `p` is the exact two-sided p value of Wilcoxon's signed-rank test over problems (of log losses, ties
    dropped), `p_holm` corrects it for all comparisons of the table; NaN where nothing can be tested.
    """

    reference: str
    searcher: str
    wins: int
    ties: int
    losses: int
    p: float
    p_holm: float

    @property
    def problems(self) -> int:
        """How many problems both have runs on."""
        return self.wins + self.ties + self.losses


@dataclass(frozen=True)
class LedgerRow:
    """What a searcher's cells have drawn: `infeasible` by reason, `elsewhere` spent outside, CPU seconds."""

    searcher: str
    cells: int
    samples: int
    distinct: int
    infeasible: dict[str, int]
    elsewhere: int
    searcher_seconds: float
    model_seconds: float


@dataclass(frozen=True)
class LayerRow:
    """One searcher on one problem after so many samples: losses over seeds, the median's ratio.

    `ratio` is the median's to the target; `low` and `high` are the median's interval; `feasible` of the
    seeds found anything. No loss is below `bound`, NaN where nothing is proven. `samples_to` are the expected
    running times, in samples, to within each of TABLE_TAUS times the target (COCO's): all that the runs have
    spent until they succeeded, or in vain, over the successes; `inf` without any, none without a target.
    """

    problem: Triple
    budget: int
    searcher: str
    seeds: int
    feasible: int
    best: float
    median: float
    low: float
    high: float
    worst: float
    target: float
    proven: bool
    bound: float
    ratio: float
    samples_to: tuple[float, ...]


@dataclass(frozen=True)
class Findings:
    """All figures of a study. Dicts follow the campaign's order; what has no finished cell is not in them."""

    convergence: dict[Triple, dict[str, Band]]
    """Best loss so far: the median over seeds."""
    mean_losses: dict[Triple, dict[str, Band]]
    """Mean loss of the feasible samples in each hundredth of the run: median over seeds."""
    gap: dict[str, Band]
    """Ratio of the best so far to the target: exp of the interquartile mean of its log over problems x seeds.

    Only searchers with runs on every problem.
    """
    gap_seeds: dict[str, FloatArray]
    """Final ratio of every cell, (problems, seeds): `inf` where infeasible, NaN where a cell is not done or
    its budget is not the campaign's."""
    fronts: dict[str, Band]
    """Share of the exact front's hypervolume that is missing: the interquartile mean over the problems of
    several objectives x seeds; only searchers with runs on every problem."""
    ecdf: dict[str, tuple[IntArray, FloatArray]]
    """Samples, and the share of (problem, seed, target) triples reached by then, for targets of 1 to 11 times
    the best known; only searchers with runs on every problem."""
    profiles: dict[str, Profile]
    """Only searchers with runs on every problem and the campaign's whole budget."""
    improvement: Improvement
    versus: tuple[Versus, ...]
    """The reference against each of the others, at the tables' budgets."""
    efficiency: tuple[Efficiency, ...]
    """The reference searcher against each of the others, and each against it."""
    targets: tuple[TargetRatio, ...]
    """The reference against each of the others, for fixed targets."""
    comparisons: tuple[Comparison, ...]
    """Of those that have the campaign's whole budget."""
    standing: tuple[Standing, ...]
    """`gap` at the tables' budgets, and medians."""
    ledger: tuple[LedgerRow, ...]
    layers: tuple[LayerRow, ...]
    """Every problem, at the tables' budgets."""
