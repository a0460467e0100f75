"""Networks of many agents at once: the same layers for each, weights of its own, in batched products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from dse.support.arrays import SingleArray

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}
"""What may stand between two layers, by name."""


class Networks:
    """One network an agent: linear layers, one of ACTIVATIONS between them. Rows are (agents, n, inputs).

    `weights` are a matrix and a bias for each layer, (agents, inputs, outputs) and (agents, 1, outputs).
    """

    def __init__(self, weights: Sequence[Tensor], activation: str = "relu") -> None:
        self.weights = [weight.detach().requires_grad_() for weight in weights]
        self.activation = activation

    @staticmethod
    def drawn(rng: np.random.Generator, agents: int, sizes: Sequence[int]) -> Networks:
        """Networks with layers of these sizes, uniform within 1 / sqrt(inputs), as torch's own begin."""
        weights = []
        for inputs, outputs in pairwise(sizes):
            for shape in ((agents, inputs, outputs), (agents, 1, outputs)):
                uniform = rng.random(shape, dtype=np.float32)
                weights.append(torch.from_numpy((2 * uniform - 1) / np.float32(np.sqrt(inputs))))
        return Networks(weights)

    def __call__(self, rows: Tensor) -> Tensor:
        """What the networks make of their rows: (agents, n, outputs)."""
        activate = ACTIVATIONS[self.activation]
        for layer in range(0, len(self.weights), 2):
            rows = torch.baddbmm(self.weights[layer + 1], rows, self.weights[layer])
            if layer + 2 < len(self.weights):
                rows = activate(rows)
        return rows

    def of(self, agents: slice) -> Networks:
        """The networks of some agents, in the same memory: what changes these changes those."""
        return Networks([weight.detach()[agents] for weight in self.weights], self.activation)

    def copy(self) -> Networks:
        """The same networks, in memory of their own."""
        return Networks([weight.detach().clone() for weight in self.weights], self.activation)

    def frozen(self, rows: Tensor) -> Tensor:
        """As called, with weights that no gradient reaches."""
        return Networks.__call__(_Constant(self), rows)

    def follow(self, others: Networks, tau: float) -> None:
        """Go the share `tau` of the way to the others' weights."""
        with torch.no_grad():
            for mine, theirs in zip(self.weights, others.weights, strict=True):
                mine.lerp_(theirs, tau)

    def arrays(self) -> list[SingleArray]:
        """The weights as arrays of their own."""
        return [weight.detach().numpy().copy() for weight in self.weights]


class _Constant(Networks):
    def __init__(self, networks: Networks) -> None:
        self.weights = [weight.detach() for weight in networks.weights]
        self.activation = networks.activation


class Descent:
    """Adam on networks, with each agent's gradient cut to a length of at most `max_norm`."""

    def __init__(self, networks: Networks, learning_rate: float, max_norm: float) -> None:
        self._weights = networks.weights
        self._max_norm = max_norm
        self._adam = torch.optim.Adam(self._weights, lr=learning_rate)

    def step(self, loss: Tensor) -> None:
        """Go down the gradient of a loss that is the sum of the agents' own."""
        gradients = torch.autograd.grad(loss, self._weights)
        squares = torch.stack([gradient.square().sum(dim=(1, 2)) for gradient in gradients])
        shares = (self._max_norm / (squares.sum(dim=0).sqrt() + 1e-6)).clamp(max=1.0)
        for weight, gradient in zip(self._weights, gradients, strict=True):
            weight.grad = gradient * shares[:, None, None]
        self._adam.step()
