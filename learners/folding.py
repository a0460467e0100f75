"""Steps with the rewards of the next few folded in, for targets over n steps that need no later step.

A folded step is a step from where the first began to where the last led: its reward is r_1 + d_1 r_2 +
d_1 d_2 r_3 + ..., and its `ended` is 1 - d_1 d_2 ... d_n, where d_k is the discount, or 0 where an agent's
episode ended: what is left counts for the value of where the last led.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.replay import Transitions


class Folding:
    """The last steps of one environment, until each has been folded with `steps` - 1 later ones."""

    def __init__(self, steps: int, discount: float) -> None:
        self._steps, self._discount = steps, discount
        self._held: list[Transitions] = []

    def add(self, step: Transitions) -> list[Transitions]:
        """Take in a step, and give what is complete: in one piece, or all where an episode ended.

        One that was cut off is seen by the next step's beginning elsewhere.
        """
        done: list[Transitions] = []
        if self._held and not np.array_equal(self._held[-1].following, step.observations):
            done = self._all()
        self._held.append(step)
        if step.ended.all():
            return done + self._all()
        if len(self._held) == self._steps:
            done.append(folded(self._held, self._discount))
            del self._held[0]
        return done

    def _all(self) -> list[Transitions]:
        steps, self._held = self._held, []
        return [folded(steps[first:], self._discount) for first in range(len(steps))]


def folded(steps: Sequence[Transitions], discount: float) -> Transitions:
    """Steps in a row as one."""
    first, last = steps[0], steps[-1]
    counts = np.ones_like(first.rewards)
    rewards = np.zeros_like(first.rewards)
    for step in steps:
        rewards += counts * step.rewards
        counts = counts * np.float32(discount) * (1 - step.ended)
    return Transitions(first.observations, first.actions, rewards, last.following, 1 - counts)
