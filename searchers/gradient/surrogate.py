"""A network that learns what designs cost and need, from their features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from dse.support.arrays import FloatArray

_BATCH = 128
_LEARNING_RATE = 0.003
_EXCESS = 4.0
"""Doublings of cost that count as much as a doubling of a need beyond its buffer."""
_REFUSED = 3.0
"""Deviations of what is learned above its mean at which a design counts that the model refuses."""


@dataclass(frozen=True)
class Scale:
    """What is taken from numbers before they are learned, and what they are divided by."""

    middle: FloatArray
    spread: FloatArray

    @staticmethod
    def of(rows: FloatArray) -> Scale:
        """That by which rows (n, width) come to a mean of 0 and a deviation of 1."""
        spread = rows.std(axis=0)
        return Scale(rows.mean(axis=0), np.where(spread > 1e-6, spread, 1.0))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """The rows, scaled."""
        scaled: FloatArray = (rows - self.middle) / self.spread
        return scaled


class Surrogate:
    """Two hidden layers; outputs are log2 of what the objective consists of, then of needs over rooms."""

    def __init__(
        self, inputs: Scale, outputs: Scale, factors: int, hidden: int, rng: np.random.Generator
    ) -> None:
        """`factors` of the outputs are added up to the objective; the other ones are needs."""
        self.inputs, self.outputs, self._factors, self._rng = inputs, outputs, factors, rng
        sizes = (len(inputs.middle), hidden, hidden, len(outputs.middle))
        self.layers = nn.Sequential(
            *(
                part
                for place, (before, after) in enumerate(pairwise(sizes))
                for part in ((nn.SiLU(),) if place else ()) + (_linear(before, after, rng),)
            )
        )
        self._adam = torch.optim.Adam(self.layers.parameters(), lr=_LEARNING_RATE)

    def learn(self, rows: FloatArray, targets: FloatArray, batches: int) -> None:
        """Learn from features (n, width) and what came of them (n, outputs), NaN where refused."""
        scaled = torch.from_numpy(self.inputs(rows).astype(np.float32))
        wanted = np.nan_to_num(self.outputs(targets), nan=_REFUSED).astype(np.float32)
        target = torch.from_numpy(wanted)
        for _ in range(batches):
            chosen = torch.from_numpy(self._rng.integers(len(rows), size=_BATCH))
            loss = nn.functional.huber_loss(self.layers(scaled[chosen]), target[chosen])
            self._adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._adam.step()

    def slopes(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is to be low, at features (n, width), and its gradients there: (n,), (n, width)."""
        scaled = torch.from_numpy(self.inputs(rows).astype(np.float32)).requires_grad_()
        values = self._merit(self.layers(scaled))
        (gradients,) = torch.autograd.grad(values.sum(), scaled)
        return values.detach().numpy().astype(np.float64), gradients.numpy() / self.inputs.spread

    def outcomes(self, rows: FloatArray) -> FloatArray:
        """What is expected of features (n, width): (n, outputs)."""
        with torch.no_grad():
            scaled = self.layers(torch.from_numpy(self.inputs(rows).astype(np.float32))).numpy()
        expected: FloatArray = scaled * self.outputs.spread + self.outputs.middle
        return expected

    def _merit(self, scaled: Tensor) -> Tensor:
        outputs = scaled * torch.from_numpy(self.outputs.spread).float()
        outputs = outputs + torch.from_numpy(self.outputs.middle).float()
        cost, excess = outputs[:, : self._factors].sum(dim=1), outputs[:, self._factors :]
        # A little below the limit it begins to count: what is predicted is not exact.
        return cost + _EXCESS * torch.relu(excess + 0.1).sum(dim=1)


def _linear(inputs: int, outputs: int, rng: np.random.Generator) -> nn.Linear:
    # Torch itself would draw the weights from what the whole process shares.
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        for weight in (layer.weight, layer.bias):
            uniform = rng.random(tuple(weight.shape), dtype=np.float32)
            weight.copy_(torch.from_numpy((2 * uniform - 1) / np.float32(np.sqrt(inputs))))
    return layer
