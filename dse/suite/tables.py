"""Small spaces, whole, as arrays that need nothing of this package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.campaign.config import safe_name
from dse.support.files import make_folder, whole_file

if TYPE_CHECKING:
    from dse.suite.problem import SuiteProblem

MOST = 1_000_000
"""Vectors of a space that is small enough, if nothing is said."""
AT_ONCE = 1 << 16
COLUMNS: dict[str, Any] = {
    "loss": np.float64,
    "cycles": np.int64,
    "energy_nj": np.float64,
    "reason": np.uint8,
}


def write_table(problem: SuiteProblem, folder: Path, most: int = MOST) -> Path | None:
    """Write every point of the problem's space into `folder`; None where there are more than `most`.

    The file is NumPy's: `genes` and `sizes` name the axes, and the arrays `loss` (inf where infeasible),
    `cycles`, `energy_nj` and `reason` have one, so that `loss[tuple(point)]` is a point's.
    """
    space = problem.problem.space
    if space.vectors > most:
        return None
    shape = tuple(space.sizes.tolist())
    columns = {name: np.empty(space.vectors, kind) for name, kind in COLUMNS.items()}
    for start in range(0, space.vectors, AT_ONCE):
        rows = np.arange(start, min(start + AT_ONCE, space.vectors))
        found = problem.problem.price(np.stack(np.unravel_index(rows, shape), axis=1).astype(np.int64))
        for name, column in columns.items():
            column[rows] = getattr(found, name)
    make_folder(folder)
    path = folder / f"{safe_name(problem.name)}.npz"
    arrays: dict[str, Any] = {name: column.reshape(shape) for name, column in columns.items()}
    with whole_file(path, "table") as file:
        np.savez_compressed(
            file, genes=np.array([gene.name for gene in space.genes]), sizes=space.sizes, **arrays
        )
    return path
