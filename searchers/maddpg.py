"""MADDPG as a searcher: an actor a gene, each with a critic that sees what all of them choose.

The algorithm, its source and where it departs from it are in learners.maddpg; the study that it comes from
here is Gogineni, Wei, Lan and Venkataramani, "Towards Efficient Multi-Agent Learning Systems". Its settings
there (an update every 100 samples, mini-batches of 1,024) would be 200 updates in 20,000 samples: the
defaults are the best of the trials in results/tuning/maddpg.csv, on development problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from searchers.common.play import Reward, version_of
from searchers.common.team_play import TeamPlay

if TYPE_CHECKING:
    import numpy as np

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep


@dataclass(frozen=True)
class MADDPG(TeamPlay):
    """Deterministic policy gradients, choices drawn by straight-through Gumbel-softmax."""

    reward: Reward = "1/x"
    """What a point earns (see Options of searchers.environments)."""
    batch_size: int = 256
    """Steps in a mini-batch."""
    learning_rate: float = 0.03
    """Adam's, of actors and critics alike."""
    tau: float = 0.2
    """The share of the way to the networks that their targets go after an update."""
    gamma: float = 0.5
    """How much less a reward counts for each step that it is later."""
    train_freq: int = 4
    """Samples between updates; the first is made when a mini-batch of steps is held."""

    version = property(version_of)

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let a team learn until the budget is spent."""
        from learners.maddpg import MADDPG as Algorithm

        self.play(Algorithm, evaluate, rng, keep)
