"""The roofline of a layer on its hardware: what no mapping can do better than (Williams et al., CACM 2009).

A layer's compulsory traffic is each of its words moved once between the chip and what is beyond it. With its
multiply-accumulates it bounds latency (the array is no faster than all its units, the link no faster than its
bandwidth) and energy. Both bounds hold for every mapping, whatever the sizes of buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, gcd, isfinite
from typing import Any, NamedTuple

from dse.core.layer import Layer


class Words(NamedTuple):
    """The words of each tensor, each counted once: of the inputs those that some output reads, no padding."""

    weights: int
    inputs: int
    outputs: int

    @property
    def total(self) -> int:
        """All words."""
        return sum(self)

    def wide(self, bits: Mapping[str, int] | None) -> Words:
        """The bits that the words take, by tensor; the words themselves where nobody says."""
        if bits is None:
            return self
        return Words(self.weights * bits["W"], self.inputs * bits["I"], self.outputs * bits["O"])


class Roofline(NamedTuple):
    """The bounds of one layer on one machine.

    `compute_cycles` and `link_cycles` are what all multiply-accumulates and all `words` take at least;
    `peak` is multiply-accumulates and `bandwidth` words a cycle; `energy_nj` is the least energy of both.
    Where words have widths, they and the bandwidth are in bits, and the `unit` is that.
    """

    macs: int
    words: Words
    peak: float
    bandwidth: float
    compute_cycles: int
    link_cycles: int
    energy_nj: float
    unit: str = "word"

    @property
    def cycles(self) -> int:
        """No mapping takes fewer."""
        return max(self.compute_cycles, self.link_cycles)

    @property
    def intensity(self) -> float:
        """Multiply-accumulates a word of compulsory traffic."""
        return self.macs / self.words.total

    @property
    def bound_by(self) -> str:
        """What the least latency comes from."""
        return "compute" if self.compute_cycles >= self.link_cycles else "bandwidth"

    def to_dict(self) -> dict[str, Any]:
        """The bounds as plain data."""
        unit = self.unit
        return {
            "macs": self.macs,
            f"{unit}s": self.words._asdict(),
            f"macs_per_{unit}": self.intensity,
            "peak_macs_per_cycle": self.peak,
            f"{unit}s_per_cycle": self.bandwidth if isfinite(self.bandwidth) else None,
            "bound_by": self.bound_by,
            "compute_cycles": self.compute_cycles,
            "link_cycles": self.link_cycles,
            "cycles": self.cycles,
            "energy_nj": self.energy_nj,
        }


def compulsory_words(layer: Layer) -> Words:
    """The words of a layer's tensors, one run of it, of all its groups and samples."""
    shape = (
        layer.stride,
        (layer.R, layer.S),
        layer.dilation,
        layer.padding,
        (layer.Y, layer.X),
        layer.output,
    )
    rows, columns = (_read(*axis) for axis in zip(*shape, strict=True))
    inputs = layer.batch * layer.C * rows * columns
    channels = layer.C if layer.type == "DSCONV" else layer.K
    outputs = layer.batch * channels * layer.output[0] * layer.output[1]
    return Words(layer.K * (layer.C // layer.groups) * layer.R * layer.S, inputs, outputs)


def make_roofline(
    layer: Layer,
    peak: float,
    bandwidth: float,
    mac_pj: float,
    word_pj: float,
    bits: Mapping[str, int] | None = None,
) -> Roofline:
    """The bounds of a machine of `peak` MACs and `bandwidth` words a cycle, whatever the tensor.

    `mac_pj` and `word_pj` are the least energies of a multiply-accumulate and of a word moved. With the
    `bits` of each tensor's words, what is moved is bits.
    """
    words = compulsory_words(layer).wide(bits)
    energy = 1e-3 * (layer.macs * mac_pj + words.total * word_pj)
    # Floats: a machine may be drawn with any bandwidth, and an unlimited one takes no cycle.
    compute, link = ceil(layer.macs / peak), ceil(words.total / bandwidth)
    unit = "word" if bits is None else "bit"
    return Roofline(layer.macs, words, peak, bandwidth, compute, link, energy, unit)


def _read(stride: int, taps: int, dilation: int, padding: int, size: int, outputs: int) -> int:
    """How many rows the outputs read, none of them padding and none counted twice."""
    step = gcd(stride, dilation)
    stride, dilation = stride // step, dilation // step
    # Output i reads the rows i stride + r dilation, and i + dilation reads the same ones from r - stride on.
    twice = max(0, outputs - dilation) * max(0, taps - stride)
    if not padding:
        return outputs * taps - twice
    near = {0, outputs - 1, *range(min(outputs, padding + 1)), *range(max(0, outputs - 2 * padding), outputs)}
    first, end = ceil(padding / step), ceil((padding + size) / step)
    outside = {
        row
        for output in near
        for row in range(output * stride, output * stride + taps * dilation, dilation)
        if not first <= row < end
    }
    return outputs * taps - twice - len(outside)
