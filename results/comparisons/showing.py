"""How the comparisons of cost models show mappings and figures: in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.mapping import Level, Mapping


def short(mapping: Mapping) -> str:
    """A mapping in short, `X>CXKY 1.4.2.1 / 128 / X>CYXK 1.1.1.1`.

    Outer level, cluster size, inner level; of a level the parallel dim, the order, and the tiles of K.C.Y.X.
    """

    def level(found: Level) -> str:
        order = "".join(dim for dim in found.order if dim in "KCYX")
        return f"{found.parallel}>{order} {'.'.join(str(found[dim]) for dim in 'KCYX')}"

    return f"{level(mapping.outer)} / {mapping.cluster_size} / {level(mapping.inner)}"


def spread(ratios: NDArray[np.float64]) -> str:
    """The median, and what 90% lie between."""
    low, middle, high = np.percentile(ratios, (5, 50, 95))
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
