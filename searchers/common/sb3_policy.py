"""What an agent of stable-baselines3 has learned, as a policy of ours: the same actions, as likely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from learners.heads import Choices, Head, Normals
from learners.networks import Networks
from learners.policy import Policy
from learners.team import Team

if TYPE_CHECKING:
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

_NEVER = -1e9
_ACTIVATIONS = {nn.Tanh: "tanh", nn.ReLU: "relu"}


def policy_of(agent: OnPolicyAlgorithm, team: Team) -> Policy:
    """The actor of an actor-critic with an MlpPolicy, in a team of one."""
    from stable_baselines3.common.policies import ActorCriticPolicy

    policy = agent.policy
    assert isinstance(policy, ActorCriticPolicy)
    hidden = list(policy.mlp_extractor.policy_net)
    assert isinstance(policy.action_net, nn.Linear)
    layers = [(layer.weight, layer.bias) for layer in hidden if isinstance(layer, nn.Linear)]
    last, head = _last_layer(policy.action_net, team, policy)
    weights = [x for weight, bias in (*layers, last) for x in (weight.T[None], bias[None, None])]
    activation = next((_ACTIVATIONS[type(layer)] for layer in hidden if type(layer) in _ACTIVATIONS), "relu")
    copies = [weight.detach().clone() for weight in weights]
    return Policy(type(agent).__name__.lower(), team, head, Networks(copies, activation))


def _last_layer(linear: nn.Linear, team: Team, policy: nn.Module) -> tuple[tuple[Tensor, Tensor], Head]:
    """The last layer with our outputs: the deviations, or choices that do not exist, beside the agent's."""
    if not team.discrete:
        logs = policy.log_std
        assert isinstance(logs, Tensor)
        weight = torch.cat((linear.weight, torch.zeros_like(linear.weight)))
        return (weight, torch.cat((linear.bias, logs))), Normals(team.width)
    places = torch.from_numpy(np.flatnonzero(team.real[0].ravel()))
    weight = linear.weight.new_zeros((team.width, linear.in_features))
    bias = linear.bias.new_full((team.width,), _NEVER)
    weight[places], bias[places] = linear.weight.detach(), linear.bias.detach()
    return (weight, bias), Choices(team.real)
