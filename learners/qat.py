"""Learning that is aware of rounding: networks act and are judged rounded, and learn what is behind it.

The quantisation-aware training of Lam et al. (learners.quantised), by the straight-through estimator (Bengio,
Leonard and Courville, arXiv:1308.3432): gradients pass a rounding as if it were not. Ranges are those of the
present numbers, and for activations of each row. It begins after a delay, which whoever counts steps ends:

    rounding = Rounding(Precision(weights=4, activations=4), on=False)
    with learn_with_rounding(rounding):
        learner = MADDPG().begin(team, rng)   # or learners.sb3.new_agent, or a search
    ...; rounding.on = True; ...

All networks of learners that begin within are of it: actors, critics and their targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from learners.quantised import FULL, Precision, rounded_activations, rounded_values


class Rounding:
    """Rounding to a precision, while it is `on`."""

    def __init__(self, precision: Precision, on: bool = True) -> None:
        self.precision, self.on = precision, on

    def weights(self, matrix: Tensor, inputs: int = -1) -> Tensor:
        """A matrix (..., outputs, inputs), or with `inputs` -2 one of (..., inputs, outputs)."""
        bits = self.precision.weights
        if not self.on or bits == FULL:
            return matrix
        shared = (inputs,) if self.precision.per_channel else (-2, -1)
        return _straight_through(matrix, rounded_values(matrix.detach(), bits, shared))

    def activations(self, rows: Tensor) -> Tensor:
        """Activations (..., n), each row with a range of its own."""
        bits = self.precision.activations
        if not self.on or bits == FULL:
            return rows
        return _straight_through(rows, rounded_activations(rows.detach(), bits))


_current: ContextVar[Rounding | None] = ContextVar("rounding", default=None)


@contextmanager
def learn_with_rounding(rounding: Rounding) -> Iterator[None]:
    """Within, networks of learners that begin get this `rounding`. What was in use comes back at the end."""
    token = _current.set(rounding)
    try:
        yield
    finally:
        _current.reset(token)


def current_rounding() -> Rounding | None:
    """The rounding that what begins to learn here is to have, if any."""
    return _current.get()


def round_layers(module: nn.Module) -> None:
    """Have all layers of a module, linear ones and convolutions, round with the parameters that they have.

    If that is asked for.
    """
    rounding = current_rounding()
    if rounding is None:
        return
    for parent in list(module.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is nn.Linear:
                setattr(parent, name, RoundedLinear(layer, rounding))
            elif type(layer) is nn.Conv2d:
                setattr(parent, name, RoundedConv2d(layer, rounding))


class RoundedLinear(nn.Linear):
    """A linear layer, with its parameters, whose matrix and inputs are rounded."""

    def __init__(self, layer: nn.Linear, rounding: Rounding) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias
        self._rounding = rounding

    def forward(self, rows: Tensor) -> Tensor:
        """See torch.nn.Linear."""
        matrix = self._rounding.weights(self.weight)
        return nn.functional.linear(self._rounding.activations(rows), matrix, self.bias)


class RoundedConv2d(nn.Conv2d):
    """A convolution, with its parameters, whose filters and inputs are rounded.

    A channel is a filter; an input's range is that of all its channels, as a row's is of a linear layer.
    """

    def __init__(self, layer: nn.Conv2d, rounding: Rounding) -> None:
        nn.Module.__init__(self)
        self.__dict__.update(layer.__dict__)
        self._rounding = rounding

    def forward(self, images: Tensor) -> Tensor:
        """See torch.nn.Conv2d."""
        filters = self._rounding.weights(self.weight.flatten(1)).view_as(self.weight)
        left = self._rounding.activations(images.flatten(1)).view_as(images)
        seen: Tensor = self._conv_forward(left, filters, self.bias)
        return seen


def _straight_through(values: Tensor, left: Tensor) -> Tensor:
    if not values.requires_grad:
        return left
    passed: Tensor = _StraightThrough.apply(values, left)  # type: ignore[no-untyped-call]
    return passed


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, values: Tensor, left: Tensor) -> Tensor:
        return left

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None
