"""Weights and activations in few bits: uniform affine quantisation, half precision, and messages of both.

After Lam, Chitlangia, Krishnan et al., "QuaRL: Quantization for Fast and Environmentally Sustainable
Reinforcement Learning" (TMLR 2022, arXiv:1910.01055):

    Q_n(W) = round(W / delta),   D(q) = delta * q,   delta = (|min(W, 0)| + |max(W, 0)|) / 2^n

From the lowest to the highest these are 2^n + 1 whole numbers, one more than n bits hold: the highest is
taken for the one below it. Zero is always a value of its own.

A matrix is (..., outputs, inputs), as torch.nn.Linear has it; what stands before are networks side by side,
each with a delta of its own. A channel is what leads to one output. What is called `...bias` is kept as it
is: there is little of it, and layers of few bits add it in single precision too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from learners.errors import InputError
from learners.plain_data import import_safetensors

FULL, HALF = 32, 16
"""Bits of single precision, and of half precision: floating point, not whole numbers."""

BITS = (*range(2, 9), HALF, FULL)
"""The precisions that there are."""

_INTEGERS, _LOWEST, _DELTA, _SHAPE, _BITS = "/integers", "/lowest", "/delta", "/shape", "/bits"


@dataclass(frozen=True)
class Precision:
    """How much is left of weights and of activations, the inputs of layers, in bits (see BITS)."""

    weights: int = FULL
    activations: int = FULL
    per_channel: bool = False

    def __post_init__(self) -> None:
        refuse_other_bits(self.weights, "bits of weights")
        refuse_other_bits(self.activations, "bits of activations")


def refuse_other_bits(bits: int, where: str = "bits") -> None:
    """Raise an InputError where there is no such precision."""
    if isinstance(bits, bool) or bits not in BITS:
        raise InputError(f"{where} must be one of {', '.join(map(str, BITS))}, got {bits}")


@dataclass(frozen=True)
class Integers:
    """A tensor as whole numbers: `delta * (lowest + stored)`, `stored` of `bits` bits, in a byte each."""

    stored: Tensor
    lowest: Tensor
    delta: Tensor
    bits: int

    @staticmethod
    def of(values: Tensor, bits: int, shared: tuple[int, ...]) -> Integers:
        """The values, with one delta for all that differ in the dimensions `shared` alone."""
        delta, lowest = scale_and_lowest(values, bits, shared)
        whole = torch.round(values / delta) - lowest
        stored = whole.clamp_(0, 2**bits - 1).to(torch.uint8)
        return Integers(stored, lowest.to(torch.int16), delta, bits)

    def dequantise(self) -> Tensor:
        """The values that these numbers stand for."""
        return (self.stored.float() + self.lowest) * self.delta


def scale_and_lowest(values: Tensor, bits: int, shared: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The step `delta` between two numbers that can be stored, and the lowest one in such steps.

    Values that differ in the dimensions `shared` alone share a range; these dimensions are 1 in both results.
    """
    low = values.amin(shared, keepdim=True).clamp(max=0.0)
    high = values.amax(shared, keepdim=True).clamp(min=0.0)
    delta = (high - low) / 2**bits
    # Where all are zero, or so small that their share of 2^n is none, any delta gives zeros.
    delta = torch.where(delta > 0, delta, torch.ones_like(delta))
    return delta, torch.round(low / delta)


def rounded_values(values: Tensor, bits: int, shared: tuple[int, ...]) -> Tensor:
    """D(Q_n(values)): what is left of values in so many bits, in single precision."""
    if bits == FULL:
        return values
    if bits == HALF:
        return values.half().float()
    delta, lowest = scale_and_lowest(values, bits, shared)
    whole = torch.round(values / delta)
    return delta * torch.minimum(whole, lowest + (2**bits - 1))


def rounded_weights(matrix: Tensor, bits: int, per_channel: bool = False) -> Tensor:
    """What is left of a matrix (..., outputs, inputs)."""
    return rounded_values(matrix, bits, _shared(per_channel))


def rounded_activations(rows: Tensor, bits: int) -> Tensor:
    """What is left of activations (..., n). Each row has a range of its own, the same alone or in a batch."""
    return rounded_values(rows, bits, (-1,))


@dataclass(frozen=True)
class QuantisedWeights:
    """Weights by name: whole numbers with their scales, halves, or what they were."""

    tensors: Mapping[str, Tensor | Integers]
    bits: int

    def dequantise(self) -> dict[str, Tensor]:
        """All of them in single precision."""
        return {
            name: tensor.dequantise() if isinstance(tensor, Integers) else tensor.float()
            for name, tensor in self.tensors.items()
        }

    @property
    def nbytes(self) -> int:
        """The bytes of what a message holds, without its header."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """All as arrays, with as many bits for a whole number as it needs."""
        found: dict[str, np.ndarray[Any, Any]] = {_BITS: np.array([self.bits], np.int64)}
        for name, tensor in self.tensors.items():
            if isinstance(tensor, Integers):
                found[name + _INTEGERS] = _packed(tensor.stored.numpy(), self.bits)
                found[name + _LOWEST], found[name + _DELTA] = tensor.lowest.numpy(), tensor.delta.numpy()
                found[name + _SHAPE] = np.array(tensor.stored.shape, np.int64)
            else:
                found[name] = tensor.numpy()
        return found

    @staticmethod
    def of_arrays(arrays: Mapping[str, np.ndarray[Any, Any]]) -> QuantisedWeights:
        """The weights of such arrays. InputError where they are none."""
        try:
            bits = int(arrays[_BITS][0])
            refuse_other_bits(bits)
            tensors: dict[str, Tensor | Integers] = {}
            for name, array in arrays.items():
                if name.endswith(_INTEGERS):
                    base = name.removesuffix(_INTEGERS)
                    shape = tuple(arrays[base + _SHAPE].tolist())
                    stored = torch.from_numpy(_unpacked(array, bits, shape))
                    lowest, delta = arrays[base + _LOWEST].copy(), arrays[base + _DELTA].copy()
                    ends = torch.from_numpy(lowest), torch.from_numpy(delta)
                    tensors[base] = Integers(stored, *ends, bits)
                elif "/" not in name:
                    tensors[name] = torch.from_numpy(array.copy())
            return QuantisedWeights(tensors, bits)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise InputError(f"quantised weights are damaged: {type(error).__name__}: {error}") from None

    def to_bytes(self) -> bytes:
        """A message in the format of safetensors."""
        message: bytes = import_safetensors().save(self.arrays())
        return message

    @staticmethod
    def from_bytes(message: bytes) -> QuantisedWeights:
        """The weights of a message. InputError where it holds none."""
        library = import_safetensors()
        try:
            arrays = library.load(message)
        except Exception as error:
            said = " ".join(str(error).split())
            raise InputError(f"a message of weights is damaged: {said}") from None
        return QuantisedWeights.of_arrays(arrays)


def quantise_weights(weights: Mapping[str, Tensor], bits: int, per_channel: bool = False) -> QuantisedWeights:
    """Weights in so many bits, one of BITS, in memory of their own."""
    refuse_other_bits(bits)
    return QuantisedWeights(
        {name: _quantised(name, weight.detach(), bits, per_channel) for name, weight in weights.items()}, bits
    )


def _quantised(name: str, weight: Tensor, bits: int, per_channel: bool) -> Tensor | Integers:
    if bits == FULL or name.endswith("bias"):
        return weight.clone()
    if bits == HALF:
        return weight.half()
    return Integers.of(weight, bits, _shared(per_channel))


def _shared(per_channel: bool) -> tuple[int, ...]:
    return (-1,) if per_channel else (-2, -1)


def _packed(stored: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Whole numbers of so many bits each, without gaps."""
    if bits == 8:
        return stored
    return np.packbits(np.unpackbits(stored.reshape(-1, 1), axis=1, count=bits, bitorder="little"))


def _unpacked(packed: np.ndarray[Any, Any], bits: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if bits == 8:
        return packed.reshape(shape).copy()
    count = int(np.prod(shape))
    each = np.unpackbits(packed, count=count * bits).reshape(count, bits)
    return np.packbits(each, axis=1, bitorder="little").reshape(shape)
