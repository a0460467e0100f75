"""Which genes of good samples depend on each other: what a correlation matrix shows, and what it can show.

"Independent" has three meanings here: a gene's correlations are all weak; none of them is more than chance
makes among so many pairs; nor is any dependence of whatever kind. The last is for the genes whose codes stand
in no order, loop orders and dims, of which a correlation says little.

All pairs are tested at once by permutation. Shuffling each column by itself makes columns that are
independent and otherwise as they were. A pair must exceed what the most extreme of all pairs reaches in
such shuffles (Westfall and Young, "Resampling-Based Multiple Testing", 1993): if all columns are
independent, no more than a share `alpha` of such analyses call even one pair dependent, however many pairs,
however uneven the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from dse.analysis.stats.bootstrap import named_generator
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

SHUFFLES = 999
LEAST = 3
"""Points below which every correlation is perfect."""
ALPHA = 0.05


@dataclass(frozen=True)
class Dependence:
    """How the genes of `points` good samples go together, in the genes' order.

    `tree` is scipy's linkage matrix of that `linkage`, `objective` each gene's correlation with the reward,
    1 / loss, and `cuts` into how many agents the tree falls at the paper's thresholds. `groups` are the genes
    of each agent, for numbers of agents. P values, (genes, genes), allow for the number of pairs. They
    presume that samples are drawn apart from each other, as a random search does.
    """

    names: tuple[str, ...]
    points: int
    correlations: FloatArray
    tree: FloatArray
    groups: Mapping[int, tuple[tuple[str, ...], ...]]
    threshold: float
    critical_r: float
    """The least |r| that is significant: with so many points."""
    correlation_p: FloatArray
    association_p: FloatArray
    varied: BoolArray
    """The genes that are not constant among the points; others can depend on nothing."""
    objective: FloatArray
    linkage: str = "average"
    cuts: Mapping[float, int] = field(default_factory=dict)

    @property
    def weak(self) -> tuple[str, ...]:
        """The varied genes whose correlations with all others are below the threshold."""
        sizes = np.abs(self.correlations - np.diag(np.diag(self.correlations)))
        return self._named(sizes.max(axis=1) < self.threshold)

    @property
    def uncorrelated(self) -> tuple[str, ...]:
        """The varied genes without a significant correlation."""
        return self._named(np.logical_and.reduce(self.correlation_p > ALPHA, axis=1))

    @property
    def unrelated(self) -> tuple[str, ...]:
        """The varied genes without a significant dependence of any kind, linear or not."""
        return self._named(
            np.logical_and.reduce((self.correlation_p > ALPHA) & (self.association_p > ALPHA), axis=1)
        )

    def nearest(self, gene: int, p: FloatArray) -> tuple[str, float, float] | tuple[None, None, None]:
        """The gene with the least p beside this one, their r, and that p; None for a constant gene."""
        if not self.varied[gene]:
            return None, None, None
        order = np.lexsort((-np.abs(self.correlations[gene]), p[gene]))
        other = int(next(place for place in order if place != gene))
        return self.names[other], float(self.correlations[gene, other]), float(p[gene, other])

    def sentences(self) -> Iterator[str]:
        """The shares of independent genes, in words."""
        of = f"of {int(self.varied.sum())} genes that vary"
        yield f"{len(self.weak)} {of} have no correlation of {self.threshold:g} or more."
        yield (
            f"{len(self.uncorrelated)} {of} have no significant correlation (allowing for all pairs; it must "
            f"exceed {self.critical_r:.2f})."
        )
        yield f"{len(self.unrelated)} {of} show no significant dependence of any kind."
        if self.cuts:
            cuts = ", ".join(f"{number} at {distance:g}" for distance, number in self.cuts.items())
            yield f"Agents by the distance at which the tree ({self.linkage}) is cut: {cuts}."

    def to_dict(self) -> dict[str, Any]:
        """The analysis as plain data."""
        varied = int(self.varied.sum())
        senses = {"weak": self.weak, "uncorrelated": self.uncorrelated, "unrelated": self.unrelated}
        independent = {
            name: {"genes": list(genes), "share": len(genes) / varied if varied else None}
            for name, genes in senses.items()
        }
        return {
            "points": self.points,
            "genes": list(self.names),
            "varied": [name for name, varies in zip(self.names, self.varied, strict=True) if varies],
            "correlations": self.correlations.tolist(),
            "linkage": self.tree.tolist(),
            "linkage_method": self.linkage,
            "objective_correlations": self.objective.tolist(),
            "agents_at_distance": {f"{distance:g}": number for distance, number in self.cuts.items()},
            "threshold": self.threshold,
            "critical_r": self.critical_r,
            "correlation_p": self.correlation_p.tolist(),
            "association_p": self.association_p.tolist(),
            "independent": independent,
            "agents": {str(number): [list(g) for g in groups] for number, groups in self.groups.items()},
        }

    def _named(self, holds: BoolArray) -> tuple[str, ...]:
        return tuple(self.names[place] for place in np.flatnonzero(holds & self.varied))


def analyse_dependence(
    names: tuple[str, ...],
    points: IntArray,
    correlations: FloatArray,
    tree: FloatArray,
    labels: Mapping[int, IntArray],
    threshold: float,
    shuffles: int = SHUFFLES,
    **told: Any,
) -> Dependence:
    """The analysis of good `points` (n, genes); `labels` are the agents of the genes, by how many there are.

    `told` are the objective, linkage and cuts of a Dependence. InputError if there are fewer than LEAST
    points.
    """
    if len(points) < LEAST:
        raise InputError(
            f"to correlate genes takes {LEAST} good samples that are feasible, got {len(points)}; "
            "draw more samples"
        )
    linear = correlation_test(points, named_generator("dependence", "linear"), shuffles)
    other = association_test(points, named_generator("dependence", "any"), shuffles)
    groups = {
        number: tuple(tuple(names[gene] for gene in np.flatnonzero(label == one)) for one in range(number))
        for number, label in labels.items()
    }
    told.setdefault("objective", np.zeros(len(names)))
    tested = linear.critical(ALPHA), linear.p, other.p, np.ptp(points, axis=0) > 0
    return Dependence(names, len(points), correlations, tree, groups, threshold, *tested, **told)


@dataclass(frozen=True)
class PairTest:
    """A test of every pair of columns.

    `p` (columns, columns) is corrected for the number of pairs and 1 on the diagonal. `extremes` are what
    the most extreme pair reached in each shuffle.
    """

    p: FloatArray
    extremes: FloatArray

    def critical(self, alpha: float = 0.05) -> float:
        """What a pair's statistic must exceed for its p to be below `alpha`."""
        return float(np.quantile(self.extremes, 1 - alpha, method="higher"))


def correlation_test(points: IntArray, rng: np.random.Generator, shuffles: int = SHUFFLES) -> PairTest:
    """Pearson's r, of either sign, of `points` (n, columns); that of a constant column is 0."""
    columns = _standardised(points)
    extremes = np.array([_largest(rng.permuted(columns, axis=0)) for _ in range(shuffles)])
    return PairTest(_corrected(np.abs(columns.T @ columns), extremes), extremes)


def association_test(points: IntArray, rng: np.random.Generator, shuffles: int = SHUFFLES) -> PairTest:
    """Mutual information of `points` (n, columns): dependence of any kind, also of values in no order.

    Pairs differ in how many values they have, so that each counts by how many deviations it is above its own
    mean over the shuffles.
    """
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in points.T])
    pairs = np.array(list(combinations(range(len(codes)), 2)), np.int64).reshape(-1, 2)
    sizes = codes.max(axis=1, initial=0) + 1
    found = _joint_information(codes, pairs, sizes)
    shuffled = np.array(
        [_joint_information(rng.permuted(codes, axis=1), pairs, sizes) for _ in range(shuffles)]
    )
    mean, deviation = shuffled.mean(axis=0), shuffled.std(axis=0)
    # The information of a pair with a constant column is the same in all shuffles, but for rounding.
    scale = np.where(deviation > 1e-9 * np.maximum(mean, 1.0), deviation, np.inf)
    extremes = ((shuffled - mean) / scale).max(axis=1, initial=0.0)
    matrix = np.zeros((len(codes), len(codes)))
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = (found - mean) / scale
    return PairTest(_corrected(matrix, extremes), extremes)


def _standardised(points: IntArray) -> FloatArray:
    """Columns with mean 0 and length 1; 0 where they are constant."""
    centred = points - points.mean(axis=0)
    length = np.sqrt((centred * centred).sum(axis=0))
    varied = np.ptp(points, axis=0) > 0
    return np.where(varied, centred / np.where(varied, length, 1.0), 0.0)


def _largest(columns: FloatArray) -> float:
    products = np.abs(columns.T @ columns)
    np.fill_diagonal(products, 0.0)
    return float(products.max(initial=0.0))


def _joint_information(codes: IntArray, pairs: IntArray, sizes: IntArray) -> FloatArray:
    """The sum of c log c over the counts c of each pair's joint values: (pairs,).

    This is the mutual information times n, but for what no shuffle changes.
    """
    first, second = pairs.T
    cells = sizes[first] * sizes[second]
    starts = np.concatenate([[0], np.cumsum(cells)])
    joint = codes[first] * sizes[second, np.newaxis] + codes[second] + starts[:-1, np.newaxis]
    counts = np.bincount(joint.ravel(), minlength=int(starts[-1])).astype(np.float64)
    terms = counts * np.log(np.maximum(counts, 1.0))
    return np.asarray(np.add.reduceat(terms, starts[:-1]), np.float64)


def _corrected(statistic: FloatArray, extremes: FloatArray) -> FloatArray:
    """For each pair, the share of shuffles (and of the data, once) that reach its statistic anywhere."""
    ordered = np.sort(extremes)
    # Equal but for rounding counts as reached.
    reached = len(ordered) - np.searchsorted(ordered, statistic * (1 - 1e-12) - 1e-12)
    p: FloatArray = (1 + reached) / (1 + len(ordered))
    np.fill_diagonal(p, 1.0)
    return p
