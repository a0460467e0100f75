"""Searches that begin with an analytical cost model's proven optimum, and calibrate that model as they go.

For a judge that is no model, or one of others: a machine, a simulator, a program. The adviser is a cost model
whose optimum can be proven and whose counts are known. A search repeats:

- fit: what the judge has measured is a sum of the adviser's terms (its own figure; words of each link, steps
  of loops, fills) with weights of at least 0, of which many are drawn that the samples leave possible
  (ensemble.py), times what a Gaussian process of counts and structure makes of the rest (residual.py);
- pick: the mapping of the greatest expected improvement over all of these, which descents from thousands of
  priced mappings find (strategy.py). While nothing improves, deviations count more and more;
- run it. What the judge refuses is learned, as sets of rules that it may have (rules.py) and by a process;
  what does not fit by the adviser is not asked, until the judge accepts such a mapping.

The first samples, until one is measured, are found from the proven optimum and what is near it: mappings that
the adviser likes, that a judge likely runs, and that are low in all terms. After `n_alone` samples every
second one is the team's (searchers/team), which learns from all of them; and all others are, once the adviser
turns out to be useless: where a sum of its terms, fitted to all samples but one, does not rank that one. So
they are from the beginning where the adviser is itself the judge, and in spaces of other things than mappings
of two levels onto one machine.

Of a batch each mapping is picked as if those before it had turned out as predicted (kriging believer:
Ginsbourger, Le Riche and Carraro, "Kriging Is Well-Suited to Parallelize Optimization", 2010); batches are in
turn its own and the team's.

The expected improvement is that of Jones, Schonlau and Welch, "Efficient Global Optimization" (Journal of
Global Optimization, 1998). Defaults were chosen on judges that were made up for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dse.search.abilities import added
from dse.support.errors import InputError
from dse.support.validation import whole_number
from searchers.common.settings import MAX_POINTS

if TYPE_CHECKING:
    import numpy as np

    from dse.core.space import Space
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Calibrated:
    """Near an adviser's optimum first, and then by what it makes of the judge's answers."""

    adviser: str = "loopnest"
    """The cost model, in words, whose terms are fitted to what the judge measures."""
    n_startup_trials: int = 1
    """Mappings that begin a search: such as the adviser likes and a judge likely runs."""
    n_alone: int = 8
    """Samples after which every second one is the team's."""
    least_agreement: float = 0.1
    """The rank correlation, each sample left out in turn, below which the adviser is useless."""
    batch_size: int = added(1)
    """Mappings that are picked before any of them is run: as many as the judge takes at once."""

    libraries: ClassVar[tuple[str, ...]] = ("scipy",)
    portable: ClassVar[bool] = False
    has_adviser: ClassVar[bool] = True
    version: ClassVar[str] = "2"

    def __post_init__(self) -> None:
        if not (isinstance(self.adviser, str) and self.adviser):
            raise InputError("adviser must be the name of a cost model")
        whole_number(self.n_startup_trials, "n_startup_trials", most=MAX_POINTS)
        whole_number(self.n_alone, "n_alone", most=MAX_POINTS)
        whole_number(self.batch_size, "batch_size", most=MAX_POINTS)
        if not -1 <= self.least_agreement <= 1:
            raise InputError(f"least_agreement must be from -1 to 1, got {self.least_agreement}")

    def begins(self, space: Space) -> str:
        """With what it begins in a space, in words."""
        from dse.domains.clustered.advice import advised_space
        from searchers.team import Team

        return Team().begins(space) if advised_space(space) is None else f"optimum of {self.adviser}"

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Fit, pick and run until the budget is spent."""
        from dse.domains.clustered.advice import Adviser, advised_space
        from dse.search.searcher import drive
        from searchers.team import Team

        space = advised_space(evaluate.space)
        if space is None or self.adviser.partition("(")[0] == evaluate.cost_model:
            Team().search(evaluate, rng)
            return
        from searchers.calibrated.strategy import Strategy

        adviser = Adviser(space, evaluate.objective, self.adviser)
        drive(Strategy(self, adviser, evaluate.space, evaluate.objective, rng), evaluate)
