"""Pretraining in which the model gets sparse, stays so for long, and grows dense again in the end: MST.

Hu et al., "Mixed Sparsity Training: Achieving 4x FLOP Reduction for Transformer Pretraining" (2024,
arXiv:2408.11746), as far as its abstract and recollection go; the shares of the phases are ours.

- Warm-up: from dense to sparse, the weakest connections going first.
- Ultra-sparsification: sparser still, and connections change: the weakest go, and grow where the gradient is
  largest.
- Restoration: connections come back, until the model is dense.

Attention is sparse throughout (learners.gpt, `hybrid_attention`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from learners.arrays import IntArray
from learners.errors import InputError, whole_number
from learners.gpt import GPT, Shape, dense_attention, hybrid_attention
from learners.sparse import erdos_renyi, fill_mean


@dataclass(frozen=True)
class Pretraining:
    """How a model is trained. Densities are those of its layers; all that is 1 or off is dense training."""

    steps: int = 400
    batch: int = 16
    learning_rate: float = 0.003
    warm_up: float = 0.15
    """The share of the steps in which the density falls from 1 to `sparse`; 0: it begins there."""
    restored: float = 0.25
    """The share of the steps, the last ones, in which it goes back to 1; 0: it stays."""
    sparse: float = 1.0
    """The density after the warm-up."""
    ultra: float = 1.0
    """The density that is come to by the middle of what is between the warm-up and the restoration."""
    every: int = 20
    """Steps between changes of the connections."""
    replaced: float = 0.2
    """The share of them that each changes, meanwhile."""
    sparse_attention: bool = False

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "every"):
            whole_number(getattr(self, name), name)
        for name in ("warm_up", "restored", "sparse", "ultra", "replaced"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        if self.warm_up + self.restored > 1:
            raise InputError("warm_up and restored must be at most 1 together")

    def density(self, step: int) -> float:
        """That of a step."""
        done = step / self.steps
        if done < self.warm_up:
            return self.sparse + (1 - self.sparse) * (1 - done / self.warm_up) ** 3
        begun = 1 - self.restored
        if done < begun or not self.restored:
            middle = min((done - self.warm_up) / max((begun - self.warm_up) / 2, 1e-9), 1.0)
            return self.sparse + (self.ultra - self.sparse) * middle
        return self.ultra + (1 - self.ultra) * min(2 * (done - begun) / self.restored, 1.0)


@dataclass(frozen=True)
class Point:
    """Where a training is: steps done, FLOPs spent, nats a character on text apart, density."""

    step: int
    flops: float
    loss: float
    density: float


def pretrain_model(
    settings: Pretraining, shape: Shape, text: IntArray, apart: IntArray, seed: int, points: int = 20
) -> list[Point]:
    """Train a model on a text, (characters,), and say how it goes, about `points` times and in the end.

    Torch's deterministic generators are seeded with `seed`; nothing global is drawn from.
    """
    rng = np.random.default_rng(seed)
    model = GPT(shape, torch.Generator().manual_seed(seed))
    layers = SparseLayers(list(model.weights), settings, rng)
    adam = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.01)
    seen = (hybrid_attention if settings.sparse_attention else dense_attention)(shape)
    spent, curve = 0.0, []
    for step in range(settings.steps):
        loss = _loss(model, _drawn(text, settings.batch, shape.length, rng), seen)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        changed = layers.change(step)
        layers.mask_gradients()
        for group in adam.param_groups:
            group["lr"] = (
                settings.learning_rate * min((step + 1) / 20, 1.0) * (1 - 0.9 * step / settings.steps)
            )
        adam.step()
        layers.keep(adam)
        forward = model.flops(layers.connections, seen)
        dense = model.flops(layers.everything, seen) if changed else forward
        spent += (2 * forward + dense) * settings.batch * shape.length
        if (step + 1) % max(settings.steps // points, 1) == 0 or step + 1 == settings.steps:
            found = _judged(model, apart, shape, seen)
            curve.append(Point(step + 1, spent, found, layers.connections / layers.everything))
    return curve


class SparseLayers:
    """The masks of a model's layers, whose weights are (outputs, inputs).

    In each step of training: `change`, when there are gradients; `mask_gradients`; `keep`, when the optimiser
    has gone its step.
    """

    def __init__(
        self, weights: Sequence[nn.Parameter], settings: Pretraining, rng: np.random.Generator
    ) -> None:
        self._weights, self._settings, self._rng = weights, settings, rng
        self._shapes = [(weight.shape[1], weight.shape[0]) for weight in self._weights]
        self.everything = sum(weight.numel() for weight in self._weights)
        self.masks = [torch.ones_like(weight) for weight in self._weights]
        self._to(settings.density(0), by_chance=True)

    @property
    def connections(self) -> int:
        """How many there are."""
        return int(sum(mask.sum() for mask in self.masks))

    def change(self, step: int) -> bool:
        """Come to the step's density, and change connections where due: whether gradients decided."""
        settings = self._settings
        if step % settings.every or not step:
            return False
        before = settings.density(step - settings.every)
        grows = settings.density(step) > before
        if settings.density(step) == before == 1:
            return False
        settled = not grows and settings.density(step) < 1
        self._to(settings.density(step), settings.replaced if settled else 0.0)
        return grows or settled

    def mask_gradients(self) -> None:
        """Nothing outside the masks learns."""
        for weight, mask in zip(self._weights, self.masks, strict=True):
            if weight.grad is not None:
                weight.grad.mul_(mask)

    @torch.no_grad()
    def keep(self, adam: torch.optim.Optimizer) -> None:
        """Nothing is outside the masks, of the weights and of what the optimiser holds.

        But for gradients' squares, of which a layer's mean stands there: connections that come would else go
        several times as far as all others in their first steps.
        """
        for weight, mask in zip(self._weights, self.masks, strict=True):
            weight.mul_(mask)
            adam.state[weight]["exp_avg"].mul_(mask)
            fill_mean(adam.state[weight]["exp_avg_sq"], mask)

    @torch.no_grad()
    def _to(self, density: float, replaced: float = 0.0, by_chance: bool = False) -> None:
        """So many connections: the strongest stay but for a share, which grows by gradient with the rest."""
        densities = erdos_renyi(self._shapes, density)
        for weight, mask, share in zip(self._weights, self.masks, densities, strict=True):
            wanted = max(1, round(share * weight.numel()))
            if wanted == weight.numel() == int(mask.sum()):
                continue
            strength = weight.abs() * mask - (1 - mask)
            if by_chance:
                strength = torch.from_numpy(self._rng.random(tuple(weight.shape)))
            held = min(wanted, int(mask.sum()))
            stay = strength.flatten().topk(held - round(replaced * held)).indices
            fresh = torch.zeros(weight.numel()).scatter_(0, stay, 1.0)
            merit = torch.zeros_like(fresh) if weight.grad is None else weight.grad.abs().flatten()
            merit = merit.masked_fill(fresh > 0, -1.0)
            grown = merit.topk(wanted - len(stay)).indices
            mask.copy_(fresh.scatter_(0, grown, 1.0).view_as(mask))
            weight.mul_(mask)


def _drawn(text: IntArray, batch: int, length: int, rng: np.random.Generator) -> Tensor:
    starts = rng.integers(len(text) - length, size=batch)
    return torch.from_numpy(text[starts[:, np.newaxis] + np.arange(length + 1)])


def _loss(model: GPT, rows: Tensor, seen: Tensor) -> Tensor:
    logits = model(rows[:, :-1], seen)
    return nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


@torch.no_grad()
def _judged(model: GPT, apart: IntArray, shape: Shape, seen: Tensor) -> float:
    """Nats a character on the same stretches of text whatever the model."""
    return float(_loss(model, _drawn(apart, 128, shape.length, np.random.default_rng(0)), seen))
