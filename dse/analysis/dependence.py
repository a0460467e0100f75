"""Which genes of good samples depend on each other: what a correlation matrix shows, and what it can show.

"Independent" has three meanings here: a gene's correlations are all weak; none of them is more than chance
makes among so many pairs; nor is any dependence of whatever kind. The last is for the genes whose codes stand
in no order, loop orders and dims, of which a correlation says little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.analysis.stats.bootstrap import generator
from dse.analysis.stats.dependence import SHUFFLES, association_test, correlation_test
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError

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
        independent = {
            name: {"genes": list(genes), "share": len(genes) / varied if varied else None}
            for name, genes in (
                ("weak", self.weak),
                ("uncorrelated", self.uncorrelated),
                ("unrelated", self.unrelated),
            )
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


def depend(
    names: tuple[str, ...],
    points: IntArray,
    correlations: FloatArray,
    tree: FloatArray,
    labels: Mapping[int, IntArray],
    threshold: float,
    shuffles: int = SHUFFLES,
    objective: FloatArray | None = None,
    linkage: str = "average",
    cuts: Mapping[float, int] | None = None,
) -> Dependence:
    """The analysis of good `points` (n, genes); `labels` are the agents of the genes, by how many there are.

    `objective`, `linkage` and `cuts` are those of a Dependence.

    InputError if there are fewer than LEAST points.
    """
    if len(points) < LEAST:
        raise InputError(
            f"to correlate genes takes {LEAST} good samples that are feasible, got {len(points)}; "
            "draw more samples"
        )
    linear = correlation_test(points, generator("dependence", "linear"), shuffles)
    other = association_test(points, generator("dependence", "any"), shuffles)
    groups = {
        number: tuple(
            tuple(names[gene] for gene in np.flatnonzero(label == agent)) for agent in range(number)
        )
        for number, label in labels.items()
    }
    varied = np.ptp(points, axis=0) > 0
    return Dependence(
        names,
        len(points),
        correlations,
        tree,
        groups,
        threshold,
        critical_r=linear.critical(ALPHA),
        correlation_p=linear.p,
        association_p=other.p,
        varied=varied,
        objective=np.zeros(len(names)) if objective is None else objective,
        linkage=linkage,
        cuts=cuts or {},
    )
