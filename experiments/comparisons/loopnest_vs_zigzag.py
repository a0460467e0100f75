"""`loopnest` beside ZigZag, mapping by mapping: `python -m experiments.comparisons.loopnest_vs_zigzag`.

Needs the extra `zigzag` (`pip install -c constraints.txt dse-arena[zigzag]`: zigzag-dse, and six, which it
imports but does not ask for). Writes results/comparisons/loopnest_vs_zigzag.csv, and its tables beside it
as .md; takes a minute or two.

On the machine `edge` without NoC latency, each of five layers has two groups of mappings: 100 feasible ones
as they are drawn, and the 50 of 20,000 with the lowest EDP under `loopnest`. How a machine and a mapping are
told to ZigZag, its model's folder says. ZigZag has no NoC energy: energies are compared without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.stats import spearmanr

from dse.core.layer import Layer
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.nest import nest
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import Constants, Counts, LoopNest
from dse.models.loopnest.breakdown import energy_parts
from dse.models.loopnest.counts import MOVED
from dse.models.zigzag.constants import Constants as ZigZagConstants
from dse.models.zigzag.pricing import ZigZagCosts, price_mapping
from experiments import RESULTS, keep, write_rows
from experiments.comparisons.mappings import LAYERS, MACHINE, PLAIN, chosen
from experiments.comparisons.showing import Row, column, each_group, short, spread, table
from workloads import load_layer

FILE = RESULTS / "comparisons" / "loopnest_vs_zigzag.csv"
CONSTANTS, THEIRS = Constants(), ZigZagConstants()
INPUTS = "CYX"
"""The dims that inputs depend on."""

TERMS = (
    "inputs from DRAM", "inputs to PEs", "weights", "sums away", "sums back from DRAM", "sums back from L2",
    "sums back to PEs", "MACs",
)  # fmt: skip
"""What the energies can differ in: each has a column, in nJ, of how much ZigZag counts above loopnest."""
SHOWN = TERMS[:2] + TERMS[4:7]
"""Those in which energies of even mappings do differ."""


def compare(name: str, layer: Layer, group: str, sample: int, mapping: Mapping) -> Row:
    """What both models say of a mapping, and in what they differ."""
    counts = LoopNest().count(layer, MACHINE, mapping)
    assert counts is not None
    theirs = price_mapping(layer, MACHINE, mapping, THEIRS)
    quiet = price_mapping(layer, MACHINE, mapping, THEIRS, quiet_macs=True)
    fine = price_mapping(layer, MACHINE, mapping, THEIRS, ticks=MACHINE.noc_bandwidth)
    parts = energy_parts(counts, layer.macs, CONSTANTS)
    ours = _words(counts)
    return {
        "layer": name,
        "group": group,
        "sample": sample,
        "mapping": short(mapping),
        "even": theirs.even,
        "doubled": theirs.doubled,
        "cycles": counts.cycles,
        "smooth": round(_busiest(counts.compute, ours) + counts.filling + counts.drain),
        "zz_smooth": round(_busiest(theirs.compute, theirs.words) + fine.onload + fine.offload),
        "zz_fine": round(fine.cycles),
        "zz_cycles": theirs.cycles,
        "nj": round((sum(parts.values()) - parts["NoC"]) * 1e-3, 3),
        "noc_nj": round(parts["NoC"] * 1e-3, 3),
        "zz_nj": round(theirs.energy_pj * 1e-3, 3),
        "zz_quiet_nj": round(quiet.energy_pj * 1e-3, 3),
        **{term: round(nj, 3) for term, nj in _differences(layer, ours, theirs).items()},
        "whole_windows": _whole_windows(layer, mapping)
        == (theirs.words["dram_input"], theirs.words["pe_input"]),
        "first_back": theirs.words["l2_output_down"] - counts.l2_output_down
        == (layer.K if layer.type == "CONV" else layer.C) * layer.output[0] * layer.output[1],
    }


def _words(counts: Counts) -> dict[str, float]:
    """The counts of words moved; of the sums that come back, loopnest brings each to one PE."""
    moved = {name: getattr(counts, name) for name in MOVED}
    return {**moved, "pe_output_down": counts.l2_output_down}


def _busiest(compute: float, words: dict[str, float]) -> float:
    """Cycles if PEs, NoC and DRAM link worked without a break, the busiest of them all the time."""
    noc = sum(count for name, count in words.items() if name.startswith("l2_")) / MACHINE.noc_bandwidth
    link = sum(count for name, count in words.items() if name.startswith("dram_")) / MACHINE.offchip_bandwidth
    return max(compute, noc, link)


def _differences(layer: Layer, ours: dict[str, float], theirs: ZigZagCosts) -> dict[str, float]:
    """How much ZigZag counts above loopnest, in nJ, by TERMS."""
    more = {name: theirs.words[name] - count for name, count in ours.items()}
    l1, l2 = CONSTANTS.l1_pj, CONSTANTS.l2_pj
    dram = CONSTANTS.dram_pj + l2
    picojoules = (
        more["dram_input"] * dram,
        more["l2_input"] * l2 + more["pe_input"] * l1,
        more["dram_weight"] * dram + more["l2_weight"] * l2 + more["pe_weight"] * l1,
        more["dram_output_up"] * dram + more["l2_output_up"] * l2 + more["pe_output_up"] * l1,
        more["dram_output_down"] * dram,
        more["l2_output_down"] * l2,
        more["pe_output_down"] * l1,
        (theirs.words["macs"] - 4 * layer.macs) * l1,
    )
    return {term: energy * 1e-3 for term, energy in zip(TERMS, picojoules, strict=True)}


def _whole_windows(layer: Layer, mapping: Mapping) -> tuple[int, float]:
    """Inputs from DRAM and to PEs if each new tile brought all its rows and columns, halo included.

    For even mappings. A tile is new when one of its own loops advances, or one outside that. Padding is not
    brought, as far as a tile that has all rows, or columns, spares it.
    """
    loops = nest(layer, MACHINE, mapping)

    def changes(order: list[tuple[str, int]]) -> int:
        own = [place for place, (dim, count) in enumerate(order) if dim in INPUTS and count > 1]
        return math.prod(count for _, count in order[: own[-1] + 1]) if own else 1

    def window(lengths: dict[str, int]) -> int:
        elements = lengths["C"]
        for dim, filters, stride, real in zip(
            "YX", (layer.R, layer.S), layer.stride, (layer.Y, layer.X), strict=True
        ):
            elements *= min(lengths[dim] * min(stride, filters) + max(filters - stride, 0), real)
        return elements

    outer = [(dim, loops.outer[dim]) for dim in mapping.outer.order if dim in loops.outer]
    inner = [(dim, loops.inner[dim]) for dim in mapping.inner.order if dim in loops.inner]
    spans = {dim: layer.loops[dim] // steps for dim, steps in loops.outer.items()}
    pes = math.prod(loops.pes.values())
    return changes(outer) * window(spans), changes(outer + inner) * window(loops.tile) * pes


def correlations(rows: list[Row]) -> str:
    """Rank correlations and ratios, by layer and group."""

    def line(names: list[str], some: list[Row]) -> list[str]:
        energy, theirs = column(some, "nj"), column(some, "zz_nj")
        cycles, their_cycles = column(some, "cycles"), column(some, "zz_cycles")
        ranks = [
            spearmanr(left, right).statistic
            for left, right in (
                (energy, theirs),
                (energy, theirs - column(some, TERMS[0]) - column(some, TERMS[1])),
                (energy + column(some, "noc_nj"), theirs),
                (cycles, their_cycles),
                (cycles, column(some, "zz_fine")),
                (energy * cycles, theirs * their_cycles),
            )
        ]
        even = f"{int(column(some, 'even').sum())} of {len(some)}"
        ratios = [spread(theirs / energy), spread(their_cycles / cycles)]
        return [*names, even, *(f"{rank:.3f}" for rank in ranks), *ratios]

    head = ("layer", "mappings", "even", "energy", "halo as in loopnest", "with NoC energy", "latency",
            "fine clock", "EDP", "energy, ZigZag / loopnest", "latency, ZigZag / loopnest")  # fmt: skip
    return table(head, [line(names, some) for names, some in each_group(rows)])


def energies(rows: list[Row]) -> str:
    """What ZigZag counts above loopnest, in % of loopnest's energy: means over a group's even mappings."""
    lines = []
    for names, some in each_group(rows):
        even = [row for row in some if row["even"]]
        ours = column(even, "nj")
        shares = [column(even, term) / ours for term in TERMS]
        rest = (column(even, "zz_nj") - ours) / ours - sum(shares)
        lines.append([*names, *(f"{100 * share.mean():.2f}" for share in shares), f"{100 * rest.mean():.2f}"])
    return table(("layer", "mappings", *TERMS, "rest"), lines)


def latencies(rows: list[Row]) -> str:
    """The ratio of the latencies of even mappings, as a product of its causes."""
    steps = (
        ("whole cycles", "zz_cycles", "zz_fine"),
        ("ZigZag's stalls / busiest", "zz_fine", "zz_smooth"),
        ("words, fill, drain", "zz_smooth", "smooth"),
        ("steps wait", "smooth", "cycles"),
        ("all", "zz_cycles", "cycles"),
    )
    lines = []
    for names, some in each_group(rows):
        even = [row for row in some if row["even"]]
        lines.append(
            [*names, *(spread(column(even, over) / column(even, under)) for _, over, under in steps)]
        )
    return table(("layer", "mappings", *(name for name, _, _ in steps)), lines)


def extremes(rows: list[Row]) -> str:
    """The mappings that show each difference best."""
    even = [row for row in rows if row["even"]]
    no_halo = [row for row in rows if row["layer"] == "mobilenet_v2:10" and not row["even"]]

    def share(term: str) -> Callable[[Row], float]:
        return lambda row: float(row[term]) / float(row["nj"])

    def ratio(over: str, under: str) -> Callable[[Row], float]:
        return lambda row: float(row[over]) / float(row[under])

    wanted = [
        *((f"{term}: share of energy", even, share(term)) for term in SHOWN),
        ("idle PEs counted as working: share of energy", no_halo, share("MACs")),
        ("padding not moved to PEs: share of energy", even, lambda row: -share("inputs to PEs")(row)),
        ("operands read again by each MAC: energy ratio", even, ratio("nj", "zz_quiet_nj")),
        ("whole cycles: latency ratio", even, ratio("zz_cycles", "zz_fine")),
        ("idle PEs counted as working: latency ratio", no_halo, ratio("zz_cycles", "cycles")),
        ("steps wait: latency ratio", even, ratio("cycles", "smooth")),
        ("fill: latency ratio", even, ratio("smooth", "zz_smooth")),
    ]
    lines = []
    for name, among, size in wanted:
        row = max(among, key=size)
        figures = [f"{float(row[key]):,.0f}" for key in ("nj", "zz_nj", "cycles", "zz_cycles")]
        lines.append([name, f"{size(row):.3f}", f"`{row['layer']}`", f"`{row['mapping']}`", *figures])
    return table(("difference", "size", "layer", "mapping", "nJ", "ZigZag", "cycles", "ZigZag"), lines)


def laws(rows: list[Row]) -> str:
    """What holds of every even mapping, counted."""
    even = [row for row in rows if row["even"]]
    plain = [row for row in even if row["layer"] in PLAIN]
    returns = [row for row in even if row["sums back from L2"]]
    params: tuple[tuple[str, list[Row], Callable[[Row], object]], ...] = (
        ("weights equal, word for word", even, lambda row: row["weights"] == 0),
        ("sums away equal", even, lambda row: row["sums away"] == 0),
        ("accesses of L1 by the MACs equal", even, lambda row: row["MACs"] == 0),
        (
            "inputs equal (filters of 1 x 1)",
            plain,
            lambda row: row["inputs from DRAM"] == 0 == row["inputs to PEs"],
        ),
        ("inputs: ZigZag brings whole windows", even, lambda row: row["whole_windows"]),
        ("sums back from L2: more by each output once", returns, lambda row: row["first_back"]),
        ("every memory double buffered in ZigZag too", even, lambda row: row["doubled"]),
    )
    lines = [[name, f"{sum(bool(law(row)) for row in among)} of {len(among)}"] for name, among, law in params]
    return table(("", "even mappings"), lines)


def main() -> None:
    """Compare, write, print."""
    rows = []
    for name in LAYERS:
        problem = Problem(load_layer(name), MACHINE, objective="edp", cost_model="loopnest")
        rows += [compare(name, problem.layer, *found) for found in chosen(problem)]
    write_rows(FILE, rows[0], rows)
    shown = (correlations, laws, energies, latencies, extremes)
    keep(
        FILE.with_suffix(".md"), "experiments.comparisons.loopnest_vs_zigzag", *(show(rows) for show in shown)
    )


if __name__ == "__main__":
    main()
