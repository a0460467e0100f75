"""The games of mpe2 that experiments.mast has, so many of one side by side.

`tag` is for its predators, which hunt a prey that flees by a script (learners.tag).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dse.support.arrays import FloatArray, IntArray

PREDATORS = 3
NAMES = {"spread": "simple_spread", "listener": "simple_speaker_listener", "tag": "simple_tag"}
EPISODES = {"spread": 500, "listener": 500, "tag": 2000}
"""To judge a policy, SIDE_BY_SIDE at once. What is earned on simple_tag differs more from one to another."""
SIDE_BY_SIDE = 500


def games_of(task: str, count: int) -> Any:
    """So many games of a task."""
    from learners.listener import ArrayListener
    from learners.spread import ArraySpread
    from learners.tasks import fast_predator_prey

    tag = partial(SideBySide, partial(fast_predator_prey, PREDATORS))
    return {"spread": ArraySpread, "listener": ArrayListener, "tag": tag}[task](count)


class SideBySide:
    """Environments of agents that are paid alike, in which an episode begins and ends in all at once."""

    def __init__(self, begin: Any, count: int) -> None:
        from learners.tag import STEPS
        from learners.team import Team

        self._environments = [begin() for _ in range(count)]
        self.team, self.length = Team.of(self._environments[0]), STEPS

    def begin(self, rng: np.random.Generator) -> FloatArray:
        """Begin an episode in each: what agents observe, (games, agents, numbers)."""
        seeds = rng.integers(2**31, size=len(self._environments)).tolist()
        pairs = zip(self._environments, seeds, strict=True)
        return np.array([list(env.reset(seed=seed)[0].values()) for env, seed in pairs])

    def step(self, actions: IntArray) -> tuple[FloatArray, FloatArray]:
        """Let all act, (games, agents): what they observe then, and what each agent earns, (games,)."""
        seen, earned = [], []
        for env, chosen in zip(self._environments, actions.tolist(), strict=True):
            following, paid, *_ = env.step(dict(zip(self.team.names, chosen, strict=True)))
            seen.append(list(following.values()))
            earned.append(paid[self.team.names[0]])
        return np.array(seen), np.array(earned)
