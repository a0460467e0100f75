"""Convolutions of any padding, one- and two-dimensional, and transposed ones, as layers.

Shapes are (samples, channels, rows, columns), and filters (outputs, inputs of a group, rows, columns), or
(inputs, outputs of a group, rows, columns) of a transposed one; without rows where there is one dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from dse.core.layer import Layer
from dse.support.errors import InputError
from workloads.models.collected import NoLayerError

Shape = Sequence[int]

MAX_TAPS, MAX_PLACES = 1024, 4096
"""Of a transposed convolution: taps along an axis, and places between two strides. Each is looked at."""


@dataclass(frozen=True)
class Steps:
    """How a filter moves, by axis: padding lies `before` the first and `after` the last."""

    stride: Shape
    dilation: Shape
    before: Shape
    after: Shape
    groups: int = 1

    def rows_added(self) -> Steps:
        """The steps of a one-dimensional filter as those of a filter of one row."""
        return Steps((1, *self.stride), (1, *self.dilation), (0, *self.before), (0, *self.after), self.groups)


def convolution(image: Shape, filters: Shape, steps: Steps) -> list[Layer]:
    """The layer of a convolution.

    Padding that differs from side to side counts as input where one side has more than the other.
    """
    _matched(image, filters[1] * steps.groups)
    image, filters, steps = _in_two_dimensions(image, filters, steps, work=_work)
    samples, channels, rows, columns = image
    outputs, _, *taps = filters
    sizes, paddings = zip(
        *(
            (size + abs(before - after), min(before, after))
            for size, before, after in zip((rows, columns), steps.before, steps.after, strict=True)
        ),
        strict=True,
    )
    return [
        Layer(
            *("CONV", outputs, channels, sizes[0], sizes[1], taps[0], taps[1]),
            (steps.stride[0], steps.stride[1]),
            (paddings[0], paddings[1]),
            dilation=(steps.dilation[0], steps.dilation[1]),
            groups=steps.groups,
            batch=samples,
        )
    ]


def transposed(image: Shape, filters: Shape, steps: Steps, spatial_output: Shape) -> list[Layer]:
    """The layers of a transposed convolution with a spatial output of that size.

    Outputs that lie a stride apart use the same taps of the filter: they are a convolution of stride 1, and
    there is one for each place between two strides, called by it.
    """
    _matched(image, filters[0])
    if len(image) == 3:
        spatial_output = (1, *spatial_output)
    image, filters, steps = _in_two_dimensions(image, filters, steps, work=_transposed_work)
    samples, channels, rows, columns = image
    _, outputs, *taps = filters
    axes = [
        _phases(*axis)
        for axis in zip(
            (rows, columns), taps, steps.stride, steps.dilation, steps.before, spatial_output, strict=True
        )
    ]
    places = len(axes[0]) * len(axes[1])
    if places > MAX_PLACES:
        raise NoLayerError(
            f"a transposed convolution with {places:,} places between two strides; at most {MAX_PLACES:,}"
        )
    found = []
    for place, down in axes[0].items():
        for beside, right in axes[1].items():
            found.append(
                Layer(
                    *("CONV", outputs * steps.groups, channels, down.size, right.size, down.taps, right.taps),
                    padding=(down.padding, right.padding),
                    dilation=(down.dilation, right.dilation),
                    groups=steps.groups,
                    batch=samples,
                    name=f"{place}{beside}" if places > 1 else "",
                )
            )
    return found


def _matched(image: Shape, channels: int) -> None:
    """InputError where the filters, those of all groups, are made for other channels than the image has."""
    if image[1] != channels:
        raise InputError(f"its input has {image[1]} channels, its weights are for {channels}")


@dataclass(frozen=True)
class _Phase:
    """One axis of a convolution of stride 1: its input and the taps of the filter that it uses."""

    size: int
    padding: int
    taps: int
    dilation: int


def _phases(size: int, taps: int, stride: int, dilation: int, before: int, outputs: int) -> dict[int, _Phase]:
    """One axis of a transposed convolution, by the place of the outputs between two strides.

    Input i and tap r meet in the output i * stride + r * dilation - before.
    """
    if max(stride, taps) > MAX_TAPS:
        raise NoLayerError(f"a transposed convolution of stride {stride} and {taps} taps; at most {MAX_TAPS}")
    found = {}
    for place in range(min(stride, outputs)):
        used = [tap for tap in range(taps) if (place + before - tap * dilation) % stride == 0]
        if not used:
            continue  # the output has its bias there, and no sum
        count = len(range(place, outputs, stride))
        first = (place + before - used[-1] * dilation) // stride
        apart = dilation // gcd(stride, dilation)
        whole = count + (len(used) - 1) * apart
        zeros_before, zeros_after = max(0, -first), max(0, first + whole - size)
        padding = min(zeros_before, zeros_after)
        found[place] = _Phase(whole - 2 * padding, padding, len(used), apart)
    return found


def _in_two_dimensions(
    image: Shape, filters: Shape, steps: Steps, work: object
) -> tuple[Shape, Shape, Steps]:
    """A one-dimensional convolution as one of one row."""
    if len(image) == 3:
        image, filters, steps = (*image[:2], 1, image[2]), (*filters[:2], 1, filters[2]), steps.rows_added()
    if len(image) != 4:
        macs = work(image, filters, steps)  # type: ignore[operator]
        raise NoLayerError(f"a convolution of {len(image) - 2} spatial dimensions; a layer has two", macs)
    return image, filters, steps


def _work(image: Shape, filters: Shape, steps: Steps) -> int:
    outputs = 1
    for size, taps, stride, dilation, before, after in zip(
        image[2:], filters[2:], steps.stride, steps.dilation, steps.before, steps.after, strict=True
    ):
        outputs *= (size + before + after - (taps - 1) * dilation - 1) // stride + 1
    return image[0] * outputs * prod(filters)


def _transposed_work(image: Shape, filters: Shape, steps: Steps) -> int:
    # What of the last rows is cut off is counted here: this is for a share alone.
    return image[0] * prod(image[2:]) * prod(filters)
