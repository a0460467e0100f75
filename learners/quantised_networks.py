"""Networks in few bits: what is left of them, and layers that compute in whole numbers and halves.

Layers that compute are torch's `linear_dynamic` of its quantised engines (on x86 FBGEMM's), whole numbers for
weights and for activations, and `linear_dynamic_fp16`: weights in half precision, products in single. They
are called without `torch.ao.quantization`, which is deprecated, and without its modules, which take longer
than small layers.

Activations of n bits have 2^n - 1 steps there, over the range of all rows of a call, where the formula of
learners.quantised has 2^n over the range of a row. n is 8, but 7 beside weights of 8 bits where the CPU has
no VNNI instructions (`activation_bits`), and weights are what the engine holds (`_held`): on Arm that is
QNNPACK, with zero points of a byte. QuantisedNetworks simulate the formula, `as_executed` the layers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from learners.networks import ACTIVATIONS, Networks
from learners.qat import Rounding
from learners.quantised import FULL, HALF, Integers, Precision, QuantisedWeights, quantise_weights


class QuantisedNetworks(Networks):
    """Networks of quantised weights, which go through their layers as numbers of single precision."""

    def __init__(self, weights: QuantisedWeights, activation: str, precision: Precision) -> None:
        plain = weights.dequantise()
        ordered = [tensor for layer in range(len(plain) // 2) for tensor in _layer(plain, layer)]
        rounding = Rounding(Precision(activations=precision.activations))
        super().__init__(ordered, activation, rounding)
        self.quantised, self.precision = weights, precision


def quantised_networks(networks: Networks, precision: Precision) -> QuantisedNetworks:
    """The networks with weights of that precision, whose activations are rounded to it as they compute."""
    weights = quantise_weights(named_weights(networks), precision.weights, precision.per_channel)
    return QuantisedNetworks(weights, networks.activation, precision)


def named_weights(networks: Networks) -> dict[str, Tensor]:
    """The weights by name: matrices (agents, outputs, inputs), biases (agents, outputs)."""
    found = {}
    for layer, (matrix, bias) in enumerate(zip(networks.weights[::2], networks.weights[1::2], strict=True)):
        found[f"{layer}.weight"] = matrix.detach().transpose(1, 2).contiguous()
        found[f"{layer}.bias"] = bias.detach()[:, 0].clone()
    return found


def _layer(plain: Mapping[str, Tensor], layer: int) -> tuple[Tensor, Tensor]:
    matrix, bias = plain[f"{layer}.weight"], plain[f"{layer}.bias"]
    return matrix.transpose(1, 2).contiguous(), bias[:, None]


def activation_bits(weights: int) -> int:
    """Bits of the activations that layers compute with here, beside weights of so many.

    Without VNNI instructions FBGEMM adds pairs of products in 16 bits: two of 255 * 128 do not fit there, two
    of 127 * 128 and two of 255 * 64 do.
    """
    if weights > 8:
        return FULL
    adds_in_16_bits = quantised_engine() != QNNPACK
    return 7 if weights == 8 and adds_in_16_bits and not torch.cpu._is_vnni_supported() else 8


QNNPACK = "qnnpack"


def quantised_engine() -> str:
    """The engine of torch that layers of whole numbers compute with: torch's own choice where it can.

    On Arm torch chooses oneDNN, which refuses zero points other than 0.
    """
    chosen = str(torch.backends.quantized.engine)
    return chosen if chosen in ("x86", "fbgemm") else QNNPACK


@contextmanager
def _engine_chosen() -> Iterator[None]:
    """Layers that are packed meanwhile are those of `engine`."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = quantised_engine()
    try:
        yield
    finally:
        torch.backends.quantized.engine = before


def _held(matrix: Integers) -> Integers:
    """A matrix as the engine holds it.

    Weights none of which is positive go from -2^n to -1. In 8 bits QNNPACK has no zero point for these, and
    the lowest is taken for the one above it, as the highest is where weights go from 0.
    """
    if quantised_engine() != QNNPACK or matrix.bits < 8:
        return matrix
    lowest = matrix.lowest.clamp(min=1 - 2**matrix.bits)
    # In 16 bits: in bytes 0 - 1 would be 255.
    stored = (matrix.stored.short() + (matrix.lowest - lowest)).clamp_(min=0).to(torch.uint8)
    return replace(matrix, stored=stored, lowest=lowest)


class Executed:
    """Networks whose layers compute in their own precision: bytes, halves or singles. No gradient.

    Rows of a call share the range of their activations, agent by agent. `activations` are the bits of these:
    7, or, where the CPU can (`activation_bits`), 8.
    """

    def __init__(self, weights: QuantisedWeights, activation: str, activations: int | None = None) -> None:
        layers = range(len(weights.tensors) // 2)
        tensors = [(weights.tensors[f"{layer}.weight"], weights.tensors[f"{layer}.bias"]) for layer in layers]
        assert isinstance(tensors[0][1], Tensor)
        agents = len(tensors[0][1])
        self._activate = ACTIVATIONS[activation]
        self._bits = weights.bits
        self.activations = activation_bits(weights.bits) if activations is None else activations
        with warnings.catch_warnings(), _engine_chosen():
            # Torch is to lose its quantised tensors one day; the operators have no other way in yet.
            warnings.simplefilter("ignore")
            self._packed = [
                [_packed(matrix, bias, agent, weights.bits) for matrix, bias in tensors]
                for agent in range(agents)
            ]

    @torch.inference_mode()
    def __call__(self, rows: Tensor) -> Tensor:
        """What the networks make of their rows: (agents, n, outputs)."""
        found = [self._through(layers, rows[agent]) for agent, layers in enumerate(self._packed)]
        return torch.stack(found)

    def _through(self, layers: list[Any], rows: Tensor) -> Tensor:
        quantised = torch.ops.quantized
        for place, layer in enumerate(layers):
            rows = self._activate(rows) if place else rows
            if self._bits == FULL:
                rows = torch.nn.functional.linear(rows, *layer)
            elif self._bits == HALF:
                rows = quantised.linear_dynamic_fp16(rows, layer)
            else:
                rows = quantised.linear_dynamic(rows, layer, self.activations == 7)
        return rows


def executable_networks(networks: Networks) -> Networks | Executed:
    """Layers that compute in the precision of the networks, or, where that is single, the networks given."""
    if isinstance(networks, QuantisedNetworks) and networks.precision.weights != FULL:
        return Executed(networks.quantised, networks.activation)
    return networks


class _AsExecuted(Rounding):
    """Rounding of activations as layers of whole numbers do it, all rows of an agent by one range."""

    def activations(self, rows: Tensor) -> Tensor:
        most = 2**self.precision.activations - 1
        found = []
        for agent in rows.detach():
            low, high = min(float(agent.min()), 0.0), max(float(agent.max()), 0.0)
            step = (high - low) / most or 1.0
            zero = round(-low / step)
            found.append(torch.fake_quantize_per_tensor_affine(agent, step, zero, 0, most))
        return torch.stack(found)


def as_executed(networks: QuantisedNetworks, activations: int) -> Networks:
    """What networks with weights of 2 to 8 bits do where they are executed, in single precision.

    Activations are of so many bits: see `Executed.activations`.
    """
    tensors = {
        name: _held(tensor) if isinstance(tensor, Integers) else tensor
        for name, tensor in networks.quantised.tensors.items()
    }
    plain = QuantisedWeights(tensors, networks.quantised.bits).dequantise()
    weights = [tensor for layer in range(len(plain) // 2) for tensor in _layer(plain, layer)]
    return Networks(weights, networks.activation, _AsExecuted(Precision(activations=activations)))


def _packed(matrix: Tensor | Integers, bias: Tensor | Integers, agent: int, bits: int) -> Any:
    """A layer of one agent in the form that torch's operators take."""
    assert isinstance(bias, Tensor)
    layer: torch.ScriptObject
    if isinstance(matrix, Tensor):
        if bits == FULL:
            return matrix[agent], bias[agent]
        layer = torch.ops.quantized.linear_prepack_fp16(matrix[agent].float(), bias[agent])
        return layer
    matrix = _held(matrix)
    # Torch's are signed, half of their range less, with a zero point in place of a lowest number.
    half = 2 ** (bits - 1)
    signed = (matrix.stored[agent].short() - half).to(torch.int8)
    zeros, deltas = -matrix.lowest[agent].flatten().int() - half, matrix.delta[agent].flatten()
    if len(deltas) == 1:
        whole = torch._make_per_tensor_quantized_tensor(signed, float(deltas), int(zeros))
    else:
        whole = torch._make_per_channel_quantized_tensor(signed, deltas.double(), zeros.long(), 0)
    layer = torch.ops.quantized.linear_prepack(whole, bias[agent])
    return layer
