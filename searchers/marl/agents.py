"""Many small PPO agents in stacked arrays: each has parameters, an optimiser and a clipping of its own.

Proximal policy optimisation (Schulman et al., 2017, arXiv:1707.06347) with Adam (Kingma and Ba, ICLR 2015).
An agent is a network of one tanh layer with a head for each of its genes. Agents lie side by side along the
first axis, and one batched matrix product serves them all; no sum runs over agents, so nothing that one agent
is given or learns reaches another (unless their clipping is joint). The gradients are written out: for
networks this small that takes half of torch's time, and spares every worker its import.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.numerics import exp, matmul, tanh
from searchers.marl.policies import NEVER, ActionArray, Actions, Categorical, Gaussian, Policy, stack_heads

_FIRST_MOMENT, _SECOND_MOMENT, _EPSILON = 0.9, 0.999, 1e-8


class Weights(NamedTuple):
    """One array of numbers for every parameter: the parameters, their gradients, or Adam's moments.

    A gene's head reads the hidden units of the agent that holds the gene. Heads of like size are stacked,
    where all are as wide as the widest, so that a few genes of many outputs do not widen the others.
    """

    hidden: FloatArray
    """(agents, inputs, units)"""
    hidden_bias: FloatArray
    """(agents, 1, units)"""
    heads: tuple[FloatArray, ...]
    """For each stack, (its genes, units, outputs)."""
    head_biases: tuple[FloatArray, ...]
    """For each stack, (its genes, 1, outputs)."""


Clipping = Literal["agent", "joint"]
"""Whose probability ratio is clipped: that of an agent's own part of a point, or that of the whole point."""


class Agents:
    """Agents that hold disjoint sets of genes: gene g belongs to agent `agent_of[g]`, agents count from 0."""

    def __init__(
        self,
        agent_of: IntArray,
        sizes: IntArray,
        inputs: int,
        units: int,
        rng: np.random.Generator,
        actions: Actions = "categorical",
    ) -> None:
        """Agents with random parameters; gene g has `sizes[g]` values, between which they are nearly
        indifferent if their actions are categorical."""
        agents = int(agent_of.max()) + 1
        self.agent_of = agent_of
        self.actions, self._sizes = actions, sizes
        self.stacks = stack_heads(sizes, actions)
        shapes = [(len(stack.genes), units, stack.within.shape[-1]) for stack in self.stacks]
        self.weights = Weights(
            rng.standard_normal((agents, inputs, units)) / math.sqrt(inputs),
            np.zeros((agents, 1, units)),
            tuple(0.01 * rng.standard_normal(shape) / math.sqrt(units) for shape in shapes),
            tuple(np.zeros((genes, 1, choices)) for genes, _, choices in shapes),
        )
        self._holds = (agent_of == np.arange(agents)[:, np.newaxis]).astype(np.float64)
        self._moments = [
            (np.zeros_like(array), np.zeros_like(array)) for array, _ in self.owned(self.weights)
        ]
        self._updates = 0

    def owned(self, weights: Weights) -> list[tuple[FloatArray, IntArray]]:
        """All arrays of `weights`, each with the agents that own its rows."""
        everyone = np.arange(len(weights.hidden))
        owners = [self.agent_of[stack.genes] for stack in self.stacks]
        heads = zip((*weights.heads, *weights.head_biases), (*owners, *owners), strict=True)
        return [(weights.hidden, everyone), (weights.hidden_bias, everyone), *heads]

    def policy(self, observations: FloatArray) -> Policy:
        """The agents' policies at observations (n, inputs), which all agents share."""
        weights = self.weights
        units = tanh(matmul(observations, weights.hidden) + weights.hidden_bias)
        outputs = [
            matmul(units[self.agent_of[stack.genes]], heads) + np.where(stack.within, biases, NEVER)
            for stack, heads, biases in zip(self.stacks, weights.heads, weights.head_biases, strict=True)
        ]
        if self.actions == "gaussian":
            return Gaussian.of(units, self._sizes, outputs[0])
        return Categorical.of(self.stacks, units, outputs)

    def log_likelihoods(self, policy: Policy, actions: ActionArray) -> FloatArray:
        """The log-probability that each agent gives its part of the actions (n, genes): (agents, n)."""
        return self._per_agent(policy.log_likelihoods(actions))

    def gradients(
        self,
        observations: FloatArray,
        actions: ActionArray,
        before: FloatArray,
        advantages: FloatArray,
        clip: float,
        entropy: float,
        clipping: Clipping = "agent",
    ) -> Weights:
        """The gradient of each agent's clipped objective, plus `entropy` times its heads' entropies.

        `before` (agents, n) are the log-likelihoods under the policies that drew the actions. `advantages` is
        (n,), shared by the agents, or (agents, n).
        """
        policy = self.policy(observations)
        changes = self.log_likelihoods(policy, actions) - before
        if clipping == "joint":
            changes = np.broadcast_to(changes.sum(axis=0), changes.shape)
        ratios = exp(changes)
        # Where a ratio has gone as far as it may, the clipped objective is flat.
        free = np.where(advantages > 0, ratios < 1 + clip, ratios > 1 - clip)
        pulls = np.where(free, ratios * advantages, 0.0) / len(observations)
        slopes = policy.slopes(actions, pulls[self.agent_of], entropy / len(observations))
        return self._backward(observations, policy.units, slopes)

    def ascend(self, gradients: Weights, learning_rate: float, max_norm: float) -> None:
        """One step of Adam up the gradients; an agent's gradient longer than `max_norm` is cut to it."""
        lengths = np.sqrt(self._squares(gradients))
        kept = np.minimum(1.0, max_norm / np.maximum(lengths, 1e-12))[:, np.newaxis, np.newaxis]
        self._updates += 1
        rate = learning_rate / (1 - _FIRST_MOMENT**self._updates)
        correction = 1 / (1 - _SECOND_MOMENT**self._updates)
        for (weight, owner), (gradient, _), (first, second) in zip(
            self.owned(self.weights), self.owned(gradients), self._moments, strict=True
        ):
            cut = gradient * kept[owner]
            first += (1 - _FIRST_MOMENT) * (cut - first)
            second += (1 - _SECOND_MOMENT) * (cut * cut - second)
            weight += rate * first / (np.sqrt(correction * second) + _EPSILON)

    def _backward(self, observations: FloatArray, units: FloatArray, to_outputs: list[FloatArray]) -> Weights:
        """The parameters' gradients from those of each stack's outputs, (its genes, n, outputs)."""
        through_heads = np.empty((len(self.agent_of), *units.shape[1:]))
        turned = units.transpose(0, 2, 1)
        head_gradients = []
        for stack, heads, slope in zip(self.stacks, self.weights.heads, to_outputs, strict=True):
            through_heads[stack.genes] = matmul(slope, heads.transpose(0, 2, 1))
            head_gradients.append(matmul(turned[self.agent_of[stack.genes]], slope))
        to_units = self._per_agent(through_heads) * (1 - units * units)
        return Weights(
            matmul(observations.T, to_units),
            to_units.sum(axis=1, keepdims=True),
            tuple(head_gradients),
            tuple(slope.sum(axis=1, keepdims=True) for slope in to_outputs),
        )

    def _squares(self, weights: Weights) -> FloatArray:
        """The squared length of each agent's part: (agents,)."""
        squares = np.zeros(len(weights.hidden))
        for array, owner in self.owned(weights):
            np.add.at(squares, owner, (array * array).sum(axis=(1, 2)))
        return squares

    def _per_agent(self, per_gene: FloatArray) -> FloatArray:
        """The sum over each agent's own genes: (genes, ...) in, (agents, ...) out."""
        sums: FloatArray = matmul(self._holds, per_gene.reshape(len(per_gene), -1))
        return sums.reshape(-1, *per_gene.shape[1:])
