"""The kinds of array that are passed around, each named once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
CodeArray = NDArray[np.uint8]
CountArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SingleArray = NDArray[np.float32]


def plain(array: NDArray[Any]) -> IntArray:
    """The array, or a copy that is int64, contiguous and writable: for others numba would compile again."""
    if array.dtype == np.int64 and array.flags.carray:
        return array
    return np.array(array, dtype=np.int64, order="C")
