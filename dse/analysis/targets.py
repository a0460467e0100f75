"""Fixed targets: how many times fewer samples the reference needs than each other searcher to reach them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dse.analysis.findings import TABLE_TAUS, Interval, TargetRatio
from dse.analysis.runs import Runs, Stratum
from dse.analysis.stats.bootstrap import Redraw, interval
from dse.analysis.stats.efficiency import typical
from dse.analysis.stats.runtimes import time_within, times_to
from dse.analysis.study import Triple
from dse.analysis.versus import fewest
from dse.support.arrays import FloatArray


def target_ratios(runs: Runs) -> Iterator[TargetRatio]:
    """The reference against each other searcher, both up to the smaller of their budgets."""
    reference = runs.study.reference
    for other in runs.study.searchers:
        pairs = [pair for pair in runs.shared(reference, other) if pair[0] in runs.targets]
        if other == reference or not pairs:
            continue
        budget = min(map(runs.study.budget_of, (reference, other)))
        seeds = fewest([pair[1:] for pair in pairs])
        times = [
            tuple(_running_times(stratum, runs.targets[problem], budget) for stratum in (mine, theirs))
            for problem, mine, theirs in pairs
        ]
        for place, tau in enumerate(TABLE_TAUS):
            at = [(a[place], b[place]) for a, b in times]
            mine, theirs = (_missed(pairs, at, side) for side in (0, 1))
            ratios = _ratio(at, seeds)
            yield TargetRatio(reference, other, tau, budget, *ratios, mine, theirs, _known(at), len(at))


Times = tuple[FloatArray, FloatArray]
"""Both searchers' expected running times on a problem: of the runs first, then of resamples."""


def _ratio(at: list[Times], seeds: int) -> tuple[Interval | None, Interval | None]:
    """The median ratio over problems, with runs resampled and with problems too."""
    # Where neither gets there, nothing is known of the ratio, not even that it is 1.
    known = [(a, b) for a, b in at if np.isfinite(a[0]) or np.isfinite(b[0])]
    if not known:
        return None, None
    with np.errstate(invalid="ignore"):
        ratios = np.array([b / a for a, b in known])
    values = typical(ratios.T)
    wide = typical(Redraw(len(known), ratios.shape[1] - 1).figures(ratios[:, 1:]))
    centre = float(values[0])
    narrow = Interval(centre, *interval(values[1:], seeds, len(known)))
    return narrow, Interval(centre, *interval(wide, len(known)))


def _missed(
    pairs: Sequence[tuple[Triple, Stratum, Stratum]], at: list[Times], side: int
) -> tuple[Triple, ...]:
    """The problems that one side has reached in no run."""
    return tuple(pair[0] for pair, times in zip(pairs, at, strict=True) if np.isinf(times[side][0]))


def _known(at: list[Times]) -> int:
    return sum(bool(np.isfinite(a[0]) or np.isfinite(b[0])) for a, b in at)


def _running_times(stratum: Stratum, target: float, budget: int) -> FloatArray:
    """Expected running times to each of TABLE_TAUS within a budget: (targets, 1 + resamples)."""
    times = times_to(stratum.runs, target * np.array(TABLE_TAUS))[:, None, :]
    counts = np.concatenate([np.ones((1, times.shape[-1]), np.int32), stratum.counts])
    return time_within(times, budget, counts[None])
