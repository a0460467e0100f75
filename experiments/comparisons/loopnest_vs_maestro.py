"""`loopnest` beside `maestro`, mapping by mapping: `python -m experiments.comparisons.loopnest_vs_maestro`

Perfect factors, five layers on `edge`, both models on the lowered layer. Each layer has two groups of
mappings that are feasible under both: 100 as they are drawn, and the 100 of 20,000 with the lowest EDP under
MAESTRO. Writes results/comparisons/loopnest_vs_maestro.csv, and its tables beside it as .md.

With `--loved`, instead: the best mapping that a search finds under MAESTRO, priced by `loopnest`, beside the
best that the same search finds under `loopnest`, for eight layers on two machines. Writes maestro_loved.csv
and .md there. Each takes a minute or two.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import spearmanr

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, UNLIMITED
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.nest import nest
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import Constants, LoopNest
from dse.models.loopnest.breakdown import energy_parts
from dse.models.maestro import Maestro, hardware_row, layer_row
from dse.models.maestro.reference import price_by_walk
from dse.search.api import search
from experiments import RESULTS, keep, write_rows
from experiments.comparisons.maestro_rules import rules
from experiments.comparisons.showing import Row, column, each_group, short, spread, table
from workloads import load_layer

HERE, MODULE = RESULTS / "comparisons", "experiments.comparisons.loopnest_vs_maestro"
MACHINE = PRESETS["edge"]
WIDE = replace(MACHINE, offchip_bandwidth=UNLIMITED)
MACHINES = {"": MACHINE, " wide link": WIDE, " both wide": replace(WIDE, noc_bandwidth=UNLIMITED)}
LAYERS = ("resnet18:3", "resnet18:5", "mobilenet_v2:10", "mobilenet_v2:7", "bert_base:scores")
DRAWN, CHOSEN, SEED = 20_000, 100, 0
GROUPS = ("random", "best")
FIGURES = ("input", "weight", "output", "l1_size", "l2_size", "cycles")
PARTS = ("MACs", "L1", "NoC", "L2", "DRAM")

LOVED_LAYERS = (*LAYERS, "resnet18:1", "vgg16:conv1_2", "bert_base:query")
LOVED_MACHINES = ("edge", "tpu-like")
OBJECTIVES = ("latency", "edp", "energy")
BUDGET = 5_000


def chosen(layer: Layer) -> Iterator[tuple[str, int, Mapping]]:
    """The group, the number in the draw, and the mapping, of all that are compared."""
    problems = [Problem(layer, MACHINE, "edp", cost_model=model) for model in ("maestro", "loopnest")]
    genes = problems[0].space.sample(np.random.default_rng(SEED), DRAWN)
    mappings = problems[0].space.decode(genes)
    losses, ours = (problem.evaluate(mappings).loss for problem in problems)
    _, first = np.unique(mappings.rows, axis=0, return_index=True)
    feasible = np.sort(first[np.isfinite(losses[first]) & np.isfinite(ours[first])])
    best = feasible[np.argsort(losses[feasible], kind="stable")][:CHOSEN]
    for group, samples in zip(GROUPS, (feasible[:CHOSEN], best), strict=True):
        for sample in samples.tolist():
            yield group, sample, mappings[sample]


def compare(name: str, layer: Layer, group: str, sample: int, mapping: Mapping) -> Row:
    """What both models say of a mapping, and whether the rules give what MAESTRO says."""
    batch = MappingBatch.of([mapping])
    counts = LoopNest().count(layer, MACHINE, mapping)
    assert counts is not None
    parts = energy_parts(counts, layer.macs, Constants())
    found = price_by_walk(
        layer_row(layer)[0].tolist(), hardware_row(MACHINE)[0].tolist(), batch.rows[0].tolist()
    )
    theirs = {**found["l2_reads"], "output": found["l2_writes"]["output"], **found}
    by_rule = rules(layer, MACHINE, mapping, counts)
    ours = (
        counts.dram_input,
        counts.dram_weight,
        counts.dram_output_up,
        counts.l1_need,
        counts.l2_need,
        counts.cycles,
    )
    row: Row = {
        "layer": name,
        "group": group,
        "sample": sample,
        "mapping": short(mapping),
        "even": int(nest(layer, MACHINE, mapping).even),
        "nj": round(sum(parts.values()) * 1e-3, 1),
        "maestro_nj": round(theirs["energy_nj"], 2),
        **{part: round(parts[part] * 1e-3, 1) for part in PARTS},
    }
    for figure, value in zip(FIGURES, ours, strict=True):
        row |= {figure: value, f"maestro_{figure}": theirs[figure]}
    row["by_rule"] = " ".join(figure for figure in FIGURES if theirs[figure] == getattr(by_rule, figure))
    for label, machine in list(MACHINES.items())[1:]:
        row[f"cycles{label}"] = int(LoopNest().evaluate(layer, machine, batch).cycles[0])
        row[f"maestro_cycles{label}"] = int(Maestro().evaluate(layer, machine, batch).cycles[0])
    return row


def correlations(rows: list[Row]) -> str:
    """Rank correlations by layer and group, on the machine and on those with wider paths."""

    def line(names: list[str], some: list[Row]) -> list[str]:
        pairs = [("nj", "maestro_nj"), *((f"cycles{at}", f"maestro_cycles{at}") for at in MACHINES)]
        columns = [(column(some, ours), column(some, theirs)) for ours, theirs in pairs]
        products = columns[0][0] * columns[1][0], columns[0][1] * columns[1][1]
        ranks = [spearmanr(*pair).statistic for pair in (*columns[:2], products, *columns[2:])]
        return [*names, *(f"{rank:.3f}" for rank in ranks)]

    head = ("layer", "mappings", "energy", "latency", "EDP", "latency, wide link", "latency, all wide")
    return table(head, [line(names, some) for names, some in each_group(rows)])


def latencies(rows: list[Row]) -> str:
    """The ratios of cycles, on the machine and on those with wider paths."""
    lines = []
    for names, some in each_group(rows):
        ratios = [column(some, f"cycles{at}") / column(some, f"maestro_cycles{at}") for at in MACHINES]
        cells = [f"{spread(ratio)}, {ratio.min():.2f} to {ratio.max():.2f}" for ratio in reversed(ratios)]
        lines.append([*names, *cells])
    return table(("layer", "mappings", "all wide", "wide link", "edge"), lines)


def agreement(rows: list[Row]) -> str:
    """Of even mappings: how often figures are equal, how far they are apart, how often a rule explains."""
    even = [row for row in rows if row["even"]]
    lines = []
    for figure in FIGURES:
        ratios = column(even, figure) / column(even, f"maestro_{figure}")
        equal, ruled = int((ratios == 1).sum()), sum(figure in str(row["by_rule"]).split() for row in even)
        span = f"{ratios.min():.2f} to {ratios.max():.2f}"
        lines.append([figure, f"{equal} of {len(even)}", spread(ratios), span, f"{ruled} of {len(even)}"])
    head = ("figure", "equal", "loopnest / MAESTRO", "extremes", "MAESTRO's by rule")
    return table(head, lines)


def shares(rows: list[Row]) -> str:
    """Where loopnest's energy goes, in %, by layer and group."""
    lines = []
    for names, some in each_group(rows):
        parts = [100 * (column(some, part) / column(some, "nj")).mean() for part in PARTS]
        lines.append([*names, *(f"{part:.1f}" for part in parts)])
    return table(("layer", "mappings", *PARTS), lines)


def extremes(rows: list[Row]) -> str:
    """The mappings that are furthest apart in each figure, either way."""
    even = [row for row in rows if row["even"]]
    lines = []
    for figure in FIGURES:
        ratios = column(even, figure) / column(even, f"maestro_{figure}")
        for place in (int(ratios.argmax()), int(ratios.argmin())):
            row = even[place]
            figures = [f"{float(row[name]):,.0f}" for name in (figure, f"maestro_{figure}")]
            lines.append(
                [figure, f"{ratios[place]:.2f}", f"`{row['layer']}`", f"`{row['mapping']}`", *figures]
            )
    return table(("figure", "ratio", "layer", "mapping", "loopnest", "MAESTRO"), lines)


def loved() -> Iterator[Row]:
    """What searches find under MAESTRO and under loopnest, both priced by both where feasible."""
    for name in LOVED_LAYERS:
        for machine in LOVED_MACHINES:
            for objective in OBJECTIVES:
                for tiles in ("factors", "any"):
                    yield _loved(name, machine, objective, tiles)


def _loved(name: str, machine: str, objective: str, tiles: str) -> Row:
    layer, accelerator = load_layer(name), PRESETS[machine]
    theirs, ours = (
        Problem(layer, accelerator, objective, cost_model=model, tiles=tiles)
        for model in ("maestro", "loopnest")
    )
    found, best = (search(problem, "genetic", budget=BUDGET).best for problem in (theirs, ours))
    assert found is not None
    assert best is not None
    again = ours.evaluate(MappingBatch.of([found.mapping]))
    return {
        "layer": name,
        "accelerator": machine,
        "objective": objective,
        "tiles": tiles,
        "mapping": short(found.mapping),
        "feasible": int(np.isfinite(again.loss[0])),
        "maestro_cycles": found.cycles,
        "cycles": int(again.cycles[0]),
        "ratio": round(int(again.cycles[0]) / found.cycles, 3),
        "loss": float(again.loss[0]),
        "loopnest_best": best.loss,
        "regret": round(float(again.loss[0]) / best.loss, 3),
    }


def show_loved(rows: list[Row]) -> str:
    """By objective and tiles: how far the cycles are apart, and how much worse the mapping is."""
    lines = []
    for objective in OBJECTIVES:
        for tiles in ("factors", "any"):
            some = [row for row in rows if row["objective"] == objective and row["tiles"] == tiles]
            feasible = [row for row in some if row["feasible"]]
            cells = [
                f"{np.median(column(feasible, name)):.2f}, at most {column(feasible, name).max():.2f}"
                for name in ("ratio", "regret")
            ]
            lines.append([objective, tiles, f"{len(feasible)} of {len(some)}", *cells])
    head = ("objective", "tiles", "feasible", "cycles, loopnest / MAESTRO", "loss / loopnest's best")
    return table(head, lines)


def most_loved(rows: list[Row]) -> str:
    """The feasible mappings whose cycles are furthest apart."""
    shown = (
        "layer",
        "accelerator",
        "objective",
        "tiles",
        "mapping",
        "maestro_cycles",
        "cycles",
        "ratio",
        "regret",
    )
    feasible = sorted((row for row in rows if row["feasible"]), key=lambda row: -float(row["ratio"]))
    return table(shown, [[str(row[name]) for name in shown] for row in feasible[:10]])


def main() -> None:
    """Compare, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--loved", action="store_true", help="price by loopnest what searches find under MAESTRO"
    )
    if parser.parse_args().loved:
        rows = list(loved())
        write_rows(HERE / "maestro_loved.csv", rows[0], rows)
        keep(HERE / "maestro_loved.md", f"{MODULE} --loved", show_loved(rows), most_loved(rows))
        return
    layers = {name: load_layer(name).lowered() for name in LAYERS}
    rows = [compare(name, layer, *found) for name, layer in layers.items() for found in chosen(layer)]
    write_rows(HERE / "loopnest_vs_maestro.csv", rows[0], rows)
    shown = (correlations, latencies, agreement, shares, extremes)
    keep(HERE / "loopnest_vs_maestro.md", MODULE, *(show(rows) for show in shown))


if __name__ == "__main__":
    main()
