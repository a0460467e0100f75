"""Random walkers: from random points, small random steps, and a fresh start where they lead nowhere.

The baseline that "Multi-Agent Reinforcement Learning for Sample-Efficient Deep Neural Network Mapping"
(Krishnan et al., 2025, arXiv:2507.16249) calls a random walker; the paper says no more of it. Here a step
is a neighbour of the mapping: a prime factor moved between levels, two loops swapped, another parallel dim
or cluster size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.errors import InputError
from dse.support.validation import whole_number
from searchers.common.settings import MAX_POINTS

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Walk:
    """Random walks that step to a worse point seldom or never.

    `n_walkers` walk side by side, each a step at a time, the first ones from what is known already.

    A step to a worse point is taken with probability `uphill_prob`, any other always. A walker that has not
    improved for `patience` steps starts again at a random point. The defaults were measured on development
    layers, where a blind walk (`uphill_prob` 1) is worse than random search.
    """

    n_walkers: int = 16
    patience: int = 50
    uphill_prob: float = 0.0

    aliases: ClassVar[Mapping[str, str]] = {"walkers": "n_walkers", "uphill": "uphill_prob"}
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.n_walkers, "n_walkers", most=MAX_POINTS)
        whole_number(self.patience, "patience")
        if not 0 <= self.uphill_prob <= 1:
            raise InputError(f"uphill_prob must be between 0 and 1, got {self.uphill_prob}")

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Walk until the budget is spent."""
        space = evaluate.space
        known = evaluate.known
        begun, at = known.genes[: self.n_walkers], known.evaluations.loss[: self.n_walkers]
        drawn = space.sample(rng, self.n_walkers - len(begun))
        here, losses = np.concatenate([begun, drawn]), np.concatenate([at, evaluate(drawn).loss])
        idle = np.zeros(self.n_walkers, np.int64)
        while True:
            lost = idle >= self.patience
            there = space.neighbour(rng, here)
            there[lost] = space.sample(rng, int(lost.sum()))
            losses[lost] = np.inf
            reached = evaluate(there).loss
            idle = np.where(lost | (reached < losses), 0, idle + 1)
            moves = (reached <= losses) | (rng.random(self.n_walkers) < self.uphill_prob)
            here[moves] = there[moves]
            losses[moves] = reached[moves]
