"""Steps with the rewards of the next few folded in, for targets over n steps that need no later step.

What learners from such steps share stands here too.

A folded step is a step from where the first began to where the last led: its reward is r_1 + d_1 r_2 +
d_1 d_2 r_3 + ..., and its `ended` is 1 - d_1 d_2 ... d_n, where d_k is the discount, or 0 where an agent's
episode ended: what is left counts for the value of where the last led.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learners.errors import InputError, positive_number, whole_number
from learners.phases import UPDATE, Phases
from learners.replay import Transitions, make_replay

_MAX = 10_000_000
_MAX_UNITS = 8192


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
            done.append(fold_steps(self._held, self._discount))
            del self._held[0]
        return done

    def _all(self) -> list[Transitions]:
        steps, self._held = self._held, []
        return [fold_steps(steps[first:], self._discount) for first in range(len(steps))]


def fold_steps(steps: Sequence[Transitions], discount: float) -> Transitions:
    """One step from the first's observations to the last's: rewards add up, each discounted by those before.

    Its `ended` is 1 where the episode ended, else 1 - discount ** steps: what follows counts by the rest.
    """
    first, last = steps[0], steps[-1]
    counts = np.ones_like(first.rewards)
    rewards = np.zeros_like(first.rewards)
    for step in steps:
        rewards += counts * step.rewards
        counts = counts * np.float32(discount) * (1 - step.ended)
    return Transitions(first.observations, first.actions, rewards, last.following, 1 - counts)


@dataclass(frozen=True)
class FoldedSettings:
    """How one learns from folded steps."""

    net_arch: tuple[int, ...] = (64, 64)
    """Units of the hidden layers of what acts, ReLU."""
    n_steps: int = 3
    """Steps whose rewards a target counts as they were."""
    gamma: float = 0.99
    batch_size: int = 64
    train_freq: int = 4
    """Steps between updates: each is learned from batch_size x gradient_steps / train_freq times: 16."""
    gradient_steps: int = 1
    """Updates at a time."""
    learning_starts: int = 1000
    """Steps of random actions, before which nothing is learned."""
    exploration_noise: float = 0.1
    """How much is tried out: the chance of a random choice, or the deviation of noise on numbers."""
    learning_rate: float = 0.001
    """Adam's."""
    tau: float = 0.02
    """The share of the way to the networks that their targets go after an update."""
    max_grad_norm: float = 10.0
    """Length to which a gradient is cut."""
    buffer_size: int = 100_000
    """Steps that the memory holds."""

    aliases: ClassVar[Mapping[str, str]] = {
        "hidden": "net_arch",
        "batch": "batch_size",
        "discount": "gamma",
        "capacity": "buffer_size",
        "update_every": "train_freq",
        "max_norm": "max_grad_norm",
        "steps": "n_steps",
        "updates": "gradient_steps",
        "warm_up": "learning_starts",
        "spread": "exploration_noise",
    }

    def __post_init__(self) -> None:
        for name in ("n_steps", "batch_size", "train_freq", "gradient_steps", "buffer_size"):
            whole_number(getattr(self, name), name, most=_MAX)
        whole_number(self.learning_starts, "learning_starts", least=0, most=_MAX)
        refuse_other_units("net_arch", self.net_arch)
        for name in ("learning_rate", "max_grad_norm"):
            positive_number(getattr(self, name), name)
        for name in ("tau", "gamma", "exploration_noise"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")


def refuse_other_units(name: str, layers: Sequence[int]) -> None:
    """Raise an InputError where hidden layers have units that cannot be."""
    for units in layers:
        whole_number(units, f"{name}: units of a layer", most=_MAX_UNITS)


class FoldedLearner(ABC):
    """A learner that takes in steps, or is handed folded ones by who acts elsewhere; `update` is its own."""

    def __init__(self, settings: FoldedSettings, phases: Phases) -> None:
        self.n_steps, self.gamma = settings.n_steps, settings.gamma
        self.learning_starts = settings.learning_starts
        self.replay = make_replay("contiguous", settings.buffer_size)
        self._folding = Folding(settings.n_steps, settings.gamma)
        self._pace, self._updates = settings.train_freq, settings.gradient_steps
        self._enough = max(settings.learning_starts, settings.batch_size)
        self._phases, self._taken = phases, 0

    def learn(self, step: Transitions) -> None:
        """Take in a step, and update every so often."""
        for whole in self._folding.add(step):
            self.take(whole)

    def take(self, step: Transitions) -> None:
        """Keep a folded step, and update every so often."""
        self.replay.add(step)
        self._taken += 1
        if self._taken >= self._enough and self._taken % self._pace == 0:
            with self._phases(UPDATE):
                for _ in range(self._updates):
                    self.update()

    @abstractmethod
    def update(self) -> None:
        """Learn from a mini-batch of what was taken in."""
