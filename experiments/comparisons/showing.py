"""How the comparisons of cost models show mappings and figures: in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dse.domains.clustered.mapping import Level, Mapping
from dse.support.arrays import FloatArray

Row = dict[str, float | str | bool]
"""What a comparison found of a mapping, by column."""


def short(mapping: Mapping) -> str:
    """A mapping in short, `X>CXKY 1.4.2.1 / 128 / X>CYXK 1.1.1.1`.

    Outer level, cluster size, inner level; of a level the parallel dim, the order, and the tiles of K.C.Y.X.
    """

    def level(found: Level) -> str:
        order = "".join(dim for dim in found.order if dim in "KCYX")
        return f"{found.parallel}>{order} {'.'.join(str(found[dim]) for dim in 'KCYX')}"

    return f"{level(mapping.outer)} / {mapping.cluster_size} / {level(mapping.inner)}"


def spread(ratios: FloatArray) -> str:
    """The median, and what 90% lie between."""
    low, middle, high = np.percentile(ratios, (5, 50, 95))
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def column(rows: Sequence[Row], name: str) -> FloatArray:
    """A column of figures."""
    return np.array([float(row[name]) for row in rows])


def each_group(rows: Sequence[Row]) -> Iterator[tuple[list[str], list[Row]]]:
    """The rows of each `layer` and `group`, under their names, in the order of first appearance."""
    for name, group in dict.fromkeys((str(row["layer"]), str(row["group"])) for row in rows):
        yield [f"`{name}`", group], [row for row in rows if (row["layer"], row["group"]) == (name, group)]
