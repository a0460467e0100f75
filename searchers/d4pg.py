"""D4PG as a searcher: a deterministic actor that chooses all genes, and a critic of all that it may earn.

The algorithm and its sources are in learners.d4pg; its actors, each with a deviation of its own, draw their
points in one call to the evaluator. The defaults are the best of the trials in results/tuning/d4pg.csv, on
development problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from searchers.common.actor_play import ActorPlay
from searchers.common.play import version_of

if TYPE_CHECKING:
    import numpy as np

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep


@dataclass(frozen=True)
class D4PG(ActorPlay):
    """Actors that do at every step what the learner has learned."""

    version = property(version_of)

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let one learner after another learn until the budget is spent. The last one's policy is kept."""
        from learners.quantised import FULL

        self.play(FULL, 1, evaluate, rng, keep)
