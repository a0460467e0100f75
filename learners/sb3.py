"""Agents of stable-baselines3 (Raffin et al., JMLR 2021): begun quietly, and as policies of ours.

A2C, PPO, DQN and DDPG with an MlpPolicy. A policy of ours does what theirs does, and is as likely to, but for
those whose noise depends on the state (`use_sde`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from learners.arrays import FloatArray
from learners.errors import unknown_name
from learners.heads import Choices, Head, Levels, Normals
from learners.networks import Networks
from learners.policy import Policy
from learners.qat import round_layers
from learners.team import Team

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.noise import ActionNoise

AGENTS = ("a2c", "ddpg", "dqn", "ppo")
"""The algorithms, by name."""

_NEVER = -1e9
_ACTIVATIONS = {nn.Tanh: "tanh", nn.ReLU: "relu"}

Layers = list[tuple[Tensor, Tensor]]


class Draws(Protocol):
    """Generators in place of those that the whole process shares."""

    def seed(self, seed: int) -> None:
        """Begin them at a seed."""

    def handed(self) -> AbstractContextManager[Any]:
        """Within, torch draws from its one."""


def new_agent(
    name: str, env: Any, seed: int, settings: dict[str, Any], draws: Draws | None = None
) -> BaseAlgorithm:
    """An agent that has not learned yet, on the CPU, and writes nothing anywhere.

    With `draws` it leaves torch's shared generator alone; who calls sees to it that it does so with others.
    Where learning is to be aware of rounding (see learners.qat), its layers round.
    """
    import stable_baselines3
    from stable_baselines3.common.logger import Logger

    if name not in AGENTS:
        raise unknown_name("agent of stable-baselines3", name, AGENTS)
    made: Any = getattr(stable_baselines3, name.upper())
    with nullcontext() if draws is None else draws.handed():
        seeding = made if draws is None else _seeding(made, draws)
        agent: Any = seeding("MlpPolicy", env, seed=seed, device="cpu", **settings)
    if draws is not None:
        agent.policy.forward = _within(draws, agent.policy.forward)
        if name == "ddpg":
            # It draws noise for its targets, though of deviation 0.
            agent.train = _within(draws, agent.train)
    round_layers(agent.policy)
    # The logger that it would make by itself comes with a folder for its files.
    agent.set_logger(Logger(folder=None, output_formats=[]))
    begun: BaseAlgorithm = agent
    return begun


def _seeding(made: Any, draws: Draws) -> Any:
    """The same algorithm, whose agents seed `draws` and their spaces, and nothing of the whole process."""

    class Seeding(made):  # type: ignore[misc]
        def set_random_seed(self, seed: int | None = None) -> None:
            assert seed is not None
            draws.seed(seed)
            self.action_space.seed(seed)
            self.env.seed(seed)

    Seeding.__name__ = made.__name__
    return Seeding


def _within(draws: Draws, drawing: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(drawing)
    def handed(*arguments: Any, **named: Any) -> Any:
        with draws.handed():
            return drawing(*arguments, **named)

    return handed


def exploration_noise(spread: FloatArray, correlated: bool = False) -> ActionNoise:
    """Normal noise of such deviations, for `action_noise` of a deterministic actor.

    Where it is `correlated`, it is Ornstein and Uhlenbeck's: a step's is near to that of the step before.
    """
    from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise

    made = OrnsteinUhlenbeckActionNoise if correlated else NormalActionNoise
    return made(np.zeros_like(spread), spread)


def policy_of(agent: BaseAlgorithm, team: Team) -> Policy:
    """What the agent has learned by now, in a team of one."""
    layers, head = _actor(agent.policy, team)
    weights = [x for weight, bias in layers for x in (weight.T[None], bias[None, None])]
    copies = [weight.detach().clone() for weight in weights]
    return Policy(type(agent).__name__.lower(), team, head, Networks(copies, _activation(agent.policy)))


def _actor(policy: nn.Module, team: Team) -> tuple[Layers, Head]:
    """The layers from what is observed to what our head takes."""
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import DQNPolicy
    from stable_baselines3.td3.policies import TD3Policy

    if isinstance(policy, DQNPolicy):
        return _with_choices(_linear(policy.q_net.q_net), team)
    if isinstance(policy, TD3Policy):
        return _linear(policy.actor.mu), Levels(team.width)
    assert isinstance(policy, ActorCriticPolicy)
    assert isinstance(policy.action_net, nn.Linear)
    layers = [*_linear(policy.mlp_extractor.policy_net), (policy.action_net.weight, policy.action_net.bias)]
    return _with_choices(layers, team) if team.discrete else _with_deviations(layers, policy, team)


def _linear(parts: nn.Module) -> Layers:
    return [(part.weight, part.bias) for part in parts.children() if isinstance(part, nn.Linear)]


def _with_choices(layers: Layers, team: Team) -> tuple[Layers, Head]:
    """The last layer with choices that do not exist beside the agent's."""
    last, offsets = layers[-1]
    places = torch.from_numpy(np.flatnonzero(team.real[0].ravel()))
    weight = last.new_zeros((team.width, last.shape[1]))
    bias = last.new_full((team.width,), _NEVER)
    weight[places], bias[places] = last.detach(), offsets.detach()
    return [*layers[:-1], (weight, bias)], Choices(team.real)


def _with_deviations(layers: Layers, policy: nn.Module, team: Team) -> tuple[Layers, Head]:
    """The last layer with the deviations beside the means, for numbers in [-1, 1] in place of the box's."""
    assert team.low is not None
    assert team.high is not None
    low, high = torch.from_numpy(team.low[0]), torch.from_numpy(team.high[0])
    scale, middle = 2 / (high - low), (high + low) / (high - low)
    last, offsets = layers[-1]
    logs = policy.log_std
    assert isinstance(logs, Tensor)
    if policy.use_sde:
        # Noise that depends on the state: the most that it can be, where all units of tanh are at an end.
        logs = torch.logsumexp(2 * logs, dim=0) / 2
    weight = torch.cat((last * scale[:, None], torch.zeros_like(last)))
    bias = torch.cat((offsets * scale - middle, logs + scale.log()))
    return [*layers[:-1], (weight, bias)], Normals(team.width)


def _activation(policy: nn.Module) -> str:
    """What stands between two layers of an MlpPolicy; the last of DDPG's actor is its head's."""
    made: Any = policy.activation_fn
    return _ACTIVATIONS[made]
