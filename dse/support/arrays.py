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
RecordArray = NDArray[np.void]

INT, FLOAT = np.int64, np.float64


def plain_array(array: NDArray[Any]) -> IntArray:
    """The array, or a copy that is int64, contiguous and writable: for others numba would compile again."""
    if array.dtype == np.int64 and array.flags.carray:
        return array
    return np.array(array, dtype=np.int64, order="C")


def record_type(*fields: tuple[Any, ...]) -> np.dtype[np.void]:
    """The type of a record with these fields, as `np.dtype` takes them: attributes in Python too.

    ValueError for a name that arrays have too, as `size`: in Python it would be another thing.
    """
    taken = [name for name, *_ in fields if hasattr(np.record, name)]
    if taken:
        raise ValueError(f"a record's field may not be called as what arrays have is: {', '.join(taken)}")
    return np.dtype((np.record, list(fields)))


def integer_fields(names: str) -> list[tuple[str, type[np.int64]]]:
    """Fields of a record, as `np.dtype` takes them: integers of these names."""
    return [(name, INT) for name in names.split()]


def float_fields(names: str) -> list[tuple[str, type[np.float64]]]:
    """Fields of a record, as `np.dtype` takes them: floats of these names."""
    return [(name, FLOAT) for name in names.split()]
