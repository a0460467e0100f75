"""Agents and problems for the tests of MARL."""

from __future__ import annotations

import numpy as np

from searchers.marl.agents import Agents, Weights
from searchers.marl.policies import Actions

# Agents apart from each other.

AGENT_OF = np.array([0, 1, 0, 2, 1])


# Of such sizes that the heads lie on two stacks.
SIZES = np.array([4, 1, 124, 3, 107])


class Lesson:
    """Three agents with five genes, a batch of 16 actions that they drew, and advantages (agents, 16)."""

    def __init__(self, actions: Actions = "categorical") -> None:
        rng = np.random.default_rng(1)
        self.agents = Agents(AGENT_OF, SIZES, 4, 8, rng, actions)
        self.observations = rng.standard_normal((16, 4))
        self.policy = self.agents.policy(self.observations)
        self.genes = self.policy.draw(np.arange(16), rng)
        self.advantages = rng.standard_normal((3, 16))

    def gradients(self, clip: float = 0.2, entropy: float = 0.01) -> Weights:
        before = self.agents.log_likelihoods(self.policy, self.genes)
        return self.agents.gradients(self.observations, self.genes, before, self.advantages, clip, entropy)

    def learn(self, steps: int = 5) -> Weights:
        before = self.agents.log_likelihoods(self.policy, self.genes)
        for _ in range(steps):
            gradients = self.agents.gradients(
                self.observations, self.genes, before, self.advantages, 0.2, 0.01
            )
            self.agents.ascend(gradients, 0.05, 0.5)
        return self.agents.weights


def part(weights: Weights, agent: int) -> list[bytes]:
    """All parameters of one agent."""
    return [array[owner == agent].tobytes() for array, owner in Lesson().agents.owned(weights)]
