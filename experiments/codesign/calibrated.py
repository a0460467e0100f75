"""`timeloop` for Gemmini, calibrated by its RTL: `python -m experiments.codesign.calibrated fit|judge`.

`fit` reads 1,567 mappings that DOSA published, with RTL's cycles, to train on (dosa/rtl_training.csv.gz) and
writes results/codesign/rtl_constants.json. `judge` prices the 222 mappings of `experiments.codesign.rtl` by
these constants and writes results/codesign/rtl_calibrated.md.

Cycles are a sum of the model's counts, each times a constant of at least 0: words of each level and tensor,
steps of the loops down to each level, and 1. Constants minimise the pseudo-Huber loss of the logarithm of
predicted over measured. Either one set serves all mappings, or there is one for each way in which Gemmini's
code runs a mapping (`way`); used is what orders more pairs of layers that are held out.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize, nnls

from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import make_convolution
from dse.models.timeloop import reference
from dse.models.timeloop.presets import load_machine
from experiments import RESULTS, keep, read_rows
from experiments.codesign.rtl import ROWS, Row, agreement, correlation, gain, shown
from experiments.comparisons.showing import table

FOLDER = ROWS.parent
CONSTANTS = RESULTS / "codesign" / "rtl_constants.json"
TRAINED_ON = "gemmini-128-8192-2048"
"""The machine that the training rows name."""
STEPS = ("run", "dram_steps", "accumulator_steps", "register_steps")
WORDS = (
    "DRAM.W.reads", "DRAM.I.reads", "DRAM.O.reads", "DRAM.O.updates",
    "Scratchpad.W.reads", "Scratchpad.I.reads", "Accumulator.O.reads", "Accumulator.O.updates",
)  # fmt: skip
COUNTS = (*STEPS, *WORDS)
FOLDS, FEW, WIDTH = 10, 30, 0.5
"""Folds of layers; fewer rows of a way have the constants of all; where the loss turns linear."""
ONE, WAYS = "one set of constants", "a set for each way"
SETS = ("analytical", "both", "dnn")

Array = np.ndarray[Any, Any]
Fitted = dict[str, list[float]]


def main(what: str) -> None:
    """Fit constants to the training rows, or judge those that were fitted."""
    if what == "fit":
        fit()
    elif what == "judge":
        judge()
    else:
        sys.exit(f"say fit or judge, got {what!r}")


def counts(dims: dict[str, int], stride: tuple[int, int], machine: str, mapping: str) -> dict[str, float]:
    """The model's counts of a mapping, its cycles, and the way in which it runs."""
    read = HierarchyMapping.parse(mapping)
    found = reference.evaluate_mapping(make_convolution(dims, stride=stride), load_machine(machine), read)
    assert isinstance(found, reference.Costs), f"{mapping}: {found}"
    steps = np.cumprod([float(np.prod([size for _, size in level.temporal] or [1])) for level in read.levels])
    figures = {"cycles": float(found.cycles), "run": 1.0, "way": float(way(dims, read))}
    figures |= {"dram_steps": steps[0], "accumulator_steps": steps[2], "register_steps": steps[3]}
    for name in WORDS:
        level, tensor, kind = name.split(".")
        of = found.counts[level][tensor]
        figures[name] = float(getattr(of, kind) * of.instances)
    return figures


def way(dims: dict[str, int], mapping: HierarchyMapping) -> int:
    """4 if a filter is cut at DRAM, 2 if the accumulator's level loops over K, 1 if it has one column."""
    cut = any(dim in "RS" and size > 1 for dim, size in mapping.levels[0].temporal)
    loops = any(dim == "K" and size > 1 for dim, size in mapping.levels[2].temporal)
    return 4 * cut + 2 * loops + (dims["Q"] == 1)


def fitted(rows: Array, cycles: Array) -> list[float]:
    """Constants (counts,) of at least 0 for rows of counts (n, counts) and measured cycles (n,)."""
    scaled = rows / cycles[:, None]
    sizes = scaled.max(axis=0)
    sizes[sizes == 0] = 1
    scaled = scaled / sizes
    begin, _ = nnls(scaled, np.ones(len(scaled)))

    def loss(constants: Array) -> tuple[float, Array]:
        ratios = scaled @ constants + 1e-12
        errors = np.log(ratios)
        bent = np.sqrt(1 + (errors / WIDTH) ** 2)
        slopes = scaled.T @ (errors / bent / ratios)
        return float((WIDTH**2 * (bent - 1)).mean()), slopes / len(scaled)

    found = minimize(
        loss, begin + 1e-6, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(begin),
        options={"maxiter": 2000, "ftol": 1e-10, "gtol": 1e-8},
    )  # fmt: skip
    return [float(f"{value:.6g}") for value in found.x / sizes]


def fit_all(data: pd.DataFrame, ways: bool) -> Fitted:
    """The constants of all rows, and of each way of which there are enough."""
    parts = {"all": data}
    if ways:
        parts |= {str(int(code)): part for code, part in data.groupby("way") if len(part) >= FEW}
    return {
        name: fitted(part[list(COUNTS)].to_numpy(), part["rtl_cycles"].to_numpy())
        for name, part in parts.items()
    }


def predicted(data: pd.DataFrame, constants: Fitted) -> Array:
    """Cycles (n,) by the constants of each row's way, or of all."""
    chosen = np.array([constants.get(str(int(code)), constants["all"]) for code in data["way"]])
    return np.maximum((data[list(COUNTS)].to_numpy() * chosen).sum(axis=1), 1.0)


def error(cycles: Array, measured: Array) -> float:
    """By which factor the median row is off."""
    return float(np.exp(np.median(np.abs(np.log(cycles / measured)))))


def as_rows(data: pd.DataFrame, cycles: Array) -> list[Row]:
    """Rows with these cycles as the model's, for the figures of `experiments.codesign.rtl`."""
    return [{**row, "cycles": str(value)} for row, value in zip(data.to_dict("records"), cycles, strict=True)]


def fit() -> None:
    """Cross-validate over layers, fit to all training rows, and write the constants."""
    data = training()
    layers, places = np.unique(data["layer"], return_inverse=True)
    folds = np.random.default_rng(0).permutation(len(layers))[places] % FOLDS
    report: dict[str, Any] = {}
    for name, ways in ((ONE, False), (WAYS, True)):
        held = np.zeros(len(data))
        for fold in range(FOLDS):
            out = folds == fold
            held[out] = predicted(data[out], fit_all(data[~out], ways))
        report[name] = figures_of(data, held)
    report["timeloop"] = figures_of(data, data["cycles"].to_numpy())
    used = max((ONE, WAYS), key=lambda name: report[name]["pairs"])
    constants = {
        name: dict(zip(COUNTS, row, strict=True)) for name, row in fit_all(data, used == WAYS).items()
    }
    text = json.dumps({"held_out_layers": report, "used": used, "constants": constants}, indent=1)
    print(text)
    CONSTANTS.write_text(text + "\n", encoding="utf-8")


def figures_of(data: pd.DataFrame, cycles: Array) -> dict[str, float]:
    """Error and order of some cycles."""
    rows = as_rows(data, cycles)
    figures = {
        "error": error(cycles, data["rtl_cycles"].to_numpy()),
        "correlation": correlation(rows),
        "pairs": agreement(rows),
    }
    return {name: round(value, 3) for name, value in figures.items()}


def training() -> pd.DataFrame:
    """The training rows with their counts."""
    with gzip.open(FOLDER / "rtl_training.csv.gz", "rt") as file:
        read = pd.read_csv(io.StringIO(file.read()))
    found = []
    for row in read.to_dict("records"):
        dims = {dim: int(row[dim]) for dim in "RSPQCK"}
        stride = (int(row["stride_rows"]), int(row["stride_columns"]))
        layer = " ".join(map(str, [*dims.values(), *stride]))
        named = {"network": "", "layer": layer, "rtl_cycles": float(row["rtl_cycles"])}
        found.append(named | counts(dims, stride, TRAINED_ON, row["mapping"]))
    return pd.DataFrame(found)


def tested() -> pd.DataFrame:
    """The 222 rows of `experiments.codesign.rtl` with the counts of their mappings."""
    with gzip.open(FOLDER / "rtl_mappings.jsonl.gz", "rt") as file:
        asked = {(row["set"], row["network"], row["layer"]): row for row in map(json.loads, file)}
    found = []
    for row in read_rows(ROWS):
        said = asked[row["set"], row["network"], row["layer"]]
        dims = {dim: int(said["dims"].get(dim, 1)) for dim in "RSPQCK"}
        found.append({**counts(dims, tuple(said["stride"]), said["machine"], said["mapping"]), **row})
    data = pd.DataFrame(found)
    data["rtl_cycles"] = data["rtl_cycles"].astype(float)
    data["timeloop"] = data["cycles"]
    return data


def chosen(rows: Sequence[Row]) -> list[Row]:
    """Of each layer's mappings, the one of the fewest cycles; of equals, their geometric means."""
    found = []
    for layer in by_layer(rows):
        least = min(float(row["cycles"]) for row in layer)
        equals = [row for row in layer if float(row["cycles"]) == least]
        means = {
            name: str(np.exp(np.mean([np.log(float(row[name])) for row in equals])))
            for name in ("rtl_cycles", "default_rtl_cycles")
        }
        found.append({**equals[0], **means})
    return found


def told(rows: Sequence[Row], by: str = "cycles") -> list[Row]:
    """Pairs of a layer's mappings that differ in RTL's cycles and in those `by` a model, as layers of two."""
    return [
        {**row, "layer": f"{row['layer']} {number}"}
        for layer in by_layer(rows)
        for number, pair in enumerate(combinations(layer, 2))
        if pair[0][by] != pair[1][by] and pair[0]["rtl_cycles"] != pair[1]["rtl_cycles"]
        for row in pair
    ]


def by_layer(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each layer."""
    layers: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        layers[row["network"], row["layer"]].append(row)
    return list(layers.values())


def judge() -> None:
    """Judge the constants by the test rows, and write the page."""
    data = tested()
    read = json.loads(CONSTANTS.read_text(encoding="utf-8"))
    constants = {name: [row[count] for count in COUNTS] for name, row in read["constants"].items()}
    prices = {
        "`timeloop`": data["cycles"].astype(float).to_numpy(),
        ONE: predicted(data, {"all": constants["all"]}),
        WAYS: predicted(data, constants),
        "RTL": data["rtl_cycles"].to_numpy(),
    }
    orders, gains = [], []
    for network in [*dict.fromkeys(data["network"]), "all"]:
        part = np.array([network in ("all", name) for name in data["network"]])
        rows = {name: as_rows(data[part], cycles[part]) for name, cycles in prices.items()}
        for name in list(prices)[:-1]:
            off = f"{error(prices[name][part], prices['RTL'][part]):.2f}"
            order = [
                shown(rows[name], correlation),
                shown(rows[name], agreement),
                str(len(told(rows[name])) // 2),
            ]
            order.append(f"{agreement(told(rows[name], 'timeloop')):.2f}")
            orders.append([network, name, off, *order])
        sets = [[row for row in rows["RTL"] if row["set"] == name] for name in SETS]
        picked = [*map(chosen, rows.values()), *sets]
        gains.append([network, *(shown(found, gain) for found in picked)])
    held = [[name, *map(str, row.values())] for name, row in read["held_out_layers"].items()]
    figures = ["off by", "rank correlation", "pairs of a layer ordered alike"]
    keep(
        RESULTS / "codesign" / "rtl_calibrated.md",
        "experiments.codesign.calibrated judge",
        "DOSA's 222 published mappings, priced by constants that were fitted to 1,567 others; the method was "
        f"fixed before, how equal prices count after. Cross-validation chose {read['used']}. "
        "The median row is off by a factor. A model orders no pairs that it prices equal. "
        "Intervals are of 95 %, over layers.",
        table(
            [
                "network",
                "cycles by",
                *figures,
                "pairs that it tells apart",
                "alike of those that `timeloop` tells apart",
            ],
            orders,
        ),
        "RTL cycles of Gemmini's own tiling over those of one of the three published mappings of each layer, "
        "the geometric mean: of the one of fewest cycles by a model (of equals their mean), or by RTL, and "
        "of all of a set. DOSA's learned models chose `both` (with the analytical one) and `dnn` (alone).",
        table(["network", *(f"fewest by {name}" for name in prices), *(f"`{name}`" for name in SETS)], gains),
        "The mappings to train on, each predicted by constants fitted to other layers:",
        table(["cycles by", *figures], held),
    )


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
