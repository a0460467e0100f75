"""What agents would do at n observations: a distribution for every gene, made of the outputs of its head.

An action is what a policy draws and what its probability is of: the values of the genes themselves if it
is categorical; if it is Gaussian, a real number for each, which is rounded to a value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.support import numerics
from dse.support.arrays import BoolArray, FloatArray, IntArray

ActionArray = NDArray[Any]
"""Actions (n, genes): int64 of a categorical policy, float64 of a Gaussian one."""

Actions = Literal["categorical", "gaussian"]

# A logit that no draw ever picks; finite, because its product with a probability of 0 must be 0.
NEVER = -1e9

# The logarithm of a Gaussian's deviation lies between its negative and itself, so that densities stay finite.
_WIDEST = 4.0


@dataclass(frozen=True)
class HeadStack:
    """Genes whose heads are stacked."""

    genes: IntArray
    """Their positions in a gene vector."""
    within: BoolArray
    """Which outputs they have: (genes, 1, outputs)."""


class Policy(Protocol):
    """The distributions of all genes at n observations, apart from each other."""

    @property
    def units(self) -> FloatArray:
        """The hidden units' values that they were made of: (agents, n, units)."""

    def draw(self, rows: IntArray, rng: np.random.Generator) -> ActionArray:
        """Actions drawn for the observations of these rows: (rows, genes)."""

    def genes(self, actions: ActionArray) -> IntArray:
        """The gene vectors that actions choose: (n, genes)."""

    def actions(self, genes: IntArray) -> ActionArray:
        """Actions that choose the gene vectors: (n, genes)."""

    def log_likelihoods(self, actions: ActionArray) -> FloatArray:
        """The logarithm of the probability, or density, of each gene's action: (genes, n)."""

    def slopes(self, actions: ActionArray, pulls: FloatArray, entropy: float) -> list[FloatArray]:
        """For each stack, the gradient by the heads' outputs, (its genes, n, outputs), of what is maximised:
        `pulls` (genes, n) times the actions' log-likelihoods, and `entropy` times all entropies."""


@dataclass(frozen=True)
class Categorical:
    """A probability for every value of a gene."""

    stacks: tuple[HeadStack, ...]
    units: FloatArray
    probabilities: tuple[FloatArray, ...]
    """For each stack, (its genes, n, choices), 0 beyond a gene's size."""
    log_probabilities: tuple[FloatArray, ...]

    @staticmethod
    def of(stacks: tuple[HeadStack, ...], units: FloatArray, outputs: list[FloatArray]) -> Categorical:
        """Of outputs that are logits; they are overwritten."""
        probabilities, logs = [], []
        for stack, logits in zip(stacks, outputs, strict=True):
            logits -= logits.max(axis=-1, keepdims=True)
            chances = numerics.exp(np.where(stack.within, logits, -np.inf))
            total = chances.sum(axis=-1, keepdims=True)
            probabilities.append(np.divide(chances, total, out=chances))
            logs.append(np.subtract(logits, numerics.log(total), out=logits))
        return Categorical(stacks, units, tuple(probabilities), tuple(logs))

    def draw(self, rows: IntArray, rng: np.random.Generator) -> ActionArray:
        """Values drawn for the observations of these rows: (rows, genes)."""
        drawn = np.empty((len(rows), sum(len(stack.genes) for stack in self.stacks)), np.int64)
        for stack, probabilities in zip(self.stacks, self.probabilities, strict=True):
            reached = probabilities[:, rows].cumsum(axis=-1)
            # The sums end near 1, not at it, and a draw must not pass the last choice with a chance.
            draws = rng.random(reached.shape[:2])[..., np.newaxis] * reached[..., -1:]
            drawn[:, stack.genes] = (reached <= draws).sum(axis=-1).T
        return drawn

    def genes(self, actions: ActionArray) -> IntArray:
        """The actions, which are the genes."""
        return actions

    def actions(self, genes: IntArray) -> ActionArray:
        """The genes, which are the actions."""
        return genes

    def log_likelihoods(self, actions: ActionArray) -> FloatArray:
        """The logarithm of the probability of each gene's value: (genes, n)."""
        chosen = np.empty(actions.shape[::-1])
        for stack, logs in zip(self.stacks, self.log_probabilities, strict=True):
            picks = actions.T[stack.genes, :, np.newaxis]
            chosen[stack.genes] = np.take_along_axis(logs, picks, axis=-1)[..., 0]
        return chosen

    def slopes(self, actions: ActionArray, pulls: FloatArray, entropy: float) -> list[FloatArray]:
        """See Policy."""
        to_logits = []
        for stack, chances, logs in zip(self.stacks, self.probabilities, self.log_probabilities, strict=True):
            pull = pulls[stack.genes, :, np.newaxis]
            mean_log = (chances * logs).sum(axis=-1, keepdims=True)
            slope = chances * ((mean_log - logs) * entropy - pull)
            picks = actions.T[stack.genes, :, np.newaxis]
            np.put_along_axis(slope, picks, np.take_along_axis(slope, picks, -1) + pull, -1)
            to_logits.append(slope)
        return to_logits


@dataclass(frozen=True)
class Gaussian:
    """A mean and a deviation for every gene, whose values are stretched over [-1, 1].

    It begins, as stable-baselines3's does, with deviation 1. What falls outside is moved to the nearest end.
    """

    units: FloatArray
    sizes: IntArray
    means: FloatArray
    """(genes, n)"""
    squashed: FloatArray
    """The deviations' logarithms as shares of the largest they may be: (genes, n)."""

    @staticmethod
    def of(units: FloatArray, sizes: IntArray, outputs: FloatArray) -> Gaussian:
        """Of outputs (genes, n, 2): the mean, and the deviation's logarithm before it is squashed."""
        return Gaussian(units, sizes, outputs[..., 0], numerics.tanh(outputs[..., 1] / _WIDEST))

    @property
    def deviations(self) -> FloatArray:
        """(genes, n)"""
        return numerics.exp(_WIDEST * self.squashed)

    def draw(self, rows: IntArray, rng: np.random.Generator) -> ActionArray:
        """Numbers drawn for the observations of these rows: (rows, genes)."""
        noise = rng.standard_normal((len(self.sizes), len(rows)))
        return (self.means[:, rows] + self.deviations[:, rows] * noise).T

    def genes(self, actions: ActionArray) -> IntArray:
        """The nearest values: (n, genes)."""
        shares = (np.clip(actions, -1.0, 1.0) + 1.0) / 2.0
        return np.rint(shares * (self.sizes - 1)).astype(np.int64)

    def actions(self, genes: IntArray) -> ActionArray:
        """Where in [-1, 1] the values are: (n, genes)."""
        return genes / np.maximum(self.sizes - 1, 1) * 2.0 - 1.0

    def log_likelihoods(self, actions: ActionArray) -> FloatArray:
        """The logarithm of the density of each gene's number, before it is rounded: (genes, n)."""
        spread = self._spread(actions)
        densities: FloatArray = -0.5 * spread * spread - _WIDEST * self.squashed - 0.5 * math.log(2 * math.pi)
        return densities

    def slopes(self, actions: ActionArray, pulls: FloatArray, entropy: float) -> list[FloatArray]:
        """See Policy."""
        spread = self._spread(actions)
        to_means = pulls * spread / self.deviations
        # The entropy is the deviation's logarithm, and a constant.
        to_logs = pulls * (spread * spread - 1) + entropy
        return [np.stack([to_means, to_logs * (1 - self.squashed * self.squashed)], axis=-1)]

    def _spread(self, actions: ActionArray) -> FloatArray:
        """How many deviations from the mean they are: (genes, n)."""
        spread: FloatArray = (actions.T - self.means) / self.deviations
        return spread


def stack_heads(sizes: IntArray, actions: Actions = "categorical") -> tuple[HeadStack, ...]:
    """The genes by how many outputs their heads have: a few alike if Gaussian, else as many as choices.

    Then one stack holds those of up to 64 choices, the next those of up to four times as many, and so on.
    """
    if actions == "gaussian":
        return (HeadStack(np.arange(len(sizes)), np.ones((len(sizes), 1, 2), np.bool_)),)
    levels = np.ceil(np.log2(np.maximum(sizes, 64) / 64) / 2)
    stacks = []
    for level in np.unique(levels):
        genes = np.flatnonzero(levels == level)
        choices = np.arange(sizes[genes].max())
        stacks.append(HeadStack(genes, (choices < sizes[genes, np.newaxis])[:, np.newaxis]))
    return tuple(stacks)
