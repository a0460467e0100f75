"""The kinds of array that are passed around, each named once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
CodeArray = NDArray[np.uint8]
CountArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SingleArray = NDArray[np.float32]
