"""Which rows or columns of its input a convolution reads."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple


class Reads(NamedTuple):
    """Which input rows (or columns) the outputs read, counted from the first of the padded input.

    Neighbouring outputs begin `stride` rows apart, and each reads within a `window` of them; `first` is the
    first row that is no padding, and padding begins again at `end`. Where stride and dilation have a common
    divisor g, only every g-th row is ever read, and those alone are counted.

    n outputs read n * `pitch` + `overlap` rows: those that a stride beyond the window skips are left out.
    """

    stride: int
    window: int
    first: int
    end: int

    @property
    def pitch(self) -> int:
        """Rows that one more output reads."""
        return min(self.stride, self.window)

    @property
    def overlap(self) -> int:
        """Rows of a window that its neighbour reads too."""
        return self.window - self.pitch


def reads_of(stride: int, taps: int, dilation: int, padding: int, size: int) -> Reads:
    """What the outputs of a filter of `taps` read along an axis of `size`, `padding` on either side."""
    step = gcd(stride, dilation)
    # The rows below a place that are multiples of the step.
    first, end = -(-padding // step), -(-(padding + size) // step)
    return Reads(stride // step, (taps - 1) * (dilation // step) + 1, first, end)
