"""Networks of many agents at once: the same layers for each, weights of its own, in batched products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Self

import numpy as np
import torch
from torch import Tensor

from learners.arrays import SingleArray
from learners.qat import Rounding, current_rounding

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}
"""What may stand between two layers, by name."""


class Networks:
    """One network an agent: linear layers, one of ACTIVATIONS between them. Rows are (agents, n, inputs).

    `weights` are a matrix and a bias for each layer, (agents, inputs, outputs) and (agents, 1, outputs).
    With `rounding` the matrices, and what goes into each layer, are used as it leaves them.
    """

    def __init__(
        self, weights: Sequence[Tensor], activation: str = "relu", rounding: Rounding | None = None
    ) -> None:
        self.weights = [weight.detach().requires_grad_() for weight in weights]
        self.activation, self.rounding = activation, rounding

    @staticmethod
    def drawn(rng: np.random.Generator, agents: int, sizes: Sequence[int]) -> Networks:
        """Networks with layers of these sizes, uniform within 1 / sqrt(inputs), as torch's own begin.

        Where learning is to be aware of rounding (see learners.qat), they round.
        """
        weights = []
        for inputs, outputs in pairwise(sizes):
            for shape in ((agents, inputs, outputs), (agents, 1, outputs)):
                uniform = rng.random(shape, dtype=np.float32)
                weights.append(torch.from_numpy((2 * uniform - 1) / np.float32(np.sqrt(inputs))))
        return Networks(weights, rounding=current_rounding())

    def __call__(self, rows: Tensor) -> Tensor:
        """What the networks make of their rows: (agents, n, outputs)."""
        return self._after(self.first(rows), self.weights)

    def first(self, rows: Tensor) -> Tensor:
        """What the first layers make of their rows, before anything stands between layers.

        Rows that are the same for all, (1, n, inputs), go through all matrices in one product.
        """
        matrices, biases = self.weights[:2]
        if self.rounding is not None:
            rows, matrices = self.rounding.activations(rows), self.rounding.weights(matrices, -2)
        if len(rows) == len(matrices):
            return torch.baddbmm(biases, rows, matrices)
        wide = matrices.transpose(0, 1).flatten(1)
        return (rows[0] @ wide).view(rows.shape[1], *biases.shape[::2]).transpose(0, 1) + biases

    def _after(self, rows: Tensor, weights: Sequence[Tensor]) -> Tensor:
        activate = ACTIVATIONS[self.activation]
        for layer in range(2, len(weights), 2):
            rows, matrices = activate(rows), weights[layer]
            if self.rounding is not None:
                rows, matrices = self.rounding.activations(rows), self.rounding.weights(matrices, -2)
            rows = torch.baddbmm(weights[layer + 1], rows, matrices)
        return rows

    def of(self, agents: slice) -> Networks:
        """The networks of some agents, in the same memory: what changes these changes those."""
        return Networks([weight.detach()[agents] for weight in self.weights], self.activation, self.rounding)

    def copy(self) -> Self:
        """The same networks, in memory of their own."""
        return type(self)(
            [weight.detach().clone() for weight in self.weights], self.activation, self.rounding
        )

    def frozen_after(self, first: Tensor) -> Tensor:
        """What follows on `first`, with weights that no gradient reaches."""
        return self._after(first, [weight.detach() for weight in self.weights])

    def follow(self, others: Networks, tau: float) -> None:
        """Go the share `tau` of the way to the others' weights."""
        with torch.no_grad():
            for mine, theirs in zip(self.weights, others.weights, strict=True):
                mine.lerp_(theirs, tau)

    def arrays(self) -> list[SingleArray]:
        """The weights as arrays of their own."""
        return [weight.detach().numpy().copy() for weight in self.weights]


class ClippedAdam:
    """Adam on networks, with each agent's gradient cut to a length of at most `max_grad_norm`."""

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
