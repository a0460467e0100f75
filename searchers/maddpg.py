"""MADDPG as a searcher: an actor a gene, each with a critic that sees what all of them choose.

The algorithm, its source and where it departs from it are in learners.maddpg; the study that it comes from
here is Gogineni, Wei, Lan and Venkataramani, "Towards Efficient Multi-Agent Learning Systems". Its settings
there (an update every 100 samples, mini-batches of 1,024) would be 200 updates in 20,000 samples: the
defaults are others, and have not been tuned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from searchers.common.team_play import TeamPlay

if TYPE_CHECKING:
    import numpy as np

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep


@dataclass(frozen=True)
class MADDPG(TeamPlay):
    """Deterministic policy gradients, choices drawn by straight-through Gumbel-softmax."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let a team learn until the budget is spent."""
        from learners.maddpg import MADDPG as Algorithm

        self.play(Algorithm, evaluate, rng, keep)
