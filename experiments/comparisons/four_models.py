"""Four cost models on the same mappings: `python -m experiments.comparisons.four_models`.

`timeloop`, `loopnest`, `maestro`, and ZigZag where the extra `zigzag` is installed, on the machine `edge`
without NoC latency. The mappings are those of `mappings` that all four can hold: tiles divide, no
PE idles. `timeloop` gets them on a machine of the same stores: DRAM, L2, the clusters (which keep nothing),
an L1 in each PE; a word costs what it does under `loopnest`, on the way through the NoC nothing.

Writes four_models.csv, four_models_winners.csv and four_models.md (the tables) in results/comparisons, with
95% intervals; takes some minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import dse
from dse.core.layer import Layer
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.levels.workload import workload_of
from dse.models.loopnest import Constants, LoopNest
from dse.models.loopnest.breakdown import energy_parts
from dse.models.timeloop import reference
from dse.support.arrays import FloatArray
from dse.support.errors import InputError
from experiments import RESULTS, keep, write_rows
from experiments.comparisons.by_levels import by_levels, levels_of
from experiments.comparisons.mappings import GROUPS, LAYERS, MACHINE, PLAIN, chosen
from experiments.comparisons.showing import Row, column, each_group, short, spread, table
from workloads import load_layer

FOLDER = RESULTS / "comparisons"
CONSTANTS = Constants()
FIGURES = ("energy", "latency", "EDP")
SEARCHERS, SEEDS, BUDGET = ("random", "genetic", "gamma", "cem", "local", "marl"), 3, 500
RESAMPLED = 1000


def compare(name: str, layer: Layer, mapping: Mapping) -> Row | None:
    """What the models say of a mapping; None where one of them cannot hold it."""
    levels = by_levels(layer, mapping)
    counts = LoopNest().count(layer, MACHINE, mapping)
    if levels is None or counts is None:
        return None
    theirs = reference.evaluate_mapping(workload_of(layer), levels_of(mapping.cluster_size), levels)
    if isinstance(theirs, reference.NotPriced):
        raise InputError(f"{name}: {levels.text()}: {theirs}")
    problem = Problem(layer, MACHINE, "edp", "maestro")
    maestro = problem.model.evaluate(problem.layer.lowered(), MACHINE, MappingBatch.of([mapping]))
    parts = energy_parts(counts, layer.macs, CONSTANTS)
    at = theirs.counts
    here = at["L1"]["W"].instances
    ours = {
        "weights": (counts.dram_weight, counts.l2_weight, counts.pe_weight),
        "inputs": (counts.dram_input, counts.l2_input, counts.pe_input),
        "sums away": (counts.dram_output_up, counts.l2_output_up, 0),
        "sums back": (counts.dram_output_down, counts.l2_output_down, 0),
    }
    levelled = {
        "weights": (at["L2"]["W"].fills, at["L2"]["W"].reads, at["L1"]["W"].fills * here),
        "inputs": (at["L2"]["I"].fills, at["L2"]["I"].reads, at["L1"]["I"].fills * here),
        "sums away": (at["DRAM"]["O"].updates, at["L2"]["O"].updates, 0),
        "sums back": (at["DRAM"]["O"].reads, at["L2"]["O"].reads, 0),
    }
    energy = (sum(parts.values()) - parts["NoC"]) * 1e-3
    more = [theirs_ - ours_ for theirs_, ours_ in zip(levelled["inputs"], ours["inputs"], strict=True)]
    l2, l1 = CONSTANTS.l2_pj, CONSTANTS.l1_pj
    terms = {
        "inputs pj": more[0] * (CONSTANTS.dram_pj + l2) + more[1] * l2 + more[2] * l1,
        "sums that leave pj": -counts.dram_output_up * l2 - counts.pe_output_up * l1,
        "first sums pj": (at["L1"]["O"].reads * here - layer.macs) * l1,
        "sums to all adders pj": (at["L1"]["O"].fills * here - counts.l2_output_down) * l1,
    }
    return {
        "layer": name,
        "mapping": short(mapping),
        "loopnest energy": energy,
        "loopnest latency": counts.cycles,
        "timeloop energy": theirs.energy_pj * 1e-3,
        "timeloop latency": theirs.cycles,
        "maestro energy": float(maestro.energy_nj[0]),
        "maestro latency": int(maestro.cycles[0]),
        **_zigzag(layer, mapping),
        "waits": counts.cycles - counts.filling - counts.drain - counts.compute,
        "ends": counts.filling + counts.drain,
        **{f"{term} equal": ours[term] == levelled[term] for term in ours},
        "inputs more": min(more) >= 0,
        **terms,
        "explained": bool(
            np.isclose(energy + sum(terms.values()) * 1e-3, theirs.energy_pj * 1e-3, rtol=1e-9)
        ),
    }


def _zigzag(layer: Layer, mapping: Mapping) -> Row:
    """ZigZag's figures, where it is installed."""
    try:
        from dse.models.zigzag.constants import Constants as ZigZagConstants
        from dse.models.zigzag.pricing import price_mapping
    except ImportError:
        return {}
    found = price_mapping(layer, MACHINE, mapping, ZigZagConstants())
    return {"zigzag energy": found.energy_pj * 1e-3, "zigzag latency": found.cycles}


def models_in(rows: Sequence[Row]) -> list[str]:
    """The models whose figures are there."""
    return [name.split()[0] for name in rows[0] if name.endswith(" latency")]


def figure(rows: Sequence[Row], model: str, kind: str) -> FloatArray:
    """A figure of a model: energy, latency, or their product."""
    if kind == "EDP":
        return column(rows, f"{model} energy") * column(rows, f"{model} latency")
    return column(rows, f"{model} {kind}")


def interval(values: FloatArray) -> str:
    """The first value, and the 95% interval of the others."""
    low, high = np.percentile(values[1:], (2.5, 97.5))
    return f"{values[0]:.2f} [{low:.2f}, {high:.2f}]"


def correlations(rows: list[Row]) -> str:
    """Spearman's rank correlation of every pair of models, mean over layers, mappings resampled."""
    rng = np.random.default_rng(0)
    layers = {names[0]: None for names, _ in each_group(rows)}
    found: dict[tuple[str, str, str, str], list[FloatArray]] = {}
    for names, some in each_group(rows):
        picks = rng.integers(len(some), size=(RESAMPLED + 1, len(some)))
        picks[0] = np.arange(len(some))
        for kind in FIGURES:
            ranks = {model: _centred(figure(some, model, kind)[picks]) for model in models_in(rows)}
            for one, other in combinations(ranks, 2):
                rho = np.sum(ranks[one] * ranks[other], axis=1)
                found.setdefault((one, other, names[1], kind), []).append(rho)
    pairs = dict.fromkeys((one, other) for one, other, _, _ in found)
    lines = [
        [
            f"`{one}`, `{other}`",
            *(
                interval(np.sum(found[one, other, group, kind], axis=0) / len(layers))
                for group in GROUPS
                for kind in FIGURES
            ),
        ]
        for one, other in pairs
    ]
    return table(("models", *(f"{kind}, {group}" for group in GROUPS for kind in FIGURES)), lines)


def _centred(values: FloatArray) -> FloatArray:
    """Ranks of each row of values, such that their products sum to a correlation."""
    ranks = rankdata(values, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    norm: FloatArray = ranks / np.maximum(np.sqrt(np.sum(ranks**2, axis=1, keepdims=True)), 1e-300)
    return norm


def ratios(rows: list[Row]) -> str:
    """`timeloop`'s figures over `loopnest`'s, and what of loopnest's cycles timeloop has no name for."""
    lines = []
    for names, some in each_group(rows):
        cycles = column(some, "loopnest latency")
        lines.append(
            [
                *names,
                str(len(some)),
                *(
                    spread(figure(some, "timeloop", kind) / figure(some, "loopnest", kind))
                    for kind in FIGURES[:2]
                ),
                f"{100 * np.mean(column(some, 'waits') / cycles):.1f}",
                f"{100 * np.mean(column(some, 'ends') / cycles):.1f}",
            ]
        )
    head = ("layer", "mappings", "held by all", "energy", "latency", "waits, %", "fill and drain, %")
    return table(head, lines)


def energies(rows: list[Row]) -> str:
    """What `timeloop` counts above `loopnest`, in % of loopnest's energy: means over a group's mappings."""
    terms = [name for name in rows[0] if name.endswith(" pj")]
    lines = [
        [
            *names,
            *(
                f"{100 * np.mean(column(some, t) * 1e-3 / column(some, 'loopnest energy')):.2f}"
                for t in terms
            ),
        ]
        for names, some in each_group(rows)
    ]
    return table(("layer", "mappings", *(term.removesuffix(" pj") for term in terms)), lines)


def laws(rows: list[Row]) -> str:
    """What holds of the counts of `timeloop` and `loopnest`, counted."""
    plain = [row for row in rows if row["layer"] in PLAIN]
    params: tuple[tuple[str, list[Row], Callable[[Row], object]], ...] = (
        ("weights equal, word for word", rows, lambda row: row["weights equal"]),
        ("sums away equal", rows, lambda row: row["sums away equal"]),
        ("sums back equal", rows, lambda row: row["sums back equal"]),
        ("inputs equal (filters of 1 x 1)", plain, lambda row: row["inputs equal"]),
        ("inputs: timeloop moves as many or more", rows, lambda row: row["inputs more"]),
        ("energies differ by the four terms alone", rows, lambda row: row["explained"]),
        (
            "timeloop's cycles are no more",
            rows,
            lambda row: row["timeloop latency"] <= row["loopnest latency"],
        ),
    )
    lines = [[name, f"{sum(bool(law(row)) for row in among)} of {len(among)}"] for name, among, law in params]
    return table(("", "mappings"), lines)


def winners() -> Iterator[Row]:
    """The best mapping, by EDP under `loopnest`, of every searcher, as every model has it."""
    for name in LAYERS:
        problem = Problem(load_layer(name), MACHINE, "edp", "loopnest")
        for seed in range(SEEDS):
            for searcher in SEARCHERS:
                best = dse.search(problem, searcher, budget=BUDGET, seed=seed).best
                row = compare(name, problem.layer, best.mapping)
                if row is not None:
                    yield {"searcher": searcher, "seed": seed, **row}


def rankings(rows: list[Row]) -> str:
    """Mean ranks of searchers by their winners' EDP, and how often two winners keep their order."""
    rng, models = np.random.default_rng(0), models_in(rows)
    groups: dict[tuple[object, object], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["layer"], row["seed"]), []).append(row)
    kept: dict[str, list[tuple[int, int]]] = {model: [] for model in models}
    places: dict[tuple[str, str], list[float]] = {}
    for some in groups.values():
        ours = figure(some, "loopnest", "EDP")
        for model in models:
            theirs = figure(some, model, "EDP")
            ordered = [(a, b) for a in range(len(some)) for b in range(len(some)) if ours[a] < ours[b]]
            kept[model].append((sum(theirs[a] < theirs[b] for a, b in ordered), len(ordered)))
            for row, rank in zip(some, rankdata(theirs), strict=True):
                places.setdefault((model, str(row["searcher"])), []).append(float(rank))
    picks = rng.integers(len(groups), size=(RESAMPLED + 1, len(groups)))
    picks[0] = np.arange(len(groups))
    lines = []
    for model in models:
        same, pairs = np.array(kept[model], dtype=np.float64).T
        shares = same[picks].sum(axis=1) / np.maximum(pairs[picks].sum(axis=1), 1)
        ranks = [np.mean(places[model, searcher]) for searcher in SEARCHERS]
        lines.append([f"`{model}`", interval(shares), *(f"{rank:.2f}" for rank in ranks)])
    return table(("model", "order kept", *SEARCHERS), lines)


def main() -> None:
    """Compare, write, print."""
    rows: list[Row] = []
    for name in LAYERS:
        problem = Problem(load_layer(name), MACHINE, objective="edp", cost_model="loopnest")
        for group, sample, mapping in chosen(problem):
            row = compare(name, problem.layer, mapping)
            if row is not None:
                rows.append({"group": group, "sample": sample, **row})
    won = list(winners())
    _write(FOLDER / "four_models.csv", rows)
    _write(FOLDER / "four_models_winners.csv", won)
    keep(
        FOLDER / "four_models.md",
        "experiments.comparisons.four_models",
        *(show(rows) for show in (ratios, laws, energies, correlations)),
        f"{len(won)} of {len(LAYERS) * SEEDS * len(SEARCHERS)} winners",
        rankings(won),
    )


def _write(path: Path, rows: list[Row]) -> None:
    shown = [{k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    write_rows(path, shown[0], shown)


if __name__ == "__main__":
    main()
