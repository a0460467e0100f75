"""From a network's outputs to actions, and how they are tried out: the head of an actor.

Rows are (agents, n, ...); randomness comes in as noise, drawn by numpy, so that it can be the same for any
order of computation.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from learners.arrays import BoolArray

_NEVER = -1e9
_LOG_LOWEST, _LOG_HIGHEST = -5.0, 2.0


class Drawn(NamedTuple):
    """Actions (agents, n, width), and the entropy of what they are drawn from, or an estimate of it."""

    actions: Tensor
    entropy: Tensor


class Head(Protocol):
    """How actions are made of outputs."""

    outputs: int

    def noise(self, rng: np.random.Generator, agents: int, n: int) -> Tensor:
        """What `draw` and `explore` take: (agents, n, width)."""
        ...

    def of(self, agents: slice) -> Head:
        """The head of some agents."""
        ...

    def greedy(self, outputs: Tensor) -> Tensor:
        """The actions that are best by the outputs."""
        ...

    def draw(self, outputs: Tensor, noise: Tensor) -> Drawn:
        """Actions through which gradients flow back to the outputs."""
        ...

    def explore(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Actions to try in the environment."""
        ...


class Choices:
    """Discrete actions, one-hot: straight-through Gumbel-softmax (Jang, Gu and Poole, arXiv:1611.01144).

    An action is a choice as it is; its gradient is that of the softmax at `temperature`.
    """

    def __init__(self, real: BoolArray, temperature: float = 1.0) -> None:
        """`real` (agents, parts, choices) says which choices there are."""
        self._array, self._temperature = real, temperature
        self._real = torch.from_numpy(real)[:, None]
        self.outputs = int(real.shape[1] * real.shape[2])

    def noise(self, rng: np.random.Generator, agents: int, n: int) -> Tensor:
        """Gumbel's distribution."""
        uniform = rng.random((agents, n, self.outputs), dtype=np.float32)
        return torch.from_numpy(-np.log(-np.log(uniform.clip(1e-7, 1 - 1e-6))))

    def of(self, agents: slice) -> Choices:
        """See Head."""
        return Choices(self._array[agents], self._temperature)

    def greedy(self, outputs: Tensor) -> Tensor:
        """The likeliest choices."""
        return self._one_hot(self._logits(outputs)).flatten(2)

    def draw(self, outputs: Tensor, noise: Tensor) -> Drawn:
        """Choices by their chances, with the exact entropy."""
        logits = self._logits(outputs)
        perturbed = (logits + noise.view(logits.shape)) / self._temperature
        soft = torch.softmax(perturbed, dim=-1)
        actions = self._one_hot(perturbed) + (soft - soft.detach())
        logs = torch.log_softmax(logits, dim=-1).masked_fill(~self._real, 0.0)
        entropy = -(logs.exp() * logs).masked_fill(~self._real, 0.0).sum(dim=(2, 3))
        return Drawn(actions.flatten(2), entropy)

    def explore(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Choices by their chances."""
        logits = self._logits(outputs)
        return self._one_hot(logits + noise.view(logits.shape)).flatten(2)

    def _logits(self, outputs: Tensor) -> Tensor:
        parted = outputs.view(*outputs.shape[:2], *self._real.shape[2:])
        return parted.masked_fill(~self._real, _NEVER)

    def _one_hot(self, logits: Tensor) -> Tensor:
        chosen = torch.zeros_like(logits)
        return chosen.scatter_(-1, logits.argmax(dim=-1, keepdim=True), 1.0)


class Levels:
    """Numbers in [-1, 1], each the hyperbolic tangent of an output; tried out with normal noise."""

    def __init__(self, numbers: int) -> None:
        self.outputs = numbers

    def noise(self, rng: np.random.Generator, agents: int, n: int) -> Tensor:
        """The normal distribution."""
        return torch.from_numpy(rng.standard_normal((agents, n, self.outputs), dtype=np.float32))

    def of(self, agents: slice) -> Levels:
        """See Head: it is the same for all."""
        return self

    def greedy(self, outputs: Tensor) -> Tensor:
        """The numbers."""
        return torch.tanh(outputs)

    def draw(self, outputs: Tensor, noise: Tensor) -> Drawn:
        """The numbers as they are: there is no chance in them, and no entropy."""
        return Drawn(torch.tanh(outputs), outputs.new_zeros(outputs.shape[:2]))

    def explore(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """The numbers, moved a little."""
        return (torch.tanh(outputs) + 0.1 * noise).clamp(-1, 1)


class Normals:
    """Normal numbers, cut off at -1 and 1, as stable-baselines3 draws them: outputs are means and logarithms
    of deviations."""

    def __init__(self, numbers: int) -> None:
        self.outputs, self._numbers = 2 * numbers, numbers

    def noise(self, rng: np.random.Generator, agents: int, n: int) -> Tensor:
        """The normal distribution."""
        return torch.from_numpy(rng.standard_normal((agents, n, self._numbers), dtype=np.float32))

    def of(self, agents: slice) -> Self:
        """See Head: it is the same for all."""
        return self

    def greedy(self, outputs: Tensor) -> Tensor:
        """The means."""
        return outputs[..., : self._numbers].clamp(-1, 1)

    def draw(self, outputs: Tensor, noise: Tensor) -> Drawn:
        """Numbers drawn, and the entropy of what they are before they are cut off."""
        means, logs = outputs[..., : self._numbers], outputs[..., self._numbers :]
        entropy = (logs + 0.5 * math.log(2 * math.pi * math.e)).sum(dim=-1)
        return Drawn((means + logs.exp() * noise).clamp(-1, 1), entropy)

    def explore(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Numbers drawn."""
        return self.draw(outputs, noise).actions


class SquashedNormals(Normals):
    """Numbers in [-1, 1]: the hyperbolic tangent of normal ones (Haarnoja et al., arXiv:1812.05905)."""

    def greedy(self, outputs: Tensor) -> Tensor:
        """The tangents of the means."""
        return torch.tanh(outputs[..., : self._numbers])

    def draw(self, outputs: Tensor, noise: Tensor) -> Drawn:
        """Numbers drawn, and minus the logarithm of their density."""
        means, logs = outputs[..., : self._numbers], outputs[..., self._numbers :]
        logs = logs.clamp(_LOG_LOWEST, _LOG_HIGHEST)
        before = means + logs.exp() * noise
        # log(1 - tanh(x)^2), in a form that does not come to log(0).
        squash = 2 * (math.log(2) - before - torch.nn.functional.softplus(-2 * before))
        density = -0.5 * noise.square() - logs - 0.5 * math.log(2 * math.pi) - squash
        return Drawn(torch.tanh(before), -density.sum(dim=-1))
