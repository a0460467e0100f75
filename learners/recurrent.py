"""QMIX and VDN of agents that remember: a layer, then gated recurrent units, learned from whole episodes.

The agents' network of Rashid et al., "QMIX" (ICML 2018, arXiv:1803.11605): a linear layer, ReLU, a GRU (Cho
et al., EMNLP 2014, arXiv:1406.1078) of as many units, a linear layer. Mini-batches are runs of `run` steps
from the beginning of an episode, through which gradients go back to its first step; targets follow at every
step of it. Connections, masks and their count are as elsewhere (learners.sparse): a GRU is two layers of
three times its units, and what its gates do unit by unit is not counted, as activations are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learners.errors import InputError
from learners.networks import Networks
from learners.phases import Phases, measure_nothing
from learners.policy import Policy
from learners.qmix import QMIX, QMIXLearner, lambda_returns
from learners.replay import Transitions
from learners.segments import Segments
from learners.team import Team


class Recurrent(Networks):
    """Networks of four layers, of which the middle two are a GRU's: of what it is given, and of its state."""

    @staticmethod
    def begun(rng: np.random.Generator, inputs: int, units: int, outputs: int) -> Recurrent:
        """One network with weights as Networks.drawn makes them."""
        sizes = ((inputs, units), (units, 3 * units), (units, 3 * units), (units, outputs))
        return Recurrent([weight for size in sizes for weight in Networks.drawn(rng, 1, size).weights])

    def unrolled(self, rows: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What comes of rows (n, steps, inputs), one step after the other: (n, steps, outputs).

        And the state (n, units) after the last; zeros are before the first where no `state` is given.
        """
        enter, enter_bias, given, given_bias, held, held_bias, leave, leave_bias = (
            weight[0] for weight in self.weights
        )
        parts = torch.relu(rows @ enter + enter_bias) @ given + given_bias
        state = rows.new_zeros(len(rows), len(held)) if state is None else state
        states = []
        for step in parts.unbind(dim=1):
            reset, update, new = step.chunk(3, dim=1)
            from_reset, from_update, from_new = torch.addmm(held_bias, state, held).chunk(3, dim=1)
            new = torch.tanh(new + torch.sigmoid(reset + from_reset) * from_new)
            state = torch.lerp(new, state, torch.sigmoid(update + from_update))
            states.append(state)
        return torch.stack(states, dim=1) @ leave + leave_bias, state


@dataclass(frozen=True)
class RecurrentQMIX(QMIX):
    """The algorithm. `net_arch` is one number, the units; a run is an episode, or its first `run` steps."""

    net_arch: tuple[int, ...] = (64,)
    batch_size: int = 8
    train_freq: int = 16
    run: int = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.net_arch) != 1:
            raise InputError(f"net_arch of a recurrent network is one number, got {list(self.net_arch)}")

    def begin(
        self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing
    ) -> RecurrentLearner:
        """A team that has not learned yet."""
        return RecurrentLearner(self, team, rng, phases)


class RecurrentLearner(QMIXLearner):
    """A team that learns, and is told to `forget` when an episode begins: see training.learn_for_steps.

    It holds whole episodes: `learn` is to be given their steps one after the other.
    """

    def __init__(self, settings: RecurrentQMIX, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        super().__init__(settings, team, rng, phases)
        self._state: Tensor | None = None

    def forget(self) -> None:
        """See QMIXLearner."""
        self._state = None

    def update(self) -> None:
        """See QMIXLearner: values and targets at every step of the runs."""
        steps, there = self._drawn(self._settings.run)
        held = torch.from_numpy(there)
        targets = self._targets(steps, there)
        observations = torch.from_numpy(steps.observations)
        chosen = torch.from_numpy(steps.actions).flatten(0, 1).view(-1, *self._real.shape)
        values = self._along(self.agents.networks, observations)[0].flatten(0, 1)
        own = (values.masked_fill(~self._real, 0.0) * chosen).sum(dim=3).mean(dim=2)
        mixer = self.mixer.networks if self.mixer else None
        total = self._mixed(mixer, own, observations.flatten(0, 1))
        errors = torch.nn.functional.smooth_l1_loss(total, targets.flatten(), reduction="none")
        self._count(held.numel(), held.numel())
        # Targets of agents see a run's first step too.
        self.flops += self._real.shape[0] * len(held) * self.agents.flops
        self._descend((errors * held.flatten()).sum() / held.sum())

    def policy(self) -> Policy:
        """There is none: a Policy is of networks that see one observation."""
        raise InputError("a recurrent team is no policy of single observations; act with `greedy`")

    def _begun(self, rng: np.random.Generator) -> Networks:
        inputs = self._team.observed + len(self._team.names)
        return Recurrent.begun(rng, inputs, self._settings.net_arch[0], self._team.width)

    def _runs(self, memory: Segments, count: int, length: int) -> tuple[Transitions, np.ndarray]:
        return memory.begun(self._sampling, count, length)

    def _now(self, observations: Tensor) -> Tensor:
        values, self._state = self._along(self.agents.networks, observations[:, None], self._state)
        return values[:, 0]

    def _along(self, networks: Networks, seen: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Of each choice, for (n, steps, agents, observed): (n, steps, agents, parts, choices)."""
        assert isinstance(networks, Recurrent)
        teams, steps, agents = seen.shape[:3]
        rows = torch.cat([seen, self._who.expand(teams, steps, -1, -1)], dim=3)
        rows = rows.transpose(1, 2).flatten(0, 1)
        outputs, state = networks.unrolled(rows, state)
        values = outputs.view(teams, agents, steps, *self._real.shape[1:]).transpose(1, 2)
        return values.masked_fill(~self._real, -1e9), state

    @torch.no_grad()
    def _targets(self, steps: Transitions, there: np.ndarray) -> Tensor:
        """What the team's values are to come to, (n, steps): over one step, or TD(lambda) to the end."""
        settings, held = self._settings, torch.from_numpy(there)
        following = torch.from_numpy(steps.following)
        whole = torch.cat([torch.from_numpy(steps.observations[:, :1]), following], dim=1)
        values = self._along(self._target_agents, whole)[0][:, 1:]
        best = self._best(values.flatten(0, 1)).mean(dim=2)
        later = self._mixed(self._target_mixer, best, following.flatten(0, 1)).view(held.shape)
        rewards = torch.from_numpy(steps.rewards).mean(dim=2)
        going_on = settings.gamma * (1 - torch.from_numpy(steps.ended).amin(dim=2))
        return lambda_returns(rewards, going_on, later, held, settings.decay if self._far else 0.0)
