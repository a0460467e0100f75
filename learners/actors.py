"""Actors that act by copies of a learner's policy, in few bits: the parts of ActorQ.

Lam et al., "QuaRL" (TMLR 2022, arXiv:1910.01055): a learner in full precision hands its policy to a parameter
quantiser, `quantise(named(learner.actors), bits)` of learners.quantised; actors pull what it made every so
many steps, and execute it in few bits. What is sent and what is executed may be of different precisions. An
actor's steps come folded to the learner, whose `take` learns from them.

`play_in_lockstep` runs them in turns, to the same numbers each time; experiments.actorq runs them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor

from learners.arrays import IntArray, SingleArray
from learners.folding import Folding
from learners.networks import Networks
from learners.quantised import FULL, QuantisedWeights, quantise_weights
from learners.quantised_networks import Executed, named_weights
from learners.replay import Transitions
from learners.team import Team


class Taking(Protocol):
    """A learner that others act for; `n_steps` and `gamma` are what it wants folded."""

    actors: Networks
    n_steps: int
    gamma: float
    learning_starts: int

    def take(self, step: Transitions) -> None:
        """Keep a folded step, and perhaps learn."""
        ...


class Actors:
    """Actors in environments of their own, that act by one policy in one product.

    `spreads` (actors,) say how much each tries out: the deviation of its noise, or where actions are choices
    the chance of a random one. `bits` are those that the policy is executed in.
    """

    def __init__(
        self, team: Team, learner: Taking, spreads: SingleArray, bits: int, rng: np.random.Generator
    ) -> None:
        (self._trying,) = rng.spawn(1)
        self._team, self._spreads, self._bits = team, spreads.astype(np.float32)[:, np.newaxis], bits
        self._foldings = [Folding(learner.n_steps, learner.gamma) for _ in spreads]
        self._policy: Callable[[Tensor], Tensor] | None = None
        self._warm_up, self._acted = learner.learning_starts, 0

    def load(self, weights: QuantisedWeights, activation: str = "relu") -> None:
        """Act by these weights from now on."""
        self._policy = executable_policy(weights, activation, self._bits)

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions (actors, width) to try on observations (actors, observed)."""
        assert self._policy is not None
        with torch.no_grad():
            outputs = self._policy(torch.from_numpy(observations)[None])[0].numpy()
        self._acted += len(observations)
        random = self._acted <= self._warm_up
        if self._team.discrete:
            return tried_choices(outputs, self._trying, self._spreads, random)
        return tried_levels(np.tanh(outputs), self._trying, self._spreads, random)

    def fold(self, actor: int, step: Transitions) -> list[Transitions]:
        """Take in a step of one actor, and give what is complete."""
        return self._foldings[actor].add(step)


def exploration_spreads(most: float, actors: int) -> SingleArray:
    """How much each explores, (actors,): from `most` evenly to 0, so that the last follows the policy."""
    return np.linspace(most, 0, actors, dtype=np.float32)


def executable_policy(weights: QuantisedWeights, activation: str, bits: int) -> Executed:
    """A policy from weights that were sent, as layers that compute in so many bits."""
    if bits != weights.bits:
        plain = weights.dequantise()
        weights = QuantisedWeights(plain, FULL) if bits == FULL else quantise_weights(plain, bits)
    return Executed(weights, activation)


def play_in_lockstep(
    learner: Taking,
    actors: Actors,
    team: Team,
    env: VectorEnv[Any, Any, Any],
    pull_every: int,
    bits: int,
    rng: np.random.Generator,
    going_on: Callable[[SingleArray], bool],
) -> None:
    """Let actors, one an environment, act at once and the learner learn after each, until it is enough.

    Every `pull_every` steps, counted for each actor, the actors get the learner's policy in so many bits.
    `going_on` is told the rewards of each step (actors,). The environments begin anew within a step.
    """
    observations = np.asarray(env.reset(seed=int(rng.integers(2**31)))[0], np.float32)
    steps, enough = 0, False
    while not enough:
        if steps % pull_every == 0:
            actors.load(quantise_weights(named_weights(learner.actors), bits), learner.actors.activation)
        chosen = actors.act(observations)
        seen, rewards, ended, _, infos = env.step(as_actions(team, chosen))
        steps += 1
        seen = np.asarray(seen, np.float32)
        reached = seen.copy()
        for actor in np.flatnonzero(infos.get("_final_obs", np.zeros(len(seen), np.bool_))).tolist():
            reached[actor] = infos["final_obs"][actor]
        for actor in range(len(seen)):
            one = slice(actor, actor + 1)
            step = Transitions(
                observations[one],
                chosen[one],
                np.asarray(rewards[one], np.float32),
                reached[one],
                np.asarray(ended[one], np.float32),
            )
            for folded in actors.fold(actor, step):
                learner.take(folded)
        observations = seen
        enough = not going_on(np.asarray(rewards, np.float32))


def as_actions(team: Team, chosen: SingleArray) -> NDArray[Any]:
    """Actions (n, width) of a team's only agent as vectorised environments take them."""
    if team.discrete:
        picked: IntArray = chosen.argmax(axis=1)
        return picked
    assert team.low is not None
    assert team.high is not None
    low, high = team.low[0], team.high[0]
    stretched: SingleArray = np.clip(low + (chosen + 1) / 2 * (high - low), low, high)
    return stretched


def tried_levels(
    levels: SingleArray, rng: np.random.Generator, spread: SingleArray | np.float32, random: bool
) -> SingleArray:
    """Numbers (n, width) to try in place of `levels`: moved by noise, or drawn evenly where `random`."""
    noise = rng.standard_normal(levels.shape, dtype=np.float32)
    if random:
        return 2 * rng.random(levels.shape, dtype=np.float32) - 1
    moved: SingleArray = np.clip(levels + spread * noise, -1, 1)
    return moved


def tried_choices(
    values: SingleArray, rng: np.random.Generator, chance: SingleArray | np.float32, random: bool
) -> SingleArray:
    """Choices (n, width), one-hot: the highest values, now and then random ones, or all where `random`."""
    others = rng.integers(values.shape[1], size=len(values))
    drawn = rng.random((len(values), 1)) < (1.0 if random else chance)
    chosen = np.where(drawn[:, 0], others, values.argmax(axis=1))
    one_hot: SingleArray = np.eye(values.shape[1], dtype=np.float32)[chosen]
    return one_hot
