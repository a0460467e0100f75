"""Networks that are sparse from the start: which connections there are, how they change, what they cost.

- How many connections a layer has is Erdos-Renyi (Mocanu et al., "Scalable Training of Artificial Neural
  Networks with Adaptive Sparse Connectivity", Nature Communications 2018, arXiv:1707.04780): a density in
  proportion to (inputs + outputs) / (inputs * outputs), no more than 1.
- `static`: the first, random connections stay. `set` (the same paper): now and then the weakest are dropped
  and as many grow at random. `rigl` (Evci et al., "Rigging the Lottery", ICML 2020, arXiv:1911.11134): they
  grow where the gradient is largest. The share that is replaced falls as a cosine to 0.

Masks are dense in memory, and so is the arithmetic: what sparse hardware would save is counted, not timed.
Biases are always there, and count as additions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from learners.errors import InputError, unknown_name, whole_number
from learners.networks import Networks

Method = Literal["dense", "static", "set", "rigl"]
Squares = Literal["zero", "mean"]


@dataclass(frozen=True)
class Sparsity:
    """How sparse networks are, and how that changes."""

    method: Method = "dense"
    density: float = 1.0
    """The share of a network's weights that there are."""
    every: int = 100
    """Updates between changes of the connections."""
    share: float = 0.5
    """The share of a layer's connections that the first change replaces."""
    until: int = 2000
    """Updates after which connections stay."""
    squares: Squares = "zero"
    """What Adam is to hold of the squared gradients of a connection that grows: nothing, with which it goes
    several times as far as all others in its first steps, or its layer's mean.
    """

    def __post_init__(self) -> None:
        for name, known in (("method", Method), ("squares", Squares)):
            if getattr(self, name) not in get_args(known):
                raise unknown_name(name, getattr(self, name), get_args(known))
        for name in ("density", "share"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise InputError(f"{name} must be above 0 and at most 1, got {value}")
        if self.method == "dense" and self.density != 1:
            raise InputError(f"density must be 1 where the method is dense, got {self.density}")
        whole_number(self.every, "every")
        whole_number(self.until, "until")

    def replaced(self, update: int) -> float:
        """The share of connections that the change at an update replaces; 0 where there is none."""
        due = self.method in ("set", "rigl") and 0 < update < self.until and update % self.every == 0
        return self.share / 2 * (1 + math.cos(math.pi * update / self.until)) if due else 0.0


def erdos_renyi(shapes: Sequence[tuple[int, int]], density: float) -> list[float]:
    """The density of each layer, of so many inputs and outputs, for one of `density` in all."""
    counts = [inputs * outputs for inputs, outputs in shapes]
    shares = [(inputs + outputs) / (inputs * outputs) for inputs, outputs in shapes]
    whole: set[int] = set()
    while True:
        left = density * sum(counts) - sum(counts[layer] for layer in whole)
        free = [layer for layer in range(len(counts)) if layer not in whole]
        scale = left / sum(shares[layer] * counts[layer] for layer in free) if free else 0.0
        full = {layer for layer in free if scale * shares[layer] >= 1}
        if not full:
            return [1.0 if layer in whole else scale * shares[layer] for layer in range(len(counts))]
        whole |= full


class SparseNetworks:
    """Networks with masks on their weights, and an optimiser that keeps to them.

    Each agent's layer has as many connections as any other agent's.
    """

    def __init__(
        self, networks: Networks, settings: Sparsity, rate: float, max_norm: float, rng: np.random.Generator
    ) -> None:
        self.networks, self.settings = networks, settings
        self._rng, self._max_norm = rng, max_norm
        shapes = [(weight.shape[1], weight.shape[2]) for weight in networks.weights[::2]]
        self._densities = erdos_renyi(shapes, settings.density)
        self.masks = [
            self._drawn(weight, density)
            for weight, density in zip(networks.weights[::2], self._densities, strict=True)
        ]
        self._adam = torch.optim.Adam(networks.weights, lr=rate)
        self._updates = 0
        self._scale()
        self._keep()

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Go down the gradients, dense ones, of the networks' weights; change connections where due."""
        norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
        cut = (self._max_norm / (norm + 1e-6)).clamp(max=1.0)
        for place, (weight, gradient) in enumerate(zip(self.networks.weights, gradients, strict=True)):
            weight.grad = gradient * cut if place % 2 else gradient * cut * self.masks[place // 2]
        self._adam.step()
        self._updates += 1
        share = self.settings.replaced(self._updates)
        if share:
            self._rewire(share, gradients[::2])
        self._keep()

    @property
    def connections(self) -> int:
        """Weights that there are, of one agent's network."""
        return int(sum(mask[0].sum() for mask in self.masks))

    @property
    def flops(self) -> int:
        """Of one row through one agent's network."""
        return forward_flops(self.connections, self.biases)

    @property
    def biases(self) -> int:
        """Of one agent's network."""
        return sum(weight.shape[2] for weight in self.networks.weights[1::2])

    def training_flops(self) -> int:
        """Of one row, forward and back, in the update that comes next."""
        dense = sum(mask[0].numel() for mask in self.masks)
        grows = self.settings.method == "rigl" and self.settings.replaced(self._updates + 1) > 0
        return training_flops(self.connections, self.biases, dense if grows else self.connections)

    def _drawn(self, weight: Tensor, density: float) -> Tensor:
        agents, inputs, outputs = weight.shape
        kept = max(1, round(density * inputs * outputs))
        order = torch.from_numpy(self._rng.random((agents, inputs * outputs))).argsort(dim=1)
        return (order < kept).float().view_as(weight)

    @torch.no_grad()
    def _rewire(self, share: float, gradients: Sequence[Tensor]) -> None:
        """Drop the weakest connections of every layer, and grow as many elsewhere, from 0."""
        for mask, weight, gradient in zip(self.masks, self.networks.weights[::2], gradients, strict=True):
            flat = mask.flatten(1)
            kept = int(flat[0].sum())
            count = min(round(share * kept), flat.shape[1] - kept)
            if not count:
                continue
            strength = torch.where(flat > 0, weight.flatten(1).abs(), torch.inf)
            weakest = strength.topk(count, dim=1, largest=False).indices
            merit = gradient.flatten(1).abs()
            if self.settings.method == "set":
                merit = torch.from_numpy(self._rng.random(tuple(flat.shape), dtype=np.float32))
            # Those dropped now do not come back at once.
            grown = torch.where(flat > 0, -1.0, merit).topk(count, dim=1).indices
            flat.scatter_(1, weakest, 0.0).scatter_(1, grown, 1.0)
            new = torch.zeros_like(flat).scatter_(1, grown, 1.0).view_as(weight)
            weight.mul_(1 - new)
            self._forget(weight, new)

    @torch.no_grad()
    def _scale(self) -> None:
        """Let what a unit is given vary at first as in a dense network, though fewer connections give it
        (Evci et al., "Gradient Flow in Sparse Neural Networks", AAAI 2022, arXiv:2010.03533).
        """
        for mask, weight in zip(self.masks, self.networks.weights[::2], strict=True):
            weight.mul_((mask.shape[1] / mask.sum(dim=1, keepdim=True).clamp(min=1)).sqrt())

    @torch.no_grad()
    def _keep(self) -> None:
        """Nothing outside the masks: no weight, and nothing of the optimiser's."""
        for mask, weight in zip(self.masks, self.networks.weights[::2], strict=True):
            weight.mul_(mask)
            self._forget(weight, 1 - mask)
            squares = self._adam.state[weight].get("exp_avg_sq")
            if squares is not None and self.settings.squares == "mean":
                fill_mean(squares, mask)

    def _forget(self, weight: Tensor, where: Tensor) -> None:
        moments = ("exp_avg", "exp_avg_sq") if self.settings.squares == "zero" else ("exp_avg",)
        for moment in moments:
            held = self._adam.state[weight].get(moment)
            if held is not None:
                held.mul_(1 - where)


@torch.no_grad()
def fill_mean(squares: Tensor, mask: Tensor) -> None:
    """Write the mean of what is in the mask, of the last two axes, to what is not."""
    kept = mask.sum(dim=(-2, -1), keepdim=True).clamp(min=1)
    squares.copy_(torch.where(mask > 0, squares, (squares * mask).sum(dim=(-2, -1), keepdim=True) / kept))


def forward_flops(connections: int, biases: int) -> int:
    """Of a row through linear layers: a multiplication and an addition a connection, an addition a bias."""
    return 2 * connections + biases


def training_flops(connections: int, biases: int, gradients: int) -> int:
    """Of a row, forward and back: the gradient of what a layer looked at costs as much as the layer, and so
    does that of its weights, of which `gradients` are computed (all, where connections are to grow by them).
    """
    return 2 * forward_flops(connections, biases) + forward_flops(gradients, biases)
