"""What agents are rewarded with: losses turned into finite advantages, whatever the losses are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from dse.support import numerics
from dse.support.arrays import BoolArray, FloatArray
from searchers.common.scores import penalised_losses

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations


Reward = Literal["elite", "rank", "-log", "1/x"]
"""Ways to reward the points of a batch with losses X, of which the lowest is X*:

- `elite`: log(m + 1/2) - log(rank) for the best m, a share of the batch, and 0 for the others (the weights of
  Hansen, The CMA Evolution Strategy: A Tutorial, arXiv:1604.00772);
- `rank`: minus the rank;
- `-log`: -log(X / X*); infeasible points get 1 less than the worst feasible one;
- `1/x`: X* / X; infeasible points get 0.

Equal points share the mean of their ranks' rewards. Infeasible ones rank behind all others, by how far they
exceed the buffers. A batch without a feasible point is rewarded by `rank` where losses are asked for.
"""


def batch_advantages(
    evaluations: Evaluations, reward: Reward, elite: float, normalise: bool = True
) -> FloatArray:
    """Rewards of the batch with mean 0 and deviation 1, or all 0 where no point is better than another.

    The batch's mean stands in for a critic; `elite` is the share that the reward `elite` is given to. Unless
    asked to `normalise`, the deviation is left as it is.
    """
    losses = evaluations.loss
    feasible = np.isfinite(losses)
    if reward in ("-log", "1/x") and feasible.any():
        rewards = _by_loss(losses, feasible, reward)
    else:
        rewards = _by_rank(penalised_losses(evaluations), elite if reward == "elite" else 0.0)
    return standardised_rewards(rewards) if normalise else rewards - rewards.mean()


def standardised_rewards(rewards: FloatArray) -> FloatArray:
    """The rewards less their mean, over their deviation; all 0 if they are equal."""
    centred = rewards - rewards.mean()
    deviation = float(centred.std())
    return centred / deviation if deviation > 1e-9 else np.zeros_like(centred)


def _by_loss(losses: FloatArray, feasible: BoolArray, reward: Reward) -> FloatArray:
    # A model other than ours may call a point free.
    costs = np.maximum(losses, np.finfo(np.float64).tiny)
    lowest, highest = costs[feasible].min(), costs[feasible].max()
    if reward == "1/x":
        return np.where(feasible, lowest / costs, 0.0)
    # The difference of logs, since a quotient may overflow.
    rewards: FloatArray = numerics.log(lowest) - numerics.log(np.where(feasible, costs, highest))
    return np.where(feasible, rewards, rewards - 1)


def _by_rank(numbers: FloatArray, elite: float) -> FloatArray:
    """Rewards for low numbers by rank alone: for the best share `elite`, or, if that is 0, for all."""
    ranks = np.arange(1, len(numbers) + 1)
    if elite:
        few = max(1, math.floor(elite * len(numbers)))
        weights = np.maximum(0.0, numerics.log(few + 0.5) - numerics.log(ranks))
    else:
        weights = -ranks.astype(np.float64)
    _, place = np.unique(numbers, return_inverse=True)
    shared: FloatArray = np.bincount(np.sort(place), weights) / np.bincount(place)
    return shared[place]
