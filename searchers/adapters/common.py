"""What the adapters share: points by the names of genes, and losses as finite numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError
from searchers.peers.common import Penalised

if TYPE_CHECKING:
    from dse.search.session import Session


class Values:
    """The run as a function to minimise; sizes are whole numbers there, names and orders are choices."""

    def __init__(self, study: Session) -> None:
        self.study = study
        self.names = [gene.name for gene in study.genes]
        self._penalised = Penalised()

    def ranges(self) -> dict[str, int]:
        """The largest value of each gene that is a size, from 0 on; those of one value are choices."""
        return {gene.name: gene.size - 1 for gene in self.study.genes if _is_range(gene)}

    def choices(self) -> dict[str, list[int]]:
        """The values of all other genes: neighbours of a number are not like it."""
        return {gene.name: list(range(gene.size)) for gene in self.study.genes if not _is_range(gene)}

    def of(self, points: Sequence[Mapping[str, Any]] | IntArray) -> FloatArray:
        """The numbers (n,) of points, by the names of genes or as an array (n, genes)."""
        rows = [
            [point[name] for name in self.names] if isinstance(point, Mapping) else point for point in points
        ]
        found: FloatArray = self._penalised(self.study.tell(np.array(rows)))
        return found

    def __call__(self, point: Mapping[str, Any]) -> float:
        """The number of one point."""
        return float(self.of([point])[0])


def _is_range(gene: Any) -> bool:
    return bool(gene.kind == "ordinal" and gene.size > 1)


def import_library(name: str) -> Any:
    """The module of that name; InputError that says what to install where it is not there."""
    try:
        return import_module(name)
    except ImportError as error:
        package = {"ax": "ax-platform", "mcp": "mcp"}.get(name.partition(".")[0], name.partition(".")[0])
        raise InputError(f"this needs a library that is not here ({error}): pip install {package}") from None
