"""Mapping as a game of PPO agents: they draw a batch of points, are rewarded alike, improve, and draw again.

`marl` and `factored-ppo` are this game with the genes dealt to agents in different ways. A batch is one step
in as many environments, and an episode is one step long, since an action chooses the whole point: so there is
no return beyond the reward, and no critic but the mean of the batch. An observation is the latency, power,
energy and area of the last point in the same environment: as logs, less their mean and over their deviation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from dse.support import numerics
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import positive_number, whole_number
from searchers.common.settings import MAX_POINTS, MAX_REPEATS, MAX_UNITS, check_share
from searchers.common.visited import Visited
from searchers.marl.agents import Agents, Clipping
from searchers.marl.policies import ActionArray, Actions, Policy
from searchers.marl.rewards import Reward, batch_advantages

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.search.evaluator import Evaluator, Known


_OBSERVED = ("cycles", "power", "energy_nj", "area")


@dataclass(frozen=True)
class Learning:
    """How agents learn."""

    actions: Actions = "categorical"
    """What an agent draws for a gene: `categorical`, one of its values, each with a probability of its own;
    or `gaussian`, a number about a mean, rounded to a value, as if values near each other were alike. Those
    want a `learning_rate` of about 0.01: at 0.03 they narrow, and then leap away from what they found."""
    batch_size: int = 32
    """Points drawn at a time, from which the agents then learn."""
    n_epochs: int = 3
    """Steps up the gradient of a batch."""
    learning_rate: float = 0.03
    """Adam's."""
    clip_range: float = 0.2
    """How far a probability ratio may go from 1 in a batch."""
    clipping: Clipping = "agent"
    """Whose ratio that is: `agent`, of each agent's own part of a point, so that agents need know nothing of
    each other; or `joint`, of the whole point, the product of theirs, so that an agent that has changed much
    holds back the others, as the parts of a single agent do."""
    ent_coef: float = 0.01
    """The weight of the policies' entropy beside the advantages, whose deviation is 1 if normalised."""
    hidden: int = 16
    """Units of an agent's hidden layer."""
    max_grad_norm: float = 0.5
    """Length to which an agent's gradient is cut."""
    reward: Reward = "elite"
    """What a point earns beside the others of its batch: see searchers.marl.rewards."""
    elite: float = 0.15
    """The share of a batch that the reward `elite` is given to."""
    normalize_advantage: bool = True
    """Whether advantages are divided by their deviation in the batch; their mean is 0 in any case."""
    patience: int = 1000
    """Samples without a better point after which all agents begin anew, as they do when most of a batch takes
    the last of its `retries`; 0: never."""
    retries: int = 4
    """How often a point whose mapping was drawn before is drawn again; 0: it is evaluated once more."""

    aliases: ClassVar[Mapping[str, str]] = {
        "batch": "batch_size",
        "epochs": "n_epochs",
        "clip": "clip_range",
        "entropy": "ent_coef",
        "max_norm": "max_grad_norm",
        "normalise": "normalize_advantage",
    }
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.batch_size, "batch_size", least=2, most=MAX_POINTS)
        whole_number(self.n_epochs, "n_epochs", most=MAX_REPEATS)
        whole_number(self.hidden, "hidden", most=MAX_UNITS)
        whole_number(self.patience, "patience", least=0)
        whole_number(self.retries, "retries", least=0, most=MAX_REPEATS)
        check_share(self.elite, "elite")
        for name in ("learning_rate", "clip_range", "max_grad_norm"):
            positive_number(getattr(self, name), name)
        if not 0 <= self.ent_coef < np.inf:
            raise InputError(f"ent_coef must be a finite number of at least 0, got {self.ent_coef}")
        if not isinstance(self.normalize_advantage, bool):
            raise InputError(
                f"normalize_advantage must be true or false, got {shorten(self.normalize_advantage)}"
            )
        for name, known in (("reward", Reward), ("actions", Actions), ("clipping", Clipping)):
            if getattr(self, name) not in get_args(known):
                raise unknown_name(name, getattr(self, name), get_args(known))


class ObservationNormalizer:
    """Evaluations as observations: logs of the figures, less their mean and over their deviation so far."""

    inputs = len(_OBSERVED)

    def __init__(self) -> None:
        self._points = 0
        self._sum = np.zeros(self.inputs)
        self._squares = np.zeros(self.inputs)

    def __call__(self, evaluations: Evaluations) -> FloatArray:
        """Observations (n, 4), 0 for points that have no figures, because the cost model refuses them."""
        figures = np.stack([getattr(evaluations, name) for name in _OBSERVED], axis=1).astype(np.float64)
        priced: BoolArray = np.logical_and.reduce(figures > 0, axis=1)
        logs = numerics.log(np.where(priced[:, np.newaxis], figures, 1.0))
        self._points += int(priced.sum())
        self._sum += logs.sum(axis=0)
        self._squares += (logs * logs).sum(axis=0)
        if not self._points:
            return logs
        mean = self._sum / self._points
        deviation = np.sqrt(np.maximum(self._squares / self._points - mean * mean, 0.0)) + 1e-4
        return np.where(priced[:, np.newaxis], np.clip((logs - mean) / deviation, -5, 5), 0.0)


def learn_to_end(
    evaluate: Evaluator, rng: np.random.Generator, learning: Learning, agent_of: IntArray, visited: Visited
) -> None:
    """Let agents who hold the genes by `agent_of` learn, and fresh ones if stale, to the budget's end."""
    normalizer, known = ObservationNormalizer(), evaluate.known
    visited.add(known.genes)
    fresh = len(known.genes) > 0
    while True:
        agents = Agents(
            agent_of, evaluate.space.sizes, normalizer.inputs, learning.hidden, rng, learning.actions
        )
        if fresh:
            _learn_known(known, agents, learning, normalizer)
            fresh = False
        _play_once(evaluate, rng, learning, agents, visited, normalizer)


def _play_once(
    evaluate: Evaluator,
    rng: np.random.Generator,
    learning: Learning,
    agents: Agents,
    visited: Visited,
    normalizer: ObservationNormalizer,
) -> None:
    observations = np.zeros((learning.batch_size, normalizer.inputs))
    best, idle = np.inf, 0
    while True:
        policy = agents.policy(observations)
        actions, repeated = draw_actions(policy, visited, learning.retries, rng)
        evaluations = evaluate(policy.genes(actions))
        shared = batch_advantages(evaluations, learning.reward, learning.elite, learning.normalize_advantage)
        improve_agents(agents, policy, observations, actions, shared, learning)
        observations = normalizer(evaluations)

        lowest = evaluations.loss.min()
        idle = 0 if lowest < best else idle + len(actions)
        best = min(best, lowest)
        if learning.patience and (idle >= learning.patience or repeated > len(actions) / 2):
            return


def _learn_known(known: Known, agents: Agents, learning: Learning, normalizer: ObservationNormalizer) -> None:
    """Learn from the points that a search has begun with as if the agents had drawn them."""
    observations = np.zeros((len(known.genes), normalizer.inputs))
    policy = agents.policy(observations)
    shared = batch_advantages(
        known.evaluations, learning.reward, learning.elite, learning.normalize_advantage
    )
    improve_agents(agents, policy, observations, policy.actions(known.genes), shared, learning)
    normalizer(known.evaluations)


def draw_actions(
    policy: Policy, visited: Visited, retries: int, rng: np.random.Generator
) -> tuple[ActionArray, int]:
    """An action for each observation, (n, genes), and how many of them were drawn anew `retries` times."""
    retried = [0]
    actions = policy.draw(np.arange(policy.units.shape[1]), rng)

    def redraw(rows: IntArray, _: IntArray) -> IntArray:
        retried.append(len(rows))
        actions[rows] = policy.draw(rows, rng)
        return policy.genes(actions[rows])

    visited.renew(policy.genes(actions), redraw, retries)
    return actions, retried[-1] if len(retried) > retries else 0


def improve_agents(
    agents: Agents,
    policy: Policy,
    observations: FloatArray,
    actions: ActionArray,
    shared: FloatArray,
    learning: Learning,
) -> None:
    """Update the agents with actions that `policy` drew at `observations`, and their advantages."""
    before = agents.log_likelihoods(policy, actions)
    for _ in range(learning.n_epochs):
        gradients = agents.gradients(
            observations, actions, before, shared, learning.clip_range, learning.ent_coef, learning.clipping
        )
        agents.ascend(gradients, learning.learning_rate, learning.max_grad_norm)
