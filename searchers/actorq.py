"""ActorQ as a searcher, in lockstep: D4PG in full precision, whose actors act by a policy in few bits.

Lam et al., "QuaRL" (TMLR 2022, arXiv:1910.01055); its parts are in learners.actors. Actors and learner take
turns here, so that a search can be repeated: what quantised actors save in time, experiments.actorq measures,
and what they cost in samples, this does. But for its own two settings it is `d4pg`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from searchers.common.actor_play import ActorPlay
from searchers.common.play import version_of
from searchers.common.settings import Count

if TYPE_CHECKING:
    import numpy as np

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep


@dataclass(frozen=True)
class ActorQ(ActorPlay):
    """Actors that now and then pull what the learner has learned, quantised."""

    bits: Literal[2, 3, 4, 5, 6, 7, 8, 16, 32] = 8
    """What the policy is sent in and executed in: whole numbers, or floating point of 16 or 32 bits."""
    pull_every: Count = 4
    """Steps of each actor between two pulls."""

    version = property(version_of)

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let one learner after another learn until the budget is spent. The last one's policy is kept."""
        self.play(self.bits, self.pull_every, evaluate, rng, keep)
