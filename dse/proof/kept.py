"""Boxes with their bounds as bytes, for a later run: what most models' `pack` and `unpack` are."""

from __future__ import annotations

import io
import zipfile

import numpy as np

from dse.support.arrays import FloatArray, IntArray


def pack_boxes(boxes: IntArray, bounds: FloatArray) -> bytes:
    """Boxes (n, columns) and bounds (n,), compressed."""
    file = io.BytesIO()
    np.savez_compressed(file, boxes=boxes, bounds=bounds)
    return file.getvalue()


def unpack_boxes(kept: bytes, columns: int) -> tuple[IntArray, FloatArray]:
    """What `pack_boxes` wrote; no boxes where it was not `pack_boxes`, or of so many columns, that did."""
    try:
        with np.load(io.BytesIO(kept)) as file:
            boxes, bounds = file["boxes"], file["bounds"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return np.empty((0, columns), np.int64), np.empty(0)
    if boxes.shape != (len(bounds), columns):
        return np.empty((0, columns), np.int64), np.empty(0)
    return boxes, bounds
