"""QMIX and VDN: agents with values of their own, whose mixture is the team's; trained dense or sparse.

Rashid et al., "QMIX" (ICML 2018, arXiv:1803.11605): a network mixes the agents' values with weights that are
never negative and come from the state, so that what is best for each is best for all. Sunehag et al., "VDN"
(2017, arXiv:1706.05296): the mixture is the sum. Agents share one network, which is told who they are, and
the state is what all observe; there is no memory of past observations. Where an action has several parts, an
agent's value is the mean of its parts'.

The three aids of MAST (Hu et al., "Value-Based Deep Multi-Agent Reinforcement Learning with Dynamic Sparse
Training", NeurIPS 2024, arXiv:2409.19391), as far as its abstract and recollection go, each of which can be
switched off:

- `soft_mellowmax` (Gan, Zhang and Tan, AAAI 2021, arXiv:2012.09456) in place of the maximum, as targets of
  sparse networks come out too high: log(sum of softmax(sharpness q) exp(omega q)) / omega.
- `returns = "hybrid"`: targets over many steps, TD(lambda), in the first half of `schedule` updates, when
  targets mislead, over one step later. `delayed` is the other way round, as Tan et al., "RLx2" (ICLR 2023,
  arXiv:2205.15043), have it, whose replay of changing size is not here.
- `recent_buffer_size`: half of a mini-batch comes from a small memory of the last steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from learners.arrays import IntArray, SingleArray
from learners.errors import InputError, positive_number, unknown_name, whole_number
from learners.heads import Choices
from learners.networks import Networks
from learners.phases import ACTIONS, UPDATE, Phases, measure_nothing
from learners.policy import Policy
from learners.replay import Transitions
from learners.segments import Segments
from learners.sparse import SparseNetworks, Sparsity
from learners.team import Team

Mixing = Literal["qmix", "vdn"]
Returns = Literal["one-step", "hybrid", "delayed"]
_MAX = 10_000_000


@dataclass(frozen=True)
class QMIX:
    """The algorithm with its settings."""

    mixing: Mixing = "qmix"
    net_arch: tuple[int, ...] = (64, 64)
    """Units of the hidden layers, ReLU, of the agents' network."""
    embedding: int = 32
    """Units of the mixture, and of the hidden layer of the network that makes its weights."""
    batch_size: int = 64
    """Runs of steps in a mini-batch."""
    learning_rate: float = 0.001
    tau: float = 0.01
    """The share of the way to the networks that their targets go after an update."""
    gamma: float = 0.95
    buffer_size: int = 100_000
    """Steps that the memory holds."""
    train_freq: int = 4
    """Steps between updates; the first is made when a mini-batch is held."""
    max_grad_norm: float = 10.0
    """Length to which a gradient is cut."""
    exploration_final_eps: float = 0.05
    """The chance of a random action in the end."""
    exploration_steps: int = 10_000
    """Steps in which it falls to that from 1."""
    schedule: int = 2000
    """Updates in whose middle `returns` change."""
    soft_mellowmax: bool = False
    returns: Returns = "one-step"
    recent_buffer_size: int = 0
    """Steps that the small memory holds; 0: there is none."""
    sparsity: Sparsity = field(default_factory=Sparsity)
    run: int = 4
    """Steps of a run where targets go over many."""
    decay: float = 0.8
    """Lambda of such targets."""
    sharpness: float = 1.0
    omega: float = 10.0

    aliases: ClassVar[Mapping[str, str]] = {
        "hidden": "net_arch",
        "batch": "batch_size",
        "discount": "gamma",
        "capacity": "buffer_size",
        "update_every": "train_freq",
        "max_norm": "max_grad_norm",
        "explored": "exploration_final_eps",
        "explored_until": "exploration_steps",
        "mellow": "soft_mellowmax",
        "recent": "recent_buffer_size",
    }

    def __post_init__(self) -> None:
        for name, known in (("mixing", Mixing), ("returns", Returns)):
            if getattr(self, name) not in get_args(known):
                raise unknown_name(name, getattr(self, name), get_args(known))
        for name in (
            "embedding",
            "batch_size",
            "buffer_size",
            "train_freq",
            "exploration_steps",
            "schedule",
            "run",
        ):
            whole_number(getattr(self, name), name, most=_MAX)
        whole_number(self.recent_buffer_size, "recent_buffer_size", least=0, most=_MAX)
        for name in ("learning_rate", "max_grad_norm", "omega"):
            positive_number(getattr(self, name), name)
        for name in ("tau", "gamma", "exploration_final_eps", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")

    def begin(self, team: Team, rng: np.random.Generator, phases: Phases = measure_nothing) -> QMIXLearner:
        """A team that has not learned yet."""
        return QMIXLearner(self, team, rng, phases)


class QMIXLearner:
    """A team that learns. `flops` is what its training has taken so far, by learners.sparse's count."""

    def __init__(self, settings: QMIX, team: Team, rng: np.random.Generator, phases: Phases) -> None:
        if not team.discrete:
            raise InputError("qmix and vdn need discrete actions, got boxes")
        beginning, self._sampling, self._trying, rewiring = rng.spawn(4)
        self._settings, self._team, self._phases = settings, team, phases
        agents = len(team.names)
        self._real = torch.from_numpy(team.real)
        self._who = torch.eye(agents)
        self.agents = self._sparse(self._begun(beginning), rewiring)
        self.mixer: SparseNetworks | None = None
        if settings.mixing == "qmix":
            made = settings.embedding * (agents + 2) + 1
            state = (agents * team.observed, settings.embedding, made)
            self.mixer = self._sparse(Networks.drawn(beginning, 1, state), rewiring)
        self._target_agents = self.agents.networks.copy()
        self._target_mixer = self.mixer.networks.copy() if self.mixer else None
        self._large = Segments(settings.buffer_size)
        self._small = Segments(settings.recent_buffer_size) if settings.recent_buffer_size else None
        self._steps = self._updates = 0
        self.flops = 0

    @property
    def inference_flops(self) -> int:
        """Of the actions of all agents for one observation each."""
        return len(self._team.names) * self.agents.flops

    def act(self, observations: SingleArray) -> SingleArray:
        """Actions to try, (agents, width): now and then random ones."""
        chosen: SingleArray = self.tries(observations[np.newaxis])[0]
        return chosen

    def tries(self, observations: SingleArray) -> SingleArray:
        """The same for teams side by side: (teams, agents, width) for (teams, agents, observed)."""
        settings, real = self._settings, self._team.real
        with self._phases(ACTIONS), torch.no_grad():
            values = self._now(torch.from_numpy(observations))
        done = min(self._steps / settings.exploration_steps, 1.0)
        chance = 1 + (settings.exploration_final_eps - 1) * done
        # Drawn in any case, so that one agent's chance does not move another's.
        noise = np.where(real, self._trying.random((len(observations), *real.shape)), -1.0).argmax(axis=3)
        random = self._trying.random(noise.shape[:2]) < chance
        chosen = np.where(random[..., np.newaxis], noise, values.argmax(dim=3).numpy())
        one_hot: SingleArray = np.eye(real.shape[2], dtype=np.float32)[chosen]
        return one_hot.reshape(*noise.shape[:2], -1)

    def forget(self) -> None:
        """Begin an episode: what was seen before is of another."""

    def greedy(self, observations: SingleArray) -> IntArray:
        """What is best after all that was seen since `forget`: (teams, agents, parts)."""
        with torch.no_grad():
            chosen: IntArray = self._now(torch.from_numpy(observations)).argmax(dim=3).numpy()
        return chosen

    def learn(self, step: Transitions) -> None:
        """Take in a step, and update every so often."""
        self._large.add(step)
        if self._small is not None:
            self._small.add(step)
        self._steps += 1
        if len(self._large) >= self._settings.batch_size and self._steps % self._settings.train_freq == 0:
            with self._phases(UPDATE):
                self.update()

    def update(self) -> None:
        """Go down the error of the team's values once, then let the targets follow."""
        settings = self._settings
        steps, there = self._drawn(settings.run if self._far else 1)
        targets = self._targets(steps, there)
        observations = torch.from_numpy(steps.observations[:, 0])
        chosen = torch.from_numpy(steps.actions[:, 0]).view(-1, *self._real.shape)
        values = self._values(self.agents.networks, observations)
        own = (values.masked_fill(~self._real, 0.0) * chosen).sum(dim=3).mean(dim=2)
        total = self._mixed(self.mixer.networks if self.mixer else None, own, observations)
        loss = torch.nn.functional.smooth_l1_loss(total, targets)
        self._count(len(targets), len(targets) * there.shape[1])
        self._descend(loss)

    def _descend(self, loss: Tensor) -> None:
        """Go down the gradient of a loss, and let the targets follow."""
        settings = self._settings
        parts = [self.agents, self.mixer] if self.mixer else [self.agents]
        weights = [weight for part in parts for weight in part.networks.weights]
        gradients = list(torch.autograd.grad(loss, weights))
        for part in parts:
            part.step(gradients[: len(part.networks.weights)])
            del gradients[: len(part.networks.weights)]
        self._target_agents.follow(self.agents.networks, settings.tau)
        if self._target_mixer and self.mixer:
            self._target_mixer.follow(self.mixer.networks, settings.tau)
        self._updates += 1

    def policy(self) -> Policy:
        """What has been learned so far: to each agent its network, in whose bias it is told who it is."""
        first, bias, *others = (weight.detach() for weight in self.agents.networks.weights)
        agents, observed = len(self._team.names), self._team.observed
        own = bias + first[0, observed:][:, None]
        weights = [first[:, :observed].expand(agents, -1, -1), own]
        weights += [weight.expand(agents, -1, -1) for weight in others]
        return Policy(self._settings.mixing, self._team, Choices(self._team.real), Networks(weights).copy())

    def _begun(self, rng: np.random.Generator) -> Networks:
        """The agents' network that has not learned yet."""
        sizes = (self._team.observed + len(self._team.names), *self._settings.net_arch, self._team.width)
        return Networks.drawn(rng, 1, sizes)

    def _now(self, observations: Tensor) -> Tensor:
        """The values of what may be done now, where agents have seen (teams, agents, observed)."""
        return self._values(self.agents.networks, observations)

    def _sparse(self, networks: Networks, rng: np.random.Generator) -> SparseNetworks:
        settings = self._settings
        return SparseNetworks(
            networks, settings.sparsity, settings.learning_rate, settings.max_grad_norm, rng
        )

    def _drawn(self, length: int) -> tuple[Transitions, np.ndarray]:
        batch = self._settings.batch_size
        if self._small is None:
            return self._runs(self._large, batch, length)
        parts = [
            self._runs(memory, count, length)
            for memory, count in ((self._large, batch - batch // 2), (self._small, batch // 2))
            if count
        ]
        names = Transitions.__dataclass_fields__
        steps = Transitions(*(np.concatenate([getattr(drawn, name) for drawn, _ in parts]) for name in names))
        return steps, np.concatenate([there for _, there in parts])

    def _runs(self, memory: Segments, count: int, length: int) -> tuple[Transitions, np.ndarray]:
        """So many runs of steps from a memory."""
        return memory.sample(self._sampling, count, length)

    @property
    def _far(self) -> bool:
        """Whether targets go over many steps now."""
        half = self._updates < self._settings.schedule // 2
        return {"one-step": False, "hybrid": half, "delayed": not half}[self._settings.returns]

    @torch.no_grad()
    def _targets(self, steps: Transitions, there: np.ndarray) -> Tensor:
        """What the team's values are to come to: (batch,). Over many steps, TD(lambda)."""
        settings = self._settings
        following = torch.from_numpy(steps.following)
        flat = following.flatten(0, 1)
        values = self._values(self._target_agents, flat)
        best = self._best(values).mean(dim=2)
        later = self._mixed(self._target_mixer, best, flat).view(there.shape)
        rewards = torch.from_numpy(steps.rewards).mean(dim=2)
        going_on = settings.gamma * (1 - torch.from_numpy(steps.ended).amin(dim=2))
        return lambda_returns(rewards, going_on, later, torch.from_numpy(there), settings.decay)[:, 0]

    def _best(self, values: Tensor) -> Tensor:
        """The value of the best choice of each part, or Soft Mellowmax of all that there are."""
        if not self._settings.soft_mellowmax:
            return values.amax(dim=3)
        chances = torch.log_softmax(self._settings.sharpness * values, dim=3)
        omega = self._settings.omega
        return torch.logsumexp(chances + omega * values, dim=3) / omega

    def _values(self, networks: Networks, observations: Tensor) -> Tensor:
        """Of each choice, for observations (n, agents, observed): (n, agents, parts, choices)."""
        rows = torch.cat([observations, self._who.expand(len(observations), -1, -1)], dim=2)
        outputs = networks(rows.flatten(0, 1)[None])[0]
        return outputs.view(len(observations), *self._real.shape).masked_fill(~self._real, -1e9)

    def _mixed(self, mixer: Networks | None, values: Tensor, observations: Tensor) -> Tensor:
        """The team's value (n,) of the agents' (n, agents); their sum where nothing mixes them."""
        if mixer is None:
            return values.sum(dim=1)
        made = mixer(observations.flatten(1)[None])[0]
        agents, embedding = values.shape[1], self._settings.embedding
        first, bias, second, last = torch.split(made, [agents * embedding, embedding, embedding, 1], 1)
        # Weights of a size that keeps the mixture of many agents that of one.
        mixture = (values[:, None] @ first.view(-1, agents, embedding).abs() / agents)[:, 0]
        hidden = torch.nn.functional.elu(mixture + bias)
        total: Tensor = (hidden * second.abs()).mean(dim=1) * agents + last[:, 0]
        return total

    def _count(self, rows: int, followed: int) -> None:
        """Training of the networks on `rows`, and their targets on `followed`."""
        agents = len(self._team.names)
        self.flops += agents * (rows * self.agents.training_flops() + followed * self.agents.flops)
        if self.mixer:
            self.flops += rows * self.mixer.training_flops() + followed * self.mixer.flops


def lambda_returns(rewards: Tensor, going_on: Tensor, later: Tensor, held: Tensor, decay: float) -> Tensor:
    """TD(lambda) from each step of runs (n, steps) to the last that is `held`; over one step with decay 0.

    `later` are values after each step, and count by `going_on`.
    """
    found = rewards + going_on * later
    for step in range(held.shape[1] - 2, -1, -1):
        mixed = (1 - decay) * later[:, step] + decay * found[:, step + 1]
        mixed = torch.where(held[:, step + 1], mixed, later[:, step])
        found[:, step] = rewards[:, step] + going_on[:, step] * mixed
    return found
