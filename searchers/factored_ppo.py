"""One PPO agent with a categorical head for every gene: what is left of `marl` without its many agents.

The control that "Multi-Agent Reinforcement Learning for Sample-Efficient Deep Neural Network Mapping"
(Krishnan et al., 2025, arXiv:2507.16249) lacks. Policy, reward, advantages, batches and all else are those
of `marl`; but one network is shared by all genes, its gradient is clipped as one, and so is the probability
ratio of the whole point.

Defaults were chosen among as many settings as those of `marl`, on the same problems; there the median best
loss of 8 seeds is 1.69, 1.19, 1.09 and 1.03 times the best known at 500, 2,000, 5,000 and 20,000 samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from searchers.common.visited import Visited
from searchers.marl.ppo import Learning, learn_to_end

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class FactoredPPO(Learning):
    """A single PPO agent that holds all genes, with a head for each."""

    batch_size: int = 24
    elite: float = 0.25

    libraries: ClassVar[tuple[str, ...]] = ()

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Let the agent learn until the budget is spent."""
        genes = len(evaluate.space.genes)
        learn_to_end(evaluate, rng, self, np.zeros(genes, np.int64), Visited(evaluate.space))
