"""What a model's optimum is worth in RTL, by published cycles: `python -m experiments.codesign.rtl`.

222 mappings that DOSA published, three of each of 74 layers, with the cycles of Timeloop's model and of
Gemmini's RTL (FireSim), those of Gemmini's own tiling, and the EDP over the proven least of the machine
(dosa/rtl.csv). Spearman's rank correlation of both cycles over a network's rows says mostly that larger
layers take longer, so the share of pairs of one layer that both order alike stands beside it. Intervals are
95 % percentiles of a bootstrap over layers. Writes results/codesign/rtl.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from experiments import RESULTS, keep, read_rows
from experiments.comparisons.showing import table

ROWS = Path(__file__).parent / "dosa" / "rtl.csv"
RESAMPLES, FEW = 2000, 3
PRINTED = 3e-6
"""By so much of itself a published EDP may be off."""

Row = dict[str, str]
Figure = Callable[[Sequence[Row]], float]


def correlation(rows: Sequence[Row]) -> float:
    """Spearman's, of the model's cycles and RTL's."""
    both = [[float(row["cycles"]) for row in rows], [float(row["rtl_cycles"]) for row in rows]]
    if min(map(len, map(set, both))) < 2:
        # Of one layer alone, drawn again and again.
        return float("nan")
    return float(spearmanr(*both).statistic)


def agreement(rows: Sequence[Row]) -> float:
    """Of the pairs of a layer's mappings that differ in both, the share that both order alike."""
    layers = defaultdict(list)
    for row in rows:
        layers[row["network"], row["layer"]].append((float(row["cycles"]), float(row["rtl_cycles"])))
    pairs = [
        (one[0] - other[0]) * (one[1] - other[1])
        for found in layers.values()
        for one, other in combinations(found, 2)
    ]
    told = [pair > 0 for pair in pairs if pair]
    return float(np.mean(told)) if told else float("nan")


def gain(rows: Sequence[Row]) -> float:
    """RTL cycles of Gemmini's own tiling over those of the published mappings, the geometric mean."""
    logs = [np.log(float(row["default_rtl_cycles"]) / float(row["rtl_cycles"])) for row in rows]
    return float(np.exp(np.mean(logs))) if logs else float("nan")


def optimal(row: Row) -> bool:
    """Whether a published mapping is one of the proven least EDP."""
    return abs(float(row["edp_over_proven"]) - 1) <= PRINTED


def shown(rows: Sequence[Row], figure: Figure) -> str:
    """A figure with its interval over layers."""
    layers = defaultdict(list)
    for row in rows:
        layers[row["network"], row["layer"]].append(row)
    names, rng = list(layers), np.random.default_rng(0)
    if len(names) < FEW:
        return f"{figure(rows):.2f}" if names else "-"
    values = [
        figure([row for place in rng.integers(len(names), size=len(names)) for row in layers[names[place]]])
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return f"{figure(rows):.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    """Print and write the table."""
    every = read_rows(ROWS)
    networks = {row["network"]: None for row in every}
    lines = []
    for network in [*networks, "all"]:
        rows = [row for row in every if network in ("all", row["network"])]
        best, rest = [row for row in rows if optimal(row)], [row for row in rows if not optimal(row)]
        figures = [shown(rows, correlation), shown(rows, agreement), str(len(best))]
        lines.append([network, str(len(rows)), *figures, shown(best, gain), shown(rest, gain)])
    heads = [
        "network", "mappings", "rank correlation of cycles", "pairs of a layer ordered alike",
        "proven optima among them", "their gain in RTL", "the others' gain in RTL",
    ]  # fmt: skip
    what = (
        "Cycles by the model and by RTL of DOSA's 222 published mappings, with 95 % intervals over layers. A "
        "gain is RTL cycles of Gemmini's own tiling over those of the mapping, the geometric mean: above 1, "
        "the mapping is faster."
    )
    keep(RESULTS / "codesign" / "rtl.md", "experiments.codesign.rtl", what, table(heads, lines))


if __name__ == "__main__":
    main()
